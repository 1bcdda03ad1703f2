/* Heat maps: hours of days of 23, 24 and 25 hours, classes by quantile, time that a range has of each hour of the week. */
import assert from "node:assert/strict";
import test from "node:test";
import {borders, classOf, dayRows, exposure, hoursOf, weekdayOf, weekdayRows} from "../../../tsd/page/www/heat_model.js";
import {startOf} from "../../../tsd/page/www/zone.js";

const HOUR = 3600e3;
const at = text => Date.parse(text);

for (const [zone, day, hour, ms] of [["Europe/Paris", "2026-03-29", 2, 0], ["Europe/Paris", "2026-10-25", 2, 2 * HOUR], ["America/New_York", "2026-03-08", 2, 0],
  ["America/New_York", "2026-11-01", 1, 2 * HOUR], ["Australia/Lord_Howe", "2026-04-05", 1, 1.5 * HOUR], ["Australia/Lord_Howe", "2026-10-04", 2, 0.5 * HOUR],
  ["America/Santiago", "2026-09-06", 0, 0]])
  test(`hours of ${day} in ${zone}: the ${hour}th lasts ${ms / HOUR} hours`, () => {
    const begin = startOf("day", at(`${day}T12:00:00Z`), zone), hours = hoursOf(begin, zone);
    assert.equal(hours[hour].ms, ms);
    assert.deepEqual(hours.filter((h, i) => i !== hour && h.ms !== HOUR), []);
    const real = hours.filter(h => h.ms);
    for (let i = 1; i < real.length; i++)
      assert.equal(real[i].start, real[i - 1].end);
  });

test("an ordinary day is 24 hours from its midnight", () => {
  const begin = at("2026-11-23T23:00:00Z"), hours = hoursOf(begin, "Europe/Paris");
  assert.deepEqual(hours.map(h => h.start), Array.from({length: 24}, (_, i) => begin + i * HOUR));
});

test("the range has as much of the hours as it is long", () => {
  for (const [start, end, zone] of [["2026-10-20T10:20:00Z", "2026-11-03T00:45:00Z", "Europe/Paris"], ["2026-03-01T00:00:00Z", "2026-03-31T00:00:00Z", "America/New_York"],
    ["2026-01-01T00:00:00Z", "2026-12-31T00:00:00Z", "Australia/Lord_Howe"]]) {
    const sum = exposure(at(start), at(end), zone).flat().reduce((a, b) => a + b);
    assert.ok(Math.abs(sum - (at(end) - at(start)) / HOUR) < 1e-6, `${zone}: ${sum}`);
  }
  const one = exposure(at("2026-11-23T10:30:00Z"), at("2026-11-23T11:15:00Z"), "UTC");
  assert.deepEqual([one[0][10], one[0][11], one[1][10]], [0.5, 0.25, 0]);
});

test("weekdays are those of the zone", () => {
  assert.equal(weekdayOf(at("2026-11-23T02:00:00Z"), "UTC"), "Mon");
  assert.equal(weekdayOf(at("2026-11-23T02:00:00Z"), "America/New_York"), "Sun");
});

test("classes hold equal numbers of cells, and equal values have one class", () => {
  const list = Array.from({length: 90}, (_, i) => i), limits = borders(list, 9);
  assert.deepEqual(limits, [9, 19, 29, 39, 49, 59, 69, 79]);
  const sizes = new Array(9).fill(0);
  for (const v of list)
    sizes[classOf(v, limits, 9)]++;
  assert.deepEqual(sizes, new Array(9).fill(10));
  assert.deepEqual(borders([5, 5, 5, null, undefined], 9), []);
  assert.deepEqual(borders([], 9), []);
  assert.deepEqual(borders([0, 0, 0, 0, 0, 0, 0, 0, 0, 100], 9), [0]);
  assert.deepEqual([0, 100].map(v => classOf(v, [0], 9)), [0, 8]);
});

test("one extreme value does not make the others equal", () => {
  const list = [...Array.from({length: 40}, (_, i) => i), 1e9], limits = borders(list, 9);
  assert.ok(new Set(list.slice(0, 40).map(v => classOf(v, limits, 9))).size >= 8);
});

const table = {rows: [{id: "1", ms: at("2026-10-24T22:00:00Z")}], cols: [{id: "01"}, {id: "02"}, {id: "13"}], now: [[5, 7, 9]]};
const spec = {start: at("2026-10-24T22:30:00Z"), end: at("2026-10-25T23:00:00Z"), now: at("2026-10-25T12:20:00Z"), zone: "Europe/Paris"};

test("the map by day marks now, what is cut off, what occurs twice, what is later", () => {
  const [{cells}] = dayRows(table, spec);
  assert.deepEqual([cells[1].v, cells[2].v, cells[13].v, cells[3].v], [5, 7, 9, null]);
  assert.deepEqual([cells[2].twice, cells[1].twice], [true, false]);
  assert.deepEqual(cells.map((c, i) => (c.isNow ? i : -1)).filter(i => i >= 0), [13]);
  assert.deepEqual(cells.map((c, i) => (c.cut ? i : -1)).filter(i => i >= 0), [0, 13]);
  assert.deepEqual([cells[14].later, cells[13].later], [true, false]);
});

test("the clock skips an hour in spring", () => {
  const spring = {rows: [{id: "1", ms: at("2026-03-28T23:00:00Z")}], cols: [], now: [[]]};
  const [{cells}] = dayRows(spring, {start: at("2026-03-28T23:00:00Z"), end: at("2026-03-29T22:00:00Z"), now: at("2026-06-01T00:00:00Z"), zone: "Europe/Paris"});
  assert.deepEqual(cells.map((c, i) => (c.skipped ? i : -1)).filter(i => i >= 0), [2]);
  assert.equal(cells.some(c => c.cut || c.isNow), false);
});

test("the map by weekday shows sums, or what one hour has", () => {
  const week = {rows: [{id: "Mon"}, {id: "Sun"}], cols: [{id: "10"}], now: [[30], [7]]};
  const two = {start: at("2026-11-09T00:00:00Z"), end: at("2026-11-24T00:00:00Z"), now: at("2026-11-25T00:00:00Z"), zone: "UTC"}; /* three Mondays, two Sundays */
  assert.equal(weekdayRows(week, two, false)[0].cells[10].v, 30);
  assert.equal(weekdayRows(week, two, true)[0].cells[10].v, 10);
  assert.equal(weekdayRows(week, two, true)[6].cells[10].v, 3.5);
  assert.equal(weekdayRows(week, two, true)[1].cells[10].v, null);
  assert.deepEqual(weekdayRows(week, two, false).flatMap((r, d) => r.cells.map((c, i) => (c.isNow ? `${d} ${i}` : "")).filter(Boolean)), ["2 0"]);
});
