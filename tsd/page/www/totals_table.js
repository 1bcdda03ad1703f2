/*
 * totals_table.js - the table of totals: sorted by its headings, with bars, shares, totals, and rows added while one scrolls.
 *
 * Not here: the numbers (totals_model.js), saving them (sheet.js).
 */
import {h} from "./dom.js";
import {neat, tenth} from "./labels.js";
import {count} from "./number.js";
import {changeOf, largest, orderOf, OTHERS, shareOf, sortOf} from "./totals_model.js";
import {adds, isCycle} from "./totals_query.js";

const FIRST_CELLS = 1000; /* drawn at once; more when one scrolls to them, all before printing */

/** A change in percent with its sign: +12.3 %. */
export function signed(change) {
  return change === null ? "" : (change > 0 ? "+" : "") + tenth(change);
}

function signedNumber(v) {
  return v === null ? "" : (v > 0 ? "+" : "") + neat(v);
}

const tone = v => (v === null || v === 0 ? "" : v > 0 ? " more" : " less");

/**
 * The columns behind the name of a row.
 * @returns {Array<{key: string, title: string, of: function(number): {text, bar?, tone?, cut?}, raw: function(number), foot: Object}>}
 *   of(r): what the cell of row r shows; raw(r): its number for files
 */
export function columnsOf({table: t, totals, spec, labels, agg}) {
  const found = [];
  const most = largest(t.cols.length > 1 ? t.now.filter((_, r) => t.rows[r].id !== OTHERS) : []);
  const all = totals.all;
  if (spec.cols)
    t.cols.forEach((col, c) => found.push(cellColumn({t, totals, spec, agg, most, c, title: labels.cols[c]})));
  const sums = totals.rows;
  const widest = largest([sums.filter((_, r) => t.rows[r].id !== OTHERS).map(s => s.now)]);
  const word = spec.cols ? totalWord(spec.agg) : spec.valueTitle;
  found.push({key: "total", title: word, raw: r => sums[r].now, sum: Boolean(spec.cols),
    of: r => ({text: neat(sums[r].now), bar: bar(sums[r].now, widest), cut: t.rows[r].partial}),
    foot: {raw: all.now, text: neat(all.now)}});
  if (adds(agg) && all.now)
    found.push({key: "share", sortKey: "total", title: "Share", raw: r => shareOf(sums[r].now, all.now, agg),
      of: r => ({text: tenth(shareOf(sums[r].now, all.now, agg))}), foot: {raw: 1, text: tenth(1)}});
  if (t.before)
    found.push(...comparedColumns(t, sums, all));
  return found;
}

/** What the totals of rows and columns are called: totals of averages are averages. */
export function totalWord(agg) {
  return adds(agg) ? "Total" : "All";
}

function bar(v, most) {
  return v !== null && most > 0 && v >= 0 ? Math.round(v / most * 1000) / 10 : 0;
}

function comparedColumns(t, sums, all) {
  const change = r => changeOf(sums[r].now, sums[r].before);
  const whole = changeOf(all.now, all.before);
  return [
    {key: "before", title: "Before", raw: r => sums[r].before, of: r => ({text: neat(sums[r].before)}),
      foot: {raw: all.before, text: neat(all.before)}},
    {key: "difference", title: "Difference", raw: r => change(r).difference,
      of: r => ({text: signedNumber(change(r).difference), tone: tone(change(r).difference)}),
      foot: {raw: whole.difference, text: signedNumber(whole.difference), tone: tone(whole.difference)}},
    {key: "change", title: "Change", raw: r => change(r).change, of: r => ({text: signed(change(r).change), tone: tone(change(r).change)}),
      foot: {raw: whole.change, text: signed(whole.change), tone: tone(whole.change)}},
  ];
}

/* What the cells of a table with columns show, by the choice "Cells show". */
function shown(spec, agg, now, before, all) {
  const {difference, change} = changeOf(now, before);
  switch (spec.show) {
  case "share": return {raw: shareOf(now, all, agg), text: tenth(shareOf(now, all, agg))};
  case "before": return {raw: before, text: neat(before)};
  case "difference": return {raw: difference, text: signedNumber(difference), tone: tone(difference)};
  case "change": return {raw: change, text: signed(change), tone: tone(change)};
  default: return {raw: now, text: neat(now)};
  }
}

/** Can the cells show this? */
export function canShow(show, agg, compared) {
  return show === "value" || (show === "share" ? adds(agg) : compared);
}

function cellColumn({t, totals, spec, agg, most, c, title}) {
  const show = canShow(spec.show, agg, Boolean(t.before)) ? spec : {...spec, show: "value"};
  const at = r => shown(show, agg, t.now[r][c], t.before ? t.before[r][c] : null, totals.all.now);
  const whole = shown(show, agg, totals.cols[c].now, totals.cols[c].before ?? null, totals.all.now);
  const bars = show.show === "value" || show.show === "share";
  return {key: `c:${t.cols[c].id}`, title, raw: r => at(r).raw, foot: whole, cut: t.cols[c].partial,
    of: r => ({...at(r), bar: bars && t.rows[r].id !== OTHERS ? bar(t.now[r][c], most) : 0,
      cut: t.cols[c].partial || (t.rows[r].partial && !isCycle(spec.cols))})};
}

