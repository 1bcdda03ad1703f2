/*
 * status_parts.js - the parts of the view Status: which member of the status each shows, and its table.
 *
 * A part is {key, title, pick(status), draw(data, tools)}; pick returns null if the daemon does not know it. tools: {zone, now, cancel(id)}.
 */
import {h, table} from "./dom.js";
import {tenth} from "./labels.js";
import {bytes, count, duration, short} from "./number.js";
import {format} from "./zone.js";

const some = list => (Array.isArray(list) && list.length ? list : null);
const num = (key, title, show, more = {}) => ({key, title, align: "right", value: r => r[key], cell: r => (r[key] === undefined || r[key] === null ? "" : show(r[key])), ...more});
const text = (key, title, more = {}) => ({key, title, value: r => r[key], ...more});

function facts(pairs) {
  return h("dl", {class: "facts"}, pairs.filter(([, v]) => v !== undefined && v !== null)
    .map(([name, v]) => h("div", null, h("dt", null, name), h("dd", null, v))));
}

const has = (v, show) => (v === undefined || v === null ? null : show(v));

function rates({rates: r = {}, totals: t = {}}) {
  return facts([
    ["Points in, a second", has(r.points_in, short)], ["Points out, a second", has(r.points_out, short)], ["Requests, a second", has(r.requests, short)],
    ["Points", has(t.points, short)], ["Series", has(t.series, count)], ["Metrics", has(t.metrics, count)], ["Files", has(t.files, count)],
    ["On disk", has(t.bytes_on_disk, bytes)], ["Bytes a point", has(t.bytes_per_point, short)]]);
}

function memory(list) {
  const share = r => (r.limit > 0 ? r.used / r.limit : null);
  return table([text("account", "Account", {heading: true}), num("used", "Used", bytes),
    num("limit", "Limit", v => (v > 0 ? bytes(v) : "process"), {help: "process: only that of the whole process"}),
    {key: "share", title: "Share", align: "right", value: share,
      cell: r => (share(r) === null ? "" : h("span", null, h("meter", {min: 0, max: 1, high: 0.9, value: share(r), "aria-hidden": "true"}), ` ${tenth(share(r))}`))}],
  list, {caption: "Memory by account"});
}

function refused(list, {zone}) {
  return table([text("reason", "Reason", {heading: true}), num("count", "Lines", count), {key: "when", title: "Last", value: r => r.when,
    cell: r => (r.when ? format(r.when, zone, "full") : "")}, {key: "example", title: "For example", cell: r => h("code", null, r.example ?? "")}],
  list, {sort: {key: "count", down: true}, caption: "Lines and points that were refused since the daemon was started", cards: true});
}

function windows(list, {zone}) {
  const rows = list.map(w => ({...w, per: w.points > 0 ? w.bytes / w.points : null}));
  return table([{key: "start", title: "From", heading: true, value: r => r.start, cell: r => format(r.start, zone, "minute")},
    {key: "end", title: "To", value: r => r.end, cell: r => format(r.end, zone, "minute")}, num("files", "Files", count), num("bytes", "Size", bytes),
    num("points", "Points", count), num("per", "Bytes a point", short)], rows, {sort: {key: "start", down: true}, caption: "Windows of time with their files", cards: true});
}

const TIMES = {put_to_log: "From the socket into the log", flush: "Memory into files", merge: "Merging files", sync: "Sync of the log"};

function times(t) {
  const rows = Object.entries(t).map(([key, v]) => ({name: TIMES[key] ?? key, ...v}));
  return table([text("name", "Step", {heading: true}), num("count", "How often", count), num("p50", "Half within", duration),
    num("p99", "99 % within", duration), num("max", "Longest", duration)], rows, {caption: "How long steps took"});
}

/** What a query asks for, as it is written in addresses, and its range; the text itself if it is something else. */
export function queryWords(text, zone) {
  try {
    const {startTime, endTime, queries: list} = JSON.parse(text);
    const one = q => [q.aggregator, q.downsample, q.rate && "rate", q.metric ?? `tsuids ${q.tsuids}`].filter(Boolean).join(":")
      + (q.filters?.length ? `{${q.filters.map(f => `${f.tagk}=${f.filter}`).join(",")}}` : "");
    return `${list.map(one).join(", ")}, ${format(startTime, zone, "minute")} to ${format(endTime, zone, "minute")}`;
  } catch { /* not a query of series */
    return text;
  }
}

