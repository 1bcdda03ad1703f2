/*
 * ranges.js - the ranges of time that totals offer, and beginnings of days where clocks skip midnight.
 *
 * A range is [start, end): `end` is the first millisecond after it. Pure functions; "now" is always an argument.
 * Not here: the forms of times (range.js), arithmetic of the calendar (zone.js).
 */
import {resolve} from "./range.js";
import {add, startOf} from "./zone.js";

/** Ranges by name: the start in the address, and what people read. "7days" are whole days of the calendar, the last of them today. */
export const RANGES = [
  ["today", "Today"], ["yesterday", "Yesterday"], ["24h-ago", "Last 24 hours"], ["thisweek", "This week"], ["lastweek", "Last week"], ["7days", "Last 7 days"],
  ["14days", "Last 14 days"], ["30days", "Last 30 days"], ["thismonth", "This month"], ["lastmonth", "Last month"], ["90days", "Last 90 days"],
  ["thisyear", "This year"], ["lastyear", "Last year"],
];

/**
 * The beginning of the unit n units later. Where clocks skip midnight a day begins at 1:00, and the one after it at 0:00 again.
 * @param {number} ms the beginning of a unit
 */
export function step(ms, n, unit, zone) {
  return startOf(unit, add(ms, n, unit, zone), zone);
}

/**
 * The range of a view: a name as the start, or two times. Without an end it ends now.
 * @returns {{start: number, end: number, name: string}} name is "" for a range by dates
 * @throws {Error} with the field (`start` or `end`) in `field` when a time cannot be read or the end is not after the start
 */
export function rangeOf({start, end}, now, zone, fallback = "7days") {
  const from = start || fallback;
  const name = !end && RANGES.some(r => r[0] === from) ? from : "";
  const days = /^(\d+)days$/.exec(name);
  if (days)
    return {start: step(startOf("day", now, zone), 1 - days[1], "day", zone), end: now, name};
  const found = resolve(from, end ?? "", now, zone);
  if (found.error)
    throw Object.assign(new Error(found.error), {field: found.at});
  return {start: found.start, end: found.end, name};
}
