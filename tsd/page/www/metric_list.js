/* metric_list.js - which metrics there are, asked of the daemon. */
import {get} from "./api.js";
import {count} from "./number.js";

/**
 * Metrics with what is stored of them.
 * @param {{match?: string, sort?: string, limit?: number, own?: boolean, today?: number, yesterday?: number}} params own: with those of the daemon itself;
 *   today, yesterday: when these days begin, ms
 * @returns {Promise<{metrics: Object[], more: boolean, total: number, partial: boolean}>} partial: not all were looked at for the order
 */
export function metrics({match = "", sort = "name", limit = 50, own = true, ...days}, options) {
  return get("api/tsd/metrics", {match: match || null, sort, limit, own: own ? null : "false", ...days}, options);
}

/** What is to be said of an order that not all metrics belong to, or "". @param {{partial: boolean, sorted?: number}} found */
export function partialWords({partial, sorted}) {
  return partial ? `; only the first ${count(sorted)} by name are in this order, and a part of a name finds others` : "";
}

/** The metrics written last: those of others than the daemon itself, or its own if there are no others. */
export async function newest(limit, options) {
  const others = await metrics({sort: "written", limit, own: false}, options);
  return others.metrics.length ? others.metrics : (await metrics({sort: "written", limit}, options)).metrics;
}

/** The metrics that others than the daemon itself have sent; all if there are no others. */
export function foreign(list) {
  const found = list.filter(m => !m.metric.startsWith("tsd."));
  return found.length ? found : list;
}
