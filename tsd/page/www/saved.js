/* saved.js - recent and favourite addresses, kept by the browser. */
import {fill, h} from "./dom.js";

const RECENT = 12;

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

/** Lists of links, with a way to add the present one. @param {function(): {hash: string, title: string}} current */
export function savedLists(current) {
  const node = h("details", {class: "panel noprint", "on:toggle": () => node.open && show()}, h("summary", null, "Recent and favourites"));
  const body = h("div");
  node.append(body);
  const link = x => h("a", {href: "#" + x.hash}, x.title);
  function show() {
    const favourites = read("tsd.favourites");
    const name = h("input", {value: current().title, size: 40, "aria-label": "Name of the favourite"});
    fill(body,
      h("form", {class: "bar-row", "on:submit": e => {
        e.preventDefault();
        write("tsd.favourites", [...favourites.filter(x => x.title !== name.value), {hash: current().hash, title: name.value || current().title}]);
        show();
      }}, name, h("button", null, "Add to favourites")),
      h("h3", null, "Favourites"), favourites.length ? h("ul", null, favourites.map(x => h("li", null, link(x), " ", h("button", {type: "button", class: "plain",
        "aria-label": `Remove ${x.title}`, "on:click": () => {
          write("tsd.favourites", favourites.filter(y => y !== x));
          show();
        }}, "Remove")))) : h("p", {class: "muted"}, "None yet. This browser keeps them."),
      h("h3", null, "Recent"), h("ul", null, read("tsd.recent").map(x => h("li", null, link(x)))));
  }
  return node;
}
