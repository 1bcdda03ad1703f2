/* dom.js - elements without markup in strings: nothing that comes from the server is ever parsed as HTML. */

const SVG = "http://www.w3.org/2000/svg";
const PROPERTIES = new Set(["value", "checked", "disabled", "selected", "hidden", "readOnly", "indeterminate", "open"]);

function attribute(node, name, value) {
  if (value === null || value === undefined)
    return;
  if (name.startsWith("on:"))
    node.addEventListener(name.slice(3), value);
  else if (name.startsWith("style:"))
    node.style.setProperty(name.slice(6), value);
  else if (PROPERTIES.has(name))
    node[name] = value;
  else if (name.startsWith("aria-"))
    node.setAttribute(name, String(value));
  else if (value !== false)
    node.setAttribute(name, value === true ? "" : String(value));
}

function build(node, attrs, children) {
  append(node, children); /* before the attributes: the value of a select is one of its options */
  for (const [name, value] of Object.entries(attrs ?? {}))
    attribute(node, name, value);
  return node;
}

function append(node, children) {
  for (const child of children.flat(Infinity))
    if (child !== null && child !== undefined && child !== false)
      node.append(child);
}

/**
 * An element.
 * @param {string} tag
 * @param {Object} [attrs] attributes; `on:click` and the like are listeners, `style:width` is one property of the style,
 *   value, checked, disabled, hidden ... are set as properties; null and false leave an attribute out
 * @param {...(string|Node|Array|null)} children texts and nodes; null and false are left out
 * @returns {HTMLElement}
 */
export function h(tag, attrs, ...children) {
  return build(document.createElement(tag), attrs, children);
}

/** The same for an element of SVG. @returns {SVGElement} */
export function svg(tag, attrs, ...children) {
  return build(document.createElementNS(SVG, tag), attrs, children);
}

/** Replace all children of a node. @returns {Node} the node */
export function fill(node, ...children) {
  node.replaceChildren();
  append(node, children);
  return node;
}

/** Replace the children unless they are equal to the new ones: refreshing neither flickers nor moves the focus. */
export function refill(node, ...children) {
  const next = fill(node.cloneNode(false), ...children);
  if (!node.isEqualNode(next))
    node.replaceChildren(...next.childNodes);
  return node;
}

function compare(a, b) {
  const none = x => x === null || x === undefined || Number.isNaN(x);
  if (none(a) || none(b))
    return none(a) - none(b);
  return typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), undefined, {numeric: true});
}

/**
 * Rows in an order.
 * @param {Array} rows
 * @param {{value: function(Object): *}} column
 * @param {boolean} down the greatest first; what has no value comes last in both directions
 */
export function sorted(rows, column, down) {
  const none = x => x === null || x === undefined || Number.isNaN(x);
  return rows.map((row, i) => ({row, i, key: column.value(row)})).sort((a, b) => {
    if (none(a.key) || none(b.key))
      return none(a.key) - none(b.key) || a.i - b.i;
    return (down ? compare(b.key, a.key) : compare(a.key, b.key)) || a.i - b.i;
  }).map(x => x.row);
}

function head(column, sort, choose) {
  const active = sort && sort.key === column.key;
  const attrs = {scope: "col", class: column.align === "right" ? "num" : null, title: column.help};
  if (!column.value)
    return h("th", attrs, column.title);
  attrs["aria-sort"] = active ? (sort.down ? "descending" : "ascending") : "none";
  return h("th", attrs, h("button", {type: "button", class: "sort", "data-key": column.key, "on:click": () => choose(column)},
    column.title, h("span", {class: "direction", "aria-hidden": "true"}, active ? (sort.down ? " ▾" : " ▴") : "")));
}

function line(columns, row, cards) {
  return h("tr", {class: row.class}, columns.map(c => {
    const content = c.cell ? c.cell(row) : row[c.key];
    return h(c.heading ? "th" : "td", {scope: c.heading ? "row" : null, "data-title": cards ? c.title : null, class: c.align === "right" ? "num" : null}, content ?? "");
  }));
}

