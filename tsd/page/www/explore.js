/* explore.js - the view that draws any query. The address has everything: start, end, m (queries), x (formulas), k (kinds), ds (raw or not), o (axes),
 * yrange, ylog, zero, stacked, band, skip; start, end, m, o, yrange and ylog are those of OpenTSDB's page. */
import {get, isAbort} from "./api.js";
import {fill, h, toggle} from "./dom.js";
import {load, whyEmpty} from "./explore-load.js";
import {legend, notesPanel, readText, tools} from "./explore-show.js";
import {editor} from "./explore-edit.js";
import {colorOf, graph} from "./graph.js";
import {about} from "./names.js";
import {blank, format as queryText, parse as parseQuery} from "./query.js";
import {rangeControl, resolve, words} from "./range.js";
import {remember, savedLists} from "./saved.js";
import {format as hashOf, has, one} from "./state.js";
import {format} from "./zone.js";

export const title = "Explore";

const MOST_DRAWN = 100;
const AGGREGATORS = ["avg", "sum", "min", "max", "count", "median", "none"]; /* until the server has said which ones there are */

/* "[0:100]" of old links and of ours; either end may be missing. */
function readRange(text) {
  const m = /^\[([^:]*):([^\]]*)\]$/.exec(text);
  const number = t => (t !== undefined && t.trim() !== "" && Number.isFinite(Number(t)) ? Number(t) : null);
  return m ? [number(m[1]), number(m[2])] : [null, null];
}

/* What the address says about queries. */
function modelOf(state) {
  const queries = (state.m ?? []).map((m, i) => {
    const q = parseQuery(m);
    if (state.ds?.[i] === "none" && !q.step)
      q.step = "none";
    q.touched = true;
    return q;
  });
  if (!queries.length)
    queries.push(blank("", "avg"));
  return {queries, formulas: [...(state.x ?? [])], chosenKinds: queries.map((q, i) => state.k?.[i] ?? ""), axes: queries.map((q, i) => (/x1y2/.test(state.o?.[i] ?? "") ? 2 : 1)),
    hideQueries: has(state, "alone"), kinds: queries.map(() => ({kind: "gauge", unit: ""}))};
}

const some = (list, without) => (list.some(v => v !== without) ? list : []);

/* The same as a part of the address. Boxes without a metric are not in it. */
function stateOf(model) {
  const at = model.queries.map((q, i) => i).filter(i => model.queries[i].metric);
  const lists = {
    m: at.map(i => queryText(model.queries[i])),
    k: at.map(i => model.chosenKinds[i] || ""),
    ds: at.map(i => (model.queries[i].step === "none" ? "none" : "")),
    o: at.map(i => (model.axes[i] === 2 ? "axis x1y2" : "")),
  };
  return {m: lists.m, k: some(lists.k, ""), ds: some(lists.ds, ""), o: some(lists.o, ""), x: model.formulas.filter(Boolean), alone: model.hideQueries && model.formulas.some(Boolean)};
}

class Explore {
  constructor(root, ctx) {
    this.ctx = ctx;
    this.abort = null; /* of the question that is being answered */
    this.chart = null;
    this.answer = null;
    this.steps = 0; /* zooms that "back" undoes */
    this.asked = "";
    this.build(root);
    ctx.every(() => this.ask({refresh: true}));
    get("api/aggregators", {}, {signal: ctx.signal}).then(list => {
      this.aggregators.splice(0, Infinity, ...list);
      this.edit.aggregators();
    }).catch(() => {}); /* then those of above are offered */
  }

  build(root) {
    const {ctx} = this;
    this.aggregators = [...AGGREGATORS];
    this.graphPlace = h("div", {class: "graph-place"});
    this.status = h("p", {class: "muted status", role: "status"});
    this.problem = h("div", {role: "alert"});
    this.below = h("div");
    this.cancel = h("button", {type: "button", hidden: true, "on:click": () => this.abort?.abort()}, "Cancel (Escape)");
    this.backButton = h("button", {type: "button", disabled: true, "on:click": () => this.back()}, "Back");
    const queries = h("div"), range = h("div", {class: "bar-row"});
    this.range = rangeControl(range, (start, end) => ctx.go({start, end: end || null}));
    this.edit = editor(queries, {aggregators: this.aggregators, onChange: () => this.edited(), range: () => { const r = this.resolved(); return r.error ? null : r; }});
    this.notes = notesPanel(() => this.ask());
    this.display = h("div", {class: "panel display"});
    fill(root, h("h1", {class: "hidden-title"}, "Explore"), h("div", {class: "bar-row range noprint"}, range, this.backButton), h("div", {class: "two"},
      h("div", {class: "side noprint"}, queries, this.display, savedLists(() => ({hash: hashOf(ctx.state), title: this.titleText()}))),
      h("div", {class: "side-main"}, this.problem, h("div", {class: "bar-row"}, this.status, this.cancel), this.graphPlace, this.below,
        tools(() => this.answer && {...this.answer, zone: ctx.zone()}, ctx.signal), this.notes.node)));
    addEventListener("keydown", e => {
      if (e.key === "Escape" && this.abort) {
        this.abort.abort();
        e.preventDefault();
      }
    }, {signal: ctx.signal});
  }

