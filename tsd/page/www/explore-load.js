/* explore-load.js - asks for what a graph shows and turns the answers into series. */
import {get, post} from "./api.js";
import {metricNames, valueNames} from "./names.js";
import {autoStep, expression, format, requests, selection, stepMs, usedBy} from "./query.js";

const MOST_BANDS = 5; /* more bands than that hide each other */
const MOST_WITH_BANDS = 60; /* outputs of a request that has bands; with more it is asked again without them */
const outputsOf = new Map(); /* text of a query -> how many outputs it had */

const byTags = tags => JSON.stringify(Object.entries(tags ?? {}).sort());

function labelOf(metric, tags, alone) {
  const words = Object.entries(tags ?? {}).map(([k, v]) => `${k}=${v}`).join(" ");
  return alone && words ? words : words ? `${metric} ${words}` : metric;
}

/** Tags that differ among outputs: what all have alike says nothing in a legend. */
function telling(outputs) {
  const keys = new Set(outputs.flatMap(o => Object.keys(o.tags ?? {})));
  return [...keys].filter(k => new Set(outputs.map(o => o.tags?.[k])).size > 1);
}

/** Figures of all points of a series. */
export function figures(series) {
  if (series.figures)
    return series.figures;
  const f = {count: 0, min: NaN, max: NaN, avg: NaN, sum: 0, last: NaN};
  for (const [, v] of series.points) {
    if (v === null || !Number.isFinite(v))
      continue;
    f.min = f.count ? Math.min(f.min, v) : v;
    f.max = f.count ? Math.max(f.max, v) : v;
    f.count++;
    f.sum += v;
    f.last = v;
  }
  f.avg = f.count ? f.sum / f.count : NaN;
  for (const [name, better] of [["min", Math.min], ["max", Math.max]])
    for (const [, v] of series.band?.[name] ?? [])
      if (Number.isFinite(v))
        f[name] = better(f[name], v);
  return f;
}

const clean = dps => dps.map(([ms, v]) => [ms, typeof v === "number" && Number.isFinite(v) ? v : null]);

function notesOf(answer) {
  const found = new Map();
  const add = (n, where) => {
    const ms = n.startTime < 1e11 ? n.startTime * 1000 : n.startTime;
    found.set(`${ms} ${n.description} ${n.tsuid ?? ""}`, {ms, text: n.description || n.notes || "annotation", where});
  };
  for (const output of answer) {
    for (const n of output.annotations ?? [])
      add(n, output.metric);
    for (const n of output.globalAnnotations ?? [])
      add(n, "");
  }
  return [...found.values()].sort((a, b) => a.ms - b.ms);
}

/* What an answer says about itself: OpenTSDB's summary, times in ms. */
function readOf(summary) {
  const s = summary?.statsSummary ?? {};
  return {points: s.dpsPreFilter ?? s.emittedDPs, ms: s.processingPreWriteTime};
}

/* The queries with what is sent for each; bands only where they are not too many. */
function partsOf({queries, kinds, common, band}) {
  return queries.map((q, i) => requests(q.step ? q : {...q, step: common}, kinds[i].kind, band && (outputsOf.get(format(q)) ?? 0) <= MOST_BANDS));
}

/* Figures of all points; the extremes are those of the band, which has all stored points of an average. */
function figuresOf(output, low, high) {
  return output.figures && {...output.figures, min: low?.figures?.min ?? output.figures.min, max: high?.figures?.max ?? output.figures.max};
}

async function plain(ask, options) {
  const {queries, kinds, range, width} = ask;
  const parts = partsOf(ask);
  const owners = parts.flatMap((p, i) => p.m.map((m, k) => ({query: i, role: p.roles[k], m})));
  const bands = owners.some(o => o.role !== "main");
  const params = {start: range.start, end: range.end - 1, m: owners.filter(o => o.role === "main").map(o => o.m), tz: ask.zone, ms: true, global_annotations: true};
  const answer = await get("api/query", {...params, m: owners.map(o => o.m), arrays: true, show_summary: true, show_query: true, thin: Math.min(10000, Math.round(width)),
    max_series: bands ? MOST_WITH_BANDS : ask.skip + ask.most}, options);
  const summary = answer.find(o => o.statsSummary);
  const outputs = answer.filter(o => o.dps).map(o => ({...o, owner: owners[o.query?.index ?? 0]}));
  const main = outputs.filter(o => o.owner.role === "main");
  queries.forEach((q, i) => outputsOf.set(format(q), main.filter(o => o.owner.query === i).length));
  if (bands && summary?.of > outputs.length) { /* so many that bands would only hide each other */
    queries.forEach(q => outputsOf.set(format(q), Infinity));
    return plain(ask, options);
  }
  const many = queries.length > 1 && new Set(queries.map(q => q.metric)).size > 1;
  const edges = new Map(outputs.filter(o => o.owner.role !== "main").map(o => [`${o.owner.query} ${o.owner.role} ${byTags(o.tags)}`, o]));
  const series = main.map(o => {
    const i = o.owner.query, same = main.filter(x => x.owner.query === i), groups = queries[i].filters.filter(f => f.group).map(f => f.key);
    const keys = groups.length && queries[i].agg !== "none" ? groups : telling(same);
    const shown = Object.fromEntries(Object.entries(o.tags ?? {}).filter(([k]) => keys.includes(k)));
    const low = edges.get(`${i} min ${byTags(o.tags)}`), high = edges.get(`${i} max ${byTags(o.tags)}`);
    return {query: i, label: labelOf(o.metric, shown, !many), tags: o.tags, metric: o.metric, points: clean(o.dps), kind: kinds[i].kind, unit: kinds[i].unit, axis: ask.axes[i],
      step: stepMs(parts[i].step), column: o.figures?.count > o.dps.length ? (range.end - range.start) / width : 0, figures: figuresOf(o, low, high), band: low && high && same.length <= MOST_BANDS ? {min: clean(low.dps), max: clean(high.dps)} : undefined};
  });
  return {series, of: Math.max(series.length, bands ? 0 : summary?.of ?? 0), notes: notesOf(answer), read: readOf(summary), steps: parts.map(p => p.step), params, lacks: answer.lacks,
    empty: queries.map((q, i) => i).filter(i => !main.some(o => o.owner.query === i) && main.length < ask.skip + ask.most)};
}

