/* graph-dense.js in node: what is filled and what is drawn as a line covers exactly what the points do. */
import assert from "node:assert/strict";
import test from "node:test";
import {dense} from "../../../tsd/page/www/graph-dense.js";

globalThis.devicePixelRatio = 1;
globalThis.Path2D = class {
  steps = [];
  moveTo(x, y) { this.steps.push(["M", x, y]); }
  lineTo(x, y) { this.steps.push(["L", x, y]); }
};

/* A chart of 10 by 100 pixels, 0 to 100 in both directions, with the values of one series. */
function draw(times, values, column = 0) {
  const u = {data: [times, values], bbox: {left: 0, width: 10}, scales: {x: {min: 0, max: 100}}, series: [{}, {scale: "y"}], valToPos: v => 100 - v};
  return dense(() => "linear", 2, () => ({start: 0, column}))(u, 1, 0, times.length - 1);
}

const times = n => Array.from({length: n}, (_, i) => (i + 0.5) * 100 / n);

test("a line with few points is left to the library", () => {
  assert.equal(draw(times(19), times(19)), "linear");
});

test("what goes up and down is filled from its least to its greatest value", () => {
  const t = times(100), {rectangles, stroke} = draw(t, t.map((ms, i) => [20, 80, 35][i % 3]));
  assert.deepEqual(rectangles, Array.from({length: 10}, (_, i) => [i - 0.5, 19, 2, 62]));
  assert.ok(stroke.steps.every(([kind]) => kind === "M"));
});

test("what only rises is a line through the first and last point of each column", () => {
  const t = times(100), {rectangles, stroke} = draw(t, t);
  assert.deepEqual(rectangles, []);
  const ends = t.filter((ms, i) => i % 10 === 0 || i % 10 === 9);
  assert.deepEqual(stroke.steps, ends.map((ms, i) => [i ? "L" : "M", ms * 0.1, 100 - ms]));
});

test("a single peak keeps its height, gaps stay, and other series' times do not count", () => {
  const t = times(200), values = t.map((ms, i) => (i % 2 ? undefined : 10));
  values[50] = 90;
  for (let i = 120; i < 140; i++)
    values[i] = null;
  const {rectangles, stroke} = draw(t, values);
  assert.deepEqual(rectangles, [[1.5, 9, 2, 82]]);
  assert.ok(stroke.steps.every(([, x]) => !(x > 6 && x < 7)));
  assert.equal(stroke.steps.filter(([kind, x]) => kind === "M" && x > 6).length, 1);
});

test("columns of the server are kept together", () => {
  const t = times(60), values = t.map((ms, i) => [50, 10, 90, 50][i % 4]), {rectangles} = draw(t, values, 100 / 15);
  assert.equal(rectangles.length, 15);
  assert.ok(rectangles.every(([, y, , height]) => y === 9 && height === 82));
});
