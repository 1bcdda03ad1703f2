/* zone.js - times in time zones: what the clock on a wall there shows, and arithmetic with days that have 23, 24 or 25 hours. */

const DAY = 86400000;
const QUARTER = 900000; /* offsets since 1970 change at whole quarters of an hour */
const clocks = new Map(); /* zone -> {clock, offsets} */
const formats = new Map();

function clockOf(zone) {
  let found = clocks.get(zone);
  if (!found) {
    const options = {timeZone: zone, hourCycle: "h23", era: "short", year: "numeric", month: "numeric", day: "numeric", hour: "numeric",
      minute: "numeric", second: "numeric"};
    found = {clock: new Intl.DateTimeFormat("en-US", options), offsets: new Map()};
    clocks.set(zone, found);
  }
  return found;
}

/* Days and times since 1970 as if the zone were UTC. Date.UTC alone would take the years 0 to 99 as 1900 to 1999. */
function utc(y, mo, d, h = 0, mi = 0, s = 0, ms = 0) {
  const date = new Date(0);
  date.setUTCFullYear(y, mo - 1, d);
  date.setUTCHours(h, mi, s, ms);
  return date.getTime();
}

function lookUp(clock, ms) {
  const part = {};
  for (const {type, value} of clock.formatToParts(ms))
    part[type] = value;
  const year = part.era === "BC" || part.era === "B" ? 1 - part.year : Number(part.year);
  return utc(year, Number(part.month), Number(part.day), Number(part.hour), Number(part.minute), Number(part.second)) - Math.floor(ms / 1000) * 1000;
}

/** Does the browser know this zone? @param {string} zone */
export function known(zone) {
  try {
    clockOf(zone);
    return zone !== "";
  } catch {
    return false;
  }
}

/** The zone of this computer. */
export function local() {
  return Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
}

/** Milliseconds that the clocks of a zone are ahead of UTC at a time. @param {number} ms @param {string} zone */
export function offset(ms, zone) {
  if (zone === "UTC")
    return 0;
  const {clock, offsets} = clockOf(zone);
  if (ms < 0)
    return lookUp(clock, ms);
  const key = Math.floor(ms / QUARTER);
  let found = offsets.get(key);
  if (found === undefined) {
    if (offsets.size > 20000)
      offsets.clear();
    found = lookUp(clock, key * QUARTER);
    offsets.set(key, found);
  }
  return found;
}

/**
 * What a clock shows.
 * @param {number} ms since 1970
 * @param {string} zone "Europe/Berlin"
 * @returns {{y: number, mo: number, d: number, h: number, mi: number, s: number, ms: number, weekday: number}} mo from 1; weekday 1 (Monday) to 7
 */
export function parts(ms, zone) {
  const t = new Date(ms + offset(ms, zone));
  return {y: t.getUTCFullYear(), mo: t.getUTCMonth() + 1, d: t.getUTCDate(), h: t.getUTCHours(), mi: t.getUTCMinutes(), s: t.getUTCSeconds(),
    ms: t.getUTCMilliseconds(), weekday: (t.getUTCDay() + 6) % 7 + 1};
}

/**
 * The time at which a clock shows this. What it shows twice is the first of the two; what it never shows (clocks are put forward) is as
 * much later as the clocks were moved. Numbers beyond their range are carried over: day 32, month 13, hour -1.
 * @param {{y: number, mo: number, d: number, h?: number, mi?: number, s?: number, ms?: number}} p
 * @param {string} zone
 * @returns {number} ms since 1970
 */
export function toMs(p, zone) {
  const wall = utc(p.y, p.mo ?? 1, p.d ?? 1, p.h ?? 0, p.mi ?? 0, p.s ?? 0, p.ms ?? 0);
  const before = offset(wall - DAY, zone), after = offset(wall + DAY, zone);
  const first = wall - Math.max(before, after), second = wall - Math.min(before, after);
  if (offset(first, zone) === wall - first)
    return first;
  if (offset(second, zone) === wall - second)
    return second;
  return wall - before;
}

/**
 * Beginning of the minute, hour, day, week (Monday), month or year that a time belongs to.
 * @param {"minute"|"hour"|"day"|"week"|"month"|"year"} unit
 */
