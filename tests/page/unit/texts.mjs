/* Labels, files, filters, and what the other views make of answers. */
import assert from "node:assert/strict";
import test from "node:test";
import {aggregatorFor} from "../../../tsd/page/www/kind.js";
import {hourLabel, labelsOf, neat, tenth, weekdayLabel} from "../../../tsd/page/www/labels.js";
import {keysOf, latestRows, selection} from "../../../tsd/page/www/latest.js";
import {growth, knownColumns} from "../../../tsd/page/www/metrics.js";
import {toCsv, toJson} from "../../../tsd/page/www/sheet.js";
import {curveQuery, curvesOf, exploreLink} from "../../../tsd/page/www/start_model.js";
import {PARTS, pendingShards, queryWords} from "../../../tsd/page/www/status_parts.js";
import {filterWords, readFilter, withFilter, writeFilter} from "../../../tsd/page/www/totals_filter.js";
import {fieldOf} from "../../../tsd/page/www/totals_form.js";

test("hours that occur twice are told apart by their offsets", () => {
  const items = [0, 1, 2, 3].map(h => ({id: String(h), ms: Date.parse("2026-10-24T23:00:00Z") + h * 3600e3}));
  const labels = labelsOf(items, "hour", "Europe/Paris");
  assert.equal(new Set(labels).size, 4);
  assert.match(labels[1], /GMT\+2/);
  assert.match(labels[2], /GMT\+1/);
  assert.doesNotMatch(labels[0] + labels[3], /GMT/);
});

test("an hour that came twice before says so", () => {
  const ms = Date.parse("2026-10-26T01:00:00Z");
  const [first, second] = labelsOf([{ms}, {ms}], "hour", "Europe/Paris");
  assert.doesNotMatch(first, /GMT|twice/);
  assert.equal(second, `${first}, which came twice before`);
});

test("labels of the other keys", () => {
  const ms = Date.parse("2026-11-01T00:00:00Z");
  assert.deepEqual(["day", "month", "quarter", "year"].map(k => labelsOf([{ms}], k, "UTC")[0]), ["Sun, Nov 1, 2026", "November 2026", "Q4 2026", "2026"]);
  assert.deepEqual(labelsOf([{id: "Mon"}, {id: "Sun"}], "weekday", "UTC"), ["Monday", "Sunday"]);
  assert.deepEqual(labelsOf([{id: ""}, {id: "a"}], "host", "UTC"), ["(empty)", "a"]);
  assert.equal(weekdayLabel("Thu"), "Thursday");
  assert.equal(hourLabel("05"), hourLabel("05"));
  assert.match(hourLabel("17"), /5|17/);
});

test("numbers of tables", () => {
  assert.deepEqual([null, 0, 1234567, -5, 0.123456, 36.27394, 1e300].map(neat), ["", "0", "1,234,567", "-5", "0.1235", "36.27", neat(1e300)]);
  assert.deepEqual([null, 0.5, 0.12345].map(tenth), ["", "50.0%", "12.3%"]);
});

test("files quote what needs it and keep every digit", () => {
  const sheet = {head: ["Day", "a,b", "a,b"], rows: [["x \"y\"", 0.1, null], ["line\nfeed", 12345678901, -1]]};
  assert.equal(toCsv(sheet), "Day,\"a,b\",\"a,b\"\r\n\"x \"\"y\"\"\",0.1,\r\n\"line\nfeed\",12345678901,-1\r\n");
  assert.deepEqual(JSON.parse(toJson(sheet)), [{Day: "x \"y\"", "a,b": 0.1, "a,b 2": null}, {Day: "line\nfeed", "a,b": 12345678901, "a,b 2": -1}]);
  assert.deepEqual(JSON.parse(toJson({head: ["a"], rows: []})), []);
});

test("filters are read and written in the daemon's language", () => {
  assert.deepEqual(readFilter("a|b"), {values: ["a", "b"], not: false, pattern: ""});
  assert.deepEqual(readFilter("not_literal_or(a|b)"), {values: ["a", "b"], not: true, pattern: ""});
  assert.deepEqual(readFilter("web*"), {values: [], not: false, pattern: "web*"});
  assert.equal(writeFilter({values: ["a", "b"], not: true}), "not_literal_or(a|b)");
  assert.equal(writeFilter({values: [], not: true}), null);
  assert.equal(filterWords({tagk: "domain", filter: "a"}), "domain is a");
  assert.equal(filterWords({tagk: "domain", filter: "not_literal_or(a|b)"}), "domain is not a, b");
  assert.equal(filterWords({tagk: "domain", filter: "a|b|c|d"}), "domain is one of 4 values");
  assert.equal(filterWords({tagk: "domain", filter: "regexp(x.*)"}), "domain matches regexp(x.*)");
  assert.deepEqual(withFilter([{tagk: "a", filter: "1"}, {tagk: "b", filter: "2"}], "a", "3"), ["b=2", "a=3"]);
  assert.deepEqual(withFilter([{tagk: "a", filter: "1"}], "a", null), []);
});

