/* range.js - ranges of time: their texts, as queries and addresses have them, their names, and the control that chooses one. */
import {choice, field, fill, h} from "./dom.js";
import {add, format, startOf, toMs} from "./zone.js";

const UNITS = {ms: 1, s: 1e3, m: 6e4, h: 36e5, d: 864e5, w: 6048e5, n: 2592e6, y: 31536e6};
const WORDS = {msec: "ms", sec: "s", secs: "s", second: "s", seconds: "s", min: "m", mins: "m", minute: "m", minutes: "m", hr: "h", hour: "h", hours: "h", day: "d", days: "d",
  week: "w", weeks: "w", month: "n", months: "n", year: "y", years: "y"};

/** Ranges by name: [start, end, words]. "Today" is not "the last 24 hours". */
export const NAMED = [
  ["1h-ago", "", "Last hour"], ["6h-ago", "", "Last 6 hours"], ["24h-ago", "", "Last 24 hours"], ["7d-ago", "", "Last 7 days"], ["30d-ago", "", "Last 30 days"],
  ["365d-ago", "", "Last 365 days"], ["today", "", "Today"], ["yesterday", "", "Yesterday"], ["thisweek", "", "This week"], ["lastweek", "", "Last week"],
  ["thismonth", "", "This month"], ["lastmonth", "", "Last month"], ["thisyear", "", "This year"], ["lastyear", "", "Last year"],
];

function duration(text) {
  let ms = 0, rest = text.trim();
  while (rest) {
    const m = /^(\d+)\s*([a-z]+)\s*/i.exec(rest);
    const unit = m && (UNITS[m[2].toLowerCase()] ? m[2].toLowerCase() : WORDS[m[2].toLowerCase()]);
    if (!unit)
      return null;
    ms += Number(m[1]) * UNITS[unit];
    rest = rest.slice(m[0].length);
  }
  return ms || null;
}

/* [first moment, first moment behind it] of a calendar word, or null. */
function period(word, now, zone) {
  const m = /^(this|last)(week|month|year)$/.exec(word);
  if (m) {
    const begin = startOf(m[2], now, zone);
    return m[1] === "this" ? [begin, add(begin, 1, m[2], zone)] : [add(begin, -1, m[2], zone), begin];
  }
  const day = {today: 0, yesterday: -1, tomorrow: 1}[word];
  if (day !== undefined) {
    const begin = add(startOf("day", now, zone), day, "day", zone);
    return [begin, add(begin, 1, "day", zone)];
  }
  const date = /^(\d{4})(?:[-/](\d{1,2})(?:[-/](\d{1,2}))?)?$/.exec(word);
  if (!date)
    return null;
  const unit = date[3] ? "day" : date[2] ? "month" : "year";
  const begin = toMs({y: +date[1], mo: +(date[2] ?? 1), d: +(date[3] ?? 1)}, zone);
  return [begin, add(begin, 1, unit, zone)];
}

/** A time in one of the forms of queries. @returns {number|null} ms; null: it is none of them */
export function moment(text, now, zone) {
  const t = text.trim().toLowerCase();
  if (t === "" || t === "now")
    return now;
  if (/^\d{5,}(\.\d+)?$/.test(t)) {
    const n = Number(t);
    return Math.round(n < 1e10 ? n * 1000 : n);
  }
  const whole = period(t, now, zone);
  if (whole)
    return whole[0];
  const relative = /^now([-+])(.+)$/.exec(t);
  if (relative) {
    const d = duration(relative[2]);
    return d === null ? null : relative[1] === "-" ? now - d : now + d;
  }
  const full = /^(\d{4})[-/](\d{1,2})[-/](\d{1,2})[t\s-](\d{1,2})(?::(\d{2}))?(?::(\d{2})(?:\.(\d{1,3}))?)?(z|[-+]\d{2}:?\d{2})?$/.exec(t);
  if (full) {
    const p = {y: +full[1], mo: +full[2], d: +full[3], h: +full[4], mi: +(full[5] ?? 0), s: +(full[6] ?? 0), ms: +(full[7] ?? "0").padEnd(3, "0")};
    if (!full[8])
      return toMs(p, zone);
    const off = full[8] === "z" ? 0 : (full[8][0] === "-" ? -1 : 1) * (Number(full[8].slice(1, 3)) * 60 + Number(full[8].slice(-2)));
    return toMs(p, "UTC") - off * 60000;
  }
  const d = duration(t.replace(/[\s-]*ago$/, "").replace(/^-/, ""));
  return d === null ? null : now - d;
}