function cell(tag, {text, bar: width, tone: how, cut}, extra = "") {
  const attrs = {class: `num${extra}${how ?? ""}${width ? " bar" : ""}${cut ? " unfinished" : ""}`};
  if (width)
    attrs["style:--bar"] = `${width}%`;
  if (cut)
    attrs.title = "Not complete: the time is not over, or the range cuts it off";
  return h(tag, attrs, text);
}

function heading(column, sort, onSort) {
  const by = column.sortKey ?? column.key;
  const active = (sort.by || "") === by && column.key === by;
  const next = active ? (sort.down ? by : `-${by}`) : column.key === "label" ? by : `-${by}`;
  return h("th", {scope: "col", class: `${column.key === "label" ? "" : "num"}${column.cut ? " unfinished" : ""}`,
    "aria-sort": active ? (sort.down ? "descending" : "ascending") : "none"},
  h("button", {type: "button", class: "sort", "data-key": column.key, "on:click": () => onSort(next)}, column.title,
    h("span", {class: "direction", "aria-hidden": "true"}, active ? (sort.down ? " ▾" : " ▴") : "")));
}

/**
 * The table.
 * @param {Object} model {table, totals, spec, labels: {rows, cols}, agg}
 * @param {{corner: string, caption: string, onSort: function(string), onRow: function(number): ?function()}} actions
 *   onRow(r): what a click on the name of row r does; null for nothing
 * @returns {{node: HTMLElement, sort: function(string), sheet: function(): Object, all: function()}} sort: in another order, without
 *   making a new table; all: draws the rest of the rows
 */
export function totalsTable(model, {corner, caption, onSort, onRow}) {
  const {table: t, totals, spec, labels} = model;
  const columns = columnsOf(model);
  const thead = h("thead"), tbody = h("tbody"), rest = h("p", {class: "rest noprint"});
  const chunk = Math.max(25, Math.floor(FIRST_CELLS / columns.length));
  let order = [], drawn = 0, watcher = null;
  const line = r => h("tr", null, name(labels.rows[r], onRow(r), t.rows[r].partial), columns.map(c => cell("td", c.of(r), c.sum ? " sum" : "")));
  const more = n => {
    tbody.append(...order.slice(drawn, drawn + n).map(line));
    drawn = Math.min(order.length, drawn + n);
    rest.replaceChildren(...(drawn < order.length ? [h("button", {type: "button", "on:click": () => more(order.length)},
      `Show all ${count(order.length)} rows (${count(drawn)} are shown)`)] : []));
  };
  const sort = text => {
    const by = sortOf(text);
    order = orderOf(t, totals, spec.rows, by);
    drawn = 0;
    thead.replaceChildren(h("tr", null, [{key: "label", title: corner}, ...columns].map(c => heading(c, by, onSort))));
    tbody.replaceChildren();
    more(chunk);
  };
  sort(spec.sort);
  if (drawn < order.length) {
    watcher = new IntersectionObserver(seen => { if (seen.some(s => s.isIntersecting) && drawn < order.length) more(chunk); }, {rootMargin: "400px"});
    watcher.observe(rest);
  }
  const node = h("div", null, h("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": caption},
    h("table", {class: "table totals"}, h("caption", {class: "hidden"}, caption), thead, tbody, foot(columns, model))), rest);
  return {node, sort, all: () => more(order.length), close: () => watcher?.disconnect(),
    sheet: () => sheetOf(model, columns, order, corner)};
}

function name(label, click, cut) {
  return h("th", {scope: "row", class: cut ? "unfinished" : null},
    click ? h("button", {type: "button", class: "plain name", "on:click": click}, label) : label);
}

function foot(columns, {table: t, spec, agg, totals}) {
  if (t.rows.length < 2)
    return null;
  const word = totalWord(spec.agg);
  const sums = h("tr", null, h("th", {scope: "row"}, word), columns.map(c => cell("td", {...c.foot, cut: c.cut}, " sum")));
  const shares = spec.cols && adds(agg) && totals.all.now && spec.show !== "share"
    ? h("tr", null, h("th", {scope: "row"}, "Share"), columns.map((c, i) => h("td", {class: "num"},
      i < t.cols.length ? tenth(shareOf(totals.cols[i].now, totals.all.now, agg)) : i === t.cols.length ? tenth(1) : ""))) : null;
  return h("tfoot", null, sums, shares);
}

function sheetOf({table: t, totals, spec, labels}, columns, order, corner) {
  const head = [corner, ...columns.map(c => c.title)];
  const rows = order.map(r => [labels.ids[r], ...columns.map(c => c.raw(r))]);
  if (t.rows.length > 1)
    rows.push([totalWord(spec.agg), ...columns.map(c => c.foot.raw ?? null)]);
  return {head, rows, totals};
}