export function startOf(unit, ms, zone) {
  if (unit === "minute" || unit === "hour") {
    const size = unit === "minute" ? 60000 : 3600000, off = offset(ms, zone);
    return Math.floor((ms + off) / size) * size - off;
  }
  const p = parts(ms, zone);
  switch (unit) {
  case "day": return toMs({y: p.y, mo: p.mo, d: p.d}, zone);
  case "week": return toMs({y: p.y, mo: p.mo, d: p.d - (p.weekday - 1)}, zone);
  case "month": return toMs({y: p.y, mo: p.mo, d: 1}, zone);
  case "year": return toMs({y: p.y, mo: 1, d: 1}, zone);
  default: throw new RangeError(`no such unit: ${unit}`);
  }
}

const LENGTH = {ms: 1, second: 1000, minute: 60000, hour: 3600000};

/**
 * A time n units later (earlier if n < 0). Seconds to hours are lengths; days to years keep what the clock shows, so a day may have 23 or 25
 * hours, and the last day of a month stays within the month.
 * @param {number} ms @param {number} n @param {"ms"|"second"|"minute"|"hour"|"day"|"week"|"month"|"year"} unit @param {string} zone
 */
export function add(ms, n, unit, zone) {
  if (LENGTH[unit])
    return ms + n * LENGTH[unit];
  const p = parts(ms, zone);
  if (unit === "day" || unit === "week")
    return toMs({...p, d: p.d + n * (unit === "week" ? 7 : 1)}, zone);
  const months = p.y * 12 + p.mo - 1 + n * (unit === "year" ? 12 : 1);
  const y = Math.floor(months / 12), mo = months - y * 12 + 1;
  const last = new Date(utc(y, mo + 1, 0)).getUTCDate();
  return toMs({...p, y, mo, d: Math.min(p.d, last)}, zone);
}

const STYLES = {
  date: {dateStyle: "medium"},
  day: {day: "numeric", month: "short"},
  weekday: {weekday: "short", day: "numeric", month: "short"},
  month: {month: "short", year: "numeric"},
  year: {year: "numeric"},
  time: {hour: "2-digit", minute: "2-digit"},
  seconds: {hour: "2-digit", minute: "2-digit", second: "2-digit"},
  minute: {dateStyle: "medium", timeStyle: "short"},
  full: {dateStyle: "medium", timeStyle: "medium"},
};

const two = n => String(n).padStart(2, "0");

/**
 * A time for people, or for a query.
 * @param {number} ms @param {string} zone
 * @param {string} [style] date, day, weekday, month, year, time, seconds, minute (date and time to the minute), full (to the second) in the
 *   browser's locale; iso: 2026-11-01T14:05:00+01:00; query: 2026/11/01-14:05:00; input: 2026-11-01T14:05:00 as fields of type datetime-local have it
 */
export function format(ms, zone, style = "full") {
  if (style === "iso" || style === "query" || style === "input") {
    const p = parts(ms, zone), off = Math.round(offset(ms, zone) / 60000);
    const time = `${two(p.h)}:${two(p.mi)}:${two(p.s)}${p.ms ? "." + String(p.ms).padStart(3, "0") : ""}`;
    const year = String(p.y).padStart(4, "0");
    if (style === "query")
      return `${year}/${two(p.mo)}/${two(p.d)}-${time}`;
    const at = `${year}-${two(p.mo)}-${two(p.d)}T${time}`;
    return style === "input" ? at : at + (off ? (off < 0 ? "-" : "+") + two(Math.floor(Math.abs(off) / 60)) + ":" + two(Math.abs(off) % 60) : "Z");
  }
  const key = style + " " + zone;
  if (!formats.has(key))
    formats.set(key, new Intl.DateTimeFormat(undefined, {...STYLES[style], timeZone: zone}));
  return formats.get(key).format(ms);
}

