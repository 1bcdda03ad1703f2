"""What a person types and does with mouse, fingers and paper in a real Chromium (run.py runs these)."""
import time

from selenium.webdriver.common.keys import Keys

from kit import params
from metakit import check, holds

OLD = 1577880000  # 2020/01/01-12:00 UTC


def options(b):
    """What the open list of a completion offers, and what it says beside."""
    return b.js("""const list = [...document.querySelectorAll("[role=listbox]")].find(l => !l.hidden);
        return list && [[...list.querySelectorAll("[role=option]")].map(o => o.innerText), [...list.querySelectorAll(".hint, .error")].map(o => o.innerText)]""")


def typed(b, text, want, what):
    """Types into the focused field; the list must become what is wanted."""
    field = b.driver.switch_to.active_element
    field.send_keys(Keys.CONTROL, "a")
    field.send_keys(text)
    b.wait(lambda: options(b) == want, "%s: %r, not %r" % (what, want, options(b)))


def tag(b, key):
    """Adds a filter by a tag, and leaves the focus in its text."""
    b.button("Filter by a tag").click()
    field = b.driver.switch_to.active_element
    field.send_keys(key, Keys.ENTER)
    return b.all(".filter")[-1]


def completion(b, url, d):
    """Names that exist in the chosen time under the chosen filters, at most 50, and whether there are more."""
    now = int(time.time())
    d.send("".join("put many.m%03d %d 1 host=web1\n" % (i, now - 600) for i in range(120)))
    d.send("put old.m %d 1 host=web9 dc=old\nput sys.cpu.user %d 1 host=web9 dc=old\n" % (OLD, OLD))
    d.sync()
    b.open(url + "#v=explore&start=24h-ago")
    b.wait(lambda: b.js("return document.activeElement.getAttribute('role')") == "combobox", "the field of a metric")
    more = ["More names match: type on"]
    typed(b, "many", [["many.m%03d" % i for i in range(50)], more], "the first fifty")
    typed(b, "m01", [["many.m01%d" % i for i in range(10)], []], "parts of names")
    typed(b, "old", [["old.m"], ["At other times than the chosen one:"]], "a metric of another time")
    typed(b, "nothing.at.all", [[], ["Nothing matches"]], "no metric")
    typed(b, "cpu", [["sys.cpu.user"], []], "a metric of this time")
    b.driver.switch_to.active_element.send_keys(Keys.ARROW_DOWN, Keys.ENTER)
    b.wait(lambda: params(b).get("m") == ["avg:sys.cpu.user"], "the metric")

    filter_ = tag(b, "dc")
    b.wait(lambda: params(b)["m"] == ["avg:sys.cpu.user{dc=*}"], "a filter")
    filter_.find_element("css selector", "summary").click()
    ticks = lambda: b.js("return [...document.querySelectorAll('.ticks')].map(t => t.innerText.trim().split(/\\s+/))")  # noqa: E731
    b.wait(lambda: ticks()[:1] == [["fra", "par"]], "values of this time: %r" % ticks())
    text = filter_.find_elements("css selector", "input")[1]
    text.send_keys(Keys.CONTROL, "a")
    text.send_keys("f*", Keys.TAB)
    b.wait(lambda: params(b)["m"] == ["avg:sys.cpu.user{dc=f*}"], "a pattern")
    tag(b, "host").find_element("css selector", "summary").click()
    b.wait(lambda: ticks()[1:] == [["web2", "web3"]], "values under a pattern: %r" % ticks())
    metric = b.one(".query [role=combobox]")
    metric.click()
    typed(b, "many", [[], ["Nothing matches"]], "metrics under the filters")
    typed(b, "sys", [["sys.cpu.user"], []], "the metric under the filters")
    metric.send_keys(Keys.ESCAPE)
    check("completion without problems", b.problems(url, ("api/query?",)), [])

    b.open(url + "#start=1h-ago&m=avg:sys.cpu.user{host=web77}")
    holds("what is near", b.wait(lambda: "host has the values web1, web2, web3, web9" in b.text(), "values like web77"))
    b.open(url + "#start=1h-ago&m=avg:sys.cpu.user{host=web1,dc=fra}")
    b.wait(lambda: "none fits all of them" in b.text(), "filters that exclude each other")
    b.open(url + "#v=totals&metric=web.hits&start=today")
    field = b.one("form [role=combobox]")
    field.click()
    typed(b, "old", [["old.m"], ["At other times than the chosen one:"]], "the time of Totals")
    check("near without problems", b.problems(url, ("api/query?",)), [])


def partial(b, url, d):
    """Lists that leave out metrics say so."""
    now = int(time.time())
    d.send("".join("put flood.m%04d %d 1 host=web1\n" % (i, now - 60) for i in range(1100)))
    d.sync()
    b.open(url + "#v=metrics&sort=points")
    b.wait(lambda: "only the first 1,000" in b.text("main [role=status]"), "an order that is not that of all")
    b.open(url + "#v=metrics&sort=name")
    b.wait(lambda: "metrics" in b.text("main [role=status]") and "only" not in b.text("main [role=status]"), "an order of all")
    b.open(url)
    b.wait(lambda: "only the first 1,000" in b.text("main"), "Start says it too")
    check("partial without problems", b.problems(url), [])


