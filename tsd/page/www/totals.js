/*
 * totals.js - the view Totals: numbers by day, hour and tag as a table, as heat maps, and compared with earlier times.
 *
 * One specification (totals_query.js) makes all requests, so that every part shows the same points. What was shown stays until the
 * answer is there; a newer question ends the older one, and so does Escape.
 */
import {get, isAbort} from "./api.js";
import {metricInfo} from "./catalog.js";
import {comparePanel} from "./compare.js";
import {fill, h, painted} from "./dom.js";
import {aggregatorFor} from "./kind.js";
import {labelsOf} from "./labels.js";
import {newest} from "./metric_list.js";
import {kindOf} from "./start_model.js";
import {savedLists} from "./saved.js";
import {format as hashOf, one} from "./state.js";
import {fieldOf, totalsForm} from "./totals_form.js";
import {totalsFilter, withFilter} from "./totals_filter.js";
import {totalsMaps} from "./totals_maps.js";
import {OTHERS, readTable, totalsFrom, totalsOf} from "./totals_model.js";
import {AGGREGATORS, comparisons, CYCLES, INTERVALS, isInterval, isTag, merger, narrower, queryText, specOf, tableRequest, wholeRequest} from "./totals_query.js";
import {saveButtons} from "./sheet.js";
import {totalsTable} from "./totals_table.js";
import {format} from "./zone.js";

export const title = "Totals";

/** One question of the API, read as a table. */
async function ask(request, spec, signal, rows = spec.rows, cols = spec.cols) {
  const answer = await get("api/query", request.params, {signal});
  return {...readTable(answer, request, {...spec, rows, cols}), lacks: answer.lacks};
}

/** The table and its totals: made of its cells where that is exact, else asked of the daemon. */
export async function askTable(spec, signal, rows = spec.rows, cols = spec.cols, compare = spec.compare) {
  const request = tableRequest(spec, rows, cols, compare);
  const distance = request.params.compare ?? "";
  if (merger(spec.agg)) {
    const table = await ask(request, spec, signal, rows, cols);
    return {table, totals: totalsOf(table, spec.agg)};
  }
  const by = key => (key ? ask(tableRequest(spec, key, "", distance), spec, signal, key, "") : null);
  const whole = ask(wholeRequest(spec, distance), spec, signal, "", "");
  const [table, byRows, byCols, all] = await Promise.all([ask(request, spec, signal, rows, cols), by(rows), by(cols), whole]);
  return {table, totals: totalsFrom(table, {rows: byRows, cols: byCols ?? {rows: [], now: []}, all})};
}

/** The numbers of the earlier ranges that the whole is compared with. @returns {Promise<Array<{label: string, start: number, end: number, before: ?number}>>} */
export function askEarlier(spec, signal) {
  return Promise.all(comparisons(spec).map(async c => {
    const params = {...wholeRequest(spec).params, start: c.start, end: c.end};
    const {now} = await ask({params, wide: false, turned: false}, spec, signal, "", "");
    return {...c, before: now[0]?.[0] ?? null};
  }));
}

const keyWord = key => INTERVALS.concat(CYCLES).find(k => k[0] === key)?.[1] ?? key;

/* Names of rows in files: dates as ISO writes them, which programs read. */
function machineNames(items, key, zone) {
  if (!isInterval(key))
    return items.map(i => i.id);
  const length = {hour: 25, day: 10, week: 10, month: 7, quarter: 7, year: 4}[key];
  return items.map(i => format(i.ms, zone, "iso").slice(0, length));
}

function labelled(model, spec) {
  const {table} = model;
  return {...model, spec, agg: spec.agg, labels: {rows: labelsOf(table.rows, spec.rows, spec.zone), cols: labelsOf(table.cols, spec.cols, spec.zone, true),
    ids: machineNames(table.rows, spec.rows, spec.zone)}};
}

/* What a click on the name of a row does. */
function rowAction(spec, table, r, go) {
  const {id, ms} = table.rows[r];
  if (isTag(spec.rows))
    return id === OTHERS || id === "(none)" ? null : () => go({f: withFilter(spec.filters, spec.rows, id)});
  const patch = isInterval(spec.rows) ? narrower(spec.rows, ms, spec.zone) : null;
  return patch && (() => go(patch));
}

class Totals {
  constructor(root, ctx) {
    this.ctx = ctx;
    this.infos = new Map();
    this.asked = "";
    this.running = null;
    this.table = null;
    this.form = totalsForm(ctx);
    this.filter = totalsFilter(ctx);
    this.whole = h("div");
    this.body = h("section", {class: "part"});
    this.maps = totalsMaps(ctx, askTable);
    this.status = h("p", {class: "hint", role: "status"});
    this.results = h("div", {class: "results"}, this.whole, this.body, this.maps.node);
    fill(root, h("h1", null, title), this.form.node, this.filter.node, this.status, this.results,
      savedLists(() => ({hash: hashOf(ctx.state), title: `Totals of ${one(ctx.state, "metric", "the metric")} by ${one(ctx.state, "rows", "day")}`})));
    addEventListener("keydown", e => { if (e.key === "Escape") this.cancel(); }, {signal: ctx.signal});
    addEventListener("beforeprint", () => this.table?.all(), {signal: ctx.signal});
    ctx.every?.(() => this.run(ctx.state, true));
  }

  cancel() {
    if (this.running) {
      this.running.abort();
      this.status.textContent = "Cancelled; what is shown is older.";
    }
  }

  /* The metric to begin with: one that counts, else the one written last. */
  async first(signal) {
    const list = await newest(200, {signal});
    return (list.find(m => m.metric === "web.hits") ?? list.find(m => kindOf(m) === "count") ?? list[0])?.metric ?? "";
  }

