/*
 * start.js - the view Start: health in one line, the busiest metrics and those written last with a small curve each, and, while there is
 * no data, the lines that send some.
 */
import {get, isAbort} from "./api.js";
import {curve} from "./curve.js";
import {copyButton, fill, h, refill} from "./dom.js";
import {foreign, metrics, partialWords} from "./metric_list.js";
import {age, count, short} from "./number.js";
import {curveQueries, curvesOf, exploreLink, kindOf} from "./start_model.js";

export const title = "Start";

const SHOWN = 6, ASKED = 200, DAY = 864e5;

async function health(signal) {
  const s = await get("api/tsd/status", {}, {signal});
  return {...s.health, rate: s.rates?.points_in, totals: s.totals};
}

function healthLine({ok, problems, rate, totals}) {
  if (!ok)
    return h("div", {class: "note bad", role: "alert"}, problems.map(p => h("p", null, h("strong", null, p.what), " ", p.action)), h("a", {href: "#v=status"}, "Status"));
  return h("p", {class: "note"}, h("strong", {class: "good"}, "All is well. "), `${short(totals.points)} points in ${count(totals.series)} series of ${count(totals.metrics)} metrics`,
    rate !== undefined && `; ${short(rate)} points a second arrive`, ". ", h("a", {href: "#v=status"}, "Status"));
}

function card(m, points, now) {
  const place = h("div", {class: "place"});
  if (points?.length > 1)
    curve(place, points, {start: now - DAY, end: now, kind: kindOf(m) === "count" ? "count" : "gauge", label: `${m.metric}, the last 24 hours`});
  else
    fill(place, h("span", {class: "hint"}, m.last >= now - DAY ? "too few points yet for a curve" : "no points in the last 24 hours"));
  const facts = [m.last && `last point ${age(m.last, now)}`, m.series !== undefined && `${count(m.series)} series`,
    m.points_today > 0 && `${short(m.points_today)} points today`].filter(Boolean).join(", ");
  return h("li", null, h("a", {class: "card", href: exploreLink(m), "data-key": m.metric}, h("strong", null, m.metric), place, facts && h("span", {class: "hint"}, facts)));
}

/* Where the daemon can be reached by programs other than the browser. */
function addressOf(place) {
  const port = place.port || (place.protocol === "https:" ? "443" : "80");
  return {host: place.hostname || "localhost", port, base: document.baseURI.replace(/[#?].*$/, "").replace(/\/$/, "")};
}

function example(words, text) {
  return h("li", null, h("p", null, words), h("pre", null, text), copyButton("Copy", text));
}

function noData() {
  const {host, port, base} = addressOf(location);
  return h("section", null, h("h2", null, "There is no data yet"),
    h("p", null, "Any of these lines sends some; this page shows it at once."),
    h("ol", {class: "examples"},
      example("A point by the line protocol: a name, a time, a value, a tag.", `echo "put my.first.metric $(date +%s) 42 host=$(hostname)" | nc -q 1 ${host} ${port}`),
      example("The same over HTTP.", `curl -d "{\\"metric\\":\\"my.first.metric\\",\\"timestamp\\":$(date +%s),\\"value\\":42,\\"tags\\":{\\"host\\":\\"$(hostname)\\"}}" ${base}/api/put`),
      example("Processor, memory, disks and network, every 15 s.", `tsd collect --server ${host}:${port}`)));
}

function section(heading, list, curves, now, link) {
  return h("section", null, h("h2", null, heading), h("ul", {class: "cards"}, list.map(m => card(m, curves.get(m.metric), now))), link);
}

async function load(signal) {
  const [busiest, newest] = await Promise.all(["points", "written"].map(sort => metrics({sort, limit: ASKED}, {signal})));
  const first = found => foreign(found.metrics).slice(0, SHOWN);
  const lists = [["Busiest metrics", first(busiest)], ["Written last", first(newest)]];
  const all = [...new Map(lists.flatMap(l => l[1]).map(m => [m.metric, m])).values()];
  if (all.length === lists[0][1].length) /* the same ones twice */
    lists.pop();
  const answer = all.length ? await get("api/query", {start: Date.now() - DAY, arrays: true, ms: true, m: curveQueries(all)}, {signal}).catch(error => {
    if (isAbort(error))
      throw error;
    return []; /* the names are worth showing without their curves */
  }) : [];
  const curves = curvesOf(answer);
  return {lists, curves, any: all.some(m => !m.metric.startsWith("tsd.")), more: newest.more || newest.metrics.length > SHOWN, words: partialWords(newest)};
}

/* What was saved; the module comes when the box is opened. */
function savedBox() {
  const body = h("div");
  const node = h("details", {class: "panel noprint", "on:toggle": async () => {
    if (node.open)
      await (await import("./saved.js")).showSaved(body);
  }}, h("summary", null, "Recent, favourites and shared views"), body);
  return node;
}

/** Opens the view. Contract: main.js. */
export function open(root, ctx) {
  const line = h("div", {role: "status"}), body = h("div", {"aria-busy": "true"});
  fill(root, h("h1", null, "Start"), line, body, savedBox());
  let shown = "", waiting = false;
  const show = async () => {
    const [state, found] = await Promise.allSettled([health(ctx.signal), load(ctx.signal)]);
    if (ctx.signal.aborted)
      return;
    const failed = [state, found].find(x => x.status === "rejected");
    if (failed) {
      refill(line, h("p", {class: "error", role: "alert"}, failed.reason.message));
      body.removeAttribute("aria-busy");
      return;
    }
    refill(line, healthLine(state.value));
    draw(found.value);
    body.removeAttribute("aria-busy");
  };
  const draw = ({lists, curves, any, more, words}) => {
    const key = JSON.stringify([any, lists, [...curves]]);
    if (key === shown)
      return;
    [shown, waiting] = [key, !any];
    const focused = body.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    const link = more && h("p", null, h("a", {href: "#v=metrics"}, "All metrics"), h("span", {class: "hint"}, words));
    fill(body, !any && noData(), lists.filter(l => l[1].length).map(([heading, list], i) =>
      section(any ? heading : "Of the daemon itself", list, curves, Date.now(), i === lists.length - 1 && link)).slice(0, any ? 2 : 1));
    if (focused)
      body.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus();
  };
  ctx.every(show);
  const poll = setInterval(() => { if (waiting && !document.hidden) show(); }, 3000);
  return {update: show, close: () => clearInterval(poll)};
}