  showDisplay() {
    const {state, go} = this.ctx;
    const flag = (name, text) => toggle(text, has(state, name), on => go({[name]: on}));
    const [low, high] = readRange(one(state, "yrange"));
    const end = (value, label) => h("input", {type: "number", step: "any", value: value ?? "", placeholder: "automatic", "aria-label": label, class: "short"});
    const from = end(low, "Least value of the axis"), to = end(high, "Greatest value of the axis");
    const read = () => go({yrange: from.value || to.value ? `[${from.value}:${to.value}]` : null});
    from.addEventListener("change", read);
    to.addEventListener("change", read);
    fill(this.display, flag("zero", "Axis begins at zero"), flag("ylog", "Logarithmic"), flag("stacked", "Stacked bars"),
      toggle("Band of least and greatest", one(state, "band") !== "off", on => go({band: on ? null : "off"})), h("div", {class: "toggle"}, "Axis from ", from, " to ", to));
    this.displayed = this.displayKey();
  }

  /* How many of the first series are left out: the way to those beyond the first hundred. */
  skip() {
    const n = Number(one(this.ctx.state, "skip", "0"));
    return Number.isInteger(n) && n > 0 ? n : 0;
  }

  displayKey() {
    const {state} = this.ctx;
    return ["zero", "ylog", "stacked", "band", "yrange"].map(k => (has(state, k) ? `${k}=${one(state, k)}` : "")).join("&");
  }

  titleText() {
    const {state} = this.ctx;
    return `${(state.m ?? ["nothing"]).join(", ")}, ${words(one(state, "start", "1h-ago"), one(state, "end"), this.ctx.zone())}`;
  }

  edited() {
    const patch = stateOf(this.model);
    this.own = JSON.stringify(patch);
    const before = hashOf(this.ctx.state);
    this.ctx.go({...patch, start: one(this.ctx.state, "start", "24h-ago"), skip: null});
    if (hashOf(this.ctx.state) === before)
      this.ask();
  }

  async update(state) {
    const text = JSON.stringify(stateOf(modelOf(state)));
    if (!this.model || this.own !== text) {
      this.model = modelOf(state);
      this.own = text;
      this.edit.show(this.model);
      if (!state.m)
        this.edit.focus();
    }
    if (this.displayed !== this.displayKey())
      this.showDisplay();
    return this.ask();
  }

  resolved() {
    const {state} = this.ctx;
    return resolve(one(state, "start", "24h-ago"), one(state, "end"), Date.now(), this.ctx.zone());
  }

  async kinds(queries, chosen) {
    return Promise.all(queries.map(async (q, i) => {
      const known = await about(q.metric);
      return {...known, kind: chosen[i] || known.kind};
    }));
  }

  /* Asks and draws. The former graph stays until the answer is there; a newer question ends an older one, a refresh ends none. */
  async ask({refresh = false} = {}) {
    const {ctx} = this;
    const range = this.resolved();
    this.range.error(range.error ? range : null);
    if (range.error)
      return;
    this.range.show(one(ctx.state, "start", "24h-ago"), one(ctx.state, "end"), range, ctx.zone());
    const at = this.model.queries.map((q, i) => i).filter(i => this.model.queries[i].metric);
    if (refresh && (this.abort || !at.length || !range.moving))
      return;
    this.abort?.abort();
    if (!at.length) {
      this.status.textContent = "Choose a metric: type its first letters.";
      fill(this.problem);
      fill(this.below);
      this.chart?.close();
      this.chart = this.answer = null;
      return;
    }
    const abort = this.abort = new AbortController();
    const end = () => abort.abort();
    ctx.signal.addEventListener("abort", end);
    const slow = setTimeout(() => {
      this.cancel.hidden = false;
      this.status.textContent = "Asking ...";
    }, 300);
    try {
      await this.answered(abort.signal, range, at);
    } catch (error) {
      this.failed(error, abort);
    } finally {
      clearTimeout(slow);
      ctx.signal.removeEventListener("abort", end);
      if (this.abort === abort) {
        this.abort = null;
        this.cancel.hidden = true;
      }
    }
  }

  failed(error, abort) {
    if (isAbort(error)) {
      if (this.abort === abort && !this.ctx.signal.aborted)
        this.status.textContent = "Cancelled. The graph shows the former answer.";
      return;
    }
    const shown = this.edit.error(error);
    this.status.textContent = "";
    fill(this.problem, h("div", {class: "note bad"}, h("p", null, shown ? "A query was refused; the reason stands beside its field." : error.message),
      !shown && error.details && h("p", {class: "muted"}, error.details)));
  }

