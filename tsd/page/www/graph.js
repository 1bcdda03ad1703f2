/* graph.js - graphs over time by uPlot, which is loaded when the first graph is drawn. Small curves: curve.js. */
import {h} from "./dom.js";
import {short} from "./number.js";
import {gapAfter} from "./gaps.js";
import {join, stack} from "./graph-data.js";
import {dense, drawRectangles} from "./graph-dense.js";
import {input} from "./graph-input.js";
import {tip, valuesAt} from "./graph-tip.js";
import {ticks} from "./zone.js";

const WIDTH = 1.5; /* of a line */
const NEAR_PX = 14; /* a click so near to a line means that line */
let loading = null;

function library() {
  loading ??= import("./uplot.js").then(module => {
    document.head.prepend(h("link", {rel: "stylesheet", href: "s/uplot.css"}));
    return module.default;
  });
  return loading;
}

/** Colour of the i-th series, as a CSS value. */
export function colorOf(i) {
  return `var(--s${i % 10})`;
}

/* The canvas knows no variables. */
function resolved(node, color, alpha = 1) {
  const name = /^var\((--[\w-]+)\)$/.exec(color)?.[1];
  const value = name ? getComputedStyle(node).getPropertyValue(name).trim() : color;
  const hex = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i.exec(value);
  return hex && alpha < 1 ? `rgba(${hex.slice(1).map(x => parseInt(x, 16)).join(",")},${alpha})` : value;
}

/* Lists of points that are drawn, and what each of them is: a line, an edge of a band, bars. */
function layers(o) {
  const list = [], bars = o.series.filter(s => s.kind === "count").length;
  o.series.forEach((s, index) => {
    if (s.band) {
      list.push({index, role: "max", points: s.band.max, limit: gapAfter(s.band.max, s.step, s.column)});
      list.push({index, role: "min", points: s.band.min, limit: gapAfter(s.band.min, s.step, s.column)});
    }
    const role = s.kind !== "count" ? "line" : o.stacked || bars === 1 ? "bars" : "steps";
    list.push({index, role, points: s.points, limit: role === "bars" ? Infinity : gapAfter(s.points, s.step, s.column)});
  });
  return list;
}

function columns(o, list, width) {
  const data = join(list.map(l => l.points), list.map(l => l.limit), o.start, o.end, width);
  if (o.stacked) {
    for (const axis of [1, 2]) { /* the last one is the highest and drawn first */
      const at = list.map((l, i) => i).filter(i => list[i].role === "bars" && (o.series[list[i].index].axis ?? 1) === axis);
      stack(at.map(i => data[i + 1])).forEach((values, k) => { data[at[k] + 1] = values; });
    }
    const order = list.map((l, i) => i).sort((a, b) => (list[a].role === "bars" && list[b].role === "bars" ? b - a : 0));
    return {list: order.map(i => list[i]), data: [data[0], ...order.map(i => data[i + 1])]};
  }
  if (o.log)
    for (let i = 1; i < data.length; i++)
      data[i] = Array.from(data[i], v => (v === undefined || v > 0 ? v : null));
  return {list, data};
}

/* What of an axis is shown: [least, greatest]. */
function range(o, axis, low, high) {
  const fixed = axis === 1 ? o.range : o.range2;
  const none = !(high >= low);
  const bars = o.series.some(s => s.kind === "count" && (s.axis ?? 1) === axis);
  if (none)
    [low, high] = o.log ? [1, 10] : [0, 1];
  if (o.log) {
    low = fixed?.[0] > 0 ? fixed[0] : 10 ** Math.floor(Math.log10(low));
    high = fixed?.[1] ?? 10 ** Math.ceil(Math.log10(high));
    return [low, high > low ? high : low * 10];
  }
  if (o.zero || bars) {
    low = Math.min(0, low);
    high = Math.max(0, high);
  }
  const pad = (high - low) * 0.05 || Math.abs(high) * 0.1 || 1;
  const least = fixed?.[0] ?? (low === 0 && (o.zero || bars) ? 0 : low - pad), most = fixed?.[1] ?? (high === 0 && (o.zero || bars) ? 0 : high + pad);
  return most > least ? [least, most] : [least, least + 1];
}

