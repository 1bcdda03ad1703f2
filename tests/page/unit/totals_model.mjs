/* Tables of totals: reading answers, totals that agree with the cells, changes, shares, orders. */
import assert from "node:assert/strict";
import test from "node:test";
import {changeOf, largest, orderOf, OTHERS, readTable, shareOf, sortOf, total, totalsFrom, totalsOf} from "../../../tsd/page/www/totals_model.js";

/* Answers of /api/query, as a daemon gave them. */
const WIDE = [
  {timestamp: 1795129200, date: "2026-11-20", values: {"semicomplete.com": 1407, none: 1077, "(others)": 222}},
  {timestamp: 1795215600, date: "2026-11-21", values: {"semicomplete.com": 662, none: 727, "(others)": 132}},
  {timestamp: 1795302000, date: "2026-11-22", values: {"semicomplete.com": null, none: 1217, "(others)": null}, partial: true}];
const COMPARED = [
  {timestamp: 1795402800, date: "2026-11-23", hour: "04", tags: {domain: "a"}, values: {"web.hits": 82, before: 62, difference: 20, ratio: 1.32258}},
  {timestamp: 1795402800, date: "2026-11-23", hour: "04", tags: {domain: "b"}, values: {"web.hits": 24, before: null, difference: null, ratio: null}},
  {timestamp: 1795406400, date: "2026-11-23", hour: "05", tags: {domain: "a"}, values: {"web.hits": null, before: 4, difference: null, ratio: null}}];
const wide = {wide: true, turned: false, params: {}}, flat = {wide: false, turned: false, params: {}};

test("columns of an answer become cells; what has no points is null", () => {
  const t = readTable(WIDE, wide, {rows: "day", cols: "domain", metric: "web.hits"});
  assert.deepEqual(t.cols.map(c => c.id), ["none", "semicomplete.com", OTHERS]);
  assert.deepEqual(t.now, [[1077, 1407, 222], [727, 662, 132], [1217, null, null]]);
  assert.deepEqual(t.rows.map(r => [r.ms, Boolean(r.partial)]), [[1795129200000, false], [1795215600000, false], [1795302000000, true]]);
});

test("a turned table has the same cells", () => {
  const t = readTable(WIDE, {...wide, turned: true}, {rows: "domain", cols: "day", metric: "web.hits"});
  assert.deepEqual(t.cols.map(c => c.ms), [1795129200000, 1795215600000, 1795302000000]);
  assert.equal(t.cols[2].partial, true);
  assert.deepEqual(t.now[t.rows.findIndex(r => r.id === "none")], [1077, 727, 1217]);
});

test("hours of the day are in their order, whatever the order of members of an object", () => {
  const t = readTable(JSON.parse('[{"weekday":"Mon","values":{"00":1,"09":2,"10":3,"23":4}},{"weekday":"Sun","values":{"00":5,"09":6,"10":7,"23":8}}]'), wide,
    {rows: "weekday", cols: "hourofday", metric: "m"});
  assert.deepEqual(t.cols.map(c => c.id), ["00", "09", "10", "23"]);
  assert.deepEqual(t.now, [[1, 2, 3, 4], [5, 6, 7, 8]]);
});

test("compared cells have both values; a metric may be called before", () => {
  const t = readTable(COMPARED, {...flat, params: {compare: "1w"}}, {rows: "hour", cols: "domain", metric: "web.hits"});
  assert.deepEqual(t.now, [[82, 24], [null, null]]);
  assert.deepEqual(t.before, [[62, null], [4, null]]);
  const odd = readTable([{values: {before: 5}}], flat, {rows: "", cols: "", metric: "before"});
  assert.equal(odd.now[0][0], 5);
});

test("an hour that came twice on the earlier day keeps its value in a row of its own", () => {
  const t = readTable([{timestamp: 1792976400, date: "2026-10-26", hour: "02", values: {m: 120, before: 111}},
    {timestamp: 1792976400, date: "2026-10-26", hour: "02+01:00", values: {m: null, before: 110}}], {...flat, params: {compare: "1d"}}, {rows: "hour", cols: "", metric: "m"});
  assert.deepEqual([t.now, t.before, t.rows.map(r => r.ms)], [[[120], [null]], [[111], [110]], [1792976400000, 1792976400000]]);
  assert.deepEqual(totalsOf(t, "sum").all, {now: 120, before: 221});
});

test("one column, one cell, no rows at all", () => {
  const t = readTable([{metric: "m", tags: {host: "a"}, value: 3}, {metric: "m", tags: {host: "b"}, value: "NaN"}], flat, {rows: "host", cols: "", metric: "m"});
  assert.deepEqual(t.now, [[3], [null]]);
  assert.deepEqual(readTable([], flat, {rows: "host", cols: "", metric: "m"}).rows, []);
  assert.deepEqual(totalsOf(readTable([], flat, {rows: "day", cols: "host", metric: "m"}), "sum").all, {now: null, before: null});
});

