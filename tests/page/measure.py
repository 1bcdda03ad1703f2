#!/usr/bin/python3
"""How fast the web page is in a real Chromium: prints a line `name=value` for each figure (docs/PERFORMANCE.md, "The web page").

    TSD=build/release/tsd tests/page/measure.py [NAME ...]

Names: sizes start million raw pan hover complete totals heap; all of them without one. Times are ms: the median of several runs, `_p95` where it is said, and
`_worst`. Figures that do not depend on the machine are checked, times are not. Needs what `./check --page` needs."""
import json
import os
import re
import statistics
import subprocess
import sys
import time
import urllib.parse

from kit import Browser
from metakit import check, end, holds
from tsdtest import Daemon, binary

HERE = os.path.dirname(os.path.abspath(__file__))
DAY = 86400
RUNS = 9


def say(name, value):
    print("%s=%s" % (name, "%.1f" % value if isinstance(value, float) else value), flush=True)


def median(name, values):
    """Times in ms."""
    say(name + "_ms", statistics.median(values))
    say(name + "_worst_ms", float(max(values)))


def p95(values):
    return float(sorted(values)[min(len(values) - 1, int(len(values) * 0.95))])


def wait_js(b, script, *args):
    """The result of an asynchronous function of the page's world; it may import modules of the page and call done(result)."""
    b.driver.set_script_timeout(120)
    got = b.driver.execute_async_script("const done = arguments[arguments.length - 1], fail = e => done({failed: String(e?.stack ?? e)});\n"
                                        "const module = name => import(new URL('s/' + name, document.baseURI));\n(async () => {%s})().then(done, fail);" % script, *args)
    if isinstance(got, dict) and "failed" in got:
        sys.exit("measure: " + got["failed"])
    return got


def send(d, lines, each=200000):
    """Send lines of an iterator, a part at a time."""
    part = []
    for line in lines:
        part.append(line)
        if len(part) == each:
            d.send("".join(part))
            part = []
    d.send("".join(part))
    d.sync()


def hardware(b):
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        model = re.search(r"model name\s*: (.*)", f.read()).group(1)
    with open("/proc/meminfo", encoding="utf-8") as f:
        memory = int(f.readline().split()[1]) >> 20
    say("hardware", "%s, %d cores, %d GiB, load %.1f" % (model, os.cpu_count(), memory, os.getloadavg()[0]))
    say("daemon", os.path.relpath(binary(), os.path.join(HERE, "..", "..")))
    say("browser", "Chromium %s, headless, without a GPU" % b.driver.capabilities["browserVersion"])


# --- what is loaded ---

def sizes(_):
    """Compressed bytes of all files, and of those before the first graph."""
    r = subprocess.run([sys.executable, os.path.join(HERE, "..", "integration", "page.py")], capture_output=True, text=True, check=True)
    everything, first = re.search(r"compressed: (\d+) bytes in all, (\d+) before", r.stdout).groups()
    say("all_files_bytes", everything)
    say("before_first_graph_bytes", first)


WATCH = """window.at = null;
new MutationObserver(() => { if (window.at === null && document.querySelector('a.card svg path')) requestAnimationFrame(() => { window.at ??= performance.now(); }); })
  .observe(document, {childList: true, subtree: true});"""


def start(b):
    """The view Start: 50 metrics of 20 hosts, a point a minute in a day."""
    now = int(time.time()) // 60 * 60
    with Daemon(workers=2) as d:
        send(d, ("put sys.m%02d %d %d host=h%02d\n" % (m, now - i, (i * m) % 977, h) for m in range(50) for h in range(20) for i in range(0, DAY, 60)))
        url = "http://127.0.0.1:%d/" % d.port
        script = b.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})
        for cache in (False, True):
            b.driver.execute_cdp_cmd("Network.setCacheDisabled", {"cacheDisabled": not cache})
            paints, shown, requests, texts = [], [], [], []
            for _ in range(RUNS):
                b.open(url + "version")  # a line of text, which needs no other file: what the browser itself takes
                texts.append(b.wait(lambda: b.js("return performance.getEntriesByName('first-contentful-paint')[0]?.startTime"), "a line of text"))
                b.open(url)
                shown.append(b.wait(lambda: b.js("return window.at"), "a curve"))
                paints.append(b.js("return performance.getEntriesByName('first-contentful-paint')[0].startTime"))
                requests.append(b.js("return performance.getEntriesByType('resource').filter(e => e.name.includes('/api/')).length"))
            name = "start_again" if cache else "start"
            median(name + "_first_paint", paints)
            median(name + "_first_paint_of_a_text", texts)
            median(name + "_own_data", shown)
            say(name + "_requests", max(requests))
            holds("requests of Start", max(requests) <= 6, requests)
        b.driver.execute_cdp_cmd("Network.setCacheDisabled", {"cacheDisabled": False})
        b.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", {"identifier": script["identifier"]})


