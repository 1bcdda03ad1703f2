/* state.js - the address of the page behind #, which holds its whole state: names with values, as in the query of an address. */

/**
 * @typedef {Object<string, string[]>} State a name that occurs without a value has an empty one
 */

/** The state that an address (with or without #) describes. @param {string} hash @returns {State} */
export function parse(hash) {
  const state = Object.create(null);
  for (const [name, value] of new URLSearchParams(hash.replace(/^#/, "")))
    (state[name] ??= []).push(value);
  return state;
}

/* What may stand in an address as it is, so that people can read it. */
function encode(text) {
  return encodeURIComponent(text).replace(/%(3A|2F|2C|7B|7D|7C|40|24)/g, c => decodeURIComponent(c)).replaceAll("%20", "+").replaceAll("%3D", "=");
}

/** The address of a state, without #. The view comes first. @param {State} state */
export function format(state) {
  const names = Object.keys(state).sort((a, b) => (b === "v") - (a === "v"));
  return names.flatMap(name => state[name].map(value => encodeURIComponent(name) + (value === "" ? "" : "=" + encode(value)))).join("&");
}

/** The last value of a name, or the fallback. @param {State} state */
export function one(state, name, fallback = "") {
  const values = state[name];
  return values && values.length ? values[values.length - 1] : fallback;
}

/** Is a bare name there? @param {State} state */
export function has(state, name) {
  return name in state;
}

/**
 * A state with changes.
 * @param {State} state stays as it is
 * @param {Object<string, (string|number|boolean|string[]|null)>} patch null, false and empty lists remove a name, true sets a bare one
 * @returns {State}
 */
export function patched(state, patch) {
  const next = Object.assign(Object.create(null), state);
  for (const [name, value] of Object.entries(patch)) {
    const values = (Array.isArray(value) ? value : [value]).filter(x => x !== null && x !== undefined && x !== false);
    if (values.length)
      next[name] = values.map(x => (x === true ? "" : String(x)));
    else
      delete next[name];
  }
  return next;
}
