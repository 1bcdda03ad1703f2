/* complete.js - a field that completes what is typed with names that the server has (the combobox pattern of WAI-ARIA). */
import {fill, h} from "./dom.js";
import {isAbort} from "./api.js";

let ids = 0;

/**
 * @param {{value?: string, label: string, source: function(string, AbortSignal): Promise<{names: string[], more: boolean, elsewhere?: boolean}>,
 *   onChoose: function(string), placeholder?: string, size?: number}} options
 *   source: at most 50 names for a text (names.js); onChoose: a name was chosen, or typed and confirmed
 * @returns {{node: HTMLElement, input: HTMLInputElement, close: function(): void}}
 */
export function complete({value = "", label, source, onChoose, placeholder = "", size = 30}) {
  const id = `complete-${++ids}`;
  const list = h("ul", {class: "choices", id, role: "listbox", hidden: true, "aria-label": label});
  const input = h("input", {value, size, placeholder, role: "combobox", autocomplete: "off", spellcheck: "false", autocapitalize: "off",
    "aria-expanded": "false", "aria-controls": id, "aria-autocomplete": "list"});
  const node = h("div", {class: "combo"}, input, list);
  let abort = null, names = [], active = -1, confirmed = value;

  function close() {
    abort?.abort();
    list.hidden = true;
    active = -1;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  }

  function choose(name) {
    input.value = name;
    close();
    if (name !== confirmed) {
      confirmed = name;
      onChoose(name);
    }
  }

  function mark(i) {
    active = names.length ? (i + names.length) % names.length : -1;
    [...list.querySelectorAll("[role=option]")].forEach((option, k) => {
      option.setAttribute("aria-selected", String(k === active));
      if (k === active) {
        input.setAttribute("aria-activedescendant", option.id);
        option.scrollIntoView({block: "nearest"});
      }
    });
  }

  function show({more, elsewhere}) {
    const note = more ? "More names match: type on" : names.length ? "" : "Nothing matches";
    const hint = text => text && h("li", {class: "hint", role: "presentation"}, text);
    fill(list, names.length > 0 && hint(elsewhere && "At other times than the chosen one:"), names.map((name, i) => h("li", {role: "option", id: `${id}-${i}`, "aria-selected": "false",
      "on:pointerdown": e => { e.preventDefault(); choose(name); }}, name)), hint(note));
    active = -1;
    list.hidden = false;
    input.setAttribute("aria-expanded", "true");
  }

  async function ask() {
    abort?.abort();
    const mine = abort = new AbortController();
    try {
      const answer = await source(input.value, mine.signal);
      if (mine.signal.aborted || document.activeElement !== input)
        return;
      names = answer.names;
      show(answer);
    } catch (error) {
      if (!isAbort(error)) {
        names = [];
        fill(list, h("li", {class: "error", role: "presentation"}, error.message));
        list.hidden = false;
      }
    }
  }

  input.addEventListener("input", ask);
  input.addEventListener("focus", () => { input.select(); });
  input.addEventListener("click", () => { if (list.hidden) ask(); });
  input.addEventListener("blur", () => {
    close();
    choose(input.value.trim());
  });
  input.addEventListener("keydown", e => {
    if (e.key === "ArrowDown" || e.key === "ArrowUp") {
      e.preventDefault();
      if (list.hidden)
        ask();
      else
        mark(active + (e.key === "ArrowDown" ? 1 : active < 0 ? 0 : -1));
    } else if (e.key === "Enter") {
      e.preventDefault();
      choose(active >= 0 ? names[active] : input.value.trim());
    } else if (e.key === "Escape" && !list.hidden) {
      e.stopPropagation();
      close();
    }
  });
  return {node, input, close};
}
