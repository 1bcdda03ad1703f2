/*
 * latest.js - the view Latest: the newest values of the series of a metric, their age, and a small curve of the last points.
 */
import {get, isAbort} from "./api.js";
import {metricInfo} from "./catalog.js";
import {curve} from "./curve.js";
import {field, fill, h, sorted, table} from "./dom.js";
import {newest} from "./metric_list.js";
import {neat} from "./labels.js";
import {metricField} from "./metric_field.js";
import {age, count} from "./number.js";
import {exploreLink} from "./start_model.js";
import {saveButtons} from "./sheet.js";
import {one} from "./state.js";
import {format} from "./zone.js";

export const title = "Latest";

const CURVE_POINTS = 40, CURVE_SERIES = 300, SHOWN = 100;

/** What `metric{a=b}` selects, as the API writes it. */
export function selection(metric, tags) {
  const list = tags.trim();
  return metric + (list ? `{${list.replace(/^\{|\}$/g, "")}}` : "");
}

/** Rows of an answer of /api/query/last with `n`: the newest point, and all of them in the order of time. */
export function latestRows(answer) {
  return answer.filter(s => s.dps.length).map(s => {
    const points = s.dps.map(([ms, v]) => [ms, typeof v === "number" ? v : null]).reverse();
    return {tags: s.tags, ms: s.dps[0][0], value: s.dps[0][1], points};
  });
}

/** All keys of the tags of the rows: first those that tell most rows apart. */
export function keysOf(rows) {
  const values = k => new Set(rows.map(r => r.tags[k])).size;
  return [...new Set(rows.flatMap(r => Object.keys(r.tags)))].sort().map(k => [k, values(k)]).sort((a, b) => b[1] - a[1]).map(k => k[0]);
}

function small(row) {
  const place = h("div", {class: "place small"});
  if (row.points.length > 1)
    curve(place, row.points, {label: `The last ${row.points.length} points`});
  return place;
}

function columnsOf(metric, kind, keys, now, zone, curves) {
  const [first, ...others] = keys.length ? keys : [""];
  return [
    {key: `tag ${first}`, title: first || "Series", heading: true, value: r => r.tags[first] ?? null,
      cell: r => h("a", {href: exploreLink({metric, kind, last: r.ms}, r.tags)}, r.tags[first] ?? (first ? "–" : metric))},
    {key: "value", title: "Value", align: "right", value: r => r.value, cell: r => h("strong", null, typeof r.value === "number" ? neat(r.value) : String(r.value))},
    {key: "age", title: "Age", align: "right", value: r => now - r.ms, cell: r => h("span", {title: format(r.ms, zone, "iso")}, age(r.ms, now))},
    ...(curves ? [{key: "curve", title: `Last ${CURVE_POINTS} points`, cell: small}] : []),
    ...others.map(k => ({key: `tag ${k}`, title: k, value: r => r.tags[k] ?? null, cell: r => r.tags[k] ?? "–"})),
    {key: "time", title: "Time", value: r => r.ms, cell: r => format(r.ms, zone, "full")},
  ];
}

function sheetOf(metric, keys, rows) {
  return {head: ["metric", ...keys, "timestamp", "value"], rows: rows.map(r => [metric, ...keys.map(k => r.tags[k] ?? null), r.ms, r.value])};
}

class Latest {
  constructor(root, ctx) {
    this.ctx = ctx;
    this.sort = {key: "age", down: false};
    this.running = null;
    this.metric = metricField(name => ctx.go({metric: name, tags: null, all: null}));
    this.tags = h("input", {size: "28", autocomplete: "off", spellcheck: "false", placeholder: "host=web1, disk=a|b",
      "on:change": () => ctx.go({tags: this.tags.value.trim() || null})});
    this.fields = {metric: field("Metric", this.metric.node), tags: field("Only series with these tags", this.tags)};
    this.status = h("p", {class: "hint", role: "status"});
    this.body = h("div", {"aria-busy": "true"});
    fill(root, h("h1", null, title), h("form", {class: "panel bar-row", "on:submit": e => e.preventDefault()}, this.fields.metric, this.fields.tags),
      this.status, this.body);
    ctx.every(() => this.run(ctx.state));
  }

  async run(state) {
    this.running?.abort();
    const mine = this.running = new AbortController();
    const signal = AbortSignal.any([mine.signal, this.ctx.signal]);
    try {
      await this.show(state, signal);
      this.fields.metric.error("");
      this.fields.tags.error("");
    } catch (error) {
      if (isAbort(error))
        return;
      this.status.textContent = "";
      this.fields[/tag/i.test(error.message) ? "tags" : "metric"].error(error.message);
    }
    this.body.removeAttribute("aria-busy");
  }

  async show(state, signal) {
    const metric = one(state, "metric") || (await newest(1, {signal}))[0]?.metric;
    if (!metric) {
      this.status.textContent = "There are no metrics yet; see Start.";
      return;
    }
    this.metric.show(metric);
    if (document.activeElement !== this.tags)
      this.tags.value = one(state, "tags");
    const info = await metricInfo(metric, {signal});
    const curves = !(info.series > CURVE_SERIES);
    const answer = await get("api/query/last", {timeseries: selection(metric, one(state, "tags")), n: curves ? CURVE_POINTS : 1}, {signal});
    this.draw(metric, info, latestRows(answer), curves, one(state, "all") === "1");
  }

  draw(metric, info, rows, curves, all) {
    const now = Date.now(), keys = keysOf(rows), zone = this.ctx.zone();
    rows.sort((a, b) => b.ms - a.ms);
    const shown = all ? rows : rows.slice(0, SHOWN);
    this.status.textContent = rows.length === 0 ? `${metric} has no series with these tags.`
      : `${shown.length < rows.length ? `The ${count(shown.length)} newest of ` : ""}${count(rows.length)} series of ${metric}${info.unit ? ` in ${info.unit}` : ""}`;
    const columns = columnsOf(metric, info.kind, keys, now, zone, curves);
    const node = table(columns, sorted(shown, columns.find(c => c.key === this.sort.key) ?? columns[0], this.sort.down), {sort: this.sort, caption: `Newest values of ${metric}`,
      onSort: next => { this.sort = next; this.draw(metric, info, rows, curves, all); }});
    const active = document.activeElement?.dataset?.key;
    fill(this.body, rows.length > 0 && h("p", {class: "noprint"}, saveButtons(`${metric}-latest`, () => sheetOf(metric, keys, shown))));
    this.body.append(node, shown.length < rows.length ? h("button", {type: "button", "on:click": () => this.ctx.go({all: "1"})}, `Show all ${count(rows.length)}`) : "");
    if (active)
      this.body.querySelector(`[data-key="${CSS.escape(active)}"]`)?.focus();
  }
}

/** Opens the view. Contract: main.js. */
export function open(root, ctx) {
  const view = new Latest(root, ctx);
  return {update: state => view.run(state), close() {}};
}
