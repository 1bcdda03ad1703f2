/*
 * totals_maps.js - the two heat maps of the view Totals: hours by day and hours by weekday, under the same filters and in the same time.
 *
 * Not here: which cells there are (heat_model.js), elements (heat.js).
 */
import {choice, fill, h} from "./dom.js";
import {heatMap} from "./heat.js";
import {dayRows, HOURS, weekdayRows} from "./heat_model.js";
import {dayLabel, shortDay, weekdayLabel} from "./labels.js";
import {saveButtons} from "./sheet.js";
import {one} from "./state.js";
import {adds} from "./totals_query.js";
import {totalWord} from "./totals_table.js";
import {format} from "./zone.js";

const DAYS_SHOWN = 62;
const MAPS = [["both", "Both maps"], ["day", "Hours by day"], ["weekday", "Hours by weekday"], ["none", "No map"]];

/* Totals of a table by the id of a column: of the 24 hours, also those without points. */
function hourSums({table, totals}) {
  return HOURS.map(id => {
    const c = table.cols.findIndex(col => col.id === id);
    return c < 0 ? null : totals.cols[c].now;
  });
}

function sheet(corner, rows, sums, all, word) {
  const body = rows.map(r => [r.id, ...r.cells.map(c => c.v), ...(sums ? [r.sum] : [])]);
  return {head: [corner, ...HOURS, ...(sums ? [word] : [])], rows: sums ? [...body, [word, ...sums, all]] : body};
}

function part(heading, note, buttons, map) {
  return h("section", {class: "part"}, h("div", {class: "bar-row part-head"}, h("h2", null, heading), h("span", {class: "buttons noprint"}, buttons)),
    note && h("p", {class: "hint"}, note), map);
}

function dayMap(spec, model, all, go, showAll) {
  const sums = hourSums(model);
  const word = totalWord(spec.agg);
  const day = ms => format(ms, spec.zone, "input").slice(0, 10);
  const sumOf = new Map(model.table.rows.map((row, r) => [row.ms, model.totals.rows[r].now]));
  const every = dayRows(model.table, spec).map(row => ({...row, id: day(row.ms), name: shortDay(row.ms, spec.zone),
    sum: sumOf.get(row.ms), click: () => go({start: day(row.ms), end: day(row.ms), rows: "hour", cols: null, sort: null})}));
  const rows = all ? every : every.slice(-DAYS_SHOWN);
  const hiding = rows.length < every.length;
  const note = hiding ? `The last ${rows.length} of ${every.length} days; the totals below are those of all days.` : "";
  const map = heatMap({caption: `Hours by day, from ${dayLabel(rows[0].ms, spec.zone)}`, rows, sums, all: model.totals.all.now, corner: "Day", sumWord: word});
  return part("Hours by day", note, [saveButtons(`${spec.metric}-hours-by-day`, () => sheet("day", every, sums, model.totals.all.now, word)),
    hiding && h("button", {type: "button", class: "quiet", "on:click": showAll}, `Show all ${every.length} days`)], map);
}

function weekdayMap(spec, model, mean, go) {
  const word = totalWord(spec.agg);
  const sums = mean ? null : hourSums(model);
  const rows = weekdayRows(model.table, spec, mean).map(row => {
    const r = model.table.rows.findIndex(x => x.id === row.id);
    return {...row, name: weekdayLabel(row.id), sum: r < 0 ? null : model.totals.rows[r].now};
  });
  const which = adds(spec.agg) && choice([["sum", "Sums"], ["mean", "Mean per hour"]], mean ? "mean" : "sum", v => go({per: v === "mean" ? "hour" : null}),
    {"aria-label": "What the map by weekday shows", "data-key": "per"});
  const note = mean ? "Sums are divided by the time that the range has of each hour and weekday." : "";
  return part("Hours by weekday", note, [which, saveButtons(`${spec.metric}-hours-by-weekday`, () => sheet("weekday", rows, sums, model.totals.all.now, word))],
    heatMap({caption: "Hours by weekday", rows, sums, all: model.totals.all.now, corner: "Weekday", sumWord: word}));
}

/**
 * The maps.
 * @param {Object} ctx of the view
 * @param {function(Object, AbortSignal, string, string, string): Promise<{table, totals}>} askTable
 * @returns {{node: HTMLElement, show: function(Object, Object, AbortSignal): Promise, adjust: function(Object): Promise}} show: asks and draws;
 *   adjust: another choice of maps for the same question
 */
export function totalsMaps(ctx, askTable) {
  const go = patch => ctx.go(patch, {push: true});
  const pick = choice(MAPS, "both", v => ctx.go({map: v === "both" ? null : v}, {push: false}));
  const days = h("div"), weekdays = h("div");
  const problem = h("p", {class: "error", role: "alert"});
  const node = h("div", null, h("p", {class: "noprint"}, h("label", null, "Heat maps: ", pick)), problem, days, weekdays);
  let spec = null, models = {}, allDays = false;
  const wants = (state, which) => [which, ""].includes(one(state, "map") || "") || one(state, "map") === "both";
  const draw = state => {
    pick.value = one(state, "map") || "both";
    const showAll = () => { allDays = true; draw(ctx.state); };
    fill(days, wants(state, "day") && models.day?.table.rows.length > 0 && dayMap(spec, models.day, allDays, go, showAll));
    fill(weekdays, wants(state, "weekday") && models.weekday?.table.rows.length > 0
      && weekdayMap(spec, models.weekday, one(state, "per") === "hour" && adds(spec.agg), patch => ctx.go(patch, {push: false})));
  };
  const load = async (state, signal) => {
    const wanted = ["day", "weekday"].filter(w => wants(state, w) && !models[w]);
    const limited = {...spec, top: 0, compare: ""};
    const found = await Promise.all(wanted.map(w => askTable(limited, signal, w, "hourofday", "")));
    wanted.forEach((w, i) => { models[w] = found[i]; });
  };
  return {node,
    async show(next, state, signal) {
      spec = next;
      models = {};
      problem.textContent = "";
      await load(state, signal);
      draw(state);
    },
    async adjust(state) {
      if (!spec)
        return;
      await load(state, ctx.signal);
      draw(state);
    }};
}
