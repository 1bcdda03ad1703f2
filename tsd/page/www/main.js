/* main.js - the frame of the page: reads the address, opens the view that it names, keeps the settings that all views share. */
import existing from "./files.js";
import {choice, fill, h} from "./dom.js";
import {format, has, one, parse, patched} from "./state.js";
import {known, local, names} from "./zone.js";

const VIEWS = [["start", "Start"], ["explore", "Explore"], ["totals", "Totals"], ["metrics", "Metrics"], ["latest", "Latest"], ["status", "Status"]]
  .filter(([name]) => existing.includes(name + ".js"));
const SHARED = ["tz", "autoreload"]; /* stay when another view is opened */
const REFRESH = [["", "No refresh"], ["10", "Every 10 s"], ["30", "Every 30 s"], ["60", "Every minute"], ["300", "Every 5 min"]];

const nav = document.querySelector(".views"), main = document.querySelector("main"), settings = document.querySelector(".settings");
let state = parse(location.hash);
let open = null; /* {name, view, abort, timers} */

/* The view that a state is for. Links to OpenTSDB's page have no v. */
function viewOf(s) {
  const name = one(s, "v") || (has(s, "m") || has(s, "start") ? "explore" : "start");
  return VIEWS.some(v => v[0] === name) ? name : VIEWS[0]?.[0];
}

function zone() {
  const wanted = one(state, "tz");
  return wanted && known(wanted) ? wanted : local();
}

function refreshMs() {
  const s = Number(one(state, "autoreload"));
  return s > 0 ? Math.max(s, 1) * 1000 : 0;
}

function showNav() {
  const current = viewOf(state);
  fill(nav, VIEWS.map(([name, title]) => {
    const kept = patched({}, Object.fromEntries([["v", name], ...SHARED.map(k => [k, state[k] ?? null])]));
    return h("a", {href: "#" + format(kept), "aria-current": name === current ? "page" : null}, title);
  }));
}

function showSettings() {
  const list = h("datalist", {id: "zones"});
  const input = h("input", {class: "zone", list: "zones", value: zone(), size: "16", autocomplete: "off", spellcheck: "false", "aria-label": "Time zone",
    "on:focus": () => { if (!list.firstChild) fill(list, names().map(n => h("option", {value: n}))); },
    "on:change": () => {
      const ok = known(input.value);
      input.setAttribute("aria-invalid", String(!ok));
      if (ok)
        go({tz: input.value === local() ? null : input.value});
      else
        input.title = `The browser knows no time zone ${input.value}`;
    }});
  const refresh = choice(REFRESH, one(state, "autoreload"), v => go({autoreload: v || null}, {push: false}), {"aria-label": "Refresh"});
  if (refresh.selectedIndex < 0) { /* an old link with any number of seconds */
    refresh.append(h("option", {value: one(state, "autoreload")}, `Every ${one(state, "autoreload")} s`));
    refresh.value = one(state, "autoreload");
  }
  fill(settings, h("label", {class: "setting"}, h("span", {class: "label"}, "Time zone "), input, list),
    h("label", {class: "setting"}, h("span", {class: "label"}, "Refresh "), refresh));
  settings.shown = `${zone()} ${one(state, "autoreload")}`;
}

/* Calls of a view at each refresh: never two at the same time, and none while nobody looks. */
function every(run, ms, signal) {
  let timer = null, stopped = false;
  const next = () => {
    const wait = ms ?? refreshMs();
    clearTimeout(timer);
    if (!stopped)
      timer = setTimeout(turn, wait || 1000, wait > 0);
  };
  const turn = async due => {
    if (due && !document.hidden) {
      try {
        await run();
      } catch (error) {
        if (error?.name !== "AbortError")
          console.warn(error);
      }
    }
    next();
  };
  signal.addEventListener("abort", () => { stopped = true; clearTimeout(timer); });
  next();
}

/**
 * Change the state.
 * @param {Object} patch see state.js; `v` with another view drops everything but the shared settings and what the patch names
 * @param {{push?: boolean}} [options] push: a step of the browser's history
 */
function go(patch, {push = true} = {}) {
  const other = patch.v && patch.v !== viewOf(state);
  const kept = other ? Object.fromEntries(SHARED.filter(k => k in state).map(k => [k, state[k]])) : state;
  const next = patched(kept, patch.v ? patch : {v: viewOf(state), ...patch});
  const url = "#" + format(next);
  if (url === location.hash)
    return;
  history[push ? "pushState" : "replaceState"](null, "", url);
  route();
}

function close() {
  if (!open)
    return;
  open.abort.abort();
  open.view?.close?.();
  open = null;
}

async function show(name) {
  close();
  const abort = new AbortController();
  const mine = open = {name, view: null, abort};
  const root = h("div", {class: "view view-" + name});
  try {
    const module = await import(`./${name}.js`);
    if (open !== mine)
      return;
    document.title = `${module.title} · tsd`;
    fill(main, root);
    mine.view = module.open(root, {get state() { return state; }, go, zone, refreshMs, signal: abort.signal,
      every: (run, ms) => every(run, ms, abort.signal)});
    await mine.view?.update?.(state);
  } catch (error) {
    if (error?.name === "AbortError" || open !== mine)
      return;
    console.error(error);
    fill(main, h("p", {class: "error", role: "alert"}, `This view could not be opened: ${error.message}`));
  }
}

function route() {
  state = parse(location.hash);
  const name = viewOf(state);
  showNav();
  if (settings.shown !== `${zone()} ${one(state, "autoreload")}`)
    showSettings();
  if (!name)
    return fill(main, h("p", null, "This program has no view to show."));
  if (open?.name === name && open.view)
    return Promise.resolve(open.view.update?.(state)).catch(error => {
      if (error?.name !== "AbortError")
        console.error(error);
    });
  return show(name);
}

document.querySelector(".skip").addEventListener("click", e => { /* the address belongs to the state */
  e.preventDefault();
  main.focus();
});
addEventListener("popstate", route);
route();