test("sums of rows, columns and all agree with the cells", () => {
  const t = readTable(WIDE, wide, {rows: "day", cols: "domain", metric: "web.hits"}), s = totalsOf(t, "sum");
  assert.deepEqual(s.rows.map(x => x.now), [2706, 1521, 1217]);
  assert.deepEqual(s.cols.map(x => x.now), [3021, 2069, 354]);
  assert.equal(s.all.now, 5444);
  assert.equal(totalsOf(t, "max").all.now, 1407);
  assert.deepEqual(totalsOf(t, "min").rows.map(x => x.now), [222, 132, 1217]);
  assert.equal(totalsOf(t, "avg"), null);
});

test("sums of fractions do not drift, whatever the order", () => {
  assert.equal(total([1e16, 1, -1e16]), 1);
  assert.equal(total(Array.from({length: 10}, () => 0.1)), 1);
  assert.equal(total([null, null]), null);
  assert.equal(total([]), null);
});

test("totals of averages are those of the daemon, matched by id", () => {
  const t = readTable([{tags: {a: "x"}, values: {p: 1, q: 3}}, {tags: {a: "y"}, values: {p: 5, q: null}}], wide, {rows: "a", cols: "b", metric: "m"});
  const one = (rows, values) => ({rows: rows.map(id => ({id})), now: values.map(v => [v])});
  const s = totalsFrom(t, {rows: one(["y", "x"], [5, 2]), cols: one(["q", "p"], [3, 3.5]), all: one([""], [3.2])});
  assert.deepEqual(s.rows.map(r => r.now), [2, 5]);
  assert.deepEqual(s.cols.map(c => c.now), t.cols.map(c => ({p: 3.5, q: 3})[c.id]));
  assert.equal(s.all.now, 3.2);
});

test("changes and shares mean nothing where a number is missing", () => {
  assert.deepEqual(changeOf(150, 100), {difference: 50, change: 0.5});
  assert.deepEqual(changeOf(-50, -100), {difference: 50, change: 0.5});
  assert.deepEqual(changeOf(5, 0), {difference: 5, change: null});
  assert.deepEqual(changeOf(null, 5), {difference: null, change: null});
  assert.equal(shareOf(25, 100, "sum"), 0.25);
  assert.equal(shareOf(25, 100, "avg"), null);
  assert.equal(shareOf(25, 0, "sum"), null);
  assert.equal(largest([[1, null], [-7, 3]]), 7);
});

test("rows are sorted by any column; the others stay last, and so do rows without a value", () => {
  const t = readTable([{tags: {h: "b10"}, value: 5}, {tags: {h: "b9"}, value: 9}, {tags: {h: "c"}, value: null}, {tags: {h: OTHERS}, value: 100}], flat,
    {rows: "h", cols: "", metric: "m"});
  const s = totalsOf(t, "sum"), by = text => orderOf(t, s, "h", sortOf(text)).map(r => t.rows[r].id);
  assert.deepEqual(by(""), ["b9", "b10", "c", OTHERS]);
  assert.deepEqual(by("label"), ["b9", "b10", "c", OTHERS]);
  assert.deepEqual(by("-label"), ["c", "b10", "b9", OTHERS]);
  assert.deepEqual(by("total"), ["b10", "b9", "c", OTHERS]);
  assert.deepEqual(by("-total"), ["b9", "b10", "c", OTHERS]);
  const days = readTable(WIDE, wide, {rows: "day", cols: "domain", metric: "m"}), d = totalsOf(days, "sum");
  assert.deepEqual(orderOf(days, d, "day", sortOf("-label")), [2, 1, 0]);
  assert.deepEqual(orderOf(days, d, "day", sortOf("c:none")), [1, 0, 2]);
});

test("a thousand rows by a month are sorted in a few milliseconds' work", () => {
  const answer = Array.from({length: 31}, (_, d) => ({timestamp: d * 86400, values: Object.fromEntries(Array.from({length: 1000}, (_x, i) => [`d${i}`, (i * 7919 + d * 31) % 1009]))}));
  const t = readTable(answer, {...wide, turned: true}, {rows: "domain", cols: "day", metric: "m"}), s = totalsOf(t, "sum");
  const sums = orderOf(t, s, "domain", sortOf("-total")).map(r => s.rows[r].now);
  assert.equal(sums.length, 1000);
  assert.deepEqual(sums, [...sums].sort((a, b) => b - a));
  assert.equal(s.all.now, total(s.cols.map(c => c.now)));
});
