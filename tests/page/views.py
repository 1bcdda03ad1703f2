"""The views besides Explore in a real Chromium: what a person does there, and that the numbers are those of the API (run.py runs these)."""
import json
import urllib.parse

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from kit import params
from metakit import check, holds
from tsdtest import Daemon

ALLOWED = ("api/query?", "api/metric?", "api/tsd/metric?")  # the browser reports refusals, which the page explains


def shown(b, css=".totals tbody tr"):
    """[[text of a cell, ...], ...] of the visible rows."""
    return b.js("return [...document.querySelectorAll(arguments[0])].map(r => [...r.cells].map(c => c.innerText.trim()))", css)


def number(text):
    return int(text.replace(",", ""))


def answered(b):
    """Waits until the view Totals shows the answer to its address."""
    b.one(".results")
    b.wait(lambda: not b.all("main [aria-busy]") and "answered in" in b.text("main [role=status]"), "an answer of Totals")


def choose(b, words, value):
    """Choose in the field of these words."""
    field = b.wait(lambda: next((f for f in b.all("form .field") if f.text.startswith(words) and f.is_displayed()), None), words)
    Select(field.find_element(By.TAG_NAME, "select")).select_by_value(value)
    answered(b)


def ask(d, **more):
    """Totals of the API."""
    return json.loads(d.http("/api/query?" + urllib.parse.urlencode(more)))


def totals(b, url, d):
    """Totals: defaults, numbers of the API, order by the keyboard, filters that hold everywhere, narrower ranges, comparisons, errors beside their fields."""
    b.open(url + "#v=totals")
    answered(b)
    check("it begins with what counts", b.one("form [role=combobox]").get_attribute("value"), "web.hits")
    b.open(url + "#v=totals&metric=web.hits&start=yesterday&rows=host&cols=domain&tz=Europe/Paris")
    answered(b)
    api = {(r["tags"]["host"], r["tags"]["domain"]): r["value"] for r in ask(d, start="yesterday", m="sum:web.hits", by="host,domain", tz="Europe/Paris")}
    rows = {r[0]: r[1:] for r in shown(b)}
    check("totals of rows", {h: number(r[-2]) for h, r in rows.items()}, {h: sum(v for (x, _), v in api.items() if x == h) for h in rows})
    foot = [number(t) for t in shown(b, ".totals tfoot tr")[0][1:-1]]
    check("grand total", (foot[-1], sum(foot[:-1]), number(b.text(".whole .big"))), (sum(api.values()),) * 3)
    maps = [number(t[-1]) for t in shown(b, ".heat tfoot tr")]
    check("both maps have the same total", maps, [foot[-1]] * 2)

    b.open(url + "#v=totals&metric=web.hits&start=yesterday&rows=host")
    answered(b)
    heading = next(x for x in b.all(".totals thead button") if x.text.startswith("Sum"))
    heading.send_keys(Keys.ENTER)
    b.wait(lambda: params(b).get("sort") == ["-total"], "an order in the address")
    b.driver.switch_to.active_element.send_keys(Keys.ENTER)
    b.wait(lambda: params(b).get("sort") == ["total"], "the other order; the focus stayed on the heading")
    sums = [number(r[1]) for r in shown(b)]
    holds("rows are in order", sums == sorted(sums) and len(sums) == 3, sums)
    b.all(".totals tbody button.name")[0].click()
    answered(b)
    host = params(b)["f"][0]
    check("a row became a filter", (len(params(b)["f"]), [number(t[-1]) for t in shown(b, ".heat tfoot tr")]), (1, [sums[0]] * 2))
    choose(b, "A row for each of", "day")
    b.all(".totals tbody button.name")[0].click()
    b.wait(lambda: params(b).get("rows") == ["hour"], "a day opens its hours")
    answered(b)
    check("and keeps the filter and its sum", (params(b)["f"], number(b.text(".whole .big"))), ([host], sums[0]))
    b.driver.back()
    b.wait(lambda: params(b).get("rows") == ["day"], "back")
    b.button("remove").click()
    b.wait(lambda: "f" not in params(b), "no filter")
    answered(b)
    b.button("Filter by host …").click()
    b.wait(lambda: len(b.all(".ticks input")) == 3, "values to tick")
    b.all(".ticks input")[0].click()
    b.wait(lambda: len(params(b).get("f", [])) == 1, "a ticked value")
    answered(b)

    b.open(url + "#v=totals&metric=web.hits&start=today&rows=hour")
    answered(b)
    choose(b, "Compare each cell with", "1d")
    whole = ask(d, start="today", m="sum:web.hits", by="", compare="1d")[0]["values"]
    foot = shown(b, ".totals tfoot tr")[0]
    holds("equal elapsed time", abs(number(foot[3]) - whole["before"]) <= 200, (foot, whole))  # a minute may have passed in between
    holds("the present hour is hatched", len(b.all(".totals tbody tr .unfinished")) >= 1 or len(shown(b)) == 0)
    check("now is marked in each map", len(b.all(".heat .now")), 2)
    for address, field, words in (("metric=no.such", "Metric", "no.such"), ("metric=web.hits&rows=nokey", "A row", "nokey"), ("metric=web.hits&start=sometime", "Time", "sometime")):
        b.open(url + "#v=totals&" + address)
        b.wait(lambda: any(f.text.startswith(field) and words in f.text for f in b.all("form .field")), "an error beside " + field)
    check("totals without problems", b.problems(url, ALLOWED), [])


