/*
 * labels.js - names of the rows and columns of totals as people of this locale read them.
 *
 * Pure functions over Intl. Not here: times elsewhere on the page (zone.js).
 */
import {short} from "./number.js";
import {isInterval, isTag} from "./totals_query.js";

const cache = new Map();

function formatter(zone, options) {
  const key = zone + JSON.stringify(options);
  if (!cache.has(key))
    cache.set(key, new Intl.DateTimeFormat(undefined, {timeZone: zone, ...options}));
  return cache.get(key);
}

const DAY = {weekday: "short", year: "numeric", month: "short", day: "numeric"};
const BRIEF = {weekday: "short", month: "short", day: "numeric"};
const OPTIONS = {
  hour: {weekday: "short", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit"},
  day: DAY,
  week: {year: "numeric", month: "short", day: "numeric"},
  month: {year: "numeric", month: "long"},
  year: {year: "numeric"},
};

/** Name of a day of the week, of "Mon" to "Sun" as the API writes them. */
export function weekdayLabel(id, style = "long") {
  const n = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"].indexOf(id);
  return n < 0 ? id : formatter("UTC", {weekday: style}).format(Date.UTC(2024, 0, 1 + n)); /* a Monday */
}

/** The beginning of an hour of the day, of "00" to "23": 2 AM or 02. */
export function hourLabel(id) {
  const n = Number(id);
  return Number.isInteger(n) && n >= 0 && n < 24 ? formatter("UTC", {hour: "numeric"}).format(Date.UTC(2024, 0, 1, n)) : id;
}

function quarter(ms, zone) {
  const part = type => formatter(zone, {year: "numeric", month: "numeric"}).formatToParts(ms).find(p => p.type === type).value;
  return `Q${Math.ceil(Number(part("month")) / 3)} ${part("year")}`;
}

/**
 * Labels of rows or columns. Hours that occur twice in autumn are told apart by their offsets from UTC.
 * @param {Array<{id: string, ms?: number}>} items of a table (totals_model.js)
 * @param {string} key of `by`
 * @param {string} zone
 * @param {boolean} brief for headings of columns: days without their year
 * @returns {string[]}
 */
export function labelsOf(items, key, zone, brief = false) {
  if (isTag(key))
    return items.map(i => i.id || "(empty)");
  if (key === "weekday")
    return items.map(i => weekdayLabel(i.id));
  if (key === "hourofday")
    return items.map(i => hourLabel(i.id));
  if (!isInterval(key))
    return items.map(i => i.id);
  const plain = key === "quarter" ? ms => quarter(ms, zone) : ms => formatter(zone, brief && key === "day" ? BRIEF : OPTIONS[key]).format(ms);
  const texts = items.map(i => plain(i.ms));
  return texts.map((text, i) => {
    if (items[i].ms === items[i - 1]?.ms)
      return `${text}, which came twice before`;
    const other = [i - 1, i + 1].some(k => text === texts[k] && items[k].ms !== items[i].ms);
    return other ? `${text} ${offset(items[i].ms, zone)}` : text;
  });
}

function offset(ms, zone) {
  return formatter(zone, {timeZoneName: "shortOffset"}).formatToParts(ms).find(p => p.type === "timeZoneName").value;
}

/** A range of time in few words: "Nov 3, 12:00 – 3:05 AM"; the year only if it is not the present one. */
export function rangeLabel(start, end, zone, now = Date.now()) {
  const year = formatter(zone, {year: "numeric"});
  const short = year.format(start) === year.format(now) && year.format(end) === year.format(now);
  return formatter(zone, {year: short ? undefined : "numeric", month: "short", day: "numeric", hour: "numeric", minute: "2-digit"}).formatRange(start, end);
}

/** A day with its weekday. */
export function dayLabel(ms, zone) {
  return formatter(zone, DAY).format(ms);
}

/** A day in few letters, for the rows of heat maps. */
export function shortDay(ms, zone) {
  return formatter(zone, BRIEF).format(ms);
}

const whole = new Intl.NumberFormat(undefined, {maximumFractionDigits: 0});
const small = new Intl.NumberFormat(undefined, {maximumSignificantDigits: 4});
const cents = new Intl.NumberFormat(undefined, {minimumFractionDigits: 2, maximumFractionDigits: 2});
const tenths = new Intl.NumberFormat(undefined, {style: "percent", minimumFractionDigits: 1, maximumFractionDigits: 1});

/** A number in a table: whole numbers in full, others with the digits that matter; "" for null. */
export function neat(v) {
  if (v === null || v === undefined)
    return "";
  if (Number.isInteger(v))
    return Math.abs(v) < 1e15 ? whole.format(v) : short(v);
  const size = Math.abs(v);
  return size < 1e-4 || size >= 1e15 ? short(v) : size < 1 ? small.format(v) : cents.format(v);
}

/** A fraction in percent with one decimal, so that the numbers of a column stand below each other. */
export function tenth(fraction) {
  return fraction === null || fraction === undefined ? "" : tenths.format(fraction);
}