function queries({running = [], slow = []}, {cancel, zone}) {
  const columns = [{key: "text", title: "Query", heading: true, cell: r => h("code", {title: r.text}, queryWords(r.text, zone))}, text("client", "Client"), num("ms", "Time", duration)];
  const plan = {key: "plan", title: "Plan", cell: r => r.plan && h("details", null, h("summary", null, "Show"), h("pre", null, typeof r.plan === "string" ? r.plan : JSON.stringify(r.plan, null, 2)))};
  const button = {key: "cancel", title: "Action", cell: r => h("button", {type: "button", "data-key": `cancel-${r.id}`, "on:click": () => cancel(r.id)}, "Cancel")};
  const withPlan = list => (list.some(r => r.plan) ? [...columns, plan] : columns);
  return [running.length ? table([...withPlan(running), button], running, {caption: "Running now", cards: true}) : h("p", {class: "hint"}, "No query is running."),
    slow.length > 0 && table(withPlan(slow), slow, {sort: {key: "ms", down: true}, caption: "The slowest of the last queries", cards: true})];
}

function connections(c) {
  return facts([["Open", c.open === undefined ? null : `${count(c.open)}${c.max > 0 ? ` of at most ${count(c.max)}` : ""}`],
    ...Object.entries(c.by_protocol ?? {}).map(([name, n]) => [name, count(n)])]);
}

function remote(r) {
  return facts([["Kind", r.kind], ["Reachable", r.reachable ? "yes" : h("strong", {class: "bad"}, "no")], ["Points that wait", has(r.backlog_points, count)],
    ["Their size", has(r.backlog_bytes, bytes)], ["The oldest has waited", has(r.backlog_seconds, s => duration(s * 1000))]]);
}

function config(list) {
  const columns = [text("key", "Key", {heading: true}), {key: "value", title: "Value", cell: r => h("code", {class: r.changed ? "changed" : null}, String(r.value))},
    {key: "default", title: "Default", cell: r => (r.changed ? h("code", null, String(r.default ?? "")) : "")}, text("help", "What it does", {value: undefined})];
  const known = columns.filter(c => c.key === "key" || c.key === "value" || list.some(r => c.key in r));
  const changed = list.filter(r => r.changed);
  const marked = list.some(r => r.changed !== undefined);
  return [marked && (changed.length ? table(known, changed, {caption: "What was changed", cards: true}) : h("p", {class: "hint"}, "Every key has its default.")),
    h("details", null, h("summary", null, `All ${count(list.length)} keys`), table(known, list, {caption: "All keys", cards: true}))];
}

/** A pending change of shards, as tsd status says it; null: none. */
export function pendingShards({shards: now, wanted, waits} = {}) {
  return now === wanted || wanted === undefined ? null
    : `${now}, wanted ${wanted}: ${waits ?? "about to change"}`;
}

function shards({list, rebalance}) {
  const columns = [num("series", "Series", count), num("memstore_points", "Points in memory", count), num("memstore_bytes", "In memory", bytes),
    num("log_bytes", "In the log", bytes)].filter(c => list.some(r => c.key in r));
  return [facts([["Shards", pendingShards(rebalance) ?? has(rebalance?.shards, count)]]),
    table([text("shard", "Owner", {heading: true}), ...columns], list, {caption: "Memory of each owner"})];
}

/** The parts in their order. */
export const PARTS = [
  {key: "rates", title: "Data", pick: s => (s.rates || s.totals ? {rates: s.rates, totals: s.totals} : null), draw: rates},
  {key: "refused", title: "Refused", pick: s => some(s.refused), draw: refused},
  {key: "queries", title: "Queries", pick: s => s.queries ?? null, draw: queries},
  {key: "memory", title: "Memory", pick: s => some(s.memory), draw: memory},
  {key: "connections", title: "Connections", pick: s => s.connections ?? null, draw: connections},
  {key: "remote", title: "Remote store", pick: s => s.remote ?? null, draw: remote},
  {key: "times", title: "Times", pick: s => (s.times && Object.keys(s.times).length ? s.times : null), draw: times},
  {key: "shards", title: "Shards", pick: s => (some(s.shards) ? {list: s.shards, rebalance: s.rebalance} : null), draw: shards},
  {key: "windows", title: "Files", pick: s => some(s.windows), draw: windows},
  {key: "config", title: "Configuration", pick: s => some(s.config), draw: config},
];
