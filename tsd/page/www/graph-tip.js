/* graph-tip.js - the box beside the crosshair: time, values of all series (the greatest first), annotations near it. */
import {fill, h} from "./dom.js";
import {full} from "./number.js";
import {format} from "./zone.js";
import {pointAt} from "./graph-data.js";

const MAX_ROWS = 16;

/** Values at a time, the greatest first. @returns {Array<{index: number, ms: number, value: number}>} */
export function valuesAt(series, shown, ms, reach) {
  const found = [];
  for (let index = 0; index < series.length; index++) {
    const point = shown(index) ? pointAt(series[index], ms, reach) : null;
    if (point)
      found.push({index, ms: point[0], value: point[1]});
  }
  return found.sort((a, b) => b.value - a.value);
}

/**
 * @param {HTMLElement} root that the box lies in
 * @returns {{show: function(Object): void, hide: function(): void}}
 */
export function tip(root) {
  const node = h("div", {class: "tip", hidden: true, role: "status"});
  root.append(node);
  let waiting = 0;

  function draw({x, y, ms, zone, series, values, notes, near, color}) {
    const rows = values.slice(0, MAX_ROWS);
    fill(node, h("strong", null, format(values.length ? values[0].ms : ms, zone, "full")),
      h("table", null, rows.map(v => h("tr", null,
        h("td", null, h("span", {class: "swatch", "style:color": color(v.index)})),
        h("td", null, v.index === near ? h("strong", null, series[v.index].label) : series[v.index].label),
        h("td", {class: "num"}, full(v.value) + (series[v.index].unit ? " " + series[v.index].unit : ""))))),
      values.length > rows.length && h("div", {class: "muted"}, `and ${values.length - rows.length} more`),
      notes.map(n => h("div", null, "▲ " + n.text)));
    node.hidden = !values.length && !notes.length;
    const room = root.clientWidth, width = node.offsetWidth;
    const left = x + 16 + width < room ? x + 16 : Math.max(0, x - 16 - width);
    node.style.left = left + "px";
    node.style.top = Math.max(0, Math.min(y + 12, root.clientHeight - node.offsetHeight)) + "px";
  }

  return {
    show(what) {
      cancelAnimationFrame(waiting);
      waiting = requestAnimationFrame(() => draw(what));
    },
    hide() {
      cancelAnimationFrame(waiting);
      node.hidden = true;
    },
  };
}
