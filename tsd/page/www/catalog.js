/*
 * catalog.js - which metrics and tags there are, asked of the daemon, and what is known about a metric.
 *
 * Each function says what the daemon answers; a part that it does not know is left out. Not here: fields (totals_form.js).
 */
import {get, isAbort} from "./api.js";
import {metricNames} from "./names.js";
import {guessKind} from "./query.js";

const missing = new Set(); /* folders of endpoints that this daemon does not have: one of them is asked once */
const folderOf = path => path.replace(/[^/]*$/, "");

/**
 * The answer of a request, or null if it is refused: what is beside the question must not hide the answer to it.
 * @throws {ApiError} only if the daemon does not answer at all, or AbortError
 */
export async function attempt(path, params, options) {
  if (missing.has(folderOf(path)))
    return null;
  try {
    return await get(path, params, options);
  } catch (error) {
    if (isAbort(error) || error.status === 0)
      throw error;
    if (error.status === 404 && error.message.startsWith("Endpoint not found"))
      missing.add(folderOf(path));
    return null;
  }
}

/**
 * Metrics whose names contain a text, those that begin with it first; from a daemon without this search those that begin with it.
 * @returns {Promise<{names: string[], more: boolean}>}
 */
export async function names(q, signal) {
  return await attempt("api/tsd/names", {kind: "metric", q, max: 50}, {signal}) ?? metricNames(q, signal);
}

async function tagsOf(metric, options) {
  const found = await attempt("api/search/lookup", {m: metric, limit: 200}, options);
  const values = new Map();
  for (const {tags} of found?.results ?? [])
    for (const [tagk, tagv] of Object.entries(tags))
      values.set(tagk, (values.get(tagk) ?? new Set()).add(tagv));
  return [...values].map(([tagk, set]) => ({tagk, example: [...set].slice(0, 5)}));
}

/**
 * What is known about a metric.
 * @returns {Promise<{metric: string, kind: ?string, likely: string, unit: string, tags: Array<{tagk: string, values?: number, example: string[]}>}>}
 *   likely: the kind that was declared, else the one that the name suggests
 */
export async function metricInfo(metric, options) {
  const [declared, stored] = await Promise.all([
    attempt("api/metric", {metric}, options), attempt("api/tsd/metric", {metric}, options)]);
  const kind = declared?.kind ?? stored?.kind ?? null;
  return {...stored, metric, kind, likely: kind && declared?.source !== "default" ? kind : guessKind(metric), source: declared?.source ?? null,
    unit: declared?.unit ?? stored?.unit ?? "", tags: stored?.tags ?? (declared ? await tagsOf(metric, options) : [])};
}

/**
 * Metrics with what is stored of them, or with their names alone from a daemon that cannot tell more.
 * @param {{match?: string, sort?: string, limit?: number, offset?: number}} params
 * @returns {Promise<{metrics: Object[], more: boolean, total?: number, plain?: boolean}>} plain: names alone
 */
export async function metrics({match = "", sort = "name", limit = 50, offset = 0}, options) {
  const found = await attempt("api/tsd/metrics", {match: match || null, sort, limit, offset}, options);
  if (found)
    return found;
  const list = await get("api/suggest", {type: "metrics", q: match || null, max: limit + offset + 1}, options);
  return {metrics: list.slice(offset, offset + limit).map(metric => ({metric})), more: list.length > offset + limit, plain: true};
}

/** The metrics that others than the daemon itself have sent; all if there are no others. */
export function foreign(list) {
  const found = list.filter(m => !m.metric.startsWith("tsd."));
  return found.length ? found : list;
}

/** The aggregator of totals that suits a kind: counts are added, states are averaged, of counters the highest value says most. */
export function aggregatorFor(kind) {
  return {count: "sum", counter: "max"}[kind] ?? "avg";
}
