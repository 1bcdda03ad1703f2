/* explore-edit.js - the editor of queries: a box for each, and one for each formula. */
import {choice, field, fill, h, toggle} from "./dom.js";
import {complete} from "./complete.js";
import {about, keyNames, metricNames, valueNames} from "./names.js";
import {letter} from "./query.js";

const STEPS = ["10s", "30s", "1m", "5m", "10m", "30m", "1h", "6h", "12h", "1dc", "1wc", "1nc"];
const FUNCTIONS = ["avg", "sum", "min", "max", "count", "last", "first", "median", "p95", "p99", "dev"];
const RATES = [["", "Values as stored"], ["rate", "Change per second"], ["rate{dropcounter}", "Change per second, without resets"]];
const KINDS = [["gauge", "Gauge: a state"], ["count", "Count: new events"], ["counter", "Counter: only grows"]];

/* Options with one more if it is not among them: links may name any. */
const including = (options, value) => (options.some(o => o[0] === value) ? options : [...options, [value, value]]);

/* What a filter says, as ticked values; null: it is more than a list. */
function ticked(filter) {
  if (filter === "*")
    return [];
  const call = /^literal_or\((.*)\)$/.exec(filter);
  const text = call ? call[1] : filter;
  return /[*()]/.test(text) ? null : text.split("|").filter(Boolean);
}

function filterEditor(query, f, range, change, remove) {
  const values = h("div", {class: "ticks", role: "group", "aria-label": `Values of ${f.key}`});
  const text = h("input", {value: f.filter, size: 18, spellcheck: "false", autocomplete: "off", "on:change": () => {
    f.filter = text.value.trim() || "*";
    change();
    show();
  }});
  const search = h("input", {type: "search", placeholder: "Search values", size: 16, "aria-label": `Search values of ${f.key}`, "on:input": show});
  let abort = null;

  async function show() {
    abort?.abort();
    const mine = abort = new AbortController();
    if (!f.key)
      return;
    const list = await valueNames(query, f, f.key, search.value, mine.signal, range()).catch(() => ({names: [], more: false}));
    if (mine.signal.aborted)
      return;
    const chosen = ticked(f.filter);
    fill(values, list.names.map(name => toggle(name, chosen?.includes(name) ?? false, on => {
      const now = ticked(f.filter) ?? [];
      const next = on ? [...now, name] : now.filter(v => v !== name);
      f.filter = next.length ? next.join("|") : "*";
      text.value = f.filter;
      change();
    })), h("span", {class: "hint"}, list.more ? "and more: search" : !list.names.length ? "No values fit" : list.elsewhere && "at other times"));
  }

  const key = complete({value: f.key, label: "Tag", size: 10, source: (t, signal) => keyNames(query, f, t, signal, range()), onChoose: name => {
    f.key = name;
    change();
    show();
  }});
  const details = h("details", {class: "values", "on:toggle": () => details.open && show()}, h("summary", null, "Values"), search, values);
  return h("div", {class: "bar-row filter"}, field("Tag", key.node), field("is", text), toggle("a line for each value", f.group, on => {
    f.group = on;
    change();
  }), details, h("button", {type: "button", class: "plain", "aria-label": `Remove the filter on ${f.key || "a tag"}`, "on:click": remove}, "Remove"));
}

/**
 * @param {HTMLElement} root
 * @param {{aggregators: string[], onChange: function(), range: function(): ?{start: number, end: number}}} on
 *   onChange: the queries have changed (they are changed in place); range: the chosen time, in which names must have points
 * @returns {{show: function(Object): void, error: function(?Error): boolean, kinds: function(Object[]): void, focus: function(): void, aggregators: function(): void}}
 *   show: {queries, formulas, kinds, axes, hideQueries}
 */
