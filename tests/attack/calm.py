"""Calm clients beside an attack: each sends a point and a small query a second and measures how long the answer takes.

Run as a process of its own, so that what the attackers do to Python does not count: `calm.py PORT N SECONDS`. The clients have another address
than the attackers, because what one address may have is limited. Prints "ready" once all are connected, at the end one JSON object:
{"n": answers, "failed": requests without a good answer, "p50": ms, "p99": ms, "max": ms, "errors": [some texts]}.
"""
import asyncio
import json
import random
import sys
import time

TIMEOUT_S = 20
ADDRESS = "127.0.0.2"


class Client:
    def __init__(self, port, number, result):
        self.port, self.number, self.result = port, number, result
        self.lines = self.web = None

    async def connect(self):
        self.lines = await asyncio.open_connection("127.0.0.1", self.port, local_addr=(ADDRESS, 0))
        self.web = await asyncio.open_connection("127.0.0.1", self.port, local_addr=(ADDRESS, 0))

    def close(self):
        for pair in (self.lines, self.web):
            if pair:
                pair[1].close()
        self.lines = self.web = None

    async def query(self):
        reader, writer = self.web
        path = "/api/query?start=1600000000&end=1600003600&m=sum:calm.m%%7Bclient=c%d%%7D" % (self.number % 10)
        writer.write(b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n" % path.encode())
        head = await reader.readuntil(b"\r\n\r\n")
        status = head.split(b" ", 2)[1]
        lower = head.lower()
        if b"content-length:" not in lower:
            raise ValueError("answer without a length: %r" % head[:200])
        body = await reader.readexactly(int(lower.split(b"content-length:")[1].split(b"\r\n")[0]))
        if status != b"200":
            raise ValueError("status %s: %s" % (status.decode(), body[:200].decode("utf-8", "replace")))

    async def turn(self):
        if not self.web:
            await self.connect()
        self.lines[1].write(b"put calm.own %d 1 client=c%d\n" % (int(time.time()), self.number))
        began = time.monotonic()
        await asyncio.wait_for(self.query(), TIMEOUT_S)
        self.result["ms"].append((time.monotonic() - began) * 1000)

    async def run(self, until):
        await asyncio.sleep(random.random())
        while time.monotonic() < until:
            began = time.monotonic()
            try:
                await self.turn()
            except (OSError, ValueError, EOFError, asyncio.TimeoutError) as e:
                self.result["failed"] += 1
                self.result["errors"].append("%s: %s" % (type(e).__name__, e))
                self.close()
            await asyncio.sleep(max(0.05, 1 - (time.monotonic() - began)))
        self.close()


async def measure(port, n, seconds):
    result = {"ms": [], "failed": 0, "errors": []}
    clients = [Client(port, i, result) for i in range(n)]
    for c in clients:
        await c.connect()
    print("ready", flush=True)
    until = time.monotonic() + seconds
    await asyncio.gather(*[c.run(until) for c in clients])
    return result


def percentile(values, share):
    return values[min(len(values) - 1, int(len(values) * share))] if values else 0


def main():
    port, n, seconds = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    r = asyncio.run(measure(port, n, seconds))
    ms = sorted(r["ms"])
    print(json.dumps({"n": len(ms), "failed": r["failed"], "p50": percentile(ms, 0.5), "p99": percentile(ms, 0.99),
                      "max": ms[-1] if ms else 0, "errors": r["errors"][:3]}))


if __name__ == "__main__":
    main()
