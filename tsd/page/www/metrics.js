/*
 * metrics.js - the view Metrics: what is stored, what makes it many series, what reads it, what expires; kinds and units can be set.
 */
import {get, isAbort, post} from "./api.js";
import {metricInfo} from "./catalog.js";
import {metrics, partialWords} from "./metric_list.js";
import {choice, field, fill, h, table, toggle} from "./dom.js";
import {tenth} from "./labels.js";
import {age, bytes, count, short} from "./number.js";
import {exploreLink} from "./start_model.js";
import {saveButtons} from "./sheet.js";
import {has, one} from "./state.js";
import {add, format, startOf} from "./zone.js";

export const title = "Metrics";

const PAGE = 50;
const ORDERS = [["name", "Name"], ["written", "Written last"], ["points", "Points"], ["series", "Series"], ["bytes", "Bytes"]];
const KINDS = [["gauge", "gauge: a state at a time"], ["count", "count: a number of new events"], ["counter", "counter: grows until it is reset"]];

/** Growth of today against yesterday as a fraction of what yesterday had until now; null if there is nothing to compare. */
export function growth({points_today: today, points_yesterday: before}) {
  return before > 0 && today !== undefined ? (today - before) / before : null;
}

/** Columns of the parts that the daemon knows of these rows. */
export function knownColumns(rows, all) {
  return all.filter(c => c.always || rows.some(r => r[c.key] !== undefined && r[c.key] !== null));
}

function columnsOf(ctx, now) {
  const zone = ctx.zone();
  const about = r => (r.estimated ? "~" : ""); /* before what may be far off */
  const time = ms => (ms ? h("span", {title: format(ms, zone, "iso")}, age(ms, now)) : "never");
  return [
    {key: "metric", title: "Metric", heading: true, always: true, sort: "name", cell: r => h("button", {type: "button", class: "plain name", "data-key": r.metric,
      "on:click": () => ctx.go({metric: r.metric})}, r.metric)},
    {key: "kind", title: "Kind", cell: r => [r.kind ?? "", r.unit && h("span", {class: "hint"}, ` ${r.unit}`)]},
    {key: "series", title: "Series", align: "right", sort: "series", cell: r => count(r.series)},
    {key: "points", title: "Points", align: "right", sort: "points", cell: r => h("span", {title: count(r.points)}, about(r) + short(r.points))},
    {key: "bytes", title: "Size", align: "right", sort: "bytes", cell: r => bytes(r.bytes)},
    {key: "last", title: "Last point", align: "right", sort: "written", cell: r => [r.last && about(r), time(r.last)]},
    {key: "first", title: "First point", align: "right", cell: r => (r.first ? format(r.first, zone, "date") : "")},
    {key: "points_today", title: "Today", align: "right", help: "Points since midnight", cell: r => short(r.points_today)},
    {key: "points_yesterday", title: "Against yesterday", align: "right", help: "Points of today against those of yesterday until the same time",
      cell: r => { const g = growth(r); return g === null ? "" : h("span", {title: `${count(r.points_yesterday)} points yesterday until now`}, (g > 0 ? "+" : "") + tenth(g)); }},
    {key: "reads", title: "Read", align: "right", help: "How often queries have read it since the daemon was started", cell: r => count(r.reads)},
    {key: "last_read", title: "Last read", align: "right", cell: r => time(r.last_read)},
  ];
}

/* The id of a metric, which its metadata is stored under. */
async function uidOf(metric, signal) {
  const found = await get("api/search/uidmeta", {query: `name:${metric}`}, {signal});
  const one = found.results.find(r => r.type === "METRIC" && r.name === metric);
  if (!one)
    throw new Error(`The id of ${metric} was not found; set the kind with: tsd metric set ${metric} kind=count`);
  return one.uid;
}

function kindForm(info, ctx, done) {
  let kind = info.kind ?? "gauge";
  const unit = h("input", {value: info.unit ?? "", size: "12", maxlength: "64"});
  const fields = {kind: field("Kind", choice(KINDS, kind, v => { kind = v; })), unit: field("Unit", unit)};
  const submit = async e => {
    e.preventDefault();
    try {
      const uid = await uidOf(info.metric, ctx.signal);
      await post("api/uid/uidmeta", {uid, type: "metric", customMerge: {kind, unit: unit.value.trim()}}, {signal: ctx.signal});
      done();
    } catch (error) {
      if (!isAbort(error))
        fields.kind.error(error.message);
    }
  };
  return h("form", {class: "bar-row", "on:submit": submit}, fields.kind, fields.unit, h("button", {type: "submit"}, "Save"),
    info.source && h("span", {class: "hint"}, {set: "set by a user", "built in": "built in", default: "nobody has set it"}[info.source] ?? ""));
}

function tagTable(info) {
  const columns = [
    {key: "tagk", title: "Tag", heading: true, value: t => t.tagk},
    {key: "values", title: "Values", align: "right", value: t => t.values, cell: t => (t.values === undefined ? "" : count(t.values))},
    {key: "example", title: "For example", cell: t => (t.example ?? []).join(", ")},
    {key: "open", title: "More", cell: t => h("a", {href: "#" + new URLSearchParams({v: "totals", metric: info.metric, rows: t.tagk})}, "Totals")},
  ];
  return table(columns, info.tags, {sort: {key: "values", down: true}, caption: "There are at most as many series as the product of the numbers"});
}

