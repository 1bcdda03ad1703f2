/*
 * compare.js - the whole range as one number, and how it compares with the same elapsed time of earlier ranges.
 *
 * Not here: comparing cell by cell (totals_table.js).
 */
import {h, table} from "./dom.js";
import {neat, rangeLabel} from "./labels.js";
import {changeOf} from "./totals_model.js";
import {signed} from "./totals_table.js";

/**
 * @param {{title: string, now: ?number, unit: string, spec: Object, earlier: Array<{label: string, start: number, end: number, before: ?number}>}} what
 *   before: null: no points; undefined: not known yet
 * @returns {HTMLElement}
 */
export function comparePanel({title, now, unit, spec, earlier}) {
  const tone = v => (v === null || v === 0 ? "" : v > 0 ? "more" : "less");
  const rows = earlier.map(e => ({...e, ...changeOf(now, e.before)}));
  const columns = [
    {key: "label", title: "Compared with", heading: true,
      cell: r => h("span", null, r.label, h("span", {class: "hint block"}, rangeLabel(r.start, r.end, spec.zone)))},
    {key: "before", title: "Then", align: "right", cell: r => (r.before === undefined ? "…" : r.before === null ? "no points" : neat(r.before))},
    {key: "difference", title: "Difference", align: "right",
      cell: r => h("span", {class: tone(r.difference)}, r.difference === null ? "" : (r.difference > 0 ? "+" : "") + neat(r.difference))},
    {key: "change", title: "Change", align: "right", cell: r => h("span", {class: tone(r.change)}, signed(r.change))},
  ];
  return h("div", {class: "panel whole"},
    h("div", {class: "figure"}, h("span", {class: "hint block"}, title), h("span", {class: "big"}, now === null ? "no points" : neat(now), unit && ` ${unit}`),
      h("span", {class: "hint block"}, rangeLabel(spec.start, Math.min(spec.end - 1, spec.now), spec.zone))),
    rows.length > 0 && table(columns, rows, {caption: "Compared over the same elapsed time"}));
}
