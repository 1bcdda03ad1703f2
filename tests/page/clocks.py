"""Days on which clocks change, in graphs and totals as they are shown: labels of the axis, dragged ranges, cells and totals, whatever the system's zone (run.py runs this)."""
import datetime
import re
import zoneinfo

from selenium.webdriver import ActionChains

from kit import params
from metakit import check, holds

CHANGES = (("Europe/Paris", "2026-03-29"), ("Europe/Paris", "2026-10-25"), ("America/New_York", "2026-03-08"), ("America/New_York", "2026-11-01"))
SYSTEMS = ("Europe/Paris", "America/New_York", "UTC")
# Remembers the texts that are drawn on a canvas since the last time it was cleared, with their places.
WATCH = """window.drawn = [];
const {fillText, clearRect} = CanvasRenderingContext2D.prototype;
CanvasRenderingContext2D.prototype.fillText = function (text, x, y) { window.drawn.push([text, this.getTransform().e + x, y]); return fillText.apply(this, arguments); };
CanvasRenderingContext2D.prototype.clearRect = function () { window.drawn = []; return clearRect.apply(this, arguments); };"""


def midnight(day, zone, plus=0):
    return int(datetime.datetime.combine(datetime.date.fromisoformat(day) + datetime.timedelta(plus), datetime.time(), zoneinfo.ZoneInfo(zone)).timestamp())


def value(t):
    """Whole, and different from one 20 minutes to the next."""
    return t // 1200 % 89 + 1


def graph(b, url, zone, day, what):
    """Labels of the axis stand at the times that they name, and a dragged range begins and ends there."""
    start, end = midnight(day, zone), midnight(day, zone, 1)
    b.open(url + "#start=%s&end=%s&tz=%s&m=sum:clock.m&k=count" % (day, day, zone))
    b.one(".graph canvas")
    b.wait(lambda: "Read " in b.text(".status"), "an answer")
    fields = [f.get_attribute("value")[:16] for f in b.all("input[type=datetime-local]")]
    check(what + "fields", fields, [day + "T00:00", "%sT00:00" % (datetime.date.fromisoformat(day) + datetime.timedelta(1))])
    left, width = b.js("const c = document.querySelector('.graph canvas').getBoundingClientRect(), r = document.querySelector('.u-over').getBoundingClientRect(); return [r.left - c.left, r.width]")
    hours = [(text, x) for text, x in b.js("return window.drawn.map(([t, x]) => [t, x])") if re.fullmatch(r"\d\d:\d\d [AP]M", text)]
    holds(what + "labels of the axis", len(hours) >= 4, hours)
    for text, x in hours:
        t = start + (x - left) / width * (end - start)
        wall = datetime.datetime.fromtimestamp(round(t / 900) * 900, zoneinfo.ZoneInfo(zone)).strftime("%I:%M %p")
        check(what + "the label at %d" % x, text, wall)
    table = b.wait(lambda: b.all(".table tbody tr td"), "the legend")
    check(what + "total in the legend", int(table[-1].text.replace(",", "")), sum(value(t) for t in range(start, end, 1200)))
    place = b.one(".u-over")
    ActionChains(b.driver).move_to_element_with_offset(place, int(-width / 4), 0).click_and_hold().move_by_offset(int(width / 4), 0).release().perform()
    b.wait(lambda: "T" not in str(params(b)["start"]) and len(params(b)["start"][0]) == 13, "a dragged range")
    got = [int(params(b)[k][0]) / 1000 for k in ("start", "end")]
    want = [start + (end - start) / 4, start + (end - start) / 2]
    holds(what + "the dragged range", all(abs(g - w) < (end - start) / width * 2.5 for g, w in zip(got, want)), (got, want))


def totals(b, url, zone, day, what):
    """A row for each hour that the day has; cells and the grand total are those of the points, in the table and in both maps."""
    start, end = midnight(day, zone), midnight(day, zone, 1)
    b.open(url + "#v=totals&metric=clock.m&start=%s&end=%s&rows=hour&tz=%s&agg=sum" % (day, day, zone))
    b.one(".results")
    b.wait(lambda: not b.all("main [aria-busy]") and b.all(".heat tfoot tr"), "totals")
    number = lambda t: int(t.replace(",", ""))  # noqa: E731
    rows = b.js("return [...document.querySelectorAll('.totals tbody tr')].map(r => r.cells[1].innerText.trim())")
    check(what + "cells", [number(r) for r in rows], [sum(value(t) for t in range(h, h + 3600, 1200)) for h in range(start, end, 3600)])
    whole = sum(value(t) for t in range(start, end, 1200))
    foot = b.js("return [...document.querySelectorAll('.totals tfoot tr, .heat tfoot tr')].map(r => [...r.cells].map(c => c.innerText.trim()))")
    check(what + "grand totals", [number(foot[0][1])] + [number(f[-1]) for f in foot[-2:]] + [number(b.text(".whole .big"))], [whole] * 4)


def clocks(b, url, d):
    """Both days of Paris and New York, with the system's zone equal, another one, and UTC."""
    d.send("".join("put clock.m %d %d host=a\n" % (t, value(t)) for zone, day in CHANGES for t in range(midnight(day, zone, -1), midnight(day, zone, 2), 1200)))
    d.sync()
    script = b.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})
    for system in SYSTEMS:
        b.zone(system)
        for zone, day in CHANGES:
            what = "%s in %s, system in %s: " % (day, zone, system)
            graph(b, url, zone, day, what)
            totals(b, url, zone, day, what)
    b.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", {"identifier": script["identifier"]})
    b.zone("UTC")
    check("clocks without problems", b.problems(url), [])