export function editor(root, on) {
  let model = null, rows = [];

  function kindOf(i) {
    return model.kinds[i]?.kind ?? "gauge";
  }

  async function metricChosen(i, name, row) {
    const query = model.queries[i];
    query.metric = name;
    row.metric.error("");
    model.chosenKinds[i] = "";
    try {
      const known = await about(name);
      if (!query.touched && model.queries[i] === query) {
        query.agg = known.kind === "gauge" ? "avg" : "sum";
        query.rate = known.kind === "counter" ? "rate{dropcounter}" : "";
        row.agg.value = query.agg;
        row.rate.value = query.rate;
      }
    } catch { /* the query itself will say it */ }
    on.onChange();
  }

  function box(query, i) {
    const row = {};
    const change = () => on.onChange();
    const set = name => value => { query[name] = value; change(); };
    const metric = complete({value: query.metric, label: "Metric", source: (t, signal) => metricNames(t, signal, on.range(), query), placeholder: "Type a metric", size: 36, onChoose: name => metricChosen(i, name, row)});
    row.input = metric.input;
    row.metric = field("Metric", metric.node);
    row.agg = choice(including(on.aggregators.map(a => [a, a]), query.agg), query.agg, v => { query.touched = true; query.agg = v; change(); });
    row.kind = choice(KINDS, kindOf(i), v => { model.chosenKinds[i] = v; change(); });
    row.rate = choice(including(RATES, query.rate), query.rate, set("rate"));
    const step = choice(including([["", "Automatic"], ["none", "None: raw points"], ...STEPS.map(s => [s, s.replace("c", "")])], query.step), query.step, set("step"));
    const fn = choice(including([["", "By the kind"], ...FUNCTIONS.map(f => [f, f])], query.fn), query.fn, set("fn"));
    const axis = choice([["1", "Left"], ["2", "Right"]], String(model.axes[i] ?? 1), v => { model.axes[i] = Number(v); change(); });
    const filters = h("div", {class: "filters"});
    const showFilters = () => fill(filters, query.filters.map(f => filterEditor(query, f, on.range, change, () => {
      query.filters = query.filters.filter(x => x !== f);
      showFilters();
      change();
    })));
    showFilters();
    const add = h("button", {type: "button", "on:click": () => {
      query.filters.push({key: "", filter: "*", group: true});
      showFilters();
      filters.lastElementChild.querySelector("input").focus();
    }}, "Filter by a tag");
    const remove = h("button", {type: "button", "on:click": () => {
      for (const list of [model.queries, model.axes, model.chosenKinds, model.kinds])
        list.splice(i, 1);
      draw();
      change();
    }}, "Remove");
    row.more = h("details", {open: Boolean(query.step || query.fn || query.rate || model.axes[i] === 2)}, h("summary", null, "Downsampling, rate, axis"),
      h("div", {class: "bar-row"}, field("Downsampling", step), field("by", fn), field("Rate", row.rate), field("Axis", axis)));
    row.node = h("fieldset", {class: "query"}, h("legend", null, `Query ${letter(i)}`),
      row.metric, h("div", {class: "bar-row"}, field("Aggregator", row.agg), field("Kind", row.kind)), filters,
      h("div", {class: "bar-row below"}, add, model.queries.length > 1 && remove), row.more);
    return row;
  }

  function formulaBox(text, i) {
    const input = h("input", {value: text, size: 40, placeholder: "a / b * 100", spellcheck: "false", "on:change": () => {
      model.formulas[i] = input.value.trim();
      on.onChange();
    }});
    const row = {formula: field("Formula over the queries", input)};
    row.node = h("fieldset", {class: "query"}, h("legend", null, `Formula ${i + 1}`), h("div", {class: "bar-row"}, row.formula,
      h("button", {type: "button", "on:click": () => { model.formulas.splice(i, 1); draw(); on.onChange(); }}, "Remove")));
    row.input = input;
    return row;
  }

  function draw() {
    rows = [...model.queries.map(box), ...model.formulas.map(formulaBox)];
    fill(root, rows.map(r => r.node), h("div", {class: "bar-row"},
      h("button", {type: "button", "on:click": () => {
        model.queries.push({agg: "avg", metric: "", rate: "", step: "", fn: "", fill: "", explicit: false, rest: [], filters: []});
        model.chosenKinds.push("");
        model.axes.push(1);
        draw();
        rows[model.queries.length - 1].input.focus();
      }}, "Add a query"),
      h("button", {type: "button", "on:click": () => {
        model.formulas.push("");
        draw();
        rows[rows.length - 1].input.focus();
      }}, "Add a formula"),
      model.formulas.length > 0 && toggle("Formulas alone", model.hideQueries, v => { model.hideQueries = v; on.onChange(); })));
  }

  return {
    show(next) {
      model = next;
      draw();
    },
    focus() {
      rows[0]?.input?.focus();
    },
    /* The list of aggregators has changed; fields keep their values and the focus. */
    aggregators() {
      for (const {agg} of rows.filter(r => r.agg)) {
        const {value} = agg;
        fill(agg, including(on.aggregators.map(a => [a, a]), value).map(([v, words]) => h("option", {value: v}, words)));
        agg.value = value;
      }
    },
    kinds(kinds) {
      model.kinds = kinds;
      rows.slice(0, model.queries.length).forEach((r, i) => { r.kind.value = kinds[i]?.kind ?? "gauge"; });
    },
    /* The error beside the field that it is about, if that can be told. Returns whether it was shown. */
    error(error) {
      rows.forEach(r => (r.metric ?? r.formula).error(""));
      if (!error)
        return false;
      const text = [error.message, error.details].filter(Boolean).join(" ");
      const at = rows.findIndex((r, i) => (r.metric ? text.includes(`'${model.queries[i].metric}'`) : /expr|formula|Unknown variable|position/i.test(text)));
      if (at >= 0)
        (rows[at].metric ?? rows[at].formula).error(text);
      return at >= 0;
    },
  };
}
