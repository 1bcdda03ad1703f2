/*
 * status.js - the view Status: health with what to do about it, then rates, memory, files, times, queries, connections, configuration.
 *
 * Parts that the daemon does not know are not shown. Not here: the tables (status_parts.js).
 */
import {get, isAbort, send} from "./api.js";
import {fill, h} from "./dom.js";
import {age} from "./number.js";
import {PARTS} from "./status_parts.js";
import {format} from "./zone.js";

export const title = "Status";

function health(s, now, zone) {
  const facts = [s.version && `tsd ${s.version}`, s.started && `started ${age(s.started, now)}, ${format(s.started, zone, "minute")}`,
    s.timezone && `zone of dates ${s.timezone}`, s.compat && s.compat !== "none" && `behaves like ${s.compat}`].filter(Boolean).join("; ");
  const problems = s.health?.problems ?? [];
  const line = s.health === undefined ? h("p", {class: "note"}, "The daemon answers.")
    : s.health.ok && !problems.length ? h("p", {class: "note"}, h("strong", {class: "good"}, "All is well."))
      : h("div", {class: "note bad", role: "alert"}, problems.map(p => h("p", null, h("strong", null, p.what), " ", p.action)));
  return h("div", null, line, facts && h("p", {class: "hint"}, facts));
}

class Status {
  constructor(root, ctx) {
    this.ctx = ctx;
    this.top = h("div", {role: "status"});
    this.problem = h("p", {class: "error", role: "alert"});
    this.sections = new Map();
    this.body = h("div", {"aria-busy": "true", class: "status-parts"});
    const json = h("p", {class: "noprint"}, h("a", {href: "api/tsd/status"}, "All of it as JSON"), " ", h("a", {href: "metrics"}, "for Prometheus"));
    fill(root, h("h1", null, title), this.top, this.problem, this.body, json);
    ctx.every(() => this.run(), ctx.refreshMs() || 5000);
  }

  async cancel(id) {
    try {
      await send("DELETE", "api/stats/query", {id}, {signal: this.ctx.signal});
      await this.run();
    } catch (error) {
      if (!isAbort(error))
        this.problem.textContent = error.message;
    }
  }

  async run() {
    try {
      this.draw(await get("api/tsd/status", {}, {signal: this.ctx.signal}));
      this.problem.textContent = "";
    } catch (error) {
      if (!isAbort(error))
        this.problem.textContent = error.message;
    }
    this.body.removeAttribute("aria-busy");
  }

  /* A part is replaced only if what it shows has changed, so that nobody loses his place in it. */
  draw(s) {
    const now = s.now ?? Date.now(), zone = this.ctx.zone();
    const tools = {zone, now, cancel: id => this.cancel(id)};
    this.keep("health", [s.health, s.version, s.started, Math.floor(now / 60000)], this.top, () => health(s, now, zone));
    for (const part of PARTS) {
      if (!this.sections.has(part.key)) {
        const place = h("section", {class: "part"});
        this.sections.set(part.key, place);
        this.body.append(place);
      }
      const place = this.sections.get(part.key), data = part.pick(s);
      place.hidden = data === null;
      if (data !== null)
        this.keep(part.key, data, place, () => [h("h2", null, part.title), part.draw(data, tools)]);
    }
  }

  keep(key, data, place, draw) {
    const text = JSON.stringify(data);
    if (place.shown === text)
      return;
    place.shown = text;
    const active = place.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    const open = place.querySelector("details")?.open;
    fill(place, draw());
    if (open)
      place.querySelector("details").open = true;
    if (active)
      place.querySelector(`[data-key="${CSS.escape(active)}"]`)?.focus();
  }
}

/** Opens the view. Contract: main.js. */
export function open(root, ctx) {
  const view = new Status(root, ctx);
  return {update: () => view.run(), close() {}};
}