def span(b):
    """Length of the range in the address, ms."""
    p = params(b)
    return int(p["end"][0]) - int(p["start"][0])


def mouse(b, **event):
    b.driver.execute_cdp_cmd("Input.dispatchMouseEvent", event)


def touch(b, kind, *points):
    time.sleep(0.03)  # a finger is not faster than the screen
    b.driver.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y, "id": i} for i, (x, y) in enumerate(points)]})


def fresh(b, url, start, end, more=""):
    """A graph of a fixed range; returns its place on the screen."""
    b.open(url + "#start=%d&end=%d&m=avg:sys.cpu.user{host=web1}%s" % (start, end, more))
    b.one(".graph canvas")
    b.wait(lambda: "Read " in b.text(".status"), "an answer")
    b.js("document.querySelector('.graph').scrollIntoView({block: 'center'})")
    return b.js("const r = document.querySelector('.u-over').getBoundingClientRect(); return [r.left, r.top, r.width, r.height]")


def colours(b, x):
    """{colour: [y, ...]} of the coloured pixels of a column of the graph, x and y as shares of the plotting area."""
    return b.js("""const canvas = document.querySelector(".graph canvas"), over = document.querySelector(".u-over").getBoundingClientRect(), at = canvas.getBoundingClientRect();
        const scale = canvas.width / at.width, left = Math.round((over.left - at.left + arguments[0] * over.width) * scale), top = Math.round((over.top - at.top) * scale);
        const height = Math.round(over.height * scale), d = canvas.getContext("2d").getImageData(left, top, 1, height).data, found = {};
        for (let y = 0; y < height; y++) {
          const [r, g, b, a] = d.slice(4 * y, 4 * y + 4);
          if (a > 200 && Math.max(r, g, b) - Math.min(r, g, b) > 60)
            (found[[r, g, b].map(v => v >> 5)] ??= []).push(y / height);
        }
        return found""", x)


def height_at(b, x):
    """How far down the line is, as a share; None where there is no line."""
    found = [y for ys in colours(b, x).values() for y in ys]
    return sum(found) / len(found) if found else None


def like(a, b):
    return a is not None and b is not None and abs(a - b) < 0.06


def old_data(b, url, d):
    """Data of another year: one click leads to its last day, and to its last week of totals."""
    d.send("".join("put past.hits %d 1 host=web%d\n" % (OLD + i * 600, i % 3) for i in range(72)))
    d.sync()
    b.open(url + "#v=metrics&match=past.hits&metric=past.hits")
    b.wait(lambda: next((a for a in b.all("section.panel a.button") if a.text == "Graph"), None), "the metric").click()
    b.wait(lambda: b.all(".graph canvas") and len(b.all(".table tbody tr")) == 1, "its last day")
    check("all points of the day", b.all(".table tbody td")[-1].text, "72")
    b.open(url + "#v=totals&metric=past.hits&rows=day")
    b.button("Show the week until 2020-01-01").click()
    b.wait(lambda: b.text(".whole .big") == "72", "its last week")
    check("old data without problems", b.problems(url), [])