function seriesOf(uPlot, o, list, node) {
  return list.map(({index, role}) => {
    const s = o.series[index], color = s.color ?? colorOf(index);
    const common = {label: s.label, scale: s.axis === 2 ? "y2" : "y", spanGaps: false, pxAlign: 0};
    if (role === "max" || role === "min")
      return {...common, stroke: () => "transparent", width: 0, points: {show: false}};
    const paths = role === "bars" ? uPlot.paths.bars({size: [0.92, 80], align: 1}) : role === "steps" ? uPlot.paths.stepped({align: 1})
      : dense(uPlot.paths.linear(), WIDTH, () => ({start: o.start, column: o.series[index].column ?? 0}));
    return {...common, paths, stroke: () => resolved(node, color), width: role === "bars" ? 0 : WIDTH,
      fill: role === "line" ? undefined : () => resolved(node, color, role === "bars" ? 0.85 : 0.15), points: role === "line" ? {size: 5} : {show: false}};
  });
}

function axes(o, node) {
  const ink = () => resolved(node, "var(--muted)"), grid = {stroke: () => resolved(node, "var(--line)"), width: 1};
  const font = "12px system-ui, sans-serif";
  let labels = new Map();
  const time = {stroke: ink, grid, ticks: grid, font, size: 44, space: 80,
    splits: (u, i, min, max) => {
      const found = ticks(min, max, o.zone, Math.max(2, u.bbox.width / devicePixelRatio / 90));
      labels = new Map(found.map(t => [t.ms, t.label]));
      return found.map(t => t.ms);
    },
    values: (u, splits) => splits.map(ms => labels.get(ms) ?? "")};
  const value = (scale, side, label) => ({scale, side, stroke: ink, grid: {...grid, show: side === 3}, ticks: grid, font, size: 64, label: label || undefined,
    labelFont: font, labelSize: label ? 18 : 0, values: (u, splits) => splits.map(v => (v === null ? "" : short(v)))});
  const found = [time, value("y", 3, o.unit)];
  if (o.series.some(s => s.axis === 2))
    found.push(value("y2", 1, o.unit2));
  return found;
}

function drawNotes(u, o, node) {
  const {ctx, bbox} = u;
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = resolved(node, "var(--warn)");
  ctx.setLineDash([4, 4]);
  for (const note of o.notes ?? []) {
    const x = Math.round(u.valToPos(note.ms, "x", true));
    if (x < bbox.left || x > bbox.left + bbox.width)
      continue;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    ctx.beginPath();
    ctx.moveTo(x - 5, bbox.top + bbox.height);
    ctx.lineTo(x + 5, bbox.top + bbox.height);
    ctx.lineTo(x, bbox.top + bbox.height - 9);
    ctx.fill();
  }
  ctx.restore();
}

/* What makes another chart necessary instead of other data. */
function shapeOf(o, list) {
  return JSON.stringify([list.map(l => [l.index, l.role, o.series[l.index].label, o.series[l.index].axis ?? 1, o.series[l.index].color]), o.log, o.unit, o.unit2, o.zone]);
}

/**
 * A graph of series over time: drag to zoom, Shift and drag (or Shift and wheel) to pan, Ctrl and wheel or two fingers to zoom, double click to go
 * back, a click on a series to see it alone; with the keyboard arrows move the crosshair, Shift and arrows pan, + and - zoom, Backspace goes back.
 *
 * @param {HTMLElement} root the graph becomes a child of it
 * @param {Object} options
 * @param {import("./graph-data.js").Series[]} options.series with `unit` for the box at the crosshair
 * @param {number} options.start @param {number} options.end ms
 * @param {string} options.zone
 * @param {number} [options.height] pixels, 320
 * @param {boolean} [options.zero] the axis begins at zero; for counts it always does
 * @param {boolean} [options.log] @param {boolean} [options.stacked] bars on each other
 * @param {[number|null, number|null]} [options.range] fixed ends of the axis; range2: of the second one
 * @param {string} [options.unit] @param {string} [options.unit2] words at the axes
 * @param {Array<{ms: number, text: string}>} [options.notes] annotations
 * @param {string} [options.label] what the graph shows, for those who cannot see it
 * @param {function(number, number)} [options.onZoom] another range was chosen
 * @param {function()} [options.onBack] @param {function(?number)} [options.onIsolate] the series that is seen alone, null: all are
 * @param {function(number)} [options.onTime] the time of a click
 * @returns {{update: function(Object): void, isolate: function(?number): void, close: function(): void, ready: Promise}} update takes changed options
 */
