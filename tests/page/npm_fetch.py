#!/usr/bin/env python3
"""scripts/npm-fetch against a registry of this test: unpacks what the lock file names, and refuses everything else."""
import base64
import hashlib
import http.server
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import threading

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts", "npm-fetch")


def packed(files):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text))
        link = tarfile.TarInfo("package/link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    return out.getvalue()


GOOD = packed({"package/a.js": b"one", "package/dist/b.js": b"two", "package/../../out.js": b"no"})
SCOPED = packed({"package/c.js": b"three"})
OFFERED = {"/good/-/good-1.0.0.tgz": GOOD, "/@all/scoped/-/scoped-2.0.0.tgz": SCOPED}


class Registry(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        data = OFFERED.get(self.path)
        self.send_response(200 if data else 404)
        self.end_headers()
        self.wfile.write(data or b"")

    def log_message(self, *_):
        pass


def lock(folder, *packages):
    places = {"node_modules/" + name: {"version": version, "integrity": "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode()}
              for name, version, data in packages}
    with open(os.path.join(folder, "package-lock.json"), "w") as f:
        json.dump({"lockfileVersion": 3, "packages": {"": {"name": "x"}, **places}}, f)


def run(folder, registry):
    env = {**os.environ, "npm_config_registry": registry, "no_proxy": "*"}
    r = subprocess.run([sys.executable, SCRIPT, folder], capture_output=True, text=True, env=env, timeout=100)
    return r.returncode, r.stderr


def text(*parts):
    with open(os.path.join(*parts)) as f:
        return f.read()


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Registry)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    registry = "http://127.0.0.1:%d/" % server.server_port
    with tempfile.TemporaryDirectory() as root:
        folder = os.path.join(root, "f")
        os.mkdir(folder)
        lock(folder, ("good", "1.0.0", GOOD), ("@all/scoped", "2.0.0", SCOPED))
        assert run(folder, registry) == (0, ""), "packages of the lock file come"
        at = os.path.join(folder, "node_modules")
        assert (text(at, "good", "a.js"), text(at, "good", "dist", "b.js"), text(at, "@all", "scoped", "c.js")) == ("one", "two", "three")
        assert not os.path.lexists(os.path.join(at, "good", "link")), "links are left out"
        assert sorted(os.listdir(root)) == ["f"] and sorted(os.listdir(at)) == ["@all", "good"], "nothing outside the package's folder"
        lock(folder, ("good", "1.0.0", SCOPED))
        rc, err = run(folder, registry)
        assert rc == 1 and "its SHA-512 differs" in err, (rc, err)
        lock(folder, ("missing", "1.0.0", GOOD))
        rc, err = run(folder, registry)
        assert rc == 1 and "/missing/-/missing-1.0.0.tgz: Not Found" in err, (rc, err)
    print("npm-fetch: fine")


main()
