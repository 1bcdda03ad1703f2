"""A real Chromium on a real daemon: what the tests of the web page share. Needs Debian's chromium, chromium-driver and python3-selenium
(scripts/setup page), and the interpreter that they are for: /usr/bin/python3."""
import http.client
import http.server
import json
import math
import os
import random
import shutil
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "integration"))

from selenium import webdriver  # noqa: E402
from selenium.common.exceptions import StaleElementReferenceException  # noqa: E402
from selenium.webdriver.chrome.service import Service  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402

FLAGS = ("--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update "
         "--disable-sync --lang=en-US --window-size=1400,900").split()
HOSTS = ("web1", "web2", "web3")
WAIT_S = 25  # much more than it takes: the machine may be busy


def load(d):
    """Two days of a gauge with a gap, and of a count, up to now."""
    now, rows, dice = int(time.time()) // 60 * 60, [], random.Random(1)
    for i in range(0, 2 * 86400, 60):
        for k, host in enumerate(HOSTS):
            if host != "web2" or not 20000 < i < 30000:
                rows.append("put sys.cpu.user %d %.2f host=%s dc=%s\n" % (now - i, 30 + 20 * math.sin((now - i) / 7000 + k) + dice.random() * 5, host, "fra" if k else "par"))
            rows.append("put web.hits %d %d domain=%s host=%s\n" % (now - i, dice.randrange(1, int(10 + 30 * (1 + math.sin((now - i) / 13000)))),
                                                                   "example.org" if k else "example.net", host))
    d.send("".join(rows))
    d.sync()
    return now


def params(b):
    """What the address says, as names with lists."""
    return b.js("const s = {}; for (const [k, v] of new URLSearchParams(location.hash.slice(1))) (s[k] ??= []).push(v); return s")


class Proxy:
    """A reverse proxy that serves a daemon below a prefix, as sites do."""

    def __init__(self, port, prefix):
        proxy = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def pass_on(self):
                if not self.path.startswith(prefix):
                    proxy.strays.append(self.path)
                    self.send_error(404)
                    return
                c = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                keep = {k: v for k, v in self.headers.items() if k.lower() in ("accept", "accept-encoding", "content-type", "if-none-match")}
                c.request(self.command, "/" + self.path[len(prefix):], body or None, keep)
                r = c.getresponse()
                data = r.read()
                self.send_response(r.status)
                for k, v in r.headers.items():
                    if k.lower() not in ("transfer-encoding", "content-length", "connection"):
                        self.send_header(k, v)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)
                c.close()

            do_GET = do_POST = do_PUT = do_DELETE = pass_on

            def log_message(self, *_):
                pass

        self.strays = []
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = "http://127.0.0.1:%d%s" % (self.server.server_address[1], prefix)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Browser:
    """Chromium, and what went wrong in it."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="tsd-page.")
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium") or "/usr/bin/chromium"
        for flag in FLAGS + ["--user-data-dir=" + self.folder]:
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver") or "/usr/bin/chromedriver"))
        self.driver.set_script_timeout(WAIT_S)
        self.driver.set_page_load_timeout(WAIT_S)

    def close(self):
        self.driver.quit()
        shutil.rmtree(self.folder, True)

    def open(self, url):
        """Open an address anew, also one that differs behind # only."""
        self.driver.get("about:blank")
        self.driver.get(url)

    def js(self, text, *args):
        return self.driver.execute_script(text, *args)

    def all(self, css):
        return self.driver.find_elements(By.CSS_SELECTOR, css)

    def one(self, css):
        return self.wait(lambda: next(iter(self.all(css)), None), css)

    def button(self, words, inside="main"):
        """The visible button of these words."""
        return self.wait(lambda: next((b for b in self.all(inside + " button, " + inside + " summary") if b.text.strip() == words and b.is_displayed()), None), words)

    def wait(self, test, what):
        """The first true answer of a test."""
        limit = time.monotonic() + WAIT_S
        while time.monotonic() < limit:
            try:
                if got := test():
                    return got
            except StaleElementReferenceException:
                pass
            time.sleep(0.02)
        sys.exit("%s: not within %d s at %s\n%s" % (what, WAIT_S, self.driver.current_url, self.one_text()))

    def one_text(self):
        return self.js("return (document.querySelector('main') ?? document.body).innerText.slice(-600).replaceAll('\\n', ' | ')")

    def text(self, css="main"):
        return self.js("const e = document.querySelector(arguments[0]); return e?.checkVisibility() ? e.innerText : ''", css)

    def size(self, width, height, mobile=False):
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile})

    def theme(self, name):
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": name}]})

    def zone(self, name):
        self.driver.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": name})

    def problems(self, origin, allowed=()):
        """Errors in the console, and requests to other places, since the last call."""
        found = [e["message"] for e in self.driver.get_log("browser") if e["level"] == "SEVERE" and not any(a in e["message"] for a in allowed)]
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                url = message["params"]["request"]["url"]
                if not url.startswith((origin, "data:", "blob:", "about:", "chrome:")) and message["params"].get("documentURL", "").startswith("http"):
                    found.append("a request to " + url)
        return found

    def picture(self, name):
        """A screenshot into $TSD_PICTURES, if that is set."""
        folder = os.environ.get("TSD_PICTURES")
        if folder:
            os.makedirs(folder, exist_ok=True)
            self.driver.save_screenshot("%s/%s.png" % (folder, name))