  async info(metric, signal) {
    if (!this.infos.has(metric))
      this.infos.set(metric, await metricInfo(metric, {signal}));
    return this.infos.get(metric);
  }

  async run(state, again = false) {
    const value = name => one(state, name);
    const zone = this.ctx.zone();
    const key = JSON.stringify([zone, ...["metric", "agg", "start", "end", "rows", "cols", "top", "cmp", "show"].map(value), state.f ?? []]);
    if (key === this.asked && !again)
      return this.adjust(state);
    this.running?.abort();
    const mine = this.running = new AbortController();
    const signal = AbortSignal.any([mine.signal, this.ctx.signal]);
    this.asked = key;
    try {
      this.results.setAttribute("aria-busy", "true");
      await this.show(state, value, zone, signal, mine);
    } catch (error) {
      if (isAbort(error))
        return null;
      this.asked = "";
      this.status.textContent = "";
      this.form.error(error.field ?? fieldOf(error.message), error.message);
    } finally {
      if (this.running === mine) {
        this.running = null;
        this.results.removeAttribute("aria-busy");
      }
    }
    return null;
  }

  /* The specification; if its times cannot be read, the fields show the usual ones beside the error. */
  specOrUsual(value, filters, known, info) {
    try {
      return specOf(value, filters, known);
    } catch (error) {
      this.form.show(specOf(name => (name === "start" || name === "end" ? "" : value(name)), filters, known), info);
      throw error;
    }
  }

  async show(state, value, zone, signal, mine) {
    const metric = value("metric") || await this.first(signal);
    if (!metric) {
      this.status.textContent = "There are no metrics yet; see Start.";
      return;
    }
    const info = await this.info(metric, signal);
    const named = name => (name === "metric" ? metric : value(name));
    const spec = this.specOrUsual(named, state.f ?? [], {zone, now: Date.now(), agg: aggregatorFor(info.likely)}, info);
    spec.valueTitle = [AGGREGATORS.find(a => a[0] === spec.agg)?.[1] ?? spec.agg, info.unit && `(${info.unit})`].filter(Boolean).join(" ");
    this.form.show(spec, info);
    this.filter.show(spec, info);
    const begun = performance.now();
    const model = await askTable(spec, signal);
    if (this.running !== mine)
      return;
    this.form.error("", "");
    this.form.show(spec, info);
    const compared = earlier => fill(this.whole, comparePanel({title: `${spec.valueTitle} of ${spec.metric}`, now: model.totals.all.now, unit: info.unit, spec, earlier}));
    compared(comparisons(spec));
    this.draw(labelled(model, spec));
    this.status.textContent = model.table.rows.length ? `${spec.metric}, time zone ${spec.zone}; answered in ${Math.round(performance.now() - begun)} ms`
      : `${spec.metric} has no points in this time${spec.filters.length ? " under these filters" : ""}. `;
    const day = ms => format(ms, zone, "input").slice(0, 10);
    if (!model.table.now.flat().some(v => v !== null) && info.last < spec.start)
      this.status.append(" ", h("button", {type: "button", class: "quiet", "on:click": () => this.ctx.go({start: day(info.last - 6 * 864e5), end: day(info.last)})}, `Show the week until ${day(info.last)}`));
    this.status.append(model.table.lacks ?? "");
    await painted(); /* the table comes first */
    signal.throwIfAborted();
    await Promise.all([askEarlier(spec, signal).then(compared), this.maps.show(spec, state, signal)]);
  }

  draw(model) {
    const {spec, table} = model;
    const heading = `${spec.valueTitle} of ${spec.metric} by ${[spec.rows, spec.cols].filter(Boolean).map(k => keyWord(k).toLowerCase()).join(" and ")}`;
    this.table?.close();
    const sort = one(this.ctx.state, "sort");
    this.table = totalsTable({...model, spec: {...spec, sort}}, {corner: keyWord(spec.rows), caption: heading,
      onSort: by => this.ctx.go({sort: by}, {push: false}), onRow: r => rowAction(spec, table, r, patch => this.ctx.go(patch))});
    this.sort = sort;
    const graph = h("a", {class: "button quiet", href: this.graphLink(spec)}, "Open as a graph");
    const print = h("button", {type: "button", class: "quiet", "on:click": () => globalThis.print()}, "Print");
    const name = `${spec.metric}-${[spec.rows, spec.cols].filter(Boolean).join("-")}`;
    const busy = keepFocus(this.body, () => fill(this.body, h("div", {class: "bar-row part-head"}, h("h2", null, heading),
      h("span", {class: "buttons noprint"}, saveButtons(name, () => this.table.sheet()), graph, print)), this.table.node));
    return busy;
  }

  graphLink(spec) {
    const tags = spec.filters.map(f => `${f.tagk}=${f.filter}`).join(",");
    const params = new URLSearchParams({v: "explore", start: String(spec.start), m: queryText({...spec, filters: []}) + (tags ? `{}{${tags}}` : "")});
    if (spec.end < spec.now)
      params.set("end", String(spec.end - 1));
    return `#${params}`;
  }

  /* The same question: only the order, or what the maps show, is another one. */
  async adjust(state) {
    const sort = one(state, "sort");
    if (this.table && sort !== this.sort) {
      this.sort = sort;
      keepFocus(this.body, () => this.table.sort(sort));
    }
    await this.maps.adjust(state);
  }
}

/** Do something that replaces elements, and give the focus to the element with the same data-key if it had it. */
export function keepFocus(root, change) {
  const key = root.contains(document.activeElement) ? document.activeElement.dataset.key : null;
  change();
  if (key)
    root.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus();
}

/** Opens the view. Contract: main.js. */
export function open(root, ctx) {
  const view = new Totals(root, ctx);
  return {update: state => view.run(state), close: () => view.table?.close()};
}
