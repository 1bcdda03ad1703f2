/*
 * heat.js - heat maps: a table of hours with a number and a colour in each cell.
 *
 * Colours are classes of the style sheet (heat-0 to heat-8), chosen by quantile, so that one extreme value does not make all others
 * equal. Not here: which cells there are (heat_model.js).
 */
import {h} from "./dom.js";
import {borders, classOf, HOURS} from "./heat_model.js";
import {hourLabel, neat} from "./labels.js";
import {full, short} from "./number.js";

const CLASSES = 9;

/* Sums agree with the table in every digit; of averages three digits are enough here. */
const sum = v => (v === null ? "" : Number.isInteger(v) ? neat(v) : short(v));

function words(cell) {
  return [cell.isNow && "now", cell.cut && "not complete", cell.skipped && "the clock skips this hour", cell.twice && "this hour occurs twice",
    cell.later && "not yet"].filter(Boolean).join(", ");
}

function classes(cell, limits) {
  const found = ["num"];
  if (cell.v !== null)
    found.push(`heat-${classOf(cell.v, limits, CLASSES)}`);
  if (cell.isNow)
    found.push("now");
  if (cell.cut)
    found.push("unfinished");
  if (cell.skipped)
    found.push("skipped");
  return found.join(" ");
}

function cellOf(cell, limits, name, h24) {
  const note = words(cell);
  const value = cell.v === null ? (cell.skipped || cell.later ? "" : "no points") : full(cell.v);
  return h("td", {class: classes(cell, limits), title: `${name}, ${hourLabel(h24)}: ${[value, note].filter(Boolean).join("; ")}`},
    cell.v === null ? "" : short(cell.v), cell.twice && h("span", {class: "twice"}, "2 h"), note && h("span", {class: "hidden"}, ` ${note}`));
}

function legend(limits, values) {
  if (!values.length)
    return null;
  const least = Math.min(...values), most = Math.max(...values);
  const from = [least, ...limits];
  return h("p", {class: "legend"}, "Colours by quantile: ", from.map((v, i) =>
    h("span", {class: `swatch heat-${classOf(i === 0 ? least : (limits[i] ?? most), limits, CLASSES)}`},
      i === 0 ? `from ${short(v)}` : `above ${short(v)}`)), h("span", null, ` up to ${short(most)}`));
}

/**
 * A heat map.
 * @param {{caption: string, rows: Array<{name: string, cells: Array, sum: ?number, click?: function()}>, sums: ?Array<?number>,
 *   all: ?number, corner: string, sumWord: string}} map
 *   sums, sum and all: totals below, beside and of everything; null sums leave them out
 * @returns {HTMLElement}
 */
export function heatMap({caption, rows, sums, all, corner, sumWord}) {
  const values = rows.flatMap(row => row.cells.map(c => c.v)).filter(v => v !== null);
  const limits = borders(values, CLASSES);
  const head = h("tr", null, h("th", {scope: "col"}, corner), HOURS.map(x => h("th", {scope: "col", class: "num", title: hourLabel(x)}, x)),
    sums && h("th", {scope: "col", class: "num"}, sumWord));
  const body = rows.map(row => h("tr", null,
    h("th", {scope: "row"}, row.click ? h("button", {type: "button", class: "plain name", "on:click": row.click}, row.name) : row.name),
    row.cells.map((cell, i) => cellOf(cell, limits, row.name, HOURS[i])),
    sums && h("td", {class: "num sum", title: row.sum === null ? null : full(row.sum)}, sum(row.sum))));
  const foot = sums && h("tfoot", null, h("tr", null, h("th", {scope: "row"}, sumWord),
    sums.map(v => h("td", {class: "num sum", title: v === null ? null : full(v)}, sum(v))),
    h("td", {class: "num sum", title: all === null ? null : full(all)}, sum(all))));
  return h("div", null, h("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": caption},
    h("table", {class: "table heat"}, h("caption", {class: "hidden"}, caption), h("thead", null, head), h("tbody", null, body), foot)),
  legend(limits, values));
}
