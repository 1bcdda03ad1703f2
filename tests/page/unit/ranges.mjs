/* Ranges of time by name and by date, on ordinary days and on those when clocks change. */
import assert from "node:assert/strict";
import test from "node:test";
import {namedOf} from "../../../tsd/page/www/range.js";
import {RANGES, rangeOf, step} from "../../../tsd/page/www/ranges.js";

const HOUR = 3600e3, PARIS = "Europe/Paris", NEW_YORK = "America/New_York";
const at = text => Date.parse(text);

function named(name, now, zone) {
  const {start, end} = rangeOf({start: name, end: ""}, now, zone);
  return {start, end};
}

test("today begins at the midnight of the zone", () => {
  const now = at("2026-11-24T03:00:00Z");
  assert.deepEqual(named("today", now, PARIS), {start: at("2026-11-23T23:00:00Z"), end: now});
  assert.deepEqual(named("today", now, NEW_YORK), {start: at("2026-11-23T05:00:00Z"), end: now});
});

test("yesterday has 25 hours after the clock was set back, 23 after it was set forward", () => {
  for (const [now, zone, hours] of [["2026-10-26T08:00:00Z", PARIS, 25], ["2026-03-30T08:00:00Z", PARIS, 23], ["2026-11-02T15:00:00Z", NEW_YORK, 25],
    ["2026-03-09T15:00:00Z", NEW_YORK, 23], ["2026-10-26T08:00:00Z", "UTC", 24]]) {
    const {start, end} = named("yesterday", at(now), zone);
    assert.equal((end - start) / HOUR, hours, `${now} ${zone}`);
  }
});

test("weeks begin on Monday, months and years on their first days", () => {
  const now = at("2026-11-25T12:00:00Z"); /* a Wednesday */
  assert.equal(named("thisweek", now, "UTC").start, at("2026-11-23T00:00:00Z"));
  assert.deepEqual(named("lastweek", now, "UTC"), {start: at("2026-11-16T00:00:00Z"), end: at("2026-11-23T00:00:00Z")});
  assert.equal(named("thismonth", now, PARIS).start, at("2026-10-31T23:00:00Z"));
  assert.deepEqual(named("lastmonth", now, PARIS), {start: at("2026-09-30T22:00:00Z"), end: at("2026-10-31T23:00:00Z")});
  assert.equal(named("thisyear", now, NEW_YORK).start, at("2026-01-01T05:00:00Z"));
  assert.equal(named("7days", now, "UTC").start, at("2026-11-19T00:00:00Z"));
});

test("each name gives a range that is not empty and does not end later than now", () => {
  for (const [name] of RANGES)
    for (const zone of ["UTC", PARIS, NEW_YORK, "Asia/Kathmandu"]) {
      const now = at("2026-03-29T01:30:00Z"), r = named(name, now, zone);
      assert.ok(r.start < r.end && r.end <= now, `${name} ${zone}`);
    }
});

test("days begin at midnight, also after one on which clocks skip it", () => {
  const zone = "America/Santiago", now = at("2026-09-08T15:00:00Z"); /* September 6 began at 1:00 */
  assert.equal(rangeOf({start: "7days"}, now, zone).start, at("2026-09-02T04:00:00Z"));
  assert.equal(step(at("2026-09-06T04:00:00Z"), 1, "day", zone), at("2026-09-07T03:00:00Z"));
});

test("a range by dates includes its last day; wrong ones name the field", () => {
  const now = at("2026-11-24T03:00:00Z");
  assert.deepEqual(rangeOf({start: "2026-10-25", end: "2026-10-25"}, now, PARIS), {start: at("2026-10-24T22:00:00Z"), end: at("2026-10-25T23:00:00Z"), name: ""});
  assert.deepEqual(rangeOf({start: "2026-10", end: ""}, now, "UTC"), {start: at("2026-10-01T00:00:00Z"), end: at("2026-11-01T00:00:00Z"), name: ""});
  assert.equal(rangeOf({start: "", end: ""}, now, "UTC").name, "7days");
  assert.equal(rangeOf({start: "yesterday", end: ""}, now, "UTC").end, at("2026-11-24T00:00:00Z"));
  assert.equal(rangeOf({start: "2026-11-20", end: ""}, now, "UTC").end, now);
  assert.deepEqual(rangeOf({start: String(now - 1000), end: String(now)}, now, "UTC"), {start: now - 1000, end: now, name: ""});
  for (const [range, field] of [[{start: "hello", end: ""}, "start"], [{start: "2026-11-01", end: "x y"}, "end"], [{start: "2026-11-02", end: "2026-11-01"}, "end"]])
    assert.throws(() => rangeOf(range, now, "UTC"), e => e.field === field && e.message.length > 10, JSON.stringify(range));
});

test("a range has its name however it is written", () => {
  assert.equal(namedOf("1d-ago", "")[2], "Last 24 hours");
  assert.equal(namedOf("168h-ago", "")[2], "Last 7 days");
  assert.equal(namedOf("today", "")[2], "Today");
  assert.equal(namedOf("2d-ago", ""), undefined);
  assert.equal(namedOf("1d-ago", "now"), undefined);
  assert.equal(namedOf("1795132800000", "1795136400000"), undefined);
});