# --- graphs ---

SHOW = """const [hash] = arguments, from = performance.now();
const drawn = () => { const t = document.querySelector('.status')?.innerText ?? ''; return t.includes('answered in') && t; };
const before = document.querySelector('.status');
if (before) before.textContent = '';
location.hash = hash;
while (!drawn())
  await new Promise(r => setTimeout(r, 1));
await new Promise(r => requestAnimationFrame(r));
const took = performance.now() - from;
const found = performance.getEntriesByType('resource').filter(e => e.name.includes('/api/query?') && e.startTime >= from);
return {took, answer: Math.max(...found.map(e => e.responseEnd)) - from, bytes: found.reduce((n, e) => n + e.encodedBodySize, 0), url: found.at(-1).name};"""


def columns_of(points, start_ms, end_ms, n):
    """{column: (least, greatest)}"""
    found = {}
    for ms, v in points:
        c = (ms - start_ms) * n // (end_ms - start_ms)
        low, high = found.get(c, (v, v))
        found[c] = (min(low, v), max(high, v))
    return found


def million(b):
    """A million stored points in one graph: downsampled with a band, and raw; the extremes of each column of pixels are exact."""
    begin = 1700000000
    values = [(i * 7919) % 10007 + (50000 if i % 99991 == 7 else 0) for i in range(1000000)]
    with Daemon(workers=2) as d:
        send(d, ("put big.m %d %d host=a\n" % (begin + i, v) for i, v in enumerate(values)))
        d.flush("compact")
        url = "http://127.0.0.1:%d/" % d.port
        range_ = "start=%d&end=%d" % (begin * 1000, (begin + 1000000) * 1000)
        for name, more in (("downsampled", ""), ("raw", "&ds=none")):
            took, answer, sent = [], [], []
            for i in range(RUNS):
                b.open(url + "#v=explore")
                b.wait(lambda: b.one("[role=combobox]"), "the view")
                got = wait_js(b, SHOW, "v=explore&%s&m=avg:big.m{host=a}%s" % (range_, more))
                took.append(got["took"])
                answer.append(got["answer"])
                sent.append(got["bytes"])
            median("million_%s_shown" % name, took)
            median("million_%s_answered" % name, answer)
            say("million_%s_bytes" % name, max(sent))
            holds("bytes of a million points, %s" % name, max(sent) <= 64 << 10, sent)
            params = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(got["url"]).query, keep_blank_values=True))
            series = json.loads(d.http(got["url"][got["url"].index("/api/"):]))
            if name == "raw":
                n, first, last = int(params["thin"]), int(params["start"]), int(params["end"]) + 1
                all_ = [((begin + i) * 1000, v) for i, v in enumerate(values)]
                check("extremes of each column", columns_of(series[0]["dps"], first, last, n), columns_of(all_, first, last, n))
                say("million_raw_columns", n)
                say("million_raw_points_sent", len(series[0]["dps"]))
            else:
                outputs = [s["dps"] for s in series if "dps" in s]
                width = (outputs[0][1][0] - outputs[0][0][0]) // 1000
                want = {}
                for i, v in enumerate(values):
                    at = (begin + i) // width * width * 1000
                    low, high = want.get(at, (v, v))
                    want[at] = (min(low, v), max(high, v))
                if len(outputs) == 3:
                    low, high = dict(map(tuple, outputs[1])), dict(map(tuple, outputs[2]))
                    inside = [at for at in want if at in low and at in high and at >= begin * 1000]
                    check("the band has each extreme", {at: (low[at], high[at]) for at in inside}, {at: want[at] for at in inside})
                    say("million_downsampled_step_s", width)
                    say("million_downsampled_points_sent", len(inside))
                check("outputs", len(outputs), 3)