function details(info, ctx, now, refresh) {
  const facts = [info.series !== undefined && `${count(info.series)} series`, info.points !== undefined && `${count(info.points)} points`,
    info.bytes !== undefined && bytes(info.bytes), info.points > 0 && info.bytes && `${short(info.bytes / info.points)} bytes a point`,
    info.last && `last point ${age(info.last, now)}`, info.reads !== undefined && `read ${count(info.reads)} times`].filter(Boolean).join(", ");
  const expires = info.expires === undefined ? null
    : info.expires === null ? "Its points never expire." : `Its oldest expire ${info.expires > now ? "on" : "since"} ${format(info.expires, ctx.zone(), "minute")}.`;
  const links = h("p", {class: "buttons"}, h("a", {class: "button", href: exploreLink({...info, kind: info.likely})}, "Graph"),
    h("a", {class: "button", href: "#" + new URLSearchParams({v: "totals", metric: info.metric})}, "Totals"),
    h("a", {class: "button", href: "#" + new URLSearchParams({v: "latest", metric: info.metric})}, "Latest values"),
    h("button", {type: "button", "on:click": () => ctx.go({metric: null})}, "Close"));
  return h("section", {class: "panel", "aria-label": info.metric}, h("h2", null, info.metric), facts && h("p", null, facts + (info.estimated ? " (estimated)" : "")),
    expires && h("p", null, expires), links, kindForm(info, ctx, refresh), info.tags.length > 0 && tagTable(info));
}

class Metrics {
  constructor(root, ctx) {
    this.ctx = ctx;
    this.limit = PAGE;
    this.selected = "";
    this.match = h("input", {type: "search", size: "24", autocomplete: "off", spellcheck: "false", "on:input": () => {
      this.limit = PAGE;
      ctx.go({match: this.match.value.trim() || null}, {push: false});
    }});
    this.order = choice(ORDERS, "name", v => ctx.go({sort: v}, {push: false}));
    this.own = toggle("Those of tsd itself, too", false, on => ctx.go({own: on ? "1" : null}, {push: false}));
    this.fields = {match: field("Names with", this.match), order: field("Order", this.order)};
    this.status = h("p", {class: "hint", role: "status"});
    this.details = h("div");
    this.body = h("div", {"aria-busy": "true"});
    fill(root, h("h1", null, title), h("form", {class: "panel bar-row", "on:submit": e => e.preventDefault()}, Object.values(this.fields), this.own), this.details, this.status, this.body);
    ctx.every(() => this.run(ctx.state));
  }

  async run(state) {
    this.running?.abort();
    const mine = this.running = new AbortController();
    const signal = AbortSignal.any([mine.signal, this.ctx.signal]);
    try {
      const sort = one(state, "sort") || "written";
      this.order.value = sort;
      this.own.firstChild.checked = has(state, "own");
      if (document.activeElement !== this.match)
        this.match.value = one(state, "match");
      await Promise.all([this.list(one(state, "match"), sort, has(state, "own"), signal), this.open(one(state, "metric"), signal)]);
      this.fields.match.error("");
    } catch (error) {
      if (!isAbort(error))
        this.fields.match.error(error.message);
    }
    this.body.removeAttribute("aria-busy");
  }

  async list(match, sort, all, signal) {
    const zone = this.ctx.zone(), today = startOf("day", Date.now(), zone);
    const own = all || match.startsWith("tsd"); /* who types the prefix means it */
    const found = await metrics({match, sort, own, limit: this.limit, today, yesterday: add(today, -1, "day", zone)}, {signal});
    const now = Date.now(), rows = found.metrics;
    const columns = knownColumns(rows, columnsOf(this.ctx, now)).map(c => (c.sort ? {...c, value: r => r[c.key]} : {...c, value: undefined}));
    const at = columns.find(c => c.sort === sort);
    const node = table(columns, rows, {caption: "Metrics", sort: at ? {key: at.key, down: sort !== "name"} : null,
      onSort: next => this.ctx.go({sort: columns.find(c => c.key === next.key).sort}, {push: false})});
    this.status.textContent = rows.length ? `${count(rows.length)}${found.more ? ` of ${count(found.total)}` : ""} metrics${partialWords(found)}${found.estimated ? "; ~ marks estimates" : ""}`
      : match ? `No metric has "${match}" in its name.` : "There are no metrics yet; see Start.";
    const head = rows.length > 0 && h("p", {class: "noprint"}, saveButtons("metrics", () => ({head: columns.map(c => c.key), rows: rows.map(r => columns.map(c => r[c.key] ?? null))})));
    const more = found.more && h("button", {type: "button", "data-key": "more", "on:click": () => { this.limit += PAGE; this.run(this.ctx.state); }}, "Show more");
    const active = this.body.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    fill(this.body, head, rows.length > 0 && node, more);
    if (active)
      this.body.querySelector(`[data-key="${CSS.escape(active)}"]`)?.focus();
  }

  async open(metric, signal) {
    if (!metric) {
      this.selected = "";
      fill(this.details);
      return;
    }
    if (metric === this.selected)
      return;
    const info = await metricInfo(metric, {signal});
    this.selected = metric;
    const again = () => { this.selected = ""; this.run(this.ctx.state); };
    fill(this.details, details(info, this.ctx, Date.now(), again));
    this.details.scrollIntoView({block: "nearest"});
  }
}

/** Opens the view. Contract: main.js. */
export function open(root, ctx) {
  const view = new Metrics(root, ctx);
  return {update: state => view.run(state), close() {}};
}
