/* names.js - which metrics, tag keys and values there are, and what is known of a metric. */
import {ApiError, get} from "./api.js";
import {guessKind} from "./kind.js";

const metrics = new Map();

/* Names that have points in a time under the filters of a query but one; if there are none, those that have points at other times. */
async function names(params, signal, range, query, without) {
  const filter = query?.filters.filter(f => f !== without && f.key && f.filter).map(f => `${f.key}=${f.filter}`);
  const ask = time => get("api/tsd/names", {...params, filter, ...time}, {signal});
  const found = range ? await ask({start: range.start, end: range.end - 1}) : null;
  return !found || !found.names.length && !found.more ? {...await ask(), elsewhere: Boolean(found)} : found;
}

/**
 * Metrics whose names begin with a text, then those that contain it: at most 50 that have series under the filters of a query with points in the time.
 * @param {string} text @param {AbortSignal} signal
 * @param {?{start: number, end: number}} [range] ms @param {?import("./query.js").Query} [query]
 * @returns {Promise<{names: string[], more: boolean, elsewhere?: boolean}>} elsewhere: nothing has points in the time; these have points at others
 */
export function metricNames(text, signal, range, query) {
  return names({q: text}, signal, range, query);
}

/** Tag keys of the series that a query selects, without a filter that is being chosen. Contract: metricNames. */
export function keyNames(query, without, text, signal, range) {
  return names({kind: "tagk", metric: query.metric, q: text}, signal, range, query, without);
}

/** Values of a tag key in the series that a query selects. Contract: keyNames. */
export function valueNames(query, without, key, text, signal, range) {
  return names({kind: "tagv", metric: query.metric, tagk: key, q: text}, signal, range, query, without);
}

/**
 * Kind and unit of a metric; asked once.
 * @returns {Promise<{kind: "gauge"|"count"|"counter", unit: string, guessed: boolean}>} guessed: nobody has said it
 */
export function about(metric) {
  if (!metrics.has(metric)) {
    const asked = get("api/metric", {metric}).then(m => {
      const said = m.source !== "default";
      return {kind: said ? m.kind : guessKind(metric), unit: m.unit ?? "", guessed: !said};
    }).catch(error => {
      metrics.delete(metric);
      if (error instanceof ApiError && error.status >= 400 && error.status < 500)
        return {kind: guessKind(metric), unit: "", guessed: true};
      throw error;
    });
    metrics.set(metric, asked);
  }
  return metrics.get(metric);
}
