/*
 * totals_form.js - the fields of the view Totals. They are made once and only get new values, so that the focus never moves.
 *
 * Not here: filters (totals_filter.js), what the values mean (totals_query.js).
 */
import {choice, field, fill, h} from "./dom.js";
import {metricField} from "./metric_field.js";
import {RANGES} from "./ranges.js";
import {AGGREGATORS, COMPARISONS, CYCLES, fits, INTERVALS, isInterval} from "./totals_query.js";
import {canShow} from "./totals_table.js";
import {format} from "./zone.js";

const TOPS = [["5", "5 largest"], ["10", "10 largest"], ["20", "20 largest"], ["50", "50 largest"], ["100", "100 largest"], ["0", "All"]];
const SHOWS = [["value", "Values"], ["share", "Share in %"], ["before", "Values before"], ["difference", "Difference"], ["change", "Change in %"]];

/* New options only if they differ: replacing those of an open list would close it. */
function setOptions(select, options, value) {
  const key = JSON.stringify(options);
  if (select.shown !== key) {
    fill(select, options.map(([v, words, disabled]) => h("option", {value: v, disabled: Boolean(disabled)}, words)));
    select.shown = key;
  }
  if (value && !options.some(o => o[0] === value))
    select.append(h("option", {value}, value));
  select.value = value;
}

function keyOptions(tags, other) {
  return [...INTERVALS.map(([k, words]) => [k, words, isInterval(other)]), ...CYCLES.map(([k, words]) => [k, words, k === other]),
    ...tags.map(t => [t.tagk, t.values === undefined ? t.tagk : `${t.tagk} (${t.values} values)`, t.tagk === other])];
}

/* A range by dates begins with the days of the range that was shown. */
function dates(spec, z) {
  const day = t => format(t, z, "input").slice(0, 10);
  return {start: day(spec.start), end: day(Math.min(spec.end, spec.now) - 1)};
}

/**
 * The form.
 * @param {{go: function(Object), zone: function(): string}} ctx of the view
 * @returns {{node: HTMLElement, show: function(Object, Object), error: function(string, string)}} show(spec, info): the values of a
 *   specification and what is known about its metric; error(field, text): beside the field it belongs to, "" clears all
 */
export function totalsForm(ctx) {
  const go = patch => ctx.go(patch);
  let last = null;
  const metric = metricField(name => go({metric: name, agg: null, f: null, cols: null, rows: null, sort: null}), () => last);
  const agg = choice(AGGREGATORS, "sum", v => go({agg: v}));
  const range = choice([...RANGES.map(r => [r[0], r[1]]), ["dates", "Dates …"]], "7days",
    v => go(v === "dates" ? dates(last, ctx.zone()) : {start: v, end: null}));
  const start = h("input", {type: "date", "on:change": () => { if (start.value) go({start: start.value, end: end.value || null}); }});
  const end = h("input", {type: "date", "on:change": () => { if (start.value) go({start: start.value, end: end.value || null}); }});
  const rows = choice([], "", v => go({rows: v, sort: null}));
  const cols = choice([], "", v => go({cols: v || null, sort: null}));
  const top = choice(TOPS, "20", v => go({top: v}));
  const cmp = choice([], "", v => go({cmp: v || null}));
  const show = choice([], "value", v => go({show: v}));
  const fields = {metric: field("Metric", metric.node), agg: field("Number", agg), range: field("Time", range), start: field("From", start),
    end: field("Up to and with", end), rows: field("A row for each of", rows), cols: field("A column for each of", cols),
    top: field("Values of tags", top), cmp: field("Compare each cell with", cmp), show: field("Cells show", show)};
  const node = h("form", {class: "panel bar-row", "aria-label": "What to count", "on:submit": e => e.preventDefault()}, Object.values(fields));
  return {node,
    show(spec, info) {
      last = spec;
      showValues({spec, info, metric, agg, range, start, end, rows, cols, top, cmp, show, fields, zone: ctx.zone()});
    },
    error(name, text) {
      Object.values(fields).forEach(f => f.error(""));
      if (text)
        (fields[name]?.hidden ? fields.range : fields[name] ?? fields.metric).error(text);
    }};
}

function showValues({spec, info, metric, agg, range, start, end, rows, cols, top, cmp, show, fields, zone}) {
  const tags = info?.tags ?? [];
  metric.show(spec.metric);
  setOptions(agg, AGGREGATORS, spec.agg);
  range.value = spec.name || "dates";
  fields.start.hidden = fields.end.hidden = Boolean(spec.name);
  const day = t => format(t, zone, "input").slice(0, 10);
  if (document.activeElement !== start)
    start.value = day(spec.start);
  if (document.activeElement !== end)
    end.value = day(spec.end - 1);
  setOptions(rows, keyOptions(tags, spec.cols), spec.rows);
  setOptions(cols, [["", "Nothing"], ...keyOptions(tags, spec.rows)], spec.cols);
  setOptions(top, TOPS, String(spec.top));
  const keys = [spec.rows, spec.cols].filter(Boolean);
  setOptions(cmp, [["", "Nothing"], ...COMPARISONS.map(([d, words]) => [d, words, !keys.every(k => fits(k, d))])], spec.compare);
  const compared = Boolean(spec.compare) && keys.every(k => fits(k, spec.compare));
  fields.cmp.error(spec.compare && !compared ? "Rows or columns would overlap; choose another length" : "");
  setOptions(show, SHOWS.filter(([s]) => canShow(s, spec.agg, compared)), canShow(spec.show, spec.agg, compared) ? spec.show : "value");
  fields.show.hidden = !spec.cols;
}

/** The field that an error of the API belongs to, by what it says. */
export function fieldOf(message) {
  const rules = [[/compare/, "cmp"], [/tagk|columns=|by=/, "rows"], [/such name|metric/i, "metric"], [/aggregator/i, "agg"], [/\btime|start|end\b/i, "range"]];
  return rules.find(([pattern]) => pattern.test(message))?.[1] ?? "metric";
}
