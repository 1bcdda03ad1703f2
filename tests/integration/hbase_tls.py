#!/usr/bin/env python3
"""A daemon that reaches HBase's gateway through TLS. TSD_HBASE_GATEWAY=HOST:PORT names a gateway without TLS; a proxy of this test speaks TLS before it."""
import os
import select
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time

from metakit import check, end
from tsdtest import Daemon, until

HOUR = int(time.time()) // 3600 * 3600 - 100 * 3600
PREFIX = "tsd_tls_%d_" % os.getpid()


def certificate(folder, name, names):
    """A certificate that signs itself, and its key."""
    paths = os.path.join(folder, name + ".pem"), os.path.join(folder, name + ".key")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=" + name,
                    "-addext", "subjectAltName=" + names, "-out", paths[0], "-keyout", paths[1]], check=True, stderr=subprocess.DEVNULL)
    return paths


class Proxy:
    """Speaks TLS with clients that show a certificate, and passes on what they send."""

    def __init__(self, to, own, clients):
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(*own)
        self.context.load_verify_locations(clients)
        self.context.verify_mode = ssl.CERT_REQUIRED
        self.to, self.n_accepted = to, 0
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            a = self.server.accept()[0]
            threading.Thread(target=self.serve, args=(a,), daemon=True).start()

    def serve(self, a):
        try:
            with self.context.wrap_socket(a, server_side=True) as tls, socket.create_connection(self.to) as b:
                self.n_accepted += 1
                while True:
                    ready = [tls] if tls.pending() else select.select([tls, b], [], [])[0]
                    for one, other in ((tls, b), (b, tls)):
                        if one in ready:
                            data = one.recv(1 << 16)
                            if not data:
                                return
                            other.sendall(data)
        except OSError:
            pass  # a client without a certificate, or one that went away


def query(d):
    rows = d.api("/api/query?start=%d&end=%d&m=none:tls.m" % (HOUR, HOUR + 3600))
    return {int(t) - HOUR: v for r in rows for t, v in r["dps"].items()}


def stat(d, metric):
    return sum(float(r["value"]) for r in d.api("/api/stats") if r["metric"] == metric)


def config(folder, keys):
    path = os.path.join(folder, "hbase.conf")
    with open(path, "w", encoding="utf-8") as f:
        f.writelines("%s = %s\n" % row for row in keys.items())
    return path


def tsd(*words):
    p = subprocess.run([os.environ["TSD"], *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return p.returncode, p.stdout


def refusals(folder, keys, client):
    """What is wrong is said at the start."""
    for change, words in (({"hbase_tls": "false"}, "need hbase_tls = true"), ({"hbase_tls_ca": "/nowhere"}, "/nowhere"),
                          ({"hbase_tls_key": ""}, "needed together"), ({"hbase_tls_key": client[0]}, "private key")):
        status, said = tsd("hbase", "status", "--config", config(folder, {**keys, **change}))
        check("%s is refused" % change, (status, words in said), (2, True))


def main():
    host, port = os.environ.pop("TSD_HBASE_GATEWAY").rsplit(":", 1)
    with tempfile.TemporaryDirectory() as folder:
        server, client = certificate(folder, "gateway", "IP:127.0.0.1"), certificate(folder, "client", "DNS:client.example")
        proxy = Proxy((host, int(port)), server, client[0])
        keys = {"hbase_gateways": "127.0.0.1:%d" % proxy.port, "hbase_tls": "true", "hbase_tls_ca": server[0], "hbase_tls_cert": client[0], "hbase_tls_key": client[1]}
        keys |= {"hbase_%s_table" % part: PREFIX + part for part in ("data", "uid", "tree", "meta")}
        check("tables are created", tsd("hbase", "create-tables", "--config", config(folder, keys))[0], 0)
        refusals(folder, keys, client)
        with Daemon(workers=2, remote="hbase", hbase_ship=1, **keys) as d:
            d.send("".join("put tls.m %d %d h=a\n" % (HOUR + i, i) for i in range(3600)))
            d.sync()
            until("the points are in HBase", lambda: stat(d, "tsd.hbase.shipped_points") == 3600)
        with Daemon(workers=2, remote="hbase", **keys) as d:
            check("another daemon reads them through TLS", query(d), {i: i for i in range(3600)})
        n_accepted = proxy.n_accepted
        check("all through the proxy", n_accepted > 0, True)
        status, said = tsd("hbase", "status", "--config", config(folder, {**keys, "hbase_tls_ca": client[0]}))
        check("another certificate is not accepted", (status, "is not accepted" in said), (1, True))
        status, said = tsd("hbase", "status", "--config", config(folder, {k: v for k, v in keys.items() if "tls" not in k} | {"hbase_timeout_ms": 1000}))
        check("nor is a client without TLS", (status, proxy.n_accepted), (1, n_accepted))
    return end("hbase_tls")


if __name__ == "__main__":
    sys.exit(main())
