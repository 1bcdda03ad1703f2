/* number.js - numbers for people, in the locale of the browser. */

const cache = new Map();

function formatter(key, options) {
  if (!cache.has(key))
    cache.set(key, new Intl.NumberFormat(undefined, options));
  return cache.get(key);
}

function odd(v) {
  if (v === null || v === undefined)
    return "–";
  if (typeof v !== "number")
    return String(v);
  return Number.isFinite(v) ? null : Number.isNaN(v) ? "not a number" : v > 0 ? "∞" : "-∞";
}

const STEPS = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];

/** Three digits that matter: 1.23 M. @param {number} v */
export function short(v) {
  const text = odd(v);
  if (text !== null)
    return text;
  const size = Math.abs(v);
  if (size !== 0 && (size < 1e-4 || size >= 1e15))
    return formatter("exp", {notation: "scientific", maximumSignificantDigits: 3}).format(v);
  const f = formatter("short", {maximumSignificantDigits: 3, useGrouping: false});
  if (size < 999.5)
    return f.format(v);
  const [by, letter] = STEPS.find(([step]) => size >= step * 0.9995) ?? STEPS[3];
  return f.format(v / by) + " " + letter;
}

/** All digits. @param {number} v */
export function full(v) {
  const text = odd(v);
  if (text !== null)
    return text;
  if (v !== 0 && (Math.abs(v) < 1e-7 || Math.abs(v) >= 1e21))
    return formatter("fullexp", {notation: "scientific", maximumSignificantDigits: 17}).format(v);
  return formatter("full", {maximumSignificantDigits: 17}).format(v);
}

/** A whole number with its groups: 1,234,567. */
export function count(v) {
  return odd(v) ?? formatter("count", {maximumFractionDigits: 0}).format(v);
}

/** 1.21 GiB. @param {number} v bytes */
export function bytes(v) {
  const text = odd(v);
  if (text !== null)
    return text;
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
  let i = 0;
  while (Math.abs(v) >= 999.5 && i < units.length - 1) {
    v /= 1024;
    i++;
  }
  return formatter("bytes", {maximumSignificantDigits: 3}).format(v) + " " + units[i];
}

/** 12.3 %. @param {number} v a fraction: 0.123 */
export function percent(v) {
  return odd(v) ?? formatter(Math.abs(v) < 0.1 ? "pct2" : "pct1", {style: "percent", maximumFractionDigits: Math.abs(v) < 0.1 ? 2 : 1}).format(v);
}

/** 350 ms, 2.5 s, 3 min 20 s, 4 d 3 h. @param {number} ms */
export function duration(ms) {
  const text = odd(ms);
  if (text !== null)
    return text;
  const size = Math.abs(ms), sign = ms < 0 ? "-" : "";
  if (size < 1000)
    return sign + formatter("short", {maximumSignificantDigits: 3, useGrouping: false}).format(size) + " ms";
  if (size < 59950)
    return sign + formatter("one", {maximumFractionDigits: 1}).format(size / 1000) + " s";
  const units = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
  let s = Math.round(size / 1000);
  const at = units.findIndex(([n]) => s >= n);
  const parts = [];
  for (const [n, name] of units.slice(at, at + 2)) {
    if (Math.floor(s / n))
      parts.push(`${count(Math.floor(s / n))} ${name}`);
    s %= n;
  }
  return sign + parts.join(" ");
}

/** How long ago. @param {number} ms a time @param {number} now the present one */
export function age(ms, now) {
  if (odd(ms) !== null)
    return "never";
  const d = now - ms;
  if (Math.abs(d) < 1000)
    return "now";
  return d > 0 ? `${duration(d < 60000 ? Math.round(d / 1000) * 1000 : d)} ago` : `in ${duration(-d)}`;
}
