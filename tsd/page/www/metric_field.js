/* metric_field.js - the field that chooses a metric, with names that the daemon has. */
import {names} from "./catalog.js";
import {complete} from "./complete.js";

/**
 * @param {function(string)} onChoose another metric was chosen
 * @returns {{node: HTMLElement, show: function(string)}} show: the metric of the address, unless somebody is typing
 */
export function metricField(onChoose) {
  let shown = "";
  const {node, input} = complete({label: "Metrics", source: names, size: 26, onChoose: name => { if (name && name !== shown) onChoose(name); }});
  return {node, show(metric) {
    shown = metric;
    if (document.activeElement !== input)
      input.value = metric;
  }};
}
