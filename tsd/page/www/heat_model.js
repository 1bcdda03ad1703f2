/*
 * heat_model.js - what the cells of a heat map are: their times in the zone, their classes of colour by quantile.
 *
 * A day has 23 to 25 hours: the cell of an hour that the clock skips has no length, that of an hour that occurs twice is two hours
 * long. Pure functions. Not here: elements (heat.js).
 */
import {step} from "./ranges.js";
import {parts, startOf} from "./zone.js";

const HOUR = 3600e3, QUARTER = 900e3;

/** The names of the 24 columns as the API writes them. */
export const HOURS = Array.from({length: 24}, (_, h) => String(h).padStart(2, "0"));
export const DAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/** The day of the week of a moment in the zone, as the API writes it. */
export function weekdayOf(ms, zone) {
  const p = parts(ms, zone);
  return DAYS[(new Date(Date.UTC(p.y, p.mo - 1, p.d)).getUTCDay() + 6) % 7];
}

/**
 * The 24 hours of a day.
 * @param {number} day the first moment of the day
 * @returns {Array<{start: number, end: number, ms: number}>} ms: how long the hour is: 0 if the clock skips it, then start = end
 */
export function hoursOf(day, zone) {
  const next = step(day, 1, "day", zone);
  if (next - day === 24 * HOUR && parts(day + 12 * HOUR, zone).h === 12)
    return HOURS.map((_, h) => ({start: day + h * HOUR, end: day + (h + 1) * HOUR, ms: HOUR}));
  const found = HOURS.map(() => ({start: 0, end: 0, ms: 0}));
  for (let t = day; t < next; t += QUARTER) {
    const hour = found[parts(t, zone).h];
    if (!hour.ms)
      hour.start = t;
    hour.end = t + QUARTER;
    hour.ms += QUARTER;
  }
  return found;
}

/**
 * How much of each hour of each weekday lies in a range, in hours.
 * @returns {number[][]} [weekday, Monday first][hour]
 */
export function exposure(start, end, zone) {
  const found = DAYS.map(() => HOURS.map(() => 0));
  for (let day = startOf("day", start, zone); day < end; day = step(day, 1, "day", zone)) {
    const row = found[DAYS.indexOf(weekdayOf(day, zone))];
    hoursOf(day, zone).forEach((hour, h) => {
      const inside = Math.min(hour.end, end) - Math.max(hour.start, start);
      if (hour.ms && inside > 0)
        row[h] += Math.min(inside, hour.ms) / HOUR;
    });
  }
  return found;
}

/**
 * Borders between classes of equal numbers of cells.
 * @param {Array<?number>} list values of all cells
 * @param {number} classes wanted
 * @returns {number[]} ascending and distinct, fewer if many values are equal; a value belongs to the class of the number of borders
 *   that are below it
 */
export function borders(list, classes) {
  const found = list.filter(v => v !== null && v !== undefined).sort((a, b) => a - b);
  const made = [];
  for (let i = 1; i < classes && found.length; i++) {
    const v = found[Math.ceil(i * found.length / classes) - 1];
    if (v !== made[made.length - 1] && v < found[found.length - 1])
      made.push(v);
  }
  return made;
}

/**
 * The class of a value, 0 to classes - 1, spread over all colours if there are fewer borders.
 */
export function classOf(v, limits, classes) {
  let n = 0;
  while (n < limits.length && v > limits[n])
    n++;
  return limits.length ? Math.round(n * (classes - 1) / limits.length) : Math.floor(classes / 2);
}

/**
 * The map of hours by day: a row for each day of a table whose columns are hours of the day.
 * @param {Object} t table of day and hourofday (totals_model.js)
 * @param {{start: number, end: number, now: number, zone: string}} spec
 * @returns {Array<{ms: number, cells: Array<{v: ?number, skipped: boolean, twice: boolean, isNow: boolean, cut: boolean, later: boolean}>}>}
 */
export function dayRows(t, spec) {
  const places = HOURS.map(id => t.cols.findIndex(c => c.id === id));
  return t.rows.map((row, r) => ({
    ms: row.ms,
    cells: hoursOf(row.ms, spec.zone).map((hour, h) => ({
      v: places[h] < 0 ? null : t.now[r][places[h]],
      skipped: hour.ms === 0,
      twice: hour.ms > HOUR,
      isNow: hour.start <= spec.now && spec.now < hour.end,
      later: hour.ms > 0 && hour.start > spec.now,
      cut: hour.ms > 0 && ((hour.start < spec.start && spec.start < hour.end)
        || (hour.start < Math.min(spec.end, spec.now) && Math.min(spec.end, spec.now) < hour.end)),
    })),
  })).sort((a, b) => a.ms - b.ms);
}

/**
 * The map of hours by weekday.
 * @param {Object} t table of weekday and hourofday
 * @param {boolean} mean values of one hour instead of sums
 * @returns {Array<{id: string, cells: Array<{v: ?number, isNow: boolean}>}>} the seven days, Monday first
 */
export function weekdayRows(t, spec, mean) {
  const hours = mean ? exposure(spec.start, Math.min(spec.end, spec.now), spec.zone) : null;
  const today = weekdayOf(spec.now, spec.zone), hour = parts(spec.now, spec.zone).h;
  return DAYS.map((id, d) => {
    const r = t.rows.findIndex(row => row.id === id);
    return {id, cells: HOURS.map((name, h) => {
      const c = t.cols.findIndex(col => col.id === name);
      const v = r < 0 || c < 0 ? null : t.now[r][c];
      return {v: v !== null && hours ? (hours[d][h] > 0 ? v / hours[d][h] : null) : v, isNow: id === today && h === hour};
    })};
  });
}
