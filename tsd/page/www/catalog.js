/*
 * catalog.js - what is known about a metric, asked of the daemon.
 *
 * Not here: lists of metrics (metric_list.js), fields (totals_form.js).
 */
import {get, isAbort} from "./api.js";
import {guessKind} from "./kind.js";
import {keyNames} from "./names.js";

/**
 * The answer of a request, or null if it is refused: what is beside the question must not hide the answer to it.
 * @throws {ApiError} only if the daemon does not answer at all, or AbortError
 */
async function attempt(path, params, options) {
  try {
    return await get(path, params, options);
  } catch (error) {
    if (isAbort(error) || error.status === 0)
      throw error;
    return null;
  }
}

/**
 * What is known about a metric.
 * @returns {Promise<{metric: string, kind: ?string, likely: string, unit: string, tags: Array<{tagk: string, values?: number, example: string[]}>}>}
 *   likely: the kind that was declared, else the one that the name suggests; of a metric that only a remote store has, tags are their keys alone
 */
export async function metricInfo(metric, options) {
  const [declared, stored] = await Promise.all([
    attempt("api/metric", {metric}, options), attempt("api/tsd/metric", {metric}, options)]);
  const kind = declared?.kind ?? stored?.kind ?? null;
  const tags = stored?.tags ?? (await keyNames({metric, filters: []}, null, "", options.signal)).names.map(tagk => ({tagk}));
  return {...stored, metric, kind, likely: kind && declared?.source !== "default" ? kind : guessKind(metric), source: declared?.source ?? null,
    unit: declared?.unit ?? stored?.unit ?? "", tags};
}
