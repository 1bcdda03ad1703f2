/* kind.js - what kinds of metrics mean for queries. Pure functions. */

/** The kind that a name suggests where nobody has said it. */
export function guessKind(metric) {
  return /(^|[._-])(hits|orders|events|visits|clicks|sales)$/.test(metric) ? "count" : "gauge";
}

/** The aggregator of totals that suits a kind: counts are added, states are averaged, of counters the highest value says most. */
export function aggregatorFor(kind) {
  return {count: "sum", counter: "max"}[kind] ?? "avg";
}
