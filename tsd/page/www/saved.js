/* saved.js - recent and favourite addresses, kept by the browser, and shared views, kept by the daemon. */
import {get, isAbort, post, put, send} from "./api.js";
import {field, fill, h, refill} from "./dom.js";

const RECENT = 12, SHARED = "api/tsd/views";

function read(key) {
  try {
    const list = JSON.parse(localStorage.getItem(key) ?? "[]");
    return Array.isArray(list) ? list.filter(x => typeof x?.hash === "string" && typeof x.title === "string") : [];
  } catch { /* storage is not allowed, or holds something else */
    return [];
  }
}

function write(key, list) {
  try {
    localStorage.setItem(key, JSON.stringify(list));
  } catch { /* then nothing is remembered */ }
}

/** Remember what was opened. @param {string} hash @param {string} title */
export function remember(hash, title) {
  write("tsd.recent", [{hash, title}, ...read("tsd.recent").filter(x => x.title !== title)].slice(0, RECENT));
}

const link = x => h("a", {href: "#" + x.hash}, x.title);

/* Favourites and recent addresses; without a current one there is no form. */
function own(node, current) {
  const favourites = read("tsd.favourites");
  const again = () => own(node, current);
  const name = current && h("input", {value: current().title, size: 40, "aria-label": "Name of the favourite"});
  fill(node,
    current && h("form", {class: "bar-row", "on:submit": e => {
      e.preventDefault();
      write("tsd.favourites", [...favourites.filter(x => x.title !== name.value), {hash: current().hash, title: name.value || current().title}]);
      again();
    }}, name, h("button", null, "Add to favourites")),
    h("h3", null, "Favourites"), favourites.length ? h("ul", null, favourites.map(x => h("li", null, link(x), " ", h("button", {type: "button", class: "plain",
      "aria-label": `Remove ${x.title}`, "on:click": () => {
        write("tsd.favourites", favourites.filter(y => y !== x));
        again();
      }}, "Remove")))) : h("p", {class: "muted"}, "None yet. This browser keeps them."),
    h("h3", null, "Recent"), h("ul", null, read("tsd.recent").map(x => h("li", null, link(x)))));
}

/* A button that asks before it takes something away from everyone. */
function removal(name, run) {
  const button = h("button", {type: "button", class: "plain", "aria-label": `Remove ${name}`, "on:click": () => {
    if (button.textContent !== "Remove") {
      run();
      return;
    }
    button.textContent = "Remove for everyone?";
    button.removeAttribute("aria-label");
  }}, "Remove");
  return button;
}

/* A form that saves the current address for everyone; `saved` is called afterwards. */
function sharing(current, saved) {
  const input = h("input", {size: 40, maxlength: 80, required: true}), place = field("Name of the shared view", input);
  const save = async replace => {
    const body = {name: input.value.trim(), address: current().hash};
    try {
      await (replace ? put : post)(SHARED, body);
      input.value = "";
      place.error("");
      await saved();
    } catch (error) {
      place.error(error.status === 409 ? "There is a shared view of this name." : error.message);
      again.hidden = error.status !== 409;
    }
  };
  const again = h("button", {type: "button", hidden: true, "on:click": () => { again.hidden = true; save(true); }}, "Replace it");
  input.addEventListener("input", () => { again.hidden = true; place.error(""); });
  return h("form", {class: "bar-row", "on:submit": e => { e.preventDefault(); save(false); }}, place, h("button", null, "Save for everyone"), again);
}

/* The shared views, asked of the daemon. */
function shared(node, current) {
  const list = h("div", {"aria-live": "polite"}), place = h("div");
  const show = async () => {
    try {
      const {views, problems, writable} = await get(SHARED);
      if (writable && current && !place.firstChild)
        fill(place, sharing(current, show));
      refill(list, views.length ? h("ul", null, views.map(v => h("li", null, link({hash: v.address, title: v.name}), " ", writable && removal(v.name, async () => {
        await send("DELETE", SHARED, {name: v.name}).catch(failed);
        await show();
      })))) : h("p", {class: "muted"}, "None yet. Whoever uses this daemon sees what is saved here."),
      problems.length > 0 && h("p", {class: "hint"}, "Files that are no views: ", problems.map(p => `${p.file} (${p.what})`).join(", ")));
    } catch (error) {
      failed(error);
    }
  };
  const failed = error => {
    if (!isAbort(error))
      fill(list, h("p", {class: "error", role: "alert"}, error.message));
  };
  fill(node, h("h3", null, "Shared views"), place, list);
  return show();
}

/**
 * Lists of links to what was saved, with ways to save the current address.
 * @param {HTMLElement} node is filled
 * @param {function(): {hash: string, title: string}} [current] without it nothing can be saved here
 */
export function showSaved(node, current = null) {
  const mine = h("div"), everyones = h("div");
  fill(node, mine, everyones);
  own(mine, current);
  return shared(everyones, current);
}

/** The same in a box that is closed at first. */
export function savedLists(current) {
  const body = h("div");
  const node = h("details", {class: "panel noprint", "on:toggle": () => node.open && showSaved(body, current)},
    h("summary", null, "Recent, favourites and shared views"), body);
  return node;
}