def start(b, url, d):
    """Start leads to a graph with one click."""
    b.open(url)
    card = b.wait(lambda: next((c for c in b.all("a.card") if "sys.cpu.user" in c.text and c.find_elements(By.CSS_SELECTOR, "svg path")), None), "a metric with its curve")
    holds("health in one line", b.text("main [role=status]").strip() != "")
    card.click()
    b.wait(lambda: params(b).get("v", ["explore"]) == ["explore"] and b.all(".graph canvas"), "the graph")
    check("start without problems", b.problems(url, ALLOWED), [])


def metrics(b, url, d):
    """Metrics: found by a part of the name, opened, kind and unit set."""
    b.open(url + "#v=metrics")
    b.one("main input[type=search]").send_keys("sys.")
    b.wait(lambda: [x.text for x in b.all("button.name")] == ["sys.cpu.user"], "one metric")
    b.one("button.name").click()
    form = b.one("section.panel form")
    Select(form.find_element(By.TAG_NAME, "select")).select_by_value("gauge")
    unit = form.find_element(By.TAG_NAME, "input")
    unit.clear()
    unit.send_keys("percent", Keys.ENTER)
    b.wait(lambda: json.loads(d.http("/api/metric?metric=sys.cpu.user")) == {"metric": "sys.cpu.user", "kind": "gauge", "source": "set", "unit": "percent"}, "kind and unit")
    b.wait(lambda: "set by a user" in b.text("section.panel"), "the new kind")
    check("metrics without problems", b.problems(url, ALLOWED), [])


def latest(b, url, d):
    """Latest: a value, its age and a curve for each series; filters by tags."""
    b.open(url + "#v=latest&metric=sys.cpu.user")
    b.wait(lambda: sorted(c.text for r in b.all(".table tbody tr") for c in r.find_elements(By.TAG_NAME, "td") if c.text.startswith("web")) == ["web1", "web2", "web3"], "three series")
    check("a curve for each", len(b.all(".table svg")), 3)
    b.all("form input")[1].send_keys("host=web2", Keys.ENTER)
    b.wait(lambda: len(b.all(".table tbody tr")) == 1 and params(b).get("tags") == ["host=web2"], "one series")
    check("latest without problems", b.problems(url, ALLOWED), [])


def empty(b):
    """A daemon without data shows how to send some, and what comes as soon as it is there."""
    with Daemon(workers=1) as d:
        url = "http://127.0.0.1:%d/" % d.port
        b.open(url)
        b.wait(lambda: len(b.all("main pre")) == 3, "three ways to send data")
        d.send("put my.first.metric 1500000000 42 host=a\n")
        d.sync()
        b.wait(lambda: {c.text.split()[0] for c in b.all("a.card")} == {"my.first.metric"} and not b.all("main pre"), "the first metric")
        check("no data without problems", b.problems(url, ALLOWED), [])