  async answered(signal, range, at) {
    const {ctx} = this, {state} = ctx, model = this.model;
    const queries = at.map(i => model.queries[i]);
    const began = performance.now();
    const kinds = await this.kinds(queries, at.map(i => model.chosenKinds[i]));
    const formulas = model.formulas.filter(Boolean);
    const answer = await load({queries, kinds, axes: at.map(i => model.axes[i]), formulas, hideQueries: model.hideQueries, range, zone: ctx.zone(),
      width: Math.max(200, this.graphPlace.clientWidth - 80), band: one(state, "band") !== "off", skip: this.skip(), most: MOST_DRAWN}, {signal});
    if (signal.aborted)
      return;
    const all = model.kinds.map(() => ({kind: "gauge", unit: ""}));
    at.forEach((i, k) => { all[i] = kinds[k]; });
    this.edit.kinds(all);
    this.edit.error(null);
    fill(this.problem);
    const skip = Math.min(this.skip(), Math.max(0, answer.series.length - 1));
    this.answer = {...answer, shown: answer.series.slice(skip, skip + MOST_DRAWN), skip, queries};
    this.draw(range);
    this.status.textContent = `${readText(answer.read, performance.now() - began, this.answer.shown.length, answer.of)} ${this.stepText(answer.steps)}${answer.lacks ?? ""}`;
    remember(hashOf(state), this.titleText());
    if (answer.empty.length)
      this.explainEmpty(answer.empty.map(i => queries[i]), signal);
  }

  stepText(steps) {
    const used = [...new Set(steps)].map(s => s || "none");
    return used.join() === "none" ? "Raw points." : `Downsampled to ${used.map(s => s.replace("c", "")).join(", ")}.`;
  }

  draw(range) {
    const {ctx} = this, {state} = ctx, {shown} = this.answer;
    const unit = axis => [...new Set(shown.filter(s => (s.axis ?? 1) === axis).map(s => s.unit).filter(Boolean))].join(", ");
    const options = {series: shown.map((s, i) => ({...s, color: colorOf(i)})), start: range.start, end: range.end, zone: ctx.zone(), zero: has(state, "zero"), log: has(state, "ylog"),
      stacked: has(state, "stacked"), range: readRange(one(state, "yrange")), range2: readRange(one(state, "y2range")), unit: unit(1), unit2: unit(2), notes: this.answer.notes,
      label: `Graph of ${this.titleText()}`};
    if (this.chart)
      this.chart.update(options);
    else
      this.chart = graph(this.graphPlace, {...options, height: innerWidth < 640 ? 260 : 380,
        onZoom: (start, end) => { this.steps++; this.backButton.disabled = false; ctx.go({start: String(start), end: String(end)}); },
        onBack: () => this.back(), onIsolate: i => this.showLegend(i), onTime: ms => this.notes.time(ms, ctx.zone())});
    this.showLegend(null);
    this.notes.show(this.answer.notes, ctx.zone());
  }

  showLegend(alone) {
    const {shown, of, skip} = this.answer;
    const page = (words, to) => h("button", {type: "button", "on:click": () => this.ctx.go({skip: to || null})}, words);
    fill(this.below, of > shown.length && h("p", {class: "bar-row"}, `Series ${skip + 1} to ${skip + shown.length} of ${of} are drawn.`,
      skip > 0 && page("Former ones", Math.max(0, skip - MOST_DRAWN)), skip + shown.length < of && page("Further ones", skip + MOST_DRAWN)),
    shown.length > 0 && legend(shown, alone, i => this.chart.isolate(i)));
  }

  async explainEmpty(queries, signal) {
    for (const query of queries) {
      const why = await whyEmpty(query, {signal}).catch(error => ({text: error.message, newest: null}));
      if (signal.aborted && !this.answer)
        return;
      const zone = this.ctx.zone();
      this.problem.append(h("div", {class: "note warn"}, h("p", null, why.text), why.newest !== null && h("p", null, `Its newest point is of ${format(why.newest, zone, "full")}. `,
        h("button", {type: "button", "on:click": () => this.ctx.go({start: String(why.newest - 864e5), end: String(why.newest + 60000)})}, "Show the day before it"))));
    }
  }

  back() {
    if (this.steps < 1)
      return;
    this.steps--;
    this.backButton.disabled = this.steps < 1;
    history.back();
  }

  close() {
    this.abort?.abort();
    this.chart?.close();
  }
}

/**
 * Open the view. Contract: main.js.
 * @param {HTMLElement} root @param {Object} ctx
 */
export function open(root, ctx) {
  return new Explore(root, ctx);
}
