/* curve.js - small curves, which need no library. */
import {svg} from "./dom.js";
import {gapAfter} from "./gaps.js";

/**
 * A small curve without axes, as wide as its place.
 * @param {HTMLElement} root it becomes a child of it
 * @param {Array<[number, (number|null)]>} points ms, value; null is a gap
 * @param {{start?: number, end?: number, kind?: string, step?: number, label?: string}} [options] counts are filled from zero
 * @returns {SVGElement}
 */
export function curve(root, points, {start, end, kind = "gauge", step = 0, label = ""} = {}) {
  const known = points.filter(p => p[1] !== null && Number.isFinite(p[1]));
  const node = svg("svg", {class: "curve", viewBox: "0 0 300 50", preserveAspectRatio: "none", role: "img", "aria-label": label || "Small curve"});
  root.append(node);
  if (!known.length)
    return node;
  const from = start ?? known[0][0], to = end ?? known[known.length - 1][0];
  let low = Infinity, high = -Infinity;
  for (const [, v] of known) {
    low = Math.min(low, v);
    high = Math.max(high, v);
  }
  if (kind === "count")
    low = Math.min(0, low);
  const x = ms => (to > from ? (ms - from) / (to - from) * 300 : 150).toFixed(1);
  const y = v => (high > low ? 47 - (v - low) / (high - low) * 44 : 25).toFixed(1);
  const limit = gapAfter(known, step);
  let path = "", before = null;
  for (const [ms, v] of known) {
    const joined = before !== null && ms - before <= limit;
    path += `${joined ? "L" : "M"}${x(ms)} ${y(v)}${joined ? "" : "h.01"}`;
    before = ms;
  }
  if (kind === "count")
    node.append(svg("path", {class: "area", d: known.map(([ms, v]) => `M${x(ms)} 47V${y(v)}h${Math.max(1, step ? step / (to - from) * 290 : 300 / known.length * 0.9).toFixed(1)}V47Z`).join("")}));
  else
    node.append(svg("path", {d: path}));
  return node;
}