export function graph(root, options) {
  let o = {height: 320, ...options}, u = null, shape = "", alone = null, list = [], shownAt = null;
  const abort = new AbortController(), signal = abort.signal;
  const node = h("div", {class: "graph", tabindex: "0", role: "img", "aria-label": o.label ?? "Graph"});
  root.append(node);
  node.style.minHeight = o.height + "px";
  const box = tip(node);
  const shows = index => alone === null || alone === index;
  let held = null, frame = 0, moved = null; /* while the range moves: what is drawn, {image, x, y, y2} with its scales; the range of the next frame */
  const current = () => moved ?? (u ? [u.scales.x.min, u.scales.x.max] : [o.start, o.end]);

  function isolate(index) {
    release();
    alone = index !== null && o.series.length > index ? index : null;
    u?.batch(() => list.forEach((l, i) => u.setSeries(i + 1, {show: shows(l.index)})));
    o.onIsolate?.(alone);
  }

  /* Show another range: until it is final, the picture is moved and not drawn anew, since there is no other data yet. */
  function move(min, max) {
    if (!u)
      return;
    if (!held) {
      const {ctx, bbox, scales} = u, image = h("canvas", {width: bbox.width, height: bbox.height});
      image.getContext("2d").drawImage(ctx.canvas, bbox.left, bbox.top, bbox.width, bbox.height, 0, 0, bbox.width, bbox.height);
      held = {image, ...Object.fromEntries(Object.entries(scales).map(([k, s]) => [k, [s.min, s.max]]))};
      list.forEach((l, i) => { u.series[i + 1].show = false; });
    }
    moved = [min, max];
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(() => u?.setScale("x", {min, max}));
  }

  function release() {
    cancelAnimationFrame(frame);
    if (held)
      list.forEach((l, i) => { u.series[i + 1].show = shows(l.index); });
    held = moved = null;
  }

  function drawHeld({ctx, bbox}) {
    const [from, to] = held.x.map(ms => u.valToPos(ms, "x", true));
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    ctx.drawImage(held.image, from, bbox.top, to - from, bbox.height);
    ctx.restore();
  }

  function nearest(values, y) {
    let best = null;
    for (const v of values) {
      const away = Math.abs(u.valToPos(v.value, o.series[v.index].axis === 2 ? "y2" : "y") - y);
      if (away <= NEAR_PX && (!best || away < best.away))
        best = {index: v.index, away};
    }
    return best?.index ?? null;
  }

  function at(left) {
    const ms = u.posToVal(left, "x");
    const reach = (u.scales.x.max - u.scales.x.min) / Math.max(1, u.over.clientWidth) * 20;
    return {ms, reach, values: valuesAt(o.series, shows, ms, reach)};
  }

  function onCursor() {
    const {left, top} = u.cursor;
    if (!(left >= 0)) {
      box.hide();
      shownAt = null;
      return;
    }
    const {ms, reach, values} = at(left);
    shownAt = ms;
    box.show({x: left + u.over.offsetLeft, y: top + u.over.offsetTop, ms, zone: o.zone, series: o.series, values, near: nearest(values, top),
      notes: (o.notes ?? []).filter(n => Math.abs(n.ms - ms) < reach), color: i => o.series[i].color ?? colorOf(i)});
  }

  function onClick(e) {
    if (u.select.width > 2 || e.shiftKey)
      return;
    const {ms, values} = at(u.cursor.left);
    const index = o.stacked ? null : nearest(values, u.cursor.top);
    o.onTime?.(Math.round(ms));
    if (alone !== null)
      isolate(null);
    else if (index !== null && o.series.length > 1)
      isolate(index);
  }

  function step(by) {
    if (!u)
      return;
    const ms = shownAt ?? (u.scales.x.min + u.scales.x.max) / 2, times = u.data[0];
    let next = by > 0 ? times.find(t => t > ms + 1) : times.findLast(t => t < ms - 1);
    next ??= ms;
    u.setCursor({left: u.valToPos(next, "x"), top: u.over.clientHeight / 3});
  }

  function create(uPlot, data) {
    const bands = [];
    list.forEach((l, i) => {
      if (l.role === "max")
        bands.push({series: [i + 1, i + 2], fill: () => resolved(node, o.series[l.index].color ?? colorOf(l.index), 0.18)});
    });
    const scale = axis => ({distr: o.log ? 3 : 1, auto: true, range: (self, low, high) => held?.[axis === 1 ? "y" : "y2"] ?? range(o, axis, low, high)});
    return new uPlot({
      width: Math.max(100, node.clientWidth), height: o.height, ms: 1, legend: {show: false}, pxAlign: 0,
      scales: {x: {time: true, auto: false, range: (self, min, max) => [min, max]}, y: scale(1), y2: scale(2)},
      axes: axes({get zone() { return o.zone; }, get unit() { return o.unit; }, get unit2() { return o.unit2; }, get series() { return o.series; }}, node),
      series: [{}, ...seriesOf(uPlot, {get series() { return o.series; }, get start() { return o.start; }}, list, node)], bands,
      cursor: {points: {show: false}, drag: {x: true, y: false, setScale: false, dist: 5}},
      hooks: {
        setCursor: [onCursor],
        drawSeries: [drawRectangles],
        draw: [self => { if (held) drawHeld(self); drawNotes(self, o, node); }],
        setSelect: [self => {
          if (self.select.width < 5)
            return;
          const from = self.posToVal(self.select.left, "x"), to = self.posToVal(self.select.left + self.select.width, "x");
          self.setSelect({left: 0, top: 0, width: 0, height: 0}, false);
          o.onZoom?.(Math.round(from), Math.round(to));
        }],
      },
    }, data, node);
  }

  function draw(uPlot) {
    if (signal.aborted)
      return;
    release();
    const made = columns(o, layers(o), Math.max(100, node.clientWidth * devicePixelRatio));
    const nextShape = shapeOf(o, made.list);
    list = made.list;
    if (u && nextShape === shape) {
      u.batch(() => {
        u.setData(made.data, false);
        u.setScale("x", {min: o.start, max: o.end});
      });
    } else {
      const old = u;
      u = create(uPlot, made.data);
      u.setScale("x", {min: o.start, max: o.end});
      u.over.addEventListener("click", onClick);
      old?.destroy();
      shape = nextShape;
      alone = null;
    }
    node.setAttribute("aria-label", o.label ?? "Graph");
  }

  const ready = library().then(uPlot => {
    draw(uPlot);
    const watch = new ResizeObserver(() => u && node.clientWidth > 0 && u.width !== node.clientWidth && u.setSize({width: node.clientWidth, height: o.height}));
    watch.observe(node);
    const theme = matchMedia("(prefers-color-scheme: dark)");
    theme.addEventListener("change", () => u?.redraw(false), {signal});
    signal.addEventListener("abort", () => watch.disconnect());
  });
  input(node, {
    range: current, area: () => u?.over.getBoundingClientRect() ?? node.getBoundingClientRect(), cursor: step,
    move, back: () => o.onBack?.(),
    settle: (min, max) => {
      release();
      u?.setScale("x", {min, max});
      o.onZoom?.(min, max);
    },
    leave: () => (alone !== null ? isolate(null) : u?.setCursor({left: -10, top: -10})),
  }, signal);

  return {
    ready,
    isolate,
    update(changed) {
      o = {...o, ...changed};
      library().then(draw);
    },
    close() {
      abort.abort();
      release();
      u?.destroy();
      node.remove();
    },
  };
}