async function formulas(ask, options) {
  const {queries, kinds, range, common, zone} = ask;
  const {body, step} = expression(queries, kinds.map(k => k.kind), ask.formulas, {start: range.start, end: range.end - 1, step: common, zone});
  const used = usedBy(ask.formulas, queries.length).map(i => queries[i]);
  const answer = await post("api/query/exp", body, options);
  return {body, step, series: answer.outputs.flatMap((output, k) => (output.meta ?? []).slice(1).map(m => {
    const column = m.index, tags = m.commonTags ?? {};
    const grouped = Object.fromEntries(Object.entries(tags).filter(([key]) => used.some(q => q.filters.some(f => f.group && f.key === key))));
    return {query: -1 - k, label: labelOf(ask.formulas[k], grouped, false), tags, metric: ask.formulas[k], kind: "gauge", unit: "", axis: 1, step: stepMs(step),
      points: clean((output.dps ?? []).map(row => [row[0], row[column]]))};
  })).filter(s => s.points.some(p => p[1] !== null))};
}

/**
 * Ask for everything that a graph shows.
 * @param {{queries: import("./query.js").Query[], kinds: Array<{kind: string, unit: string}>, axes: number[], formulas: string[], hideQueries: boolean,
 *   range: {start: number, end: number}, zone: string, width: number, band: boolean, skip: number, most: number}} ask
 *   width: pixels, to which the server thins; skip, most: which of many series are drawn
 * @param {{signal: AbortSignal}} options
 * @returns {Promise<{series: Object[], of: number, notes: Object[], read: Object, steps: string[], params: Object, body: Object|null, empty: number[]}>}
 */
export async function load(ask, options) {
  /* bars and lines share their times */
  ask = {...ask, common: autoStep(ask.range.end - ask.range.start, ask.width, ask.kinds.some(k => k.kind === "count") ? "count" : "gauge")};
  const [answer, computed] = await Promise.all([plain(ask, options), ask.formulas.length ? formulas(ask, options) : null]);
  if (!computed)
    return {...answer, body: null};
  const own = ask.hideQueries ? [] : answer.series;
  return {...answer, series: [...own, ...computed.series], of: (ask.hideQueries ? 0 : answer.of) + computed.series.length, body: computed.body};
}

/**
 * Why did a query find nothing?
 * @returns {Promise<{text: string, newest: number|null}>} newest: time of the newest point of its metric
 */
export async function whyEmpty(query, options) {
  const {metric} = query, {signal} = options;
  const exists = async filters => (await metricNames(metric, signal, null, {metric, filters})).names[0] === metric;
  if (!await exists(query.filters)) {
    const words = await Promise.all(query.filters.map(async f => await exists([f]) ? "" : near(metric, f, signal)));
    const found = words.filter(Boolean);
    return {text: `No series of ${metric} fits its filters: ${found.length ? found.join("; ") : "none fits all of them"}.`, newest: null};
  }
  const last = await get("api/query/last", {timeseries: metric}, options);
  const newest = last.reduce((most, p) => Math.max(most, p.timestamp), -Infinity);
  return {text: `${selection(query)} has series, but none of them has a point in this time.`, newest: Number.isFinite(newest) ? (newest < 1e11 ? newest * 1000 : newest) : null};
}

/* The values of a tag that are most like a filter which finds nothing: those that have most of its first letters. */
async function near(metric, {key, filter}, signal) {
  const text = filter.replace(/^\w+\(|[*|)].*$/g, "");
  for (let n = text.length; ; n >>= 1) {
    const {names, more} = await valueNames({metric, filters: []}, null, key, text.slice(0, n), signal);
    if (names.length)
      return `${key} has the values ${names.slice(0, 10).join(", ")}${more || names.length > 10 ? " ..." : ""}`;
    if (!n)
      return `no series has the tag ${key}`;
  }
}
