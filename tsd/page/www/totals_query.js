/*
 * totals_query.js - what the view Totals asks: the state of the address as one specification, and the requests made of it.
 *
 * All requests of one view have the same metric, filters, range and zone, so that every table and map shows the same points.
 * Pure functions. Not here: reading the answers (totals_model.js).
 */
import {add, format, startOf} from "./zone.js";
import {rangeOf, step} from "./ranges.js";

/** Intervals of the calendar that can be rows or columns: name, label, and the units of comparisons that fit them. */
export const INTERVALS = [
  ["hour", "Hours", ["1d", "1w", "1n", "1y"]],
  ["day", "Days", ["1d", "1w", "1n", "1y"]],
  ["week", "Weeks", ["1w"]],
  ["month", "Months", ["1n", "1y"]],
  ["quarter", "Quarters", ["1y"]],
  ["year", "Years", ["1y"]],
];

/** Parts of time that come again. */
export const CYCLES = [["weekday", "Days of the week"], ["hourofday", "Hours of the day"]];

/** What a range is compared with: the API's duration, what people read, the step in the calendar. */
export const COMPARISONS = [
  ["1d", "the day before", 1, "day"],
  ["1w", "the same weekday of the week before", 7, "day"],
  ["1n", "the month before", 1, "month"],
  ["1y", "the year before", 1, "year"],
];

/** Aggregators of the form; the address may name any other that the daemon knows. */
export const AGGREGATORS = [
  ["sum", "Sum"], ["count", "Number of points"], ["avg", "Average"], ["min", "Minimum"], ["max", "Maximum"],
  ["median", "Median"], ["p95", "95th percentile"], ["p99", "99th percentile"],
];

const ADDS = new Set(["sum", "zimsum", "pfsum", "count"]);
const MERGES = {min: Math.min, mimmin: Math.min, max: Math.max, mimmax: Math.max};

/** True if cells of this aggregator may be added, so that shares in percent mean something. */
export const adds = agg => ADDS.has(agg);

/** The function that makes totals of cells: 'add', a function of two numbers, or null if only the daemon can tell. */
export const merger = agg => (ADDS.has(agg) ? "add" : MERGES[agg] || null);

export const isInterval = key => INTERVALS.some(i => i[0] === key);
export const isCycle = key => CYCLES.some(c => c[0] === key);
export const isTag = key => Boolean(key) && !isInterval(key) && !isCycle(key);

/**
 * The specification of the view.
 * @param {(name: string, fallback?: string) => string} value  one value of the state
 * @param {string[]} filters  texts `tagk=filter`, as in the address
 * @param {{zone: string, now: number, agg: string}} known  agg: the aggregator that suits the metric's kind
 * @throws {Error} with `field`, see rangeOf
 */
export function specOf(value, filters, known) {
  const range = rangeOf({start: value("start"), end: value("end")}, known.now, known.zone);
  const span = range.end - range.start;
  const rows = value("rows") || (span > 3 * 864e5 ? "day" : "hour");
  const cols = value("cols") === rows ? "" : value("cols") || "";
  const top = /^\d+$/.test(value("top") || "") ? +value("top") : 20;
  return {
    ...range, ...known,
    metric: value("metric"), agg: value("agg") || known.agg || "sum",
    rows, cols: isInterval(rows) && isInterval(cols) ? "" : cols,
    top, compare: value("cmp") || "", show: value("show") || "value", sort: value("sort") || "",
    filters: filters.map(splitFilter).filter(Boolean),
  };
}

/** `domain=a|b` as {tagk, filter}; null if it has no key or no filter. */
export function splitFilter(text) {
  const at = text.indexOf("=");
  return at > 0 && at + 1 < text.length ? {tagk: text.slice(0, at), filter: text.slice(at + 1)} : null;
}

/** The query in the daemon's language: `sum:web.hits{}{domain=a|b}`. */
export function queryText(spec) {
  const filters = spec.filters.map(f => `${f.tagk}=${f.filter}`).join(",");
  return `${spec.agg}:${spec.metric}${filters ? `{}{${filters}}` : ""}`;
}

function base(spec) {
  const end = Math.min(spec.end - 1, Math.max(spec.now, spec.start));
  return {start: spec.start, end, tz: spec.zone, m: queryText(spec)};
}

/** True if cells of this key can be compared over this distance; cycles and tags have no length of their own. */
export function fits(key, distance) {
  const interval = INTERVALS.find(i => i[0] === key);
  return !interval || interval[2].includes(distance);
}

/**
 * The request of a table of two keys, and how its answer is to be read.
 * @param {string} rows  key of the rows
 * @param {string} cols  key of the columns, '' for none
 * @returns {{params: object, wide: boolean, turned: boolean}} wide: columns are members of `values`; turned: the answer has
 *          rows and columns exchanged, because the daemon never makes columns of intervals
 */
export function tableRequest(spec, rows = spec.rows, cols = spec.cols, compare = spec.compare) {
  const turned = isInterval(cols);
  const [first, second] = turned ? [cols, rows] : [rows, cols];
  const keys = [first, second].filter(Boolean);
  const distance = compare && keys.every(k => fits(k, compare)) ? compare : "";
  const wide = Boolean(second) && !distance;
  const params = {...base(spec), by: keys.join(",")};
  if (isInterval(first)) params.fill = "null";
  if (wide) params.columns = second;
  if (distance) params.compare = distance;
  if (spec.top && keys.some(isTag)) Object.assign(params, {top: spec.top, others: "true"});
  return {params, wide, turned};
}

/** The request of one number over everything, with the number so long before if a distance is given. */
export function wholeRequest(spec, distance = "") {
  const params = {...base(spec), by: ""};
  if (distance) params.compare = distance;
  return {params, wide: false, turned: false};
}

/**
 * The comparisons of equal elapsed time that make sense for a range: those that do not overlap it.
 * @returns {Array<{distance: string, label: string, start: number, end: number}>} the earlier range of each; end belongs to it
 */
export function comparisons(spec) {
  const end = Math.min(spec.end, spec.now), last = Math.min(spec.end - 1, spec.now);
  const found = [];
  for (const [distance, label, n, unit] of COMPARISONS) {
    if (add(spec.start, n, unit, spec.zone) < end)
      continue;
    found.push({
      distance, label, start: add(spec.start, -n, unit, spec.zone), end: add(last, -n, unit, spec.zone),
    });
  }
  return found;
}

/**
 * The narrower view that a row of an interval opens: the range of that row, by the next smaller interval.
 * @returns {?Object} a patch of the state; null for hours, which have nothing smaller here
 */
export function narrower(key, ms, zone) {
  const next = {year: "month", quarter: "week", month: "day", week: "day", day: "hour"}[key];
  if (!next)
    return null;
  const end = key === "quarter" ? step(ms, 3, "month", zone) : step(startOf(key, ms, zone), 1, key, zone);
  const day = t => format(t, zone, "input").slice(0, 10);
  return {start: day(ms), end: day(end - 1), rows: next, sort: null};
}