/**
 * A table that is sorted by clicking on a heading.
 * @param {Array<{key: string, title: string, align?: "right", help?: string, heading?: boolean, value?: function(Object): *,
 *   cell?: function(Object): (string|Node)}>} columns value: what to sort by (without it the column is not sortable);
 *   cell: what is shown, row[key] if absent; heading: the cell names its row
 * @param {Object[]} rows a row's `class` becomes that of its line
 * @param {{sort?: {key: string, down: boolean}, onSort?: function({key: string, down: boolean}), caption?: string, foot?: Object[],
 *   cards?: boolean}} [options]
 *   sort: the order; onSort: called with another order instead of sorting here; foot: rows below that are never sorted; cards:
 *   on narrow screens a row is a card, with a line for each cell
 * @returns {HTMLElement} a division that scrolls sideways on narrow screens, with the table in it
 */
export function table(columns, rows, {sort = null, onSort = null, caption = "", foot = [], cards = false} = {}) {
  const node = h("table", {class: cards ? "table cards-narrow" : "table"});
  const choose = column => {
    const next = {key: column.key, down: sort && sort.key === column.key ? !sort.down : column.align === "right"};
    if (onSort) {
      onSort(next);
      return;
    }
    sort = next;
    show();
    node.querySelector(`button[data-key="${CSS.escape(column.key)}"]`).focus();
  };
  const show = () => {
    const by = sort && columns.find(c => c.key === sort.key && c.value);
    fill(node, caption && h("caption", null, caption), h("thead", null, h("tr", null, columns.map(c => head(c, sort, choose)))),
      h("tbody", null, (by && !onSort ? sorted(rows, by, sort.down) : rows).map(r => line(columns, r, cards))),
      foot.length > 0 && h("tfoot", null, foot.map(r => line(columns, r, cards))));
  };
  show();
  return h("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": caption || "Table"}, node);
}

/** Resolves when what was changed is on the screen, or after 100 ms where nothing is drawn. */
export function painted() {
  return new Promise(done => {
    requestAnimationFrame(() => setTimeout(done));
    setTimeout(done, 100);
  });
}

/** A labelled field: text above, control below, room for an error. @returns {HTMLElement} with `error(text)` to show or clear one */
export function field(label, control, hint = "") {
  const problem = h("span", {class: "error", role: "alert"});
  const node = h("label", {class: "field"}, h("span", {class: "label"}, label), control, hint && h("span", {class: "hint"}, hint), problem);
  node.error = text => {
    problem.textContent = text || "";
    control.setAttribute("aria-invalid", text ? "true" : "false");
  };
  return node;
}

/** A choice among [[value, words], ...]. @returns {HTMLSelectElement} */
export function choice(options, value, onChange, attrs = {}) {
  return h("select", {...attrs, value, "on:change": e => onChange(e.target.value)}, options.map(([v, words]) => h("option", {value: v}, words)));
}

/** A switch with words. @returns {HTMLElement} */
export function toggle(words, checked, onChange, attrs = {}) {
  return h("label", {class: "toggle"}, h("input", {...attrs, type: "checkbox", checked, "on:change": e => onChange(e.target.checked)}), " ", words);
}

/** A button that copies a text and says so. */
export function copyButton(words, text) {
  const button = h("button", {type: "button", "on:click": async () => {
    try {
      await navigator.clipboard.writeText(typeof text === "function" ? text() : text);
      button.textContent = "Copied";
    } catch { /* only pages over HTTPS or on localhost may write to the clipboard */
      button.textContent = "Select and copy it yourself";
    }
    setTimeout(() => { button.textContent = words; }, 2000);
  }}, words);
  return button;
}

/** Offer bytes to the user as a file. */
export function save(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], {type}));
  const link = h("a", {href: url, download: name});
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}
