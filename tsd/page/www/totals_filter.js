/*
 * totals_filter.js - filters by tags: the chosen ones as words with a way to drop them, values to tick, patterns to type.
 *
 * Filters hold for every table and map of the view. Not here: other fields (totals_form.js).
 */
import {get, isAbort} from "./api.js";
import {fill, h} from "./dom.js";
import {short} from "./number.js";
import {OTHERS} from "./totals_model.js";
import {queryText} from "./totals_query.js";

const LISTED = 50;

/** The filter without its name, and whether it leaves values out: {values, not, pattern}. */
export function readFilter(filter) {
  const m = /^(not_)?literal_or\((.*)\)$/.exec(filter);
  if (m)
    return {values: m[2].split("|"), not: Boolean(m[1]), pattern: ""};
  if (/[*()]/.test(filter))
    return {values: [], not: false, pattern: filter};
  return {values: filter.split("|"), not: false, pattern: ""};
}

/** The filter of chosen values; null for none. */
export function writeFilter({values, not}) {
  if (!values.length)
    return null;
  return not ? `not_literal_or(${values.join("|")})` : values.join("|");
}

/** What a filter means, in words. */
export function filterWords({tagk, filter}) {
  const {values, not, pattern} = readFilter(filter);
  if (pattern)
    return `${tagk} matches ${pattern}`;
  const list = values.length > 3 ? `one of ${values.length} values` : values.join(", ");
  return `${tagk} is ${not ? (values.length > 3 ? "none " : "not ") : ""}${not && values.length > 3 ? `of ${values.length} values` : list}`;
}

/** The filters with another one for a key; null drops it. @returns {string[]} as in the address */
export function withFilter(filters, tagk, filter) {
  const found = filters.filter(f => f.tagk !== tagk).map(f => `${f.tagk}=${f.filter}`);
  return filter ? [...found, `${tagk}=${filter}`] : found;
}

/**
 * The line of filters.
 * @param {{go: function(Object), signal: AbortSignal}} ctx
 * @returns {{node: HTMLElement, show: function(Object, Object)}}
 */
export function totalsFilter(ctx) {
  const chips = h("span", {class: "chips"});
  const keys = h("span", {class: "chips"});
  const panel = h("fieldset", {hidden: true});
  const node = h("div", {class: "filters"}, chips, keys, panel);
  let spec = null, opened = "", known = null;
  const filterOf = tagk => spec.filters.find(f => f.tagk === tagk)?.filter ?? null;
  const set = (tagk, filter) => {
    known = filter;
    ctx.go({f: withFilter(spec.filters, tagk, filter)});
  };
  const draw = () => {
    known = filterOf(opened);
    return fillPanel({panel, tagk: opened, spec, set, ctx});
  };
  const open = async tagk => {
    opened = opened === tagk ? "" : tagk;
    mark();
    panel.hidden = !opened;
    if (opened)
      await draw();
  };
  const mark = () => keys.querySelectorAll("button").forEach(b => b.setAttribute("aria-expanded", String(b.dataset.key === opened)));
  return {node, show(next, info) {
    const other = spec && spec.metric !== next.metric;
    spec = next;
    fill(chips, spec.filters.map(f => h("span", {class: "chip"}, filterWords(f), " ",
      h("button", {type: "button", class: "plain", "aria-label": `Remove the filter ${filterWords(f)}`, "on:click": () => set(f.tagk, null)}, "remove"))));
    const tags = JSON.stringify((info?.tags ?? []).map(t => t.tagk));
    if (keys.shown !== tags) {
      fill(keys, (info?.tags ?? []).map(t => h("button", {type: "button", class: "quiet", "data-key": t.tagk, "on:click": () => open(t.tagk)}, `Filter by ${t.tagk} …`)));
      keys.shown = tags;
    }
    if (other) {
      opened = "";
      panel.hidden = true;
    }
    if (opened && filterOf(opened) !== known) /* changed elsewhere: by a chip, a row, or a step back */
      draw();
    mark();
  }};
}

/* The values of a tag in the chosen time under the other filters, the largest first. */
async function valuesOf(tagk, spec, signal) {
  const others = {...spec, filters: spec.filters.filter(f => f.tagk !== tagk)};
  const answer = await get("api/query", {start: spec.start, end: spec.end - 1, tz: spec.zone, m: queryText(others), by: tagk, top: LISTED, others: "true"}, {signal});
  return answer.map(row => ({value: row.tags[tagk], size: row.value}));
}

async function fillPanel({panel, tagk, spec, set, ctx}) {
  const current = spec.filters.find(f => f.tagk === tagk);
  const state = current ? readFilter(current.filter) : {values: [], not: false, pattern: ""};
  const apply = () => set(tagk, writeFilter(state));
  const tick = (value, on) => {
    state.values = on ? [...state.values, value] : state.values.filter(v => v !== value);
    apply();
  };
  const pattern = h("input", {value: state.pattern, size: "24", placeholder: "web* or a|b or regexp(...)", "aria-label": `A pattern for ${tagk}`,
    "on:change": () => set(tagk, pattern.value.trim() || null)});
  const mode = h("label", {class: "toggle"}, h("input", {type: "checkbox", checked: state.not, "on:change": e => { state.not = e.target.checked; apply(); }}),
    " all but the ticked ones");
  const head = [h("legend", null, `Filter by ${tagk}`), h("p", {class: "bar-row"}, mode, pattern)];
  fill(panel, head, h("p", {class: "hint"}, "Asking for the values …"));
  try {
    const found = await valuesOf(tagk, spec, ctx.signal);
    const listed = found.filter(x => x.value !== OTHERS && x.value !== "(none)");
    for (const value of state.values)
      if (!listed.some(x => x.value === value))
        listed.push({value, size: null});
    fill(panel, head, h("div", {class: "ticks"}, listed.map(x => h("label", {class: "toggle"},
      h("input", {type: "checkbox", checked: state.values.includes(x.value), "on:change": e => tick(x.value, e.target.checked)}),
      ` ${x.value} `, h("span", {class: "hint"}, x.size === null ? "" : short(x.size))))),
    found.some(x => x.value === OTHERS) && h("p", {class: "hint"}, `The ${LISTED} largest are listed; a pattern reaches the others.`));
  } catch (error) {
    if (!isAbort(error))
      fill(panel, head, h("p", {class: "error", role: "alert"}, error.message));
  }
}
