/*
 * start_model.js - the queries of small curves, and links that open a metric. Pure functions.
 */
import {aggregatorFor, guessKind} from "./kind.js";

const DAY = 864e5;

/** The kind of a metric, else the one that its name suggests. */
export const kindOf = m => m.kind ?? guessKind(m.metric);

/** The query of one curve over a day: sums of counts, rates of counters, averages of states. */
export function curveQuery(m) {
  const {metric} = m, kind = kindOf(m);
  if (kind === "count")
    return `sum:15m-sum:${metric}`;
  return kind === "counter" ? `sum:15m-avg:rate{dropcounter}:${metric}` : `avg:15m-avg:${metric}`;
}

export const curveQueries = list => list.map(curveQuery);

/** The points of each metric of an answer with `arrays` and `ms`. @returns {Map<string, Array<[number, ?number]>>} */
export function curvesOf(answer) {
  const found = new Map();
  for (const one of answer)
    if (one.metric && !found.has(one.metric))
      found.set(one.metric, one.dps.map(([ms, v]) => [ms, typeof v === "number" ? v : null]));
  return found;
}

/** The address of the view Explore with a metric, over the last day; if its last point is older, over the day before that. @param {{metric: string, kind?: string, last?: number}} m */
export function exploreLink(m, tags = {}, now = Date.now()) {
  const {metric, last} = m, kind = kindOf(m), old = last < now - DAY;
  const list = Object.entries(tags).map(([k, v]) => `${k}=${v}`).join(",");
  const agg = kind === "counter" ? "sum:rate{dropcounter}" : aggregatorFor(kind);
  return "#" + new URLSearchParams({v: "explore", start: old ? last - DAY : "1d-ago", ...(old && {end: last + 60000}), m: `${agg}:${metric}${list ? `{${list}}` : ""}`});
}
