/* names.js - which metrics, tag keys and values there are, and what is known of a metric. */
import {ApiError, get} from "./api.js";
import {guessKind} from "./query.js";

const MOST = 50; /* names in an answer */
const LOOKUP = 2000; /* series that are looked at for their tags */
const metrics = new Map();

/** Metrics that begin with a text. @returns {Promise<{names: string[], more: boolean}>} */
export async function metricNames(text, signal) {
  const found = await get("api/suggest", {type: "metrics", q: text, max: MOST + 1}, {signal});
  return {names: found.slice(0, MOST), more: found.length > MOST};
}

/* The values that a filter lists, or null for one that is more than a list. */
function listed(filter) {
  const call = /^(?:literal_or)\((.*)\)$/.exec(filter);
  return call ? call[1].split("|") : /[*()]/.test(filter) ? null : filter.split("|");
}

/**
 * Tags of the series that a query selects.
 * @param {import("./query.js").Query} query
 * @param {?Object} without a filter that is left out, since it is being chosen
 * @returns {Promise<{tags: Object[], more: boolean}>} more: there may be others
 */
export async function seriesTags(query, without, signal) {
  const filters = query.filters.filter(f => f !== without && f.key && f.filter);
  /* lists are compared here: the server refuses names that it has never seen, and a key may be one */
  const answer = await get("api/search/lookup", {m: query.metric, limit: LOOKUP}, {signal});
  const fits = tags => filters.every(f => f.key in tags && (listed(f.filter)?.includes(tags[f.key]) ?? true));
  return {tags: answer.results.map(r => r.tags).filter(fits), more: answer.totalResults > answer.results.length};
}

function chosen(all, text, more) {
  const part = text.toLowerCase();
  const begins = [], holds = [];
  for (const name of [...new Set(all)].sort((a, b) => a.localeCompare(b, undefined, {numeric: true}))) {
    const at = name.toLowerCase().indexOf(part);
    if (at >= 0)
      (at === 0 ? begins : holds).push(name);
  }
  const names = [...begins, ...holds];
  return {names: names.slice(0, MOST), more: more || names.length > MOST};
}

/** Tag keys of the series that a query selects. Contract: metricNames. */
export async function keyNames(query, without, text, signal) {
  const {tags, more} = await seriesTags(query, without, signal);
  return chosen(tags.flatMap(Object.keys), text, more);
}

/** Values of a tag key in the series that a query selects. Contract: metricNames. */
export async function valueNames(query, without, key, text, signal) {
  const {tags, more} = await seriesTags(query, without, signal);
  return chosen(tags.map(t => t[key]).filter(v => v !== undefined), text, more);
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
