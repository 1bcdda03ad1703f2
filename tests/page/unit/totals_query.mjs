/* Requests of totals: which keys become columns, which comparisons fit, what a narrower view is. */
import assert from "node:assert/strict";
import test from "node:test";
import {comparisons, fits, narrower, queryText, specOf, splitFilter, tableRequest, wholeRequest} from "../../../tsd/page/www/totals_query.js";

const at = text => Date.parse(text);
const NOW = at("2026-11-24T03:00:00Z");
const known = {zone: "Europe/Paris", now: NOW, agg: "sum"};
const spec = (state, filters = []) => specOf(name => state[name] ?? "", filters, known);

test("rows are hours of a short range and days of a long one; the same key is never rows and columns", () => {
  assert.equal(spec({metric: "m", start: "today"}).rows, "hour");
  assert.equal(spec({metric: "m", start: "30days"}).rows, "day");
  assert.equal(spec({metric: "m", rows: "host", cols: "host"}).cols, "");
  assert.equal(spec({metric: "m", rows: "day", cols: "hour"}).cols, "");
  assert.equal(spec({metric: "m"}).agg, "sum");
  assert.equal(spec({metric: "m", agg: "p99"}).agg, "p99");
});

test("filters become the second braces of the query, so that they never group", () => {
  assert.equal(queryText(spec({metric: "web.hits"})), "sum:web.hits");
  assert.equal(queryText(spec({metric: "web.hits"}, ["domain=a|b", "status=not_literal_or(500)", "broken"])), "sum:web.hits{}{domain=a|b,status=not_literal_or(500)}");
  assert.deepEqual(splitFilter("a=b=c"), {tagk: "a", filter: "b=c"});
  assert.equal(splitFilter("=x"), null);
  assert.equal(splitFilter("x="), null);
});

test("intervals are rows of the answer and tags its columns, turned if the view wants it", () => {
  const plain = tableRequest(spec({metric: "m", rows: "day", cols: "host", top: "5"}));
  assert.deepEqual([plain.params.by, plain.params.columns, plain.params.top, plain.params.others, plain.params.fill, plain.turned, plain.wide],
    ["day,host", "host", 5, "true", "null", false, true]);
  const turned = tableRequest(spec({metric: "m", rows: "host", cols: "day"}));
  assert.deepEqual([turned.params.by, turned.params.columns, turned.turned], ["day,host", "host", true]);
  const hours = tableRequest(spec({metric: "m", rows: "weekday", cols: "hourofday"}));
  assert.deepEqual([hours.params.by, hours.params.columns, hours.params.top, hours.params.fill], ["weekday,hourofday", "hourofday", undefined, undefined]);
  assert.equal(tableRequest(spec({metric: "m", rows: "host", top: "0"})).params.top, undefined);
});

test("comparing needs values by name, and only distances that fit", () => {
  const r = tableRequest(spec({metric: "m", rows: "day", cols: "host", cmp: "1w"}));
  assert.deepEqual([r.params.compare, r.params.columns, r.wide], ["1w", undefined, false]);
  assert.equal(tableRequest(spec({metric: "m", rows: "week", cmp: "1d"})).params.compare, undefined);
  assert.deepEqual(["1d", "1w", "1n", "1y"].map(d => fits("week", d)), [false, true, false, false]);
  assert.deepEqual(["1d", "1w", "1n", "1y"].map(d => fits("host", d)), [true, true, true, true]);
  assert.deepEqual(["1d", "1n"].map(d => fits("month", d)), [false, true]);
});

test("no request asks for times later than now", () => {
  const future = spec({metric: "m", start: "2026-11-20", end: "2026-11-30"});
  assert.equal(tableRequest(future).params.end, NOW);
  assert.equal(wholeRequest(future).params.end, NOW);
  const past = spec({metric: "m", start: "2026-11-20", end: "2026-11-20"});
  assert.equal(tableRequest(past).params.end, at("2026-11-20T23:00:00Z") - 1);
});

test("a range is compared with earlier ones that do not overlap it, over the same elapsed time", () => {
  const today = comparisons(spec({metric: "m", start: "today"}));
  assert.deepEqual(today.map(c => c.distance), ["1d", "1w", "1n", "1y"]);
  assert.deepEqual([today[0].start, today[0].end], [at("2026-11-22T23:00:00Z"), at("2026-11-23T03:00:00Z") - 1]);
  assert.deepEqual([today[2].start, today[2].end], [at("2026-10-23T22:00:00Z"), at("2026-10-24T02:00:00Z") - 1]); /* summer time */
  assert.deepEqual(comparisons(spec({metric: "m", start: "thismonth"})).map(c => c.distance), ["1n", "1y"]);
  assert.deepEqual(comparisons(spec({metric: "m", start: "lastmonth"})).map(c => c.distance), ["1n", "1y"]);
  assert.deepEqual(comparisons(spec({metric: "m", start: "2024-01-01"})), []);
});

test("days of the end of a month are compared with those that the month before has", () => {
  const [, month] = comparisons(spec({metric: "m", start: "2026-03-29", end: "2026-03-30"})).slice(-3);
  assert.deepEqual([month.distance, month.start, month.end], ["1n", at("2026-02-27T23:00:00Z"), at("2026-02-28T23:00:00Z") - 1]);
});

test("the day after a change of clocks is compared by the wall clock", () => {
  const s = specOf(name => ({metric: "m", start: "today"})[name] ?? "", [], {...known, now: at("2026-10-25T12:00:00Z")}); /* 13:00, 14 hours after midnight */
  const [day] = comparisons(s);
  assert.deepEqual([day.start, day.end], [at("2026-10-23T22:00:00Z"), at("2026-10-24T11:00:00Z") - 1]);
});

test("a row opens its own range by the next smaller interval", () => {
  assert.deepEqual(narrower("day", at("2026-10-24T22:00:00Z"), "Europe/Paris"), {start: "2026-10-25", end: "2026-10-25", rows: "hour", sort: null});
  assert.deepEqual(narrower("month", at("2026-09-30T22:00:00Z"), "Europe/Paris"), {start: "2026-10-01", end: "2026-10-31", rows: "day", sort: null});
  assert.deepEqual(narrower("quarter", at("2026-10-01T00:00:00Z"), "UTC"), {start: "2026-10-01", end: "2026-12-31", rows: "week", sort: null});
  assert.deepEqual(narrower("week", at("2026-11-02T05:00:00Z"), "America/New_York"), {start: "2026-11-02", end: "2026-11-08", rows: "day", sort: null});
  assert.equal(narrower("hour", 0, "UTC"), null);
});
