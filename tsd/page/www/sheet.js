/*
 * sheet.js - what a table shows as CSV and JSON.
 *
 * A sheet is {head: [text], rows: [[text, number or null]]}. Pure functions but for the two buttons.
 */
import {h, save} from "./dom.js";

function csvField(v) {
  if (v === null || v === undefined)
    return "";
  const text = String(v);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll("\"", "\"\"")}"` : text;
}

/** CSV of RFC 4180: a line of headings, lines end with CR LF, no value is an empty field. */
export function toCsv({head, rows}) {
  return [head, ...rows].map(row => row.map(csvField).join(",") + "\r\n").join("");
}

/** JSON: an array of objects whose members are named as the headings; two of one name are told apart by a number. */
export function toJson({head, rows}) {
  const seen = new Map();
  const names = head.map(name => {
    const n = (seen.get(name) ?? 0) + 1;
    seen.set(name, n);
    return n === 1 ? name : `${name} ${n}`;
  });
  const texts = rows.map(row => "{" + names.map((name, i) => `${JSON.stringify(name)}:${JSON.stringify(row[i] ?? null)}`).join(",") + "}");
  return `[${texts.join(",\n")}]\n`;
}

/**
 * Two buttons that save what is shown.
 * @param {string} name of the files, without their endings
 * @param {function(): {head: string[], rows: Array[]}} sheet made when it is wanted
 */
export function saveButtons(name, sheet) {
  return h("span", {class: "buttons"},
    h("button", {type: "button", class: "quiet", "on:click": () => save(`${name}.csv`, "text/csv", toCsv(sheet()))}, "Save as CSV"),
    h("button", {type: "button", class: "quiet", "on:click": () => save(`${name}.json`, "application/json", toJson(sheet()))}, "Save as JSON"));
}
