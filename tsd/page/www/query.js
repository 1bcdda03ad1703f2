/* query.js - the text of a query (OpenTSDB's m) as an object and back, and what is sent for it. */

/**
 * @typedef {{agg: string, metric: string, rate: string, step: string, fn: string, fill: string, explicit: boolean, rest: string[],
 *   filters: Array<{key: string, filter: string, group: boolean}>}} Query
 *   rate: "" (no), "rate", "rate{counter}" ...; step: "" (by the width of the graph), "none" (raw points) or "10m", "1dc"; rest: options that the page
 *   does not know, as they are
 */

/* The text cut at a separator that stands outside of parentheses and braces. */
function cut(text, separator) {
  const parts = [];
  let depth = 0, from = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (c === "(" || c === "{")
      depth++;
    else if (c === ")" || c === "}")
      depth--;
    else if (c === separator && depth === 0) {
      parts.push(text.slice(from, i));
      from = i + 1;
    }
  }
  parts.push(text.slice(from));
  return parts;
}

function readFilters(text, group) {
  return cut(text, ",").filter(one => one.includes("=")).map(one => {
    const at = one.indexOf("=");
    return {key: one.slice(0, at).trim(), filter: one.slice(at + 1).trim(), group};
  });
}

/* Does this filter make groups when it stands in the first braces of an old link? OpenTSDB groups there by everything. */
function braces(text) {
  const found = [];
  let depth = 0, from = 0;
  for (let i = 0; i < text.length; i++) {
    if (text[i] === "{" && depth++ === 0)
      from = i + 1;
    if (text[i] === "}" && --depth === 0)
      found.push(text.slice(from, i));
  }
  return found;
}

/** An empty query. @returns {Query} */
export function blank(metric = "", agg = "sum") {
  return {agg, metric, rate: "", step: "", fn: "", fill: "", explicit: false, rest: [], filters: []};
}

/**
 * Read the text of a query.
 * @param {string} text `sum:10m-avg:rate:web.hits{host=*}{dc=fra}`
 * @returns {Query} what is no query has what was understood of it
 */
