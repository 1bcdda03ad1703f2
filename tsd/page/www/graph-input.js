/* graph-input.js - pan, wheel, pinch and keys on a graph. Dragging a range is uPlot's own; what it ends with is passed on by graph.js. */

const SETTLE_MS = 250; /* a moved range is asked for when it has stayed for so long */

/**
 * @param {HTMLElement} node takes the events and the focus
 * @param {{range: function(): [number, number], area: function(): DOMRect, move: function(number, number): void, settle: function(number, number): void,
 *   back: function(): void, cursor: function(number): void, leave: function(): void}} on range: what is shown; area: where on the screen;
 *   move: show another range at once; settle: the range is final; cursor: steps of the crosshair; leave: Escape
 * @param {AbortSignal} signal ends it
 */
export function input(node, on, signal) {
  let timer = 0;
  const touches = new Map();
  let held = null; /* {x, range}: where a pan or pinch began */

  function moveTo(min, max) {
    if (!(max - min >= 2))
      return;
    on.move(min, max);
    clearTimeout(timer);
    timer = setTimeout(() => on.settle(Math.round(min), Math.round(max)), SETTLE_MS);
  }
  function pan(share) {
    const [min, max] = on.range();
    moveTo(min + share * (max - min), max + share * (max - min));
  }
  function zoom(factor, at = 0.5) {
    const [min, max] = on.range();
    const middle = min + at * (max - min);
    moveTo(middle - (middle - min) * factor, middle + (max - middle) * factor);
  }
  const share = x => {
    const area = on.area();
    return Math.min(1, Math.max(0, (x - area.left) / area.width));
  };

  node.addEventListener("wheel", e => {
    if (e.ctrlKey || e.metaKey) {
      e.preventDefault();
      zoom(Math.exp(Math.max(-50, Math.min(50, e.deltaY)) * 0.01), share(e.clientX));
    } else if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) {
      e.preventDefault();
      pan((e.deltaX || e.deltaY) / on.area().width);
    }
  }, {passive: false, signal});

  node.addEventListener("pointerdown", e => {
    if (e.pointerType === "touch")
      touches.set(e.pointerId, e.clientX);
    if ((e.shiftKey && e.button === 0) || e.button === 1 || touches.size === 1) {
      held = {x: e.clientX, range: on.range()};
      if (e.shiftKey || e.button === 1) { /* not a range that is dragged */
        e.preventDefault();
        e.stopPropagation();
      }
    }
    if (touches.size === 2)
      held = {xs: [...touches.values()], range: on.range()};
  }, {capture: true, signal});
  /* uPlot listens to the mouse and would begin to drag a range. */
  node.addEventListener("mousedown", e => {
    if (e.shiftKey || e.button === 1) {
      e.preventDefault();
      e.stopPropagation();
    }
  }, {capture: true, signal});
  addEventListener("pointermove", e => {
    if (touches.has(e.pointerId))
      touches.set(e.pointerId, e.clientX);
    if (!held)
      return;
    const [min, max] = held.range, width = on.area().width, span = max - min;
    if (held.xs && touches.size === 2) {
      const now = [...touches.values()], left = on.area().left;
      const before = Math.max(20, Math.abs(held.xs[1] - held.xs[0])), after = Math.max(20, Math.abs(now[1] - now[0]));
      const size = span * before / after;
      const middle = min + ((held.xs[0] + held.xs[1]) / 2 - left) / width * span;
      const from = middle - ((now[0] + now[1]) / 2 - left) / width * size;
      moveTo(from, from + size);
    } else if (!held.xs && (e.buttons || e.pointerType === "touch")) {
      const by = (held.x - e.clientX) / width * span;
      if (Math.abs(held.x - e.clientX) > 4)
        moveTo(min + by, max + by);
    }
  }, {signal});
  const release = e => {
    touches.delete(e.pointerId);
    held = null;
  };
  addEventListener("pointerup", release, {signal});
  addEventListener("pointercancel", release, {signal});

  node.addEventListener("dblclick", () => on.back(), {signal});
  node.addEventListener("keydown", e => {
    const keys = {
      ArrowLeft: () => (e.shiftKey ? pan(-0.25) : on.cursor(-1)),
      ArrowRight: () => (e.shiftKey ? pan(0.25) : on.cursor(1)),
      "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2),
      Backspace: () => on.back(), Escape: () => on.leave(),
    };
    if (keys[e.key] && !e.ctrlKey && !e.metaKey && !e.altKey) {
      if (e.key !== "Escape")
        e.preventDefault();
      keys[e.key]();
    }
  }, {signal});
  signal.addEventListener("abort", () => clearTimeout(timer));
}
