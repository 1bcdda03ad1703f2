/*
 * totals_model.js - answers of totals as tables: cells, totals of rows and columns, shares, orders.
 *
 * A table is {rows, cols, now, before}: rows and cols are [{id, ms?, partial?}], now[r][c] and before[r][c] numbers or null
 * (no points). Pure functions. Not here: requests (totals_query.js), elements (totals_table.js).
 */
import {adds, isInterval, isTag, merger} from "./totals_query.js";

/** The row of everything that a limit leaves out; it is always the last one. */
export const OTHERS = "(others)";

const WEEKDAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

function number(v) {
  if (v === "NaN" || v === null || v === undefined)
    return null;
  return typeof v === "number" && Number.isFinite(v) ? v : null;
}

function idOf(row, key) {
  if (isInterval(key)) /* what comes twice on the earlier day of a comparison has the time of one hour, and its offset behind the hour */
    return String(row.timestamp) + (row.hour?.length > 2 ? ` ${row.hour}` : "");
  return isTag(key) ? row.tags?.[key] ?? "" : row[key] ?? "";
}

function values(row, metric) {
  if (!row.values)
    return [number(row.value), null];
  const name = Object.hasOwn(row.values, metric) ? metric : Object.keys(row.values)[0];
  return [number(row.values[name]), number(row.values.before)];
}

class Axis {
  constructor() {
    this.items = [];
    this.places = new Map();
  }

  /** The place of an id, which is new at the end. */
  at(id, row) {
    let place = this.places.get(id);
    if (place === undefined) {
      place = this.items.length;
      this.places.set(id, place);
      this.items.push({id});
    }
    const item = this.items[place];
    if (row && row.timestamp !== undefined)
      item.ms = row.timestamp * 1000;
    if (row && row.partial)
      item.partial = true;
    return place;
  }
}

/**
 * The table of an answer.
 * @param {Object[]} answer of /api/query with `by`
 * @param {{wide: boolean, turned: boolean}} shape of the request (tableRequest)
 * @param {{rows: string, cols: string, metric: string, compare?: string}} spec
 */
export function readTable(answer, {wide, turned, params}, {rows, cols, metric}) {
  const [first, second] = turned ? [cols, rows] : [rows, cols];
  const outer = new Axis(), inner = new Axis();
  const now = [], before = params?.compare ? [] : null;
  const put = (r, c, v, b) => {
    (now[r] ??= [])[c] = v;
    if (before)
      (before[r] ??= [])[c] = b;
  };
  for (const row of answer) {
    const r = outer.at(first ? idOf(row, first) : "", isInterval(first) ? row : null);
    if (wide)
      for (const [name, v] of Object.entries(row.values ?? {}))
        put(r, inner.at(name), number(v), null);
    else
      put(r, inner.at(second ? idOf(row, second) : ""), ...values(row, metric));
  }
  const width = inner.items.length;
  const whole = rowsOf => outer.items.map((_, r) => Array.from({length: width}, (_x, c) => rowsOf[r]?.[c] ?? null));
  const made = {rows: outer.items, cols: inner.items, now: whole(now), before: before && whole(before)};
  const t = turned ? {rows: made.cols, cols: made.rows, now: flip(made.now, width), before: before && flip(made.before, width)} : made;
  return arranged(t, cols);
}

function flip(cells, width) {
  return Array.from({length: width}, (_, c) => cells.map(row => row[c]));
}

/* Columns in an order that does not depend on the answer: times, days of the week, hours; values of tags by size. */
function arranged(t, cols) {
  const sizes = t.cols.map((_, c) => t.now.reduce((s, row) => s + Math.abs(row[c] ?? 0), 0));
  const rank = (a, b) => {
    if (isInterval(cols))
      return a.item.ms - b.item.ms;
    if (cols === "weekday")
      return WEEKDAYS.indexOf(a.item.id) - WEEKDAYS.indexOf(b.item.id);
    if (cols === "hourofday")
      return Number(a.item.id) - Number(b.item.id);
    return (a.item.id === OTHERS) - (b.item.id === OTHERS) || sizes[b.c] - sizes[a.c];
  };
  const order = t.cols.map((item, c) => ({item, c})).sort(rank);
  const pick = cells => cells && cells.map(row => order.map(o => row[o.c]));
  return {rows: t.rows, cols: order.map(o => o.item), now: pick(t.now), before: pick(t.before)};
}

/**
 * The sum of numbers, rounded once or nearly so (Neumaier 1974); null if there are none.
 * @param {Iterable<?number>} list
 */
export function total(list) {
  let sum = 0, lost = 0, any = false;
  for (const v of list) {
    if (v === null)
      continue;
    any = true;
    const next = sum + v;
    lost += Math.abs(sum) >= Math.abs(v) ? sum - next + v : v - next + sum;
    sum = next;
  }
  return any ? sum + lost : null;
}