export function parse(text) {
  const words = cut(text, ":");
  const query = blank("", words.length > 1 ? words[0] : "sum");
  const name = words[words.length - 1];
  for (const option of words.slice(1, -1)) {
    const ds = /^(\d+(?:ms|[smhdwny])c?|0all)-([A-Za-z0-9.\[\]]+)(?:-(\w+))?$/.exec(option);
    if (ds)
      [query.step, query.fn, query.fill] = [ds[1], ds[2], ds[3] ?? ""];
    else if (/^rate(\{|$)/.test(option))
      query.rate = option;
    else if (option === "explicit_tags")
      query.explicit = true;
    else
      query.rest.push(option);
  }
  const at = name.indexOf("{");
  query.metric = (at < 0 ? name : name.slice(0, at)).trim();
  if (at >= 0) {
    const [first = "", second = ""] = braces(name.slice(at));
    query.filters = [...readFilters(first, true), ...readFilters(second, false)];
  }
  return query;
}

function tags(query) {
  const list = group => query.filters.filter(f => f.key && f.filter && f.group === group).map(f => `${f.key}=${f.filter}`).join(",");
  const groups = list(true), others = list(false);
  return groups || others ? `{${groups}}${others ? `{${others}}` : ""}` : "";
}

/** Metric and filters alone, as lookups take it. @param {Query} query */
export function selection(query) {
  const all = query.filters.filter(f => f.key && f.filter).map(f => `${f.key}=${f.filter}`).join(",");
  return query.metric + (all ? `{${all}}` : "");
}

/**
 * The text of a query.
 * @param {Query} query
 * @param {{agg?: string, step?: string, fn?: string}} [instead] what is sent in place of the query's own
 */
export function format(query, instead = {}) {
  const {agg, step, fn} = {...query, ...instead};
  const options = [agg];
  if (step && step !== "none")
    options.push(`${step}-${fn || "avg"}${query.fill ? "-" + query.fill : ""}`);
  if (query.rate)
    options.push(query.rate);
  if (query.explicit)
    options.push("explicit_tags");
  return [...options, ...query.rest, query.metric + tags(query)].join(":");
}

const STEPS = [["1s", 1e3], ["2s", 2e3], ["5s", 5e3], ["10s", 1e4], ["15s", 15e3], ["30s", 3e4], ["1m", 6e4], ["2m", 12e4], ["5m", 3e5], ["10m", 6e5],
  ["15m", 9e5], ["30m", 18e5], ["1h", 36e5], ["2h", 72e5], ["3h", 108e5], ["6h", 216e5], ["12h", 432e5], ["1dc", 864e5], ["1wc", 6048e5], ["1nc", 2628e6], ["1yc", 31536e6]];
const UNITS = {ms: 1, s: 1e3, m: 6e4, h: 36e5, d: 864e5, w: 6048e5, n: 2592e6, y: 31536e6};

/** Length of an interval in ms, about that of calendar ones; 0 for none. @param {string} step "10m" */
export function stepMs(step) {
  const m = /^(\d+)(ms|[smhdwny])c?$/.exec(step);
  return m ? Number(m[1]) * UNITS[m[2]] : 0;
}

/** The interval that suits a range: bars have room, lines about two pixels a point. */
export function autoStep(span, width, kind) {
  const least = span / Math.max(20, width / (kind === "count" ? 12 : 2));
  return (STEPS.find(s => s[1] >= least) ?? STEPS[STEPS.length - 1])[0];
}

/**
 * What is sent for a query.
 * @param {Query} query with a step
 * @param {"gauge"|"count"|"counter"} kind
 * @param {boolean} withBand least and greatest values beside averages
 * @returns {{m: string[], roles: string[], step: string}} texts with their roles: main, min, max
 */
export function requests(query, kind, withBand) {
  const raw = query.step === "none" || !query.step;
  const step = raw ? "" : query.step;
  const fn = query.fn || (kind === "count" ? "sum" : "avg");
  const agg = kind === "count" && query.agg === "sum" ? "zimsum" : query.agg;
  const m = [format(query, {agg, step, fn})], roles = ["main"];
  if (withBand && kind === "gauge" && !raw && !query.rate && fn === "avg" && query.agg === "avg") {
    m.push(format(query, {agg: "min", step, fn: "min"}), format(query, {agg: "max", step, fn: "max"}));
    roles.push("min", "max");
  }
  return {m, roles, step};
}

/** Name of the i-th query in formulas: a, b, c ... */
export function letter(i) {
  return i < 26 ? String.fromCharCode(97 + i) : `q${i + 1}`;
}

function filterOf(f) {
  const call = /^(literal_or|iliteral_or|not_literal_or|not_iliteral_or|wildcard|iwildcard|regexp)\((.*)\)$/s.exec(f.filter);
  const [type, filter] = call ? [call[1], call[2]] : f.filter === "*" ? ["wildcard", "*"] : f.filter.includes("*") ? ["iwildcard", f.filter] : ["literal_or", f.filter];
  return {type, tagk: f.key, filter, groupBy: f.group};
}

/** Which queries do formulas use? @returns {number[]} their indexes */
export function usedBy(formulas, n) {
  return Array.from({length: n}, (none, i) => i).filter(i => formulas.some(f => new RegExp(`(^|[^A-Za-z0-9_])${letter(i)}([^A-Za-z0-9_]|$)`).test(f)));
}

/**
 * Body of a request for formulas (docs/QUERY.md, "exp").
 * @param {Query[]} queries named a, b, c ...
 * @param {string[]} kinds of their metrics
 * @param {string[]} formulas
 * @param {{start: number, end: number, step: string, zone: string}} at step: of queries that have none
 * @returns {{body: Object, step: string}}
 */
export function expression(queries, kinds, formulas, {start, end, step: common, zone}) {
  const used = usedBy(formulas, queries.length);
  const counts = used.every(i => kinds[i] === "count");
  const chosen = used.map(i => queries[i]).find(q => q.step && q.step !== "none");
  const step = chosen?.step ?? common;
  const time = {start: String(start), end: String(end), timezone: zone, aggregator: "sum",
    downsampler: {interval: step, aggregator: chosen?.fn || (counts ? "sum" : "avg"), fillPolicy: {policy: "nan"}}};
  if (used.some(i => queries[i].rate))
    time.rate = true;
  return {step, body: {
    time,
    filters: used.map(i => ({id: "f" + i, tags: queries[i].filters.filter(f => f.key && f.filter).map(filterOf), explicitTags: queries[i].explicit})),
    metrics: used.map(i => ({id: letter(i), metric: queries[i].metric, filter: "f" + i, fillPolicy: {policy: "nan"},
      aggregator: kinds[i] === "count" && queries[i].agg === "sum" ? "zimsum" : queries[i].agg})),
    expressions: formulas.map((expr, i) => ({id: "x" + (i + 1), expr, join: {operator: "union", useQueryTags: true, includeAggTags: false}})),
    outputs: formulas.map((expr, i) => ({id: "x" + (i + 1), alias: expr})),
  }};
}