RAW = """const n = arguments[0], runs = arguments[1];
const {graph} = await module('graph.js'), uPlot = (await module('uplot.js')).default;
const points = Array.from({length: n}, (_, i) => [1700000000000 + i * 1000, Math.sin(i / 500) * 50 + (i * 7919) % 101]);
const end = points[n - 1][0] + 1000;
const place = document.querySelector('main');
const out = {ours: [], bare: []};
const flush = root => root.querySelector('canvas').getContext('2d').getImageData(0, 0, 1, 1);
for (let i = 0; i < runs; i++) {
  place.replaceChildren();
  let from = performance.now();
  const g = graph(place, {series: [{label: 'a', points}], start: points[0][0], end, zone: 'UTC', height: 380});
  await g.ready;
  await 0;
  flush(place);
  out.ours.push(performance.now() - from);
  g.close();
  await new Promise(r => setTimeout(r, 30));
  const width = place.clientWidth, columns = [points.map(p => p[0]), points.map(p => p[1])];
  const root = document.createElement('div');
  place.replaceChildren(root);
  from = performance.now();
  const u = new uPlot({width, height: 380, ms: 1, legend: {show: false}, series: [{}, {stroke: 'blue', width: 1.5}], scales: {x: {time: true}}, axes: [{}, {}]}, columns, root);
  await 0;
  flush(root);
  out.bare.push(performance.now() - from);
  u.destroy();
  await new Promise(r => setTimeout(r, 30));
}
return out;"""


def module_page(b, d):
    """The page at a view that has no graph of its own."""
    b.open("http://127.0.0.1:%d/#v=metrics" % d.port)
    b.one("main h1")
    return b


def raw(b):
    """100,000 points drawn by the page's graph from pairs of time and value, and by uPlot alone from its columns."""
    with Daemon(workers=1) as d:
        got = wait_js(module_page(b, d), RAW, 100000, 15)
        ours, bare = got["ours"][3:], got["bare"][3:]  # compiled by then
        median("raw_100000_drawn", ours)
        median("raw_100000_bare", bare)
        say("raw_100000_ratio", "%.2f" % (statistics.median(ours) / statistics.median(bare)))


PAN = """const place = document.querySelector('main');
const {graph} = await module('graph.js');
const series = Array.from({length: 50}, (_, k) => ({label: 'host=h' + k, step: 0,
  points: Array.from({length: 3200}, (_, i) => [1700000000000 + i * 27000, Math.sin(i / 200 + k) * 50 + (i * 7919 * (k + 1)) % 41])}));
place.replaceChildren();
const g = graph(place, {series, start: 1700000000000, end: 1700086400000, zone: 'UTC', height: 380, onZoom() {}});
await g.ready;
const rest = [];
for (let i = 0, before = null; i < 150; i++) {
  const from = await new Promise(r => requestAnimationFrame(() => r(performance.now())));
  if (before !== null)
    rest.push(from - before);
  before = from;
}
const node = place.querySelector('.graph'), gaps = [], work = [], context = place.querySelector('canvas').getContext('2d'), raf = requestAnimationFrame;
let before = null, waiting = [];
window.requestAnimationFrame = f => { waiting.push(f); return 0; };
for (let i = 0; i < 300; i++) {
  await new Promise(r => raf(r));
  const from = performance.now();
  if (before !== null)
    gaps.push(from - before);
  before = from;
  const due = waiting;
  waiting = [];
  node.dispatchEvent(new WheelEvent('wheel', {deltaY: i % 100 < 50 ? 7 : -7, shiftKey: true, bubbles: true, cancelable: true}));
  due.forEach(f => f(from));
  await 0;
  await 0;
  context.getImageData(0, 0, 1, 1);
  work.push(performance.now() - from);
}
window.requestAnimationFrame = raf;
g.close();
return {gaps, work, rest};"""


def pan(b):
    """Frames while 50 thinned series are panned by the wheel: the distance of frames, and what of it the page takes."""
    with Daemon(workers=1) as d:
        got = wait_js(module_page(b, d), PAN)
        say("pan_50_frame_p95_ms", p95(got["gaps"]))
        say("still_frame_p95_ms", p95(got["rest"]))  # nothing moves: what the browser and the machine add
        say("pan_50_frame_median_ms", float(statistics.median(got["gaps"])))
        say("pan_50_work_p95_ms", p95(got["work"]))
        say("pan_50_work_median_ms", float(statistics.median(got["work"])))


