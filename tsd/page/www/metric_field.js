/* metric_field.js - the field that chooses a metric, with names that the daemon has. */
import {complete} from "./complete.js";
import {metricNames} from "./names.js";

/**
 * @param {function(string)} onChoose another metric was chosen
 * @param {function(): ?{start: number, end: number}} [range] the chosen time, for views that have one
 * @returns {{node: HTMLElement, show: function(string)}} show: the metric of the address, unless somebody is typing
 */
export function metricField(onChoose, range = () => null) {
  let shown = "";
  const {node, input} = complete({label: "Metrics", source: (text, signal) => metricNames(text, signal, range()), size: 26, onChoose: name => { if (name && name !== shown) onChoose(name); }});
  return {node, show(metric) {
    shown = metric;
    if (document.activeElement !== input)
      input.value = metric;
  }};
}
