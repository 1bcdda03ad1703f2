/* graph-dense.js - a line of which each pixel has several points, drawn by columns as wide as pixels. */

const DENSE = 2; /* points of a column from which it is worth it */
const ROUGH_PX = 1; /* a column is rough if its extremes lie further than this beyond its first and its last value */

/* First, least, greatest and last value of each column, {at, from, to: the times of first and last, first, low, high, last}; null: a gap. */
function columnsOf(times, values, from, to, origin, step) {
  const found = [];
  let c = null;
  for (let i = from; i <= to; i++) {
    const v = values[i];
    if (v === undefined)
      continue;
    if (v === null) {
      if (c)
        found.push(c = null);
      continue;
    }
    const ms = times[i], at = Math.floor((ms - origin) / step);
    if (c?.at !== at)
      found.push(c = {at, from: ms, to: ms, first: v, low: v, high: v, last: v});
    c.to = ms;
    c.last = v;
    if (v < c.low)
      c.low = v;
    else if (v > c.high)
      c.high = v;
  }
  return found;
}

/**
 * A path builder for uPlot, as its own `linear` for lines that are not dense. Where a column or its neighbour is rough, what the line covers of it is filled, from its
 * least to its greatest value: filling takes a tenth of the time of drawing a line that goes up and down. Everything else is drawn as a line.
 * @param {Function} linear for all other lines
 * @param {number} width of the line, CSS pixels
 * @param {function(): {start: number, column: number}} grid columns in which the server has left out points, ms; 0: none, and columns are pixels
 */
export function dense(linear, width, grid) {
  return (u, index, from, to) => {
    const values = u.data[index], {left, width: pixels} = u.bbox, {start, column} = grid();
    let n = 0;
    for (let i = from; i <= to; i++)
      n += values[i] !== undefined && values[i] !== null;
    if (n < DENSE * pixels)
      return linear(u, index, from, to);
    const {scale} = u.series[index], {min, max} = u.scales.x, per = pixels / (max - min), thick = width * devicePixelRatio;
    const origin = column ? start : min, step = column || 1 / per, stroke = new Path2D();
    const x = ms => left + (ms - min) * per, y = v => u.valToPos(v, scale, true);
    const list = columnsOf(u.data[0], values, from, to, origin, step);
    const beyond = ({low, high}, a, b) => Math.max(y(low) - Math.max(y(a), y(b)), Math.min(y(a), y(b)) - y(high)) > ROUGH_PX;
    const rough = list.map(c => c !== null && beyond(c, c.first, c.last));
    const fills = list.map((c, i) => rough[i] || (c !== null && (rough[i - 1] || rough[i + 1]) && beyond(c, c.first, c.first)));
    list.forEach((c, i) => {
      if (!c)
        return;
      const before = list[i - 1];
      if (before && fills[i - 1] && fills[i] && c.at === before.at + 1) { /* each is filled to the middle of the step between them */
        const middle = (before.last + c.first) / 2;
        for (const side of [before, c]) {
          side.low = Math.min(side.low, middle);
          side.high = Math.max(side.high, middle);
        }
      } else if (before) {
        if (fills[i - 1])
          stroke.moveTo(x(before.to), y(before.last));
        stroke.lineTo(x(c.from), y(c.first));
      } else
        stroke.moveTo(x(c.from), y(c.first));
      if (!fills[i])
        stroke.lineTo(x(c.to), y(c.last));
    });
    const wide = Math.max(thick, step * per);
    const rectangles = list.filter((c, i) => fills[i]).map(({at, low, high}) => [x(origin + (at + 0.5) * step) - wide / 2, y(high) - thick / 2, wide, y(low) - y(high) + thick]);
    return {stroke, rectangles, fill: null, clip: null, band: null, gaps: null, flags: 0};
  };
}

/** What a path of `dense` has besides its stroke; a hook of uPlot for each series that was drawn. One path of all rectangles would take ten times as long. */
export function drawRectangles({ctx, bbox, series}, index) {
  const {_paths, _stroke} = series[index];
  if (!_paths?.rectangles)
    return;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.fillStyle = _stroke;
  for (const rectangle of _paths.rectangles)
    ctx.fillRect(...rectangle);
  ctx.restore();
}