HOVER = """const place = document.querySelector('main');
const {graph} = await module('graph.js');
const series = Array.from({length: 500}, (_, k) => ({label: 'host=h' + k,
  points: Array.from({length: 1000}, (_, i) => [1700000000000 + i * 60000, Math.sin(i / 100 + k) * 50 + k])}));
place.replaceChildren();
const g = graph(place, {series, start: 1700000000000, end: 1700060000000, zone: 'UTC', height: 380});
await g.ready;
await new Promise(r => setTimeout(r, 300));
const over = place.querySelector('.u-over'), box = over.getBoundingClientRect(), times = [];
const raf = requestAnimationFrame;
let waiting = [];
window.requestAnimationFrame = f => { waiting.push(f); return 0; };
for (let i = 0; i < 200; i++) {
  const from = performance.now();
  over.dispatchEvent(new MouseEvent(i ? 'mousemove' : 'mouseenter', {clientX: box.left + 20 + (i * 37) % (box.width - 40), clientY: box.top + 100 + i % 50, bubbles: true}));
  const due = waiting;
  waiting = [];
  due.forEach(f => f(performance.now()));
  place.offsetHeight;
  times.push(performance.now() - from);
  await new Promise(r => setTimeout(r, 2));
}
window.requestAnimationFrame = raf;
const rows = place.querySelectorAll('.tip tr').length;
g.close();
return {times: times.slice(20), rows};"""


def hover(b):
    """The box at the crosshair over 500 series: all values found, sorted, shown, and laid out."""
    with Daemon(workers=1) as d:
        got = wait_js(module_page(b, d), HOVER)
        holds("the box has rows", got["rows"] > 3, got["rows"])
        say("hover_500_median_ms", float(statistics.median(got["times"])))
        say("hover_500_p95_ms", p95(got["times"]))


# --- lists and tables ---

ASK = """const [path, runs] = arguments, out = [];
let bytes = 0, names = 0, more = null;
for (let i = 0; i < runs; i++) {
  const from = performance.now();
  const text = await (await fetch(path)).text();
  out.push(performance.now() - from);
  bytes = text.length;
  ({names: {length: names}, more} = JSON.parse(text));
}
return {out, bytes, names, more};"""

TYPE = """const input = document.querySelector('[role=combobox]'), [text] = arguments;
const list = document.querySelector('[role=listbox]');
input.focus();
list.replaceChildren();
const from = performance.now();
input.value = text;
input.dispatchEvent(new Event('input'));
while (!list.querySelector('[role=option]'))
  await new Promise(r => setTimeout(r, 0));
return performance.now() - from;"""


