#!/usr/bin/env python3
"""Pages of other sites against a real daemon: what is bound decides about Host; Origin and Sec-Fetch-Site; what is refused is counted."""
import http.client
import json

from metakit import check, end
from tsdtest import Daemon

POINT = json.dumps({"metric": "web.m", "timestamp": 1500000000, "value": 1, "tags": {"h": "a"}})


def ask(d, method, path, headers=None, body=None):
    c = http.client.HTTPConnection("127.0.0.1", d.port, timeout=300)
    c.request(method, path, body, headers or {})
    r = c.getresponse()
    text = r.read().decode()
    c.close()
    return r.status, text


def refused(d):
    rows = d.api("/api/stats")
    return {r["tags"]["type"]: int(r["value"]) for r in rows if r["metric"] == "tsd.http.refused"}


def loopback(d, compat):
    evil = {"Origin": "http://evil.example"}
    for host, want in (("localhost", 200), ("127.0.0.1:9", 200), ("evil.example", 403), ("localhost.evil.example", 403)):
        check("Host " + host, ask(d, "GET", "/api/version", {"Host": host})[0], want)
    check("put by a page", ask(d, "POST", "/api/put", dict(evil, **{"Content-Type": "text/plain"}), POINT)[0], 403)
    check("put by a picture's site", ask(d, "POST", "/api/put", {"Sec-Fetch-Site": "cross-site"}, POINT)[0], 403)
    check("put by a program", ask(d, "POST", "/api/put", None, POINT)[0], 204)
    check("put by our page", ask(d, "POST", "/api/put", {"Origin": "http://127.0.0.1:%d" % d.port}, POINT)[0], 204)
    for path in ("/api/uid/assign?metric=by.get", "/api/uid/rename?metric=web.n&name=web.o"):
        check("GET " + path, ask(d, "GET", path)[0], {False: 405, True: 200}[compat])
    check("method_override", ask(d, "GET", "/api/annotation?start_time=1500000000&description=x&method_override=post")[0], 200 if compat else 400)
    check("bulk delete", ask(d, "DELETE", "/api/annotation/bulk?start_time=1&global=true")[0], 200 if compat else 403)
    check("rename", ask(d, "POST", "/api/uid/rename", None, '{"metric":"web.m","name":"web.p"}')[0], 200 if compat else 403)
    check("delete of names", ask(d, "POST", "/api/uid/delete", None, '{"metric":["web.m"]}')[0], 403)
    check("jsonp", ask(d, "GET", "/api/version?jsonp=f")[0], 200 if compat else 400)
    check("the command says which key", "uid_allow_delete" in d.run("uid", "delete", "metrics", "web.m", "--port", str(d.port), check=False).stderr)
    check("counted", refused(d), {"host": 2, "site": 2, "method": 0 if compat else 4, "admin": 0, "key": 2 if compat else 4, "client": 0})


def main():
    for compat in (False, True):
        keys = {"compat": "opentsdb", "auto_create_metrics": "true"} if compat else {}
        with Daemon(**keys) as d:
            d.send("put web.n 1500000000 1 h=a\n")
            d.sync()
            loopback(d, compat)
    with Daemon(bind="0.0.0.0") as d:
        check("bound wider: any name", ask(d, "GET", "/api/version", {"Host": "tsd.example.org"})[0], 200)
        d.keys["http_hosts"] = "tsd.example.org"
        d.restart()
        for host, want in (("tsd.example.org:4242", 200), ("localhost", 200), ("other.example.org", 403)):
            check("with http_hosts, Host " + host, ask(d, "GET", "/api/version", {"Host": host})[0], want)
    return end("web")


main()
