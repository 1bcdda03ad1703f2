"""The few calls of HBase's Thrift2 gateway that tests need: a second reading of the protocol, without a line of tsd's own.

    g = Gateway("127.0.0.1", 9090)
    g.create("tsdb", ["t"]); g.scan("tsdb") -> [(row, {(family, qualifier): value})]

As a program: thrift2.py wait HOST:PORT SECONDS ends when the gateway and the servers behind it answer.
Source: hbase.thrift (package org.apache.hadoop.hbase.thrift2); Thrift's binary protocol, buffered transport.
"""
import itertools
import socket
import struct
import sys
import time

BOOL, BYTE, DOUBLE, I16, I32, I64, STRING, STRUCT, MAP, SET, LIST = 2, 3, 4, 6, 8, 10, 11, 12, 13, 14, 15


class Failed(Exception):
    """An exception that the gateway has sent."""


def text(value):
    value = value.encode() if isinstance(value, str) else value
    return struct.pack(">i", len(value)) + value


def field(number, kind, body):
    return struct.pack(">bh", kind, number) + body


def struct_of(*fields):
    return b"".join(fields) + b"\0"


def list_of(kind, items):
    return struct.pack(">bi", kind, len(items)) + b"".join(items)


def table_name(name):
    space, _, own = name.rpartition(":")
    return struct_of(*([field(1, STRING, text(space))] if space else []), field(2, STRING, text(own)))


class Gateway:
    """A connection; not for several threads."""

    def __init__(self, host, port, seconds=60):
        self.sock = socket.create_connection((host, port), seconds)
        self.file = self.sock.makefile("rb")

    def close(self):
        self.file.close()
        self.sock.close()

    def take(self, n):
        data = self.file.read(n)
        if len(data) < n:
            raise EOFError("the gateway has closed the connection")
        return data

    def number(self, form):
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def value(self, kind):
        """A value of any kind; a struct is a dict by the numbers of its fields."""
        if kind in (BOOL, BYTE):
            return self.number(">b")
        if kind in (I16, I32, I64, DOUBLE):
            return self.number({I16: ">h", I32: ">i", I64: ">q", DOUBLE: ">d"}[kind])
        if kind == STRING:
            return self.take(self.number(">i"))
        if kind in (LIST, SET):
            item = self.number(">b")
            return [self.value(item) for _ in range(self.number(">i"))]
        if kind == MAP:
            k, v = self.number(">b"), self.number(">b")
            return {self.value(k): self.value(v) for _ in range(self.number(">i"))}
        if kind == STRUCT:
            out = {}
            while kind := self.number(">b"):
                number = self.number(">h")
                out[number] = self.value(kind)
            return out
        raise ValueError("kind %d" % kind)

    def call(self, name, *fields):
        self.sock.sendall(struct.pack(">I", 0x80010001) + text(name) + struct.pack(">i", 1) + struct_of(*fields))
        head = self.number(">I")
        self.take(self.number(">i"))
        self.number(">i")
        reply = self.value(STRUCT)
        if head & 0xFF == 3 or any(k for k in reply):
            raise Failed("%s: %r" % (name, reply))
        return reply.get(0)

    def exists(self, table):
        return bool(self.call("tableExists", field(1, STRUCT, table_name(table))))

    def create(self, table, families):
        columns = [struct_of(field(1, STRING, text(f))) for f in families]
        self.call("createTable", field(1, STRUCT, struct_of(field(1, STRUCT, table_name(table)), field(2, LIST, list_of(STRUCT, columns)))))

    def drop(self, table):
        if self.exists(table):
            self.call("disableTable", field(1, STRUCT, table_name(table)))
            self.call("deleteTable", field(1, STRUCT, table_name(table)))

    def create_opentsdb(self, prefix):
        """The four tables of OpenTSDB, empty; their names."""
        names = [prefix + "tsdb", prefix + "tsdb-uid", prefix + "tsdb-tree", prefix + "tsdb-meta"]
        for name, families in zip(names, (["t"], ["id", "name"], ["t"], ["name"])):
            self.drop(name)
            self.create(name, families)
        return names

    def rows(self, table):
        """(row, {(family, qualifier): value}), in order."""
        start = b""
        while True:
            found = self.call("getScannerResults", field(1, STRING, text(table)), field(2, STRUCT, struct_of(field(1, STRING, text(start)))),
                              field(3, I32, struct.pack(">i", 1000)))
            for r in found:
                yield r[1], {(c[1], c[2]): c[3] for c in r[2]}
            if len(found) < 1000:
                return
            start = found[-1][1] + b"\0"

    def delete(self, table, rows):
        """Delete these rows, with all of their cells."""
        self.call("deleteMultiple", field(1, STRING, text(table)), field(2, LIST, list_of(STRUCT, [struct_of(field(1, STRING, text(row))) for row in rows])))

    def drop_all(self, names):
        """Remove the tables of a test."""
        for name in names:
            try:
                self.drop(name)
            except Failed:
                pass  # the fake HBase lacks the call, and ends with the test

    def scan(self, table, most=100000):
        return list(itertools.islice(self.rows(table), most))


def wait(address, seconds):
    host, port = address.rsplit(":", 1)
    until, why = time.monotonic() + seconds, None
    while time.monotonic() < until:
        try:
            g = Gateway(host, int(port), 10)
            name = "tsd_ready"
            if not g.exists(name):
                g.create(name, ["t"])
            g.scan(name)
            g.drop(name)
            g.close()
            return 0
        except (OSError, EOFError, Failed) as e:
            why = e
            time.sleep(0.5)
    print("thrift2.py: %s did not answer within %d s: %s" % (address, seconds, why), file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(wait(sys.argv[2], float(sys.argv[3])))