def gestures(b, url, d):
    """Wheel, pinch and panning: the range follows, the picture at once, the answer when it is final; a page is scrolled as usual."""
    now = int(time.time()) // 3600 * 3600 * 1000
    start, end = now - 12 * 3600000, now - 6 * 3600000
    left, top, width, height = fresh(b, url, start, end)
    middle, y = left + width / 2, top + height / 2
    mouse(b, type="mouseWheel", x=left + width / 4, y=y, deltaX=0, deltaY=-50, modifiers=2)
    b.wait(lambda: span(b) < 4 * 3600000, "Ctrl and wheel zoom in")
    at = int(params(b)["start"][0]) + span(b) / 4
    holds("the time under the pointer stays", abs(at - (start + (end - start) / 4)) < 60000 * 5, (at, start))
    fresh(b, url, start, end)
    before, later = height_at(b, 0.5), height_at(b, 0.75)
    holds("a line", before and later, (before, later))
    for _ in range(5):
        mouse(b, type="mouseWheel", x=middle, y=y, deltaX=0, deltaY=width / 20, modifiers=8)
    b.wait(lambda: int(params(b)["start"][0]) > start, "Shift and wheel pan")
    moved = int(params(b)["start"][0]) - start
    holds("all turns of the wheel count", abs(moved - (end - start) / 4) < 60000 and span(b) == end - start, (moved, span(b)))
    b.wait(lambda: "Read " in b.text(".status") and height_at(b, 0.25) and height_at(b, 0.9), "a line in the whole range")
    scroll = b.js("window.scrollTo(0, 0); return window.scrollY")
    b.size(1400, 500)
    mouse(b, type="mouseWheel", x=middle, y=300, deltaX=0, deltaY=100)
    b.wait(lambda: b.js("return window.scrollY") > scroll, "the wheel alone scrolls the page")
    b.size(1400, 900)
    left, top, width, height = fresh(b, url, start, end)
    mouse(b, type="mousePressed", x=left + width / 2, y=top + 50, button="left", clickCount=1, modifiers=8)
    for i in range(1, 6):
        mouse(b, type="mouseMoved", x=left + width / 2 + i * width / 20, y=top + 50, button="left", buttons=1, modifiers=8)
    b.wait(lambda: like(height_at(b, 0.75), before) and height_at(b, 0.15) is None, "the picture moves while the button is down: %r" % before)
    check("nothing is asked meanwhile", (params(b)["start"], params(b)["end"]), ([str(start)], [str(end)]))
    mouse(b, type="mouseReleased", x=left + 3 * width / 4, y=top + 50, button="left", clickCount=1, modifiers=8)
    b.wait(lambda: int(params(b)["start"][0]) < start, "Shift and drag pan")
    check("a pan keeps the length", span(b), end - start)
    b.driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": True, "maxTouchPoints": 2})
    left, top, width, height = fresh(b, url, start, end)
    y = top + height / 2
    touch(b, "touchStart", (left + 0.7 * width, y))
    for i in range(1, 6):
        touch(b, "touchMove", (left + (0.7 - i * 0.05) * width, y))
    touch(b, "touchEnd")
    b.wait(lambda: int(params(b)["start"][0]) > start, "a finger pans")
    left, top, width, height = fresh(b, url, start, end)
    touch(b, "touchStart", (left + 0.4 * width, y), (left + 0.6 * width, y))
    for i in range(1, 6):
        touch(b, "touchMove", (left + (0.4 - i * 0.04) * width, y), (left + (0.6 + i * 0.04) * width, y))
    touch(b, "touchEnd")
    b.wait(lambda: span(b) < (end - start) / 2, "two fingers that move apart zoom in")
    holds("around their middle", abs(int(params(b)["start"][0]) + span(b) / 2 - (start + end) / 2) < 120000 and abs(span(b) - (end - start) / 3) < 120000, (params(b), start, end))
    b.driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})
    check("gestures without problems", b.problems(url), [])


def logarithm(b, url, d):
    """A logarithmic axis: powers of ten have equal distances; what is not above zero is a gap."""
    now = int(time.time()) // 60 * 60
    d.send("".join("put log.m %d %d host=%s\n" % (now - i, v if i != 1800 else -5, host) for i in range(0, 3600, 60) for host, v in (("a", 1), ("b", 10), ("c", 100))))
    d.sync()
    heights = []
    for flag in ("&ylog", ""):
        b.open(url + "#start=%d&end=%d&m=avg:log.m{host=*}&yrange=[0.5:200]%s" % ((now - 3600) * 1000, now * 1000, flag))
        b.one(".graph canvas")
        b.wait(lambda: "Read " in b.text(".status") and len(colours(b, 0.3)) >= 3, "three lines")
        rows = sorted(sum(ys) / len(ys) for ys in colours(b, 0.3).values())
        c, *_, a = rows
        nearest = min(rows, key=lambda y: abs(y - (a + c) / 2))
        heights.append((a - nearest, nearest - c))
        holds("a gap where values are not positive %s" % flag, flag == "" or not colours(b, 0.5), colours(b, 0.5))
    holds("powers of ten have equal distances", abs(heights[0][0] - heights[0][1]) < 0.02 and heights[0][0] > 0.2, heights)
    holds("without a logarithm they have not", heights[1][1] > 5 * heights[1][0], heights)
    check("logarithm without problems", b.problems(url), [])


def paper(b, url, d):
    """On paper: all rows of totals, no buttons, fields or views; light whatever the theme."""
    b.theme("dark")
    b.open(url + "#v=totals&metric=web.hits&start=yesterday&rows=hour&cols=host")
    b.wait(lambda: b.all(".heat tbody tr") and b.all(".totals tbody tr"), "totals")
    b.driver.execute_cdp_cmd("Page.printToPDF", {})
    b.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", "features": [{"name": "prefers-color-scheme", "value": "light"}]})
    seen = b.js("""return [...document.querySelectorAll("nav, form, main button:not(.name, .sort), .foot, .noprint, .skip")].filter(e => e.checkVisibility()).map(e => e.outerHTML.slice(0, 80))""")
    check("what is not printed", seen, [])
    check("all rows", len(b.all(".totals tbody tr")), 24)
    holds("the total of each row and column is there", b.all(".totals tfoot td") and b.text(".whole .big"), b.text()[:200])
    wide = b.js("return [getComputedStyle(document.querySelector('.totals').closest('.scroll')).overflowX, getComputedStyle(document.documentElement).backgroundColor]")
    check("nothing is cut off, on white", wide, ["visible", "rgb(255, 255, 255)"])
    b.picture("totals-paper")
    b.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    b.theme("light")
    check("paper without problems", b.problems(url), [])