def complete(b):
    """Completion over a million metrics with a series each, all written in the chosen time."""
    now = int(time.time())
    with Daemon(workers=2) as d:
        send(d, ("put app%03d.request%03d.m%d %d 1 host=a\n" % (i % 997, i // 997 % 1000, i % 7, now - 300) for i in range(1000000)))
        url = "http://127.0.0.1:%d/" % d.port
        b.open(url + "#v=explore")
        b.one("[role=combobox]")
        since = "&start=%d" % ((now - DAY) * 1000)
        for name, query in (("prefix", "q=app5"), ("prefix_in_time", "q=app5" + since), ("part", "q=quest7" + ""), ("part_in_time", "q=quest7" + since), ("part_rare_in_time", "q=p996.request00" + since),
                            ("nothing_in_time", "q=zzz" + since), ("all_in_time", "q=" + since), ("filter_in_time", "q=app5&filter=host%3Da" + since)):
            got = wait_js(b, ASK, "api/tsd/names?" + query, RUNS)
            median("complete_" + name, got["out"][1:])
            say("complete_%s_bytes" % name, got["bytes"])
            holds("bytes of a completion", got["bytes"] <= 20 << 10, got)
        for text in ("app5", "quest7"):
            median("complete_typed_" + text, [wait_js(b, TYPE, text) for _ in range(RUNS)])
        for sort in ("written", "points"):
            got = wait_js(b, ASK.replace("({names: {length: names}, more} = JSON.parse(text));", ""), "api/tsd/metrics?limit=200&sort=" + sort, 3)
            median("metrics_of_a_million_by_" + sort, got["out"])


TOTALS = """const from = performance.now();
location.hash = arguments[0];
const busy = () => document.querySelector('.results')?.hasAttribute('aria-busy') ?? true;
while (!document.querySelector('.totals tbody tr') || !document.querySelector('main [role=status]').innerText.includes('answered in'))
  await new Promise(r => setTimeout(r, 1));
await new Promise(r => requestAnimationFrame(r));
document.body.offsetHeight;
const shown = performance.now() - from;
const found = performance.getEntriesByType('resource').filter(e => e.name.includes('/api/query?') && e.startTime >= from);
const answered = Math.max(...found.slice(0, 1).map(e => e.responseEnd)) - from;
while (busy())
  await new Promise(r => setTimeout(r, 1));
const all = performance.now() - from;
const sorts = [];
for (let i = 0; i < 12; i++) {
  const heading = document.querySelectorAll('.totals thead button')[2 + i % 3], was = location.hash;
  await new Promise(r => setTimeout(r, 50));
  const at = performance.now();
  heading.click();
  const sorted = () => document.querySelector('.totals thead [aria-sort$=ending] button');
  while (location.hash === was || sorted()?.dataset.key !== heading.dataset.key)
    await new Promise(r => setTimeout(r, 0));
  document.body.offsetHeight;
  sorts.push(performance.now() - at);
}
return {shown, answered, all, sorts, drawing: shown - answered, rows: document.querySelectorAll('.totals tbody tr').length, of: document.querySelector('.rest')?.innerText ?? ''};"""


def totals(b):
    """Totals of 1,000 domains by 31 days, of a point an hour each."""
    begin = 1772323200  # 2026-03-01, UTC
    with Daemon(workers=2) as d:
        send(d, ("put web.hits %d %d domain=d%03d.example\n" % (begin + h * 3600, (h * 31 + k * 17) % 97 + 1, k) for k in range(1000) for h in range(31 * 24)))
        d.flush("compact")
        got = []
        b.open("http://127.0.0.1:%d/#v=metrics" % d.port)
        for _ in range(RUNS + 1):
            b.js("location.hash = 'v=metrics'; performance.clearResourceTimings()")
            b.wait(lambda: b.text("main h1") == "Metrics", "another view")
            got.append(wait_js(b, TOTALS, "v=totals&metric=web.hits&start=2026-03-01&end=2026-03-31&rows=domain&cols=day&top=0&tz=UTC"))
        for name in ("answered", "drawing", "shown", "all"):
            say("totals_1000x31_first_%s_ms" % name, float(got[0][name]))
            median("totals_1000x31_" + name, [g[name] for g in got[1:]])
        median("totals_1000x31_sorted", [t for g in got[1:] for t in g["sorts"]])
        say("totals_1000x31_rows_drawn", got[0]["rows"])


# --- a page that stays open ---

FAST = """const later = window.setTimeout;
window.setTimeout = (f, ms, ...rest) => later(f, ms >= 1000 ? 5 : ms, ...rest);
const ask = window.fetch;
window.asked = 0;
window.fetch = (...a) => { window.asked++; return ask(...a); };"""


def heap_bytes(b):
    b.driver.execute_cdp_cmd("HeapProfiler.collectGarbage", {})
    return b.driver.execute_cdp_cmd("Runtime.getHeapUsage", {})["usedSize"]


def heap(b):
    """A thousand refreshes of each view: how much the heap of JavaScript has grown since the twentieth."""
    now = int(time.time()) // 60 * 60
    with Daemon(workers=2) as d:
        send(d, ("put web.hits %d %d domain=d%d.example host=h%d\n" % (now - i, i % 97 + 1, k % 5, k) for k in range(20) for i in range(0, DAY, 60)))
        url = "http://127.0.0.1:%d/" % d.port
        script = b.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": FAST})
        for view in ("start", "explore", "totals", "metrics", "latest", "status"):
            b.open(url + "#autoreload=1&v=" + view + ("&start=24h-ago&m=sum:web.hits{host=*}" if view == "explore" else ""))
            b.wait(lambda: len(b.text()) > 40, view)
            # requests of a turn: what is asked between two refreshes
            count = lambda: b.js("return window.asked")  # noqa: E731
            per = {"start": 4, "explore": 1, "totals": 3, "metrics": 1, "latest": 2, "status": 1}[view]
            b.wait(lambda: count() >= 20 * per, view + ": 20 refreshes")
            first, at = heap_bytes(b), count()
            limit = time.monotonic() + 400
            while count() < at + 1000 * per and time.monotonic() < limit:
                time.sleep(0.2)
            n = (count() - at) // per
            grown = heap_bytes(b) - first
            say("heap_%s_refreshes" % view, n)
            say("heap_%s_grown_kb" % view, grown >> 10)
            holds("heap after refreshes of " + view, n >= 1000 and grown <= 10 << 20, (n, grown))
            b.driver.get_log("performance")
        b.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", {"identifier": script["identifier"]})


ALL = (sizes, start, million, raw, pan, hover, complete, totals, heap)


def main():
    wanted = sys.argv[1:] or [f.__name__ for f in ALL]
    unknown = set(wanted) - {f.__name__ for f in ALL}
    if unknown:
        sys.exit("measure: no measurement %s; there are %s" % (" ".join(sorted(unknown)), " ".join(f.__name__ for f in ALL)))
    b = Browser()
    try:
        hardware(b)
        for f in ALL:
            if f.__name__ in wanted:
                f(b)
    finally:
        b.close()
    end("page measured")


if __name__ == "__main__":
    main()
