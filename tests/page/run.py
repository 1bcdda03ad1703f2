#!/usr/bin/python3
"""The web page in a real Chromium, used as a person would: each view on real data, both themes, a phone's width, the keyboard alone, behind a proxy, days on
which clocks change, random clicks; no error in the console and no request to another place. `./check --page` runs it.

TSD names the program, AXE the file axe.min.js, TSD_PICTURES a folder for screenshots.
"""
import json
import os
import random
import sys
import time

from selenium.common.exceptions import WebDriverException
from selenium.webdriver import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from clocks import clocks
from inputs import completion, gestures, logarithm, old_data, paper, partial
from kit import Browser, Proxy, load, params
from metakit import check, end, holds
from tsdtest import Daemon
from views import empty, latest, metrics, shared, start, totals

EXPLORE = "#start=24h-ago&m=avg:sys.cpu.user{host=*}"
GRAPH = ".graph canvas"


def drawn(b):
    """Waits until a graph and its figures are there."""
    b.one(GRAPH)
    b.wait(lambda: "Read " in b.text(".status"), "an answer")


def span(b):
    p = params(b)
    return int(p["end"][0]) - int(p["start"][0])


def views(b, url, d):
    """Each view opens, in both themes and on a phone, and axe finds nothing."""
    b.open(url)
    names = b.wait(lambda: [a.text for a in b.all("nav a")], "views")
    holds("Explore is there", "Explore" in names, names)
    axe = os.environ.get("AXE")
    for name in names:
        for theme, width in (("light", 1400), ("dark", 1400), ("light", 390), ("dark", 390)):
            what = "%s, %s, %d pixels" % (name, theme, width)
            b.theme(theme)
            b.size(width, 900, width < 500)
            address = url + "#v=" + name.lower() if name != "Explore" else url + EXPLORE
            b.open(address)
            b.wait(lambda: b.js("return document.querySelector('nav a[aria-current]')?.innerText") == name and len(b.text()) > 40, what)
            if name == "Explore":
                drawn(b)
            b.wait(lambda: not b.js("return document.querySelector('main .error:not(:empty)')"), what + " without errors")
            time.sleep(0.3)
            b.picture("%s-%s-%d" % (name.lower(), theme, width))
            wide = b.js("return [document.documentElement.scrollWidth, document.documentElement.clientWidth]")
            holds(what + " fits", wide[0] <= wide[1], wide)
            if name == "Status" and width < 500:
                b.js("document.querySelectorAll('main details').forEach(d => { d.open = true; })")
                cut = b.js("return [...document.querySelectorAll('main .scroll')].filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.innerText.slice(0, 60))")
                check(what + ": tables that are cut", cut, [])
            if axe:
                b.js(open(axe, encoding="utf-8").read())
                found = b.driver.execute_async_script("axe.run(document, {resultTypes: ['violations']}).then(arguments[0], e => arguments[0](String(e)))")
                found = ["%s: %s" % (v["id"], [n["html"][:160] for n in v["nodes"][:3]]) for v in found["violations"]]
                check(what + " as axe sees it", found, [])
            check(what + " without problems", b.problems(url), [])
    b.theme("light")
    b.size(1400, 900)


