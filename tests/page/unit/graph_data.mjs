/* Columns that graphs draw: one array of times for all series, gaps as null. */
import assert from "node:assert/strict";
import test from "node:test";
import {gapAfter} from "../../../tsd/page/www/gaps.js";
import {join, pointAt, stack, thin} from "../../../tsd/page/www/graph-data.js";

let seed = 1;
const full = columns => columns.map(c => Array.from(c)); /* what is missing is undefined */
const dice = n => (seed = seed * 48271 % 2147483647) % n;

test("gaps are null, and where a list has no point there is nothing", () => {
  const a = [[0, 1], [10, 2], [50, 3], [60, null], [70, 4]], b = [[10, 5], [20, 6], [30, 7], [40, 8]];
  assert.deepEqual(full(join([a, b], [15, 15], 0, 100, 100)), [[0, 10, 20, 30, 40, 50, 60, 70],
    [1, 2, null, null, null, 3, null, 4], [undefined, 5, 6, 7, 8, undefined, undefined, undefined]]);
});

test("lists of the same times are joined as others are", () => {
  for (let round = 0; round < 200; round++) {
    const times = [];
    for (let ms = 1000, i = dice(30); i > 0; i--)
      times.push(ms += dice(5) ? 10 : 10 + dice(200));
    const lists = Array.from({length: 1 + dice(4)}, () => times.map(ms => [ms, dice(9) ? dice(1000) : null])), limits = lists.map(() => [15, 60, Infinity][dice(3)]);
    const odd = [[5, 1]]; /* a list with a time of its own: the general way */
    const quick = join(lists, limits, 0, 9000, 100), general = join([...lists, odd], [...limits, 15], 0, 9000, 100);
    /* what a line shows: its points in order, and where it breaks */
    const drawn = (columns, k) => columns[0].flatMap((ms, i) => (columns[k][i] === undefined ? [] : [columns[k][i] === null ? "gap" : [ms, columns[k][i]]]))
      .filter((x, i, all) => x !== "gap" || all[i - 1] !== "gap");
    lists.forEach((list, k) => assert.deepEqual(drawn(quick, k + 1), drawn(general, k + 1), JSON.stringify({lists, limits})));
    assert.equal(quick[0].length, quick[1].length);
    assert.deepEqual(quick[0], [...quick[0]].sort((x, y) => x - y));
  }
});

test("nothing to draw", () => {
  assert.deepEqual(join([], [], 0, 1, 100), [[]]);
  assert.deepEqual(join([[], []], [1, 1], 0, 1, 100), [[], [], []]);
});

test("more cells than are drawn are thinned, and no peak is lost", () => {
  const points = Array.from({length: 800000}, (none, i) => [i, i === 400001 ? 1e6 : i % 97]);
  const [times, a] = join([points, points], [Infinity, Infinity], 0, 800000, 500);
  assert.ok(times.length < 10000, times.length);
  assert.equal(Math.max(...a.filter(v => v !== undefined)), 1e6);
  assert.ok(thin(points, 0, 800000, 500).length < 3000);
});

test("the distance that is a gap", () => {
  const every = Array.from({length: 20}, (none, i) => [i * 60000, 1]);
  assert.equal(gapAfter(every, 60000), 90000);
  assert.equal(gapAfter(every), 240000);
  assert.equal(gapAfter(every, 60000, 300000), 600000);
  assert.equal(gapAfter([[0, 1]], 0), Infinity);
});

test("the point at a time", () => {
  const line = {points: [[0, 1], [100, 2], [200, null]]}, bars = {points: [[0, 1], [100, 2]], kind: "count", step: 100};
  assert.deepEqual(pointAt(line, 60, 50), [100, 2]);
  assert.equal(pointAt(line, 50 + 1e6, 50), null);
  assert.equal(pointAt(line, 190, 50), null);
  assert.deepEqual(pointAt(bars, 60, 50), [0, 1]);
  assert.equal(pointAt(bars, 260, 50), null);
});

test("stacked bars", () => {
  assert.deepEqual(full(stack([[1, null, undefined], [2, 3, null]])), [[1, 0, undefined], [3, 3, undefined]]);
});
