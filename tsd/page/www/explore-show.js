/* explore-show.js - what stands below a graph: the legend with its figures, the plan, the points, the request to be typed elsewhere, annotations. */
import {absolute, address, get, post} from "./api.js";
import {copyButton, field, fill, h, table} from "./dom.js";
import {figures} from "./explore-load.js";
import {colorOf} from "./graph.js";
import {bytes, count, duration, full} from "./number.js";
import {moment} from "./range.js";
import {format} from "./zone.js";

const MOST_ROWS = 500; /* points shown as a table */

/**
 * The legend as a table; a name shows its series alone, and again all of them.
 * @param {Object[]} series as drawn
 * @param {?number} alone
 * @param {function(?number)} onIsolate
 */
export function legend(series, alone, onIsolate) {
  const rows = series.map((s, index) => ({index, label: s.label, unit: s.unit, kind: s.kind, ...figures(s)}));
  const number = (key, title, help) => ({key, title, help, align: "right", value: r => r[key], cell: r => full(round(r[key]))});
  const columns = [
    {key: "label", title: "Series", heading: true, value: r => r.label, cell: r => h("button", {type: "button", class: "plain series", "aria-pressed": String(alone === r.index),
      title: alone === r.index ? "Show all series" : "Show this series alone", "on:click": () => onIsolate(alone === r.index ? null : r.index)},
    h("span", {class: "swatch", "style:color": colorOf(r.index)}), " ", r.label)},
    number("last", "Last"), number("min", "Least"), number("avg", "Average", "of the values that the graph has"), number("max", "Greatest"),
  ];
  if (rows.some(r => r.kind === "count"))
    columns.push({...number("sum", "Total"), value: r => (r.kind === "count" ? r.sum : null), cell: r => (r.kind === "count" ? full(round(r.sum)) : "")});
  return table(columns, rows, {caption: "Series and figures of the range"});
}

/* Six digits are enough for a figure that was computed. */
function round(v) {
  return Number.isInteger(v) || !Number.isFinite(v) ? v : Number(v.toPrecision(6));
}

/** What was read and how long it took. */
export function readText(read, took, shown, of) {
  const parts = [];
  if (read?.points !== undefined)
    parts.push(`Read ${count(read.points)} points in ${duration(Math.round(read.ms * 10) / 10)}`);
  parts.push(`answered in ${duration(Math.round(took))}`);
  return `${parts.join(", ")}. ${shown < of ? `${shown} of ${of} series are drawn.` : ""}`;
}

function facts(q) {
  return [["Metric", q.metric], ["Series", count(q.series)], ["Outputs", count(q.groups)], ["Reads", q.reads], ["Hours", count(q.hours)], ["Hours from summaries", count(q.summaryHours)],
    ["Files", count(q.files?.length ?? 0)], ["Rows", count(q.total?.rows)], ["Points", count(q.total?.points)], ["Blocks", count(q.total?.blocks)],
    ["Bytes of files", bytes(q.total?.bytes)]];
}

async function plan(params, signal) {
  const {ms, tz, ...rest} = params;
  const answer = await get("api/query/explain", {...rest, tz}, {signal});
  return [answer.queries.map(q => h("table", {class: "table"}, h("tbody", null, facts(q).map(([k, v]) => h("tr", null, h("th", {scope: "row"}, k), h("td", {class: "num"}, v)))))),
    h("p", {class: "muted"}, "Limits: ", answer.limits.map(l => `${l.key} ${l.limit || "none"}${l.refused ? " (refused)" : ""}`).join(", "))];
}