function merged(list, merge) {
  if (merge === "add")
    return total(list);
  const found = list.filter(v => v !== null);
  return found.length ? found.reduce((a, b) => merge(a, b)) : null;
}

/**
 * Totals of the rows, of the columns and of everything, made of the cells, so that they agree with what is shown.
 * @returns {?{rows: Array, cols: Array, all: {now, before}}} each {now, before}; null if this aggregator cannot be made of cells
 */
export function totalsOf(t, agg) {
  const merge = merger(agg);
  if (!merge)
    return null;
  const one = pick => ({now: merged(pick(t.now), merge), before: t.before && merged(pick(t.before), merge)});
  return {
    rows: t.rows.map((_, r) => one(cells => cells[r])),
    cols: t.cols.map((_, c) => one(cells => cells.map(row => row[c]))),
    all: one(cells => cells.flat()),
  };
}

/**
 * The same of answers of the daemon, for averages and percentiles.
 * @param {Object} t the table
 * @param {{rows: Object, cols: Object, all: Object}} tables of one key each (readTable), whose ids are those of t
 */
export function totalsFrom(t, {rows, cols, all}) {
  const column = from => {
    const places = new Map(from.rows.map((row, r) => [row.id, r]));
    return item => {
      const r = places.get(item.id);
      return {now: from.now[r]?.[0] ?? null, before: from.before ? from.before[r]?.[0] ?? null : null};
    };
  };
  return {rows: t.rows.map(column(rows)), cols: t.cols.map(column(cols)), all: {now: all.now[0]?.[0] ?? null, before: all.before?.[0]?.[0] ?? null}};
}

/** What changed: {difference, change} of a number and the one before; change is a fraction; null where it means nothing. */
export function changeOf(now, before) {
  if (now === null || now === undefined || before === null || before === undefined)
    return {difference: null, change: null};
  return {difference: now - before, change: before === 0 ? null : (now - before) / Math.abs(before)};
}

/** The share of a number in the whole, as a fraction; null for aggregators that do not add up. */
export function shareOf(v, whole, agg) {
  return adds(agg) && v !== null && whole ? v / whole : null;
}

/** The usual order of rows: times and parts of time as they come, values of tags by size. */
function usual(t, totals, key) {
  if (isInterval(key))
    return (a, b) => t.rows[a].ms - t.rows[b].ms;
  if (key === "weekday")
    return (a, b) => WEEKDAYS.indexOf(t.rows[a].id) - WEEKDAYS.indexOf(t.rows[b].id);
  if (key === "hourofday")
    return (a, b) => Number(t.rows[a].id) - Number(t.rows[b].id);
  return (a, b) => (totals.rows[b].now ?? -Infinity) - (totals.rows[a].now ?? -Infinity);
}

/**
 * The order of the rows.
 * @param {string} key of the rows
 * @param {{by: string, down: boolean}} sort by: "" (the usual order), "label", "total", "before", "difference", "change" or "c:ID"
 * @returns {number[]} places in t.rows; rows without a value come last, "(others)" is always the very last
 */
export function orderOf(t, totals, key, {by, down}) {
  const places = t.rows.map((_, r) => r);
  const others = r => (t.rows[r].id === OTHERS ? 1 : 0);
  const plain = usual(t, totals, key);
  if (!by || (by === "label" && !isTag(key)))
    return places.sort((a, b) => others(a) - others(b) || (by && down ? plain(b, a) : plain(a, b)));
  if (by === "label") {
    const text = new Intl.Collator(undefined, {numeric: true});
    return places.sort((a, b) => others(a) - others(b) || (down ? -1 : 1) * text.compare(t.rows[a].id, t.rows[b].id));
  }
  const value = valueOf(t, totals, by);
  const keys = places.map(value);
  return places.sort((a, b) => others(a) - others(b) || (keys[a] === null) - (keys[b] === null)
    || (keys[a] === null ? 0 : down ? keys[b] - keys[a] : keys[a] - keys[b]) || plain(a, b));
}

function valueOf(t, totals, by) {
  if (by.startsWith("c:")) {
    const c = t.cols.findIndex(col => col.id === by.slice(2));
    return r => t.now[r][c] ?? null;
  }
  if (by === "before")
    return r => totals.rows[r].before;
  if (by === "difference" || by === "change")
    return r => changeOf(totals.rows[r].now, totals.rows[r].before)[by];
  return r => totals.rows[r].now;
}

/** `total`, `-total`: the order in the address. */
export function sortOf(text) {
  return text.startsWith("-") ? {by: text.slice(1), down: true} : {by: text, down: false};
}

/** The largest size of a cell, for the bars in them; 0 if there is none. */
export function largest(cells) {
  let most = 0;
  for (const row of cells)
    for (const v of row)
      if (v !== null && Math.abs(v) > most)
        most = Math.abs(v);
  return most;
}