test("errors of the API go beside the field they belong to", () => {
  assert.equal(fieldOf("compare=1d does not fit totals by week: moved so much, one would lie across two others. Give a multiple of 1w"), "cmp");
  assert.equal(fieldOf("No such name for 'tagk': 'foo'"), "rows");
  assert.equal(fieldOf("No such name for 'metrics': 'foo'"), "metric");
});

test("kinds decide how numbers are put together", () => {
  assert.deepEqual(["count", "gauge", "counter", null].map(aggregatorFor), ["sum", "avg", "max", "avg"]);
  assert.equal(curveQuery({metric: "m", kind: "count"}), "sum:15m-sum:m");
  assert.equal(curveQuery({metric: "m", kind: "counter"}), "sum:15m-avg:rate{dropcounter}:m");
  assert.equal(new URLSearchParams(exploreLink({metric: "m", kind: "count"}, {host: "a"}).slice(1)).get("m"), "sum:m{host=a}");
  assert.deepEqual([...curvesOf([{metric: "m", dps: [[1, 2], [2, "NaN"]]}])], [["m", [[1, 2], [2, null]]]]);
});

test("rows of newest points", () => {
  const rows = latestRows([{metric: "m", tags: {b: "1", a: "2"}, dps: [[20, 5], [10, 4]]}, {metric: "m", tags: {c: "3"}, dps: []}]);
  assert.deepEqual(rows, [{tags: {b: "1", a: "2"}, ms: 20, value: 5, points: [[10, 4], [20, 5]]}]);
  assert.deepEqual(keysOf(rows), ["a", "b"]);
  assert.deepEqual(keysOf([{tags: {dc: "x", host: "1"}}, {tags: {dc: "x", host: "2", a: "1"}}]), ["a", "host", "dc"]);
  assert.equal(selection("m", " {a=b} "), "m{a=b}");
  assert.equal(selection("m", ""), "m");
});

test("only what the daemon knows of metrics becomes a column", () => {
  const columns = [{key: "metric", always: true}, {key: "series"}, {key: "reads"}];
  assert.deepEqual(knownColumns([{metric: "a", series: 0}], columns).map(c => c.key), ["metric", "series"]);
  assert.equal(growth({points_today: 150, points_yesterday: 100}), 0.5);
  assert.equal(growth({points_today: 150, points_yesterday: 0}), null);
  assert.equal(growth({points_yesterday: 10}), null);
});

test("only what the daemon knows of its status becomes a part", () => {
  const s = {memory: [{account: "process", used: 1, limit: 2}], queries: {running: [], slow: []}, connections: {open: 7}, shards: [], times: {}, totals: null};
  assert.deepEqual(PARTS.filter(p => p.pick(s) !== null).map(p => p.key), ["queries", "memory", "connections"]);
});

test("a metric without points of the last day opens at its last ones", () => {
  const now = Date.UTC(2026, 10, 26), last = Date.UTC(1995, 6, 28);
  const at = (m, tags) => Object.fromEntries(new URLSearchParams(exploreLink(m, tags, now).slice(1)));
  assert.deepEqual(at({metric: "web.hits", last: now - 3600e3}), {v: "explore", start: "1d-ago", m: "sum:web.hits"});
  assert.deepEqual(at({metric: "web.hits"}, {host: "a"}), {v: "explore", start: "1d-ago", m: "sum:web.hits{host=a}"});
  assert.deepEqual(at({metric: "web.hits", last}), {v: "explore", start: String(last - 864e5), end: String(last + 60000), m: "sum:web.hits"});
});

test("queries of the view Status in words", () => {
  const text = JSON.stringify({startTime: 1795132800000, endTime: 1795136400000, queries: [{aggregator: "sum", metric: "web.hits", downsample: "15m-sum", rate: true,
    filters: [{tagk: "host", filter: "a|b"}]}, {aggregator: "avg", metric: "m", downsample: null, rate: false, filters: []}]});
  assert.match(queryWords(text, "UTC"), /^sum:15m-sum:rate:web.hits\{host=a\|b\}, avg:m, .*2026.* to .*2026/);
  assert.equal(queryWords("lookup of m", "UTC"), "lookup of m");
  assert.equal(queryWords("{\"m\":1}", "UTC"), "{\"m\":1}");
});

test("a change of shards is shown while it is pending", () => {
  assert.equal(pendingShards(undefined), null);
  assert.equal(pendingShards({shards: 2, wanted: 2}), null);
  assert.equal(pendingShards({shards: 2, wanted: 4}), "2, wanted 4: about to change");
  assert.equal(pendingShards({shards: 2, wanted: 1, waits: "ids are remembered"}), "2, wanted 1: ids are remembered");
});
