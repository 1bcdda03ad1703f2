/* Ask a daemon as the view Totals does, and print what it would show.   node totals_probe.mjs < JSON
   Input: {base, zone, now, states: [{metric, start, ...}]}; output: for each state the table, its totals, both heat maps, and
   the numbers of earlier ranges as the page asks for them and as the daemon compares (server). */
import {readFileSync} from "node:fs";

const input = JSON.parse(readFileSync(0, "utf8"));
globalThis.document = {baseURI: input.base};
const {askEarlier, askTable} = await import("../../tsd/page/www/totals.js");
const {get} = await import("../../tsd/page/www/api.js");
const {specOf, wholeRequest} = await import("../../tsd/page/www/totals_query.js");
const {dayRows, weekdayRows} = await import("../../tsd/page/www/heat_model.js");

const signal = new AbortController().signal;
const shown = ({table, totals}) => ({rows: table.rows, cols: table.cols.map(c => c.id), now: table.now, before: table.before, rowTotals: totals.rows, colTotals: totals.cols,
  all: totals.all});
const found = [];
for (const state of input.states) {
  const spec = specOf(name => state[name] ?? "", state.f ?? [], {zone: input.zone, now: input.now, agg: "sum"});
  const limited = {...spec, top: 0, compare: ""};
  const main = await askTable(spec, signal);
  const days = await askTable(limited, signal, "day", "hourofday", ""), weekdays = await askTable(limited, signal, "weekday", "hourofday", "");
  const earlier = [];
  for (const c of await askEarlier(spec, signal))
    earlier.push({...c, server: (await get("api/query", wholeRequest(spec, c.distance).params))[0]?.values.before ?? null});
  found.push({earlier, main: shown(main), days: {...shown(days), cells: dayRows(days.table, spec)}, weekdays: {...shown(weekdays), cells: weekdayRows(weekdays.table, spec, false)}});
}
process.stdout.write(JSON.stringify(found));
