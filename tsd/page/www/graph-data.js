/* graph-data.js - from points of series to the columns that uPlot draws: one array of times for all series, gaps as null. */

/**
 * @typedef {{label: string, points: Array<[number, (number|null)]>, kind?: "gauge"|"count"|"counter", color?: string,
 *   band?: {min: Array<[number, number]>, max: Array<[number, number]>}, axis?: 1|2, step?: number, column?: number}} Series
 *   points: ms, value (null: a gap), in order of time; step: ms between two points if that is known, so that a longer distance is a gap; column: ms within
 *   which the server has left out points
 */

const MAX_CELLS = 1500000; /* times x series: above that, points are thinned to columns of pixels before they are joined */

/** The index of the last point at or before a time, -1 if all are later. */
export function indexAt(points, ms) {
  let low = 0, high = points.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (points[middle][0] <= ms)
      low = middle + 1;
    else
      high = middle;
  }
  return low - 1;
}

/**
 * The point that belongs to a time: for bars the one that began last, else the nearest.
 * @returns {[number, number]|null} null: the nearest one is further away than `reach`
 */
export function pointAt(series, ms, reach) {
  const {points} = series;
  const i = indexAt(points, ms);
  let best = i >= 0 ? points[i] : null;
  if (series.kind === "count" && best) {
    if (ms - best[0] >= (series.step || reach))
      best = null;
  } else {
    const next = points[i + 1];
    if (next && (!best || next[0] - ms < ms - best[0]))
      best = next;
    if (best && Math.abs(best[0] - ms) > Math.max(reach, (series.step || 0) / 2))
      best = null;
  }
  return best && best[1] !== null ? best : null;
}

/**
 * First, least, greatest and last point in each of `columns` equal parts of [start, end]: looks the same as all points (M4, Jugel et al.,
 * VLDB 2014). Gaps stay.
 */
export function thin(points, start, end, columns) {
  if (points.length <= 4 * columns)
    return points;
  const out = [], width = (end - start) / columns;
  for (let i = 0; i < points.length;) {
    const limit = start + (Math.floor((points[i][0] - start) / width) + 1) * width;
    const from = i;
    let low = i, high = i, gap = -1;
    for (; i < points.length && (points[i][0] < limit || i === from); i++) {
      const v = points[i][1];
      if (v === null)
        gap = i;
      else {
        if (points[low][1] === null || v < points[low][1])
          low = i;
        if (points[high][1] === null || v > points[high][1])
          high = i;
      }
    }
    for (const k of [...new Set([from, low, high, gap, i - 1])].filter(k => k >= 0).sort((a, b) => a - b))
      out.push(points[k]);
  }
  return out;
}

/* Points with a null behind each that a gap follows. */
function withGaps(points, limit) {
  if (limit === Infinity)
    return points;
  const out = [];
  for (let i = 0; i < points.length; i++) {
    if (i && points[i][0] - points[i - 1][0] > limit && points[i][1] !== null && points[i - 1][1] !== null)
      out.push([(points[i - 1][0] + points[i][0]) / 2, null]);
    out.push(points[i]);
  }
  return out;
}

/* All times of all lists, once each, in order. */
function allTimes(lists) {
  let n = 0;
  for (const list of lists)
    n += list.length;
  const all = new Float64Array(n);
  n = 0;
  for (const list of lists)
    for (const p of list)
      all[n++] = p[0];
  all.sort();
  let kept = 0;
  for (let i = 0; i < n; i++)
    if (!kept || all[i] !== all[kept - 1])
      all[kept++] = all[i];
  return Array.from(all.subarray(0, kept));
}

/* Moves the k-th point of each column to the k-th of six places in it, so that all series share their times. No pixel moves. */
function snap(points, start, end, columns) {
  const width = (end - start) / columns, out = [];
  let column = NaN, k = 0;
  for (const [ms, v] of points) {
    const c = Math.floor((ms - start) / width);
    k = c === column ? k + 1 : 0;
    column = c;
    out.push([start + (c + Math.min(k, 5) / 6) * width, v]);
  }
  return out;
}

/* Values at all times: a gap is null at each time in it, since other series may have points there. */
function column(times, points) {
  const out = new Array(times.length);
  let i = 0, last = -1, gap = false;
  for (const [ms, v] of points) {
    while (times[i] < ms)
      i++;
    if (v === null || !Number.isFinite(v)) {
      gap = true;
      out[i] = null;
      continue;
    }
    if (gap)
      out.fill(null, last + 1, i);
    out[i] = v;
    last = i;
    gap = false;
  }
  return out;
}

/* The columns of lists that all have the same times, as those of one step have, in one pass; null for others. */
function together(lists, limits) {
  const [first] = lists, n = first?.length ?? 0;
  if (n * lists.length > MAX_CELLS || !lists.every(list => list === first || list.length === n && list.every((p, i) => p[0] === first[i][0])))
    return null;
  const times = [], limit = Math.min(...limits), columns = lists.map(() => []);
  let before = n && first[0][0];
  for (let i = 0; i < n; i++) {
    const ms = first[i][0];
    if (ms - before > limit) { /* a gap of some of them */
      times.push((before + ms) / 2);
      columns.forEach((column, k) => column.push(ms - before > limits[k] ? null : undefined));
    }
    times.push(before = ms);
    for (let k = 0; k < lists.length; k++)
      columns[k].push(lists[k][i][1]);
  }
  return [times, ...columns];
}

/**
 * Columns for uPlot.
 * @param {Array<Array<[number, (number|null)]>>} lists of points
 * @param {number[]} limits distance that is a gap, of each list
 * @param {number} start @param {number} end ms
 * @param {number} width pixels
 * @returns {Array} times, then an array of values for each list: undefined where a list has no point, null at gaps
 */
export function join(lists, limits, start, end, width) {
  const same = together(lists, limits);
  if (same)
    return same;
  const columns = Math.max(50, Math.round(width));
  let ready = lists.map((points, i) => withGaps(points, limits[i]));
  let times = allTimes(ready);
  if (times.length * lists.length > MAX_CELLS && end > start) {
    ready = ready.map(points => snap(thin(points, start, end, columns), start, end, columns));
    times = allTimes(ready);
  }
  return [times, ...ready.map(points => column(times, points))];
}

/** Sums of each column and all before it, for stacked bars; what is missing adds nothing, and where all are missing there is no bar. */
export function stack(columns) {
  const n = columns[0]?.length ?? 0, sums = new Float64Array(n);
  return columns.map(values => {
    const out = new Array(n);
    for (let i = 0; i < n; i++) {
      sums[i] += values[i] ?? 0;
      if (columns.some(c => c[i] !== undefined && c[i] !== null))
        out[i] = sums[i];
    }
    return out;
  });
}