def explore(b, url, d):
    """Choosing, zooming, going back, isolating, cancelling; what is shown agrees with the API."""
    b.open(url + "#v=explore")
    field = b.wait(lambda: b.driver.switch_to.active_element if b.driver.switch_to.active_element.get_attribute("role") == "combobox" else None, "the field for a metric")
    field.send_keys("sys.c")
    b.wait(lambda: [o.text for o in b.all("[role=listbox]:not([hidden]) [role=option]")] == ["sys.cpu.user"], "completion")
    field.send_keys(Keys.ARROW_DOWN, Keys.ENTER)
    drawn(b)
    check("a gauge begins with its average", (params(b)["m"], params(b)["start"]), (["avg:sys.cpu.user"], ["24h-ago"]))
    holds("focus stays", b.js("return document.activeElement.getAttribute('role')") == "combobox")
    b.button("Filter by a tag").click()
    b.driver.switch_to.active_element.send_keys("ho")
    b.wait(lambda: [o.text for o in b.all("[role=listbox]:not([hidden]) [role=option]")] == ["host"], "completion of tags")
    b.driver.switch_to.active_element.send_keys(Keys.ARROW_DOWN, Keys.ENTER)
    b.wait(lambda: params(b)["m"] == ["avg:sys.cpu.user{host=*}"], "a filter in the address")
    b.wait(lambda: len(b.all(".table tbody tr")) == 3, "three series")
    b.button("Values").click()
    b.wait(lambda: b.text(".ticks").split() == ["web1", "web2", "web3"] and b.all(".ticks input"), "values to tick")
    # one call: the values may be listed anew between finding an element and clicking it
    b.js("document.querySelectorAll('.ticks input')[1].click()")
    b.wait(lambda: params(b)["m"] == ["avg:sys.cpu.user{host=web2}"] and len(b.all(".table tbody tr")) == 1, "one value ticked")
    b.open(url + EXPLORE)
    drawn(b)
    before = b.driver.current_url
    graph = b.one(".graph")
    ActionChains(b.driver).move_to_element_with_offset(graph, -100, 0).click_and_hold().move_by_offset(200, 0).release().perform()
    b.wait(lambda: "end" in params(b), "a zoom by dragging")
    zoomed = span(b)
    holds("the zoomed range", 3 * 3600000 < zoomed < 8 * 3600000, zoomed)
    graph.send_keys("+")
    b.wait(lambda: span(b) == zoomed // 2 or abs(span(b) - zoomed / 2) < 5, "a zoom by a key")
    at = int(params(b)["start"][0])
    graph.send_keys(Keys.SHIFT + Keys.ARROW_RIGHT)
    b.wait(lambda: int(params(b)["start"][0]) > at, "a pan by keys")
    for _ in range(3):
        address = b.driver.current_url
        b.button("Back").click()
        b.wait(lambda: b.driver.current_url != address, "back")
    check("back to the beginning", b.driver.current_url, before)
    drawn(b)
    ActionChains(b.driver).move_to_element_with_offset(graph, -200, 0).perform()
    tip = b.wait(lambda: b.text(".tip"), "values at the crosshair")
    values = [float(line.split()[-1]) for line in tip.splitlines()[1:4]]
    holds("values are sorted", len(values) == 3 and values == sorted(values, reverse=True), tip)
    series = b.all("button.series")
    series[1].click()
    b.wait(lambda: [s.get_attribute("aria-pressed") for s in b.all("button.series")] == ["false", "true", "false"], "a series alone")
    b.all("button.series")[1].click()
    b.wait(lambda: not b.all("button.series[aria-pressed=true]"), "all series again")
    check("explore without problems", b.problems(url), [])


def figures(b, url, d):
    """Sums of bars are those that totals have; formulas, kinds and switches; what found nothing says so."""
    now = int(time.time()) // 60 * 60
    start, stop = (now - 20 * 3600) // 3600 * 3600 * 1000, (now - 3600) // 3600 * 3600 * 1000
    b.open(url + "#start=%d&end=%d&m=sum:web.hits{domain=*}&stacked&x=a*2" % (start, stop))
    b.wait(lambda: len(b.all(".table tbody tr")) == 4, "two bars and two formulas")
    rows = {r.find_element(By.CSS_SELECTOR, "th").text: [c.text for c in r.find_elements(By.CSS_SELECTOR, "td")] for r in b.all(".table tbody tr")}
    want = json.loads(d.http("/api/query?start=%d&end=%d&m=zimsum:0all-sum:web.hits%%7Bdomain=*%%7D&arrays&ms" % (start, stop)))
    for one in want:
        name = "domain=" + one["tags"]["domain"]
        shown = next((v[-1] for k, v in rows.items() if k.strip() == name), "nan")
        check("total of " + name, float(shown.replace(",", "")), float(one["dps"][0][1]))
    b.open(url + "#start=24h-ago&m=avg:sys.cpu.user{host=nobody}")
    holds("an empty answer names what there is", b.wait(lambda: "web1, web2, web3" in b.text(), "the values that there are"))
    b.open(url + "#start=2020/01/01&end=2020/01/02&m=avg:sys.cpu.user")
    b.button("Show the day before it").click()
    drawn(b)
    b.open(url + "#start=24h-ago&m=sum:no.such.metric")
    b.wait(lambda: "no.such.metric" in b.text(".query .field .error:not(:empty)"), "the error beside its field")
    b.open(url + "#start=sometime&m=sum:web.hits")
    b.wait(lambda: "sometime is no time" in b.text(), "an error of the range")
    b.open(url + EXPLORE)
    drawn(b)
    for words, part in (("Plan of the query", "Outputs"), ("Points", "Raw points as CSV"), ("As commands", "tsd query")):
        b.button(words).click()
        b.wait(lambda: part in b.text(), words)
    for text in b.js("return [...document.querySelectorAll('pre')].map(p => p.innerText)"):
        holds("a command names the query", "sys.cpu.user" in text, text)
    b.button("Annotations").click()
    b.all("details[open] form input")[1].send_keys("a new disk", Keys.ENTER)
    b.wait(lambda: "a new disk" in b.text("details[open] ul"), "an annotation")
    check("it is stored", [n["description"] for n in json.loads(d.http("/api/annotations?start_time=1d-ago&global=true"))], ["a new disk"])
    allowed = ("api/query?", "api/metric?")  # the browser reports refusals that the page explains
    check("figures without problems", b.problems(url, allowed), [])


def keyboard(b, url, d):
    """The keyboard alone: skip link, views, fields, a graph; the focus is always visible."""
    b.open(url + EXPLORE)
    drawn(b)
    body = b.one("body")
    body.send_keys(Keys.TAB)
    check("first comes the skip link", b.js("return document.activeElement.className"), "skip")
    b.driver.switch_to.active_element.send_keys(Keys.ENTER)
    check("it leads to the content", b.js("return document.activeElement.tagName"), "MAIN")
    check("the address stays", params(b)["m"], ["avg:sys.cpu.user{host=*}"])
    reached = set()
    for _ in range(80):
        ActionChains(b.driver).send_keys(Keys.TAB).perform()
        reached.add(b.js("const a = document.activeElement; return a.className.split(' ')[0] || a.getAttribute('role') || a.tagName"))
        if "graph" in reached:
            break
    holds("the graph is reached", "graph" in reached, reached)
    b.driver.switch_to.active_element.send_keys(Keys.ARROW_LEFT)
    b.wait(lambda: b.text(".tip"), "the crosshair by a key")
    b.driver.switch_to.active_element.send_keys(Keys.ESCAPE)
    b.wait(lambda: not b.text(".tip"), "Escape hides it")
    check("keyboard without problems", b.problems(url), [])


def refresh(b, url, d):
    """A refresh brings new points, and neither moves the focus nor empties a field."""
    b.open(url + "#start=1h-ago&m=sum:web.hits&autoreload=1")
    drawn(b)
    field = b.one("[role=combobox]")
    field.click()
    field.send_keys(Keys.END, ".half")
    first = b.text(".table")
    d.send("put web.hits %d 100000 domain=example.org host=web1\n" % (int(time.time()) - 120))
    d.sync()
    b.wait(lambda: b.text(".table") != first, "a refresh")
    check("what is typed stays", (field.get_attribute("value"), b.js("return document.activeElement.getAttribute('role')")), ("web.hits.half", "combobox"))
    check("refresh without problems", b.problems(url), [])


def zones(b, url, d):
    """Days of 23 and 25 hours in the page's calendar, whatever the zone of the system."""
    for system in ("Europe/Paris", "America/New_York", "UTC"):
        b.zone(system)
        b.open(url)
        got = b.driver.execute_async_script("""const done = arguments[0];
            import(document.baseURI + "s/zone.js").then(z => {
              const out = {};
              for (const [zone, days] of [["Europe/Paris", [[2026, 3, 29], [2026, 10, 25]]], ["America/New_York", [[2026, 3, 8], [2026, 11, 1]]], ["UTC", [[2026, 3, 29]]]])
                out[zone] = days.map(([y, mo, d]) => {
                  const start = z.toMs({y, mo, d}, zone), next = z.add(start, 1, "day", zone);
                  const noon = z.startOf("day", start + 12 * 3600000, zone);
                  return [(next - start) / 3600000, noon === start, z.ticks(start, next, zone, 30).length, z.ticks(start, next, zone, 5).every(t => z.parts(t.ms, zone).h % 6 === 0)];
                });
              done(out);
            }, e => done(String(e)))""")
        check("days in " + system, got, {"Europe/Paris": [[23, True, 24, True], [25, True, 26, True]], "America/New_York": [[23, True, 24, True], [25, True, 26, True]],
                                         "UTC": [[24, True, 25, True]]})
    b.zone("UTC")
    check("zones without problems", b.problems(url), [])


def proxy(b, url, d):
    """Behind a proxy below a prefix everything is relative."""
    p = Proxy(d.port, "/monitor/tsd/")
    b.driver.get("about:blank")  # the page before this one asks no more
    b.problems(url)
    b.open(p.url)
    names = b.wait(lambda: [a.text.lower() for a in b.all("nav a")], "views behind a proxy")
    for name in names:
        b.open(p.url + ("#v=" + name if name != "explore" else EXPLORE))
        b.wait(lambda: len(b.text()) > 40, name + " behind a proxy")
        if name == "explore":
            drawn(b)
        time.sleep(0.3)
    check("nothing leads beside the prefix", p.strays, [])
    check("proxy without problems", b.problems(p.url), [])
    p.close()


def clicks(b, url, d, seed):
    """Twenty random clicks in each view leave no error."""
    b.open(url)
    for name in b.wait(lambda: [a.text.lower() for a in b.all("nav a")], "views"):
        dice, done = random.Random(seed + name), []
        b.open(url + ("#v=" + name if name != "explore" else EXPLORE))
        time.sleep(0.5)
        for _ in range(20):
            things = b.js("""return [...document.querySelectorAll("main button, main summary, main input[type=checkbox], main select, main a[href^='#'], nav a")]
                .filter(e => e.checkVisibility() && !e.disabled)""")
            if not things:
                break
            thing = dice.choice(things)
            try:
                done.append(b.js("""const e = arguments[0]; e.scrollIntoView({block: "center"});
                    if (e.tagName === "SELECT") {
                      e.selectedIndex = Math.floor(arguments[1] * e.options.length);
                      e.dispatchEvent(new Event("change", {bubbles: true}));
                    } else
                      e.click();
                    return `${e.tagName} ${(e.innerText || e.name || e.value).slice(0, 30)}`""", thing, dice.random()))
            except WebDriverException:  # it has gone meanwhile
                continue
            time.sleep(0.05)
        time.sleep(0.3)
        problems = b.problems(url, ("status of 4",))  # refusals are answers
        check("clicks in %s (seed %s): %s" % (name, seed, ", ".join(done)), problems, [])


def main():
    began = time.monotonic()
    only = sys.argv[1:]
    with Daemon(workers=2, metrics_max_sorted="1000") as d:
        load(d)
        b = Browser()
        try:
            url = "http://127.0.0.1:%d/" % d.port
            for test in (views, explore, figures, keyboard, refresh, zones, proxy, totals, start, shared, metrics, latest, clocks, gestures, logarithm, paper, old_data, completion, partial):
                if not only or test.__name__ in only:
                    at = time.monotonic()
                    test(b, url, d)
                    print("%s: %.1f s" % (test.__name__, time.monotonic() - at), flush=True)
            if not only or "empty" in only:
                empty(b)
            if not only or "clicks" in only:
                clicks(b, url, d, os.environ.get("SEED", "1"))
        finally:
            b.close()
    print("in %.0f s" % (time.monotonic() - began))
    end("page in a browser")


if __name__ == "__main__":
    main()
