"""The views besides Explore in a real Chromium: what a person does there, and that the numbers are those of the API (run.py runs these)."""
import json
import os
import time
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

    zone = "UTC" if time.gmtime().tm_hour else "Asia/Tokyo"  # where today has more than one hour: a single row has no row of sums below it
    b.open(url + "#v=totals&metric=web.hits&start=today&rows=hour&tz=" + zone)
    answered(b)
    choose(b, "Compare each cell with", "1d")
    whole = ask(d, start="today", m="sum:web.hits", by="", compare="1d", tz=zone)[0]["values"]
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


def saved(b):
    """The open box of what was saved, as it lists shared views."""
    return b.js("return [...document.querySelectorAll('details[open] [aria-live] a')].map(a => [a.innerText, a.getAttribute('href')])")


def shared(b, url, d):
    """Views that people share: saved in Explore and Totals, refused when there is one, replaced, opened from Start, removed at the second click."""
    words = "Recent, favourites and shared views"
    address = "v=explore&start=6h-ago&m=avg:sys.cpu.user{host=*}"
    b.open(url + "#" + address)
    b.one(".graph canvas")
    summary = next(s for s in b.all("summary") if s.text == words)
    summary.click()
    b.wait(lambda: "None yet. Whoever uses this daemon" in b.text("details[open]"), "no shared views")
    field = b.all("details[open] form input")[1]
    field.send_keys(" Load / of <hosts> ", Keys.ENTER)
    b.wait(lambda: saved(b) == [["Load / of <hosts>", "#" + b.js("return location.hash.slice(1)")]], "a shared view: %r" % saved(b))
    check("its file", os.listdir(d.data + "/views"), ["Load %2F of <hosts>.json"])
    holds("its address", "m=avg:sys.cpu.user{host=*}" in json.loads(d.http("/api/tsd/views"))["views"][0]["address"])
    b.picture("shared-explore")

    b.open(url + "#v=totals&metric=web.hits&start=yesterday&rows=host")
    answered(b)
    next(s for s in b.all("summary") if s.text == words).click()
    b.wait(lambda: len(saved(b)) == 1, "the shared view in Totals")
    b.all("details[open] form input")[1].send_keys("Load / of <hosts>", Keys.ENTER)
    b.wait(lambda: "There is a shared view of this name." in b.text("details[open] .error:not(:empty)"), "a refusal beside the field")
    b.button("Replace it").click()
    b.wait(lambda: len(saved(b)) == 1 and "v=totals" in saved(b)[0][1] and not b.text("details[open] form .error"), "a replaced view")

    for theme, width in (("light", 1400), ("dark", 390)):
        b.theme(theme)
        b.size(width, 900, width < 500)
        b.open(url)
        b.wait(lambda: b.all("a.card"), "Start")
        next(s for s in b.all("summary") if s.text == words).click()
        b.wait(lambda: len(saved(b)) == 1, "the shared view in Start")
        b.picture("shared-%s-%d" % (theme, width))
    b.theme("light")
    b.size(1400, 900)
    check("Start cannot save", b.all("details[open] form"), [])
    b.one("details[open] [aria-live] a").click()
    answered(b)
    check("it opens the view", (params(b)["v"], params(b)["metric"], params(b)["rows"]), (["totals"], ["web.hits"], ["host"]))
    next(s for s in b.all("summary") if s.text == words).click()
    b.wait(lambda: len(saved(b)) == 1, "the shared view again")
    b.button("Remove").click()
    check("one click asks", (len(os.listdir(d.data + "/views")), b.js("return document.activeElement.innerText")), (1, "Remove for everyone?"))
    b.button("Remove for everyone?").click()
    b.wait(lambda: not saved(b) and not os.listdir(d.data + "/views"), "no shared view is left")
    check("shared views without problems", b.problems(url, ALLOWED + ("api/tsd/views",)), [])


def metrics(b, url, d):
    """Metrics: found by a part of the name, opened, kind and unit set."""
    b.open(url + "#v=metrics")
    b.one("main input[type=search]").send_keys("sys.")
    b.wait(lambda: [x.text for x in b.all("button.name")] == ["sys.cpu.user"], "one metric")
    d.http("/api/query?start=1h-ago&m=sum:sys.cpu.user")
    b.open(url + "#v=metrics&match=sys.")
    cells = b.wait(lambda: b.js("""const t = document.querySelector("main table");
        return t && Object.fromEntries([...t.tHead.rows[0].cells].map((c, i) => [c.innerText.replace(/ [▾▴]$/, ""), t.tBodies[0].rows[0].cells[i].innerText]))"""), "a table")
    midnight = time.time() // 86400 * 86400
    today = json.loads(d.http("/api/query?start=%d&m=zimsum:0all-count:sys.cpu.user&arrays" % midnight))
    n = today[0]["dps"][0][1] if today else 0
    shown_ = float(cells["Today"].split()[0]) * (1000 if cells["Today"].endswith("k") else 1)
    holds("points of today", abs(shown_ - n) <= 0.01 * n + 3, (cells, n))  # three digits, and a minute may have begun
    holds("growth and reads", cells["Against yesterday"].endswith("%") and int(cells["Read"]) >= 1 and (cells["Last read"] == "now" or cells["Last read"].endswith("ago")), cells)
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
    b.wait(lambda: sorted(c.text for c in b.all(".table tbody th")) == ["web1", "web2", "web3"], "three series, named by the tag that tells them apart")
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
        holds("an old point", "no points in the last 24 hours" in b.text("a.card"), b.text("a.card"))
        d.send("put my.first.metric %d 42 host=a\n" % time.time())
        d.sync()
        b.open(url)
        b.wait(lambda: "too few points yet for a curve" in b.text("a.card"), "one new point")
        check("no data without problems", b.problems(url, ALLOWED), [])