const GRIDS = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500].map(n => [n, "ms", n]),
  ...[1, 2, 5, 10, 15, 30].map(n => [n, "second", n * 1000]),
  ...[1, 2, 5, 10, 15, 30].map(n => [n, "minute", n * 60000]),
  ...[1, 2, 3, 4, 6, 12].map(n => [n, "hour", n * 3600000]),
  ...[1, 2, 7].map(n => [n, "day", n * DAY]),
  ...[1, 2, 3, 6].map(n => [n, "month", n * 30.4 * DAY]),
  ...[1, 2, 5, 10, 20, 50, 100].map(n => [n, "year", n * 365.25 * DAY]),
];

/* Times on a grid of the wall clock from min to max: real steps up to an hour, so that an hour that comes twice has two ticks. */
function fine(min, max, step, zone) {
  const found = [];
  const floor = t => Math.floor((t + offset(t, zone)) / step) * step - offset(t, zone);
  for (let t = floor(min); t <= max && found.length < 1000;) {
    if (t >= min)
      found.push(t);
    const next = floor(t + step);
    t = next > t ? next : t + step;
  }
  return found;
}

/* Hours of the day that the clock shows, day by day. */
function hours(min, max, n, zone) {
  const found = [];
  const first = parts(min, zone);
  for (let day = 0; found.length < 1000; day++) {
    for (let h = 0; h < 24; h += n) {
      const t = toMs({y: first.y, mo: first.mo, d: first.d + day, h}, zone);
      if (t > max)
        return found;
      if (t >= min && parts(t, zone).h === h)
        found.push(t);
    }
  }
  return found;
}

function coarse(min, max, n, unit, zone) {
  const found = [];
  const p = parts(min, zone);
  for (let i = 0; found.length < 1000; i++) {
    let t;
    if (unit === "day")
      t = n === 7 ? toMs({y: p.y, mo: p.mo, d: p.d - p.weekday + 1 + 7 * i}, zone) : toMs({y: p.y, mo: p.mo, d: p.d - (p.d - 1) % n + n * i}, zone);
    else if (unit === "month")
      t = toMs({y: p.y, mo: p.mo - (p.mo - 1) % n + n * i, d: 1}, zone);
    else
      t = toMs({y: p.y - p.y % n + n * i, mo: 1, d: 1}, zone);
    if (t > max)
      return found;
    if (t >= min)
      found.push(t);
  }
  return found;
}

function label(ms, unit, zone, isFirst) {
  const p = parts(ms, zone), midnight = p.h === 0 && p.mi === 0 && p.s === 0 && p.ms === 0;
  const withDay = text => (isFirst || midnight ? `${text}\n${format(ms, zone, "weekday")}` : text);
  switch (unit) {
  case "ms": return withDay(`${format(ms, zone, "seconds")}.${String(p.ms).padStart(3, "0")}`);
  case "second": return withDay(format(ms, zone, "seconds"));
  case "minute":
  case "hour": return withDay(format(ms, zone, "time"));
  case "day": return isFirst || (p.mo === 1 && p.d < 8) ? `${format(ms, zone, "day")}\n${format(ms, zone, "year")}` : format(ms, zone, "day");
  case "month": return format(ms, zone, "month");
  default: return format(ms, zone, "year");
  }
}

/**
 * Ticks of an axis of time: on round times of the zone, also on days when clocks change.
 * @param {number} min @param {number} max ms
 * @param {string} zone
 * @param {number} wanted at most about as many
 * @returns {Array<{ms: number, label: string}>} a label's second line, after \n, names the day where it changes
 */
export function ticks(min, max, zone, wanted) {
  if (!(max > min))
    return [];
  const [n, unit, step] = GRIDS.find(g => (max - min) / g[2] <= Math.max(1, wanted)) ?? GRIDS[GRIDS.length - 1];
  const found = unit === "hour" && n > 1 ? hours(min, max, n, zone)
    : unit === "day" || unit === "month" || unit === "year" ? coarse(min, max, n, unit, zone) : fine(min, max, step, zone);
  return found.map((ms, i) => ({ms, label: label(ms, unit, zone, i === 0)}));
}

/** Names of all zones that the browser knows, UTC first. */
export function names() {
  return ["UTC", ...(Intl.supportedValuesOf?.("timeZone") ?? []).filter(z => z !== "UTC")];
}