function points(series, params, zone) {
  const times = [...new Set(series.flatMap(s => s.points.slice(0, MOST_ROWS).map(p => p[0])))].sort((a, b) => a - b).slice(0, MOST_ROWS);
  const values = series.slice(0, 20).map(s => new Map(s.points));
  const columns = [{key: "ms", title: "Time", heading: true, value: r => r.ms, cell: r => format(r.ms, zone, "full")},
    ...series.slice(0, 20).map((s, i) => ({key: "s" + i, title: s.label, align: "right", value: r => values[i].get(r.ms), cell: r => (values[i].has(r.ms) ? full(values[i].get(r.ms)) : "")}))];
  const raw = {...params, m: params.m.map(m => m.replace(/^([^:]+):\d+\w+-[a-z0-9]+(-\w+)?:/, "none:"))};
  const link = (words, p) => h("a", {class: "button", href: address("api/query", p), target: "_blank", rel: "noopener"}, words);
  return [h("p", {class: "bar-row"}, link("These points as CSV", {...params, format: "csv"}), link("as JSON", params), link("Raw points as CSV", {...raw, format: "csv"})),
    table(columns, times.map(ms => ({ms})), {caption: `The first ${times.length} times, of ${Math.min(20, series.length)} series`})];
}

function quoted(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function commands(params, body) {
  const {start, end, m, tz} = params;
  const list = body ? [`curl -s ${quoted(absolute("api/query/exp"))} -d ${quoted(JSON.stringify(body))}`]
    : [`curl -sg ${quoted(absolute("api/query", params))}`, ...m.map(one => `tsd query ${start} ${end} ${quoted(one)} --tz ${tz} --host ${location.hostname}${location.port ? " --port " + location.port : ""}`)];
  return list.map(text => [h("pre", null, text), copyButton("Copy", text)]);
}

/**
 * Buttons that each open one thing about the answer.
 * @param {function(): Object} current {params, body, series, zone}, or null while there is no answer
 * @param {AbortSignal} signal
 */
export function tools(current, signal) {
  const place = h("div", {"aria-live": "polite"});
  const buttons = [];
  const open = (words, make) => {
    const button = h("button", {type: "button", "aria-pressed": "false", "on:click": async () => {
      const was = button.getAttribute("aria-pressed") === "true";
      buttons.forEach(b => b.setAttribute("aria-pressed", "false"));
      fill(place);
      const answer = current();
      if (was || !answer)
        return;
      button.setAttribute("aria-pressed", "true");
      try {
        fill(place, h("div", {class: "panel"}, await make(answer)));
      } catch (error) {
        fill(place, h("p", {class: "error"}, error.message));
      }
    }}, words);
    buttons.push(button);
    return button;
  };
  return h("div", {class: "tools noprint"}, h("div", {class: "bar-row"},
    open("Plan of the query", a => plan(a.params, signal)), open("Points", a => points(a.series, a.params, a.zone)), open("As commands", a => commands(a.params, a.body))), place);
}

/**
 * Annotations of the range, and a form for one more.
 * @param {function()} onAdded
 * @returns {{node: HTMLElement, show: function(Object[], string): void, time: function(number, string): void}}
 */
export function notesPanel(onAdded) {
  let zone = "UTC";
  const list = h("ul");
  const when = h("input", {size: 24, value: "now"}), text = h("input", {size: 40});
  const whenField = field("Time", when), textField = field("Text", text);
  const add = async e => {
    e.preventDefault();
    const ms = moment(when.value, Date.now(), zone);
    whenField.error(ms === null ? "This is no time: now, 10m-ago or 2026/11/01-14:00 are some" : "");
    textField.error(text.value.trim() ? "" : "Say what happened");
    if (ms === null || !text.value.trim())
      return;
    try {
      await post("api/annotation", {startTime: Math.floor(ms / 1000), description: text.value.trim()});
      text.value = "";
      onAdded();
    } catch (error) {
      textField.error(error.message);
    }
  };
  const summary = h("summary", null, "Annotations");
  const node = h("details", {class: "panel noprint"}, summary, list, h("form", {class: "bar-row", "on:submit": add}, whenField, textField, h("button", null, "Add an annotation")),
    h("p", {class: "hint"}, "A click on the graph fills in its time."));
  return {
    node,
    show(notes, inZone) {
      zone = inZone;
      summary.textContent = notes.length ? `Annotations (${notes.length})` : "Annotations";
      fill(list, notes.map(n => h("li", null, `${format(n.ms, zone, "full")}: ${n.text}`, n.where && h("span", {class: "muted"}, ` (${n.where})`))));
    },
    time(ms, inZone) {
      when.value = format(Math.floor(ms / 1000) * 1000, inZone, "query");
    },
  };
}