/**
 * The range of two texts.
 * @param {string} start @param {string} end "" is now; a day, month or year as the end belongs to the range
 * @param {number} now ms @param {string} zone
 * @returns {{start: number, end: number, moving: boolean}|{error: string, at: "start"|"end"}} ms; moving: the range depends on the present time
 */
export function resolve(start, end, now, zone) {
  const begin = moment(start || "1h-ago", now, zone);
  if (begin === null)
    return {error: `${start} is no time: 2h-ago, today, 2026/11/01 or 2026/11/01-14:00 are some`, at: "start"};
  const alone = !end && /^(yesterday|tomorrow|(this|last)(week|month|year)|\d{4}([-/]\d{1,2})?)$/i.test(start.trim());
  const whole = period((alone ? start : end).trim().toLowerCase(), now, zone);
  let to = whole ? whole[1] : moment(end, now, zone);
  if (to === null)
    return {error: `${end} is no time: now, 1h-ago, 2026/11/02 or 2026/11/02-14:00 are some`, at: "end"};
  if (alone && begin < now)
    to = Math.min(to, now);
  if (!(begin < to))
    return {error: "The range ends before it begins", at: "end"};
  return {start: begin, end: to, moving: (!end && !/^(yesterday|last)/.test(start)) || /now|ago/.test(end)};
}

/* "24h-ago" in ms; false: another text. */
const back = text => /-ago$/.test(text) && duration(text.slice(0, -4));

/** The row of NAMED with this range; 1d-ago is 24h-ago. */
export const namedOf = (start, end) => NAMED.find(n => n[1] === end && (n[0] === start || (back(start) && back(n[0]) === back(start))));

/** Words for a range. */
export function words(start, end, zone, now = Date.now()) {
  const named = namedOf(start, end);
  if (named)
    return named[2];
  const r = resolve(start, end, now, zone);
  return r.error ?? `${format(r.start, zone, "minute")} to ${format(r.end, zone, "minute")}`;
}

/**
 * The control: names, two fields with calendars, earlier and later, longer.
 * @param {HTMLElement} root
 * @param {function(string, string)} onChange the new texts of start and end
 * @returns {{show: function(string, string, {start: number, end: number}, string): void, error: function(?{error: string, at: string}): void}}
 */
export function rangeControl(root, onChange) {
  let now = null, zone = "UTC";
  const pick = choice([["", "From … to …"], ...NAMED.map(([s, e, w]) => [`${s} ${e}`, w])], "", v => {
    if (v)
      onChange(...v.split(" "));
  });
  const text = () => h("input", {type: "datetime-local", step: "1", "on:change": read});
  const from = text(), to = text();
  function read() {
    if (!from.value || !to.value)
      return;
    const ms = v => moment(v.replace("T", " "), 0, zone);
    onChange(String(ms(from.value)), String(ms(to.value)));
  }
  const move = share => () => {
    const span = now.end - now.start;
    onChange(String(Math.round(now.start + share * span)), String(Math.round(now.end + share * span)));
  };
  const button = (title, run) => h("button", {type: "button", "on:click": run}, title);
  const fields = {start: field("From", from), end: field("To", to)};
  fill(root, field("Range", pick), fields.start, fields.end, h("div", {class: "buttons", role: "group", "aria-label": "Move the range"},
    button("Earlier", move(-0.5)), button("Later", move(0.5)), button("Longer", () => {
      const span = now.end - now.start;
      onChange(String(Math.round(now.start - span / 2)), String(Math.round(now.end + span / 2)));
    })));
  return {
    show(start, end, resolved, inZone) {
      [now, zone] = [resolved, inZone];
      const named = namedOf(start, end);
      pick.value = named ? `${named[0]} ${named[1]}` : "";
      for (const [node, ms] of [[from, resolved.start], [to, resolved.end]])
        if (document.activeElement !== node)
          node.value = format(Math.floor(ms / 1000) * 1000, zone, "input");
    },
    error(problem) {
      fields.start.error(problem?.at === "start" ? problem.error : "");
      fields.end.error(problem?.at === "end" ? problem.error : "");
    },
  };
}
