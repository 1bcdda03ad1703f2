"""Asking a daemon and comparing: what tests of a real daemon share besides the daemon (tsdtest.py)."""
import http.client
import json
import sys

failures = []


def check(what, seen, want=True):
    if seen != want:
        failures.append(what)
        print("DIFFERENT %s: %.600r, expected %.600r" % (what, seen, want))


def holds(what, ok, seen=""):
    """The same where only truth counts; seen: what to show when it does not."""
    if not ok:
        failures.append(what)
        print("DIFFERENT %s: %.600r" % (what, seen))


def ask(d, method, path, body=None):
    """(status, JSON or text or None)"""
    c = http.client.HTTPConnection("127.0.0.1", d.port, timeout=300)
    c.request(method, path, None if body is None else json.dumps(body), {"Content-Type": "application/json"} if body is not None else {})
    r = c.getresponse()
    data = r.read()
    c.close()
    if not data:
        return r.status, None
    try:
        return r.status, json.loads(data)
    except ValueError:
        return r.status, data.decode()


def refused(answer):
    """(status, message) of an error."""
    return answer[0], answer[1]["error"]["message"] if isinstance(answer[1], dict) and "error" in answer[1] else answer[1]


def end(n_words):
    print("%s: %s" % (n_words, "%d different" % len(failures) if failures else "fine"))
    sys.exit(1 if failures else 0)
