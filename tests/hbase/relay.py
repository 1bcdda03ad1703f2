"""A relay between tsd and a Thrift2 gateway that fails in the ways of FAULTS.

    r = Relay("127.0.0.1", 9090, seed); r.port; r.set("hang"); r.set("pass")
"""
import random
import socket
import struct
import threading
import time

from thrift2 import I32, STRING, STRUCT, field, struct_of, text
from tsdtest import free_port


class Relay:
    """refuse: no connections. hang: nothing is passed on until the fault is over. late: everything is, after a while. break: a request ends in
    its middle. lose: requests arrive, their answers do not. cut: an answer ends in its middle. exception: each request is answered with one."""

    FAULTS = ("refuse", "hang", "late", "break", "lose", "cut", "exception")

    def __init__(self, host, port, seed, pause=0):
        """pause: seconds that what one read returns waits at most, so that what passes takes a while."""
        self.pause, self.to, self.port, self.rng, self.mode = pause, (host, port), free_port(), random.Random(seed), "pass"
        self.changed, self.open = threading.Condition(), set()
        self.server = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self.accept, args=(self.server,), daemon=True).start()

    def set(self, mode):
        with self.changed:
            was, self.mode = self.mode, mode
            sockets = list(self.open) if mode in ("refuse", "exception") else []
            self.changed.notify_all()
        if mode == "refuse":
            self.end(self.server)
            self.server.close()
        elif was == "refuse":
            self.server = socket.create_server(("127.0.0.1", self.port))
            threading.Thread(target=self.accept, args=(self.server,), daemon=True).start()
        for s in sockets:
            self.end(s)

    @staticmethod
    def end(s):
        try:
            s.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def accept(self, server):
        while True:
            try:
                a = server.accept()[0]
            except OSError:
                return
            threading.Thread(target=self.serve, args=(a,), daemon=True).start()

    def serve(self, a):
        """A connection of tsd."""
        b = None
        try:
            if self.mode == "exception":
                self.answer_exception(a)
                return
            b = socket.create_connection(self.to)
            with self.changed:
                self.open |= {a, b}
            there = threading.Thread(target=self.copy, args=(a, b, True), daemon=True)
            there.start()
            self.copy(b, a, False)
            there.join()
        except OSError:
            pass
        finally:
            with self.changed:
                self.open -= {a, b}
            a.close()
            if b:
                b.close()

    def passes(self, data, request):
        """What is passed on of data; all of it, or a part after which the connection ends."""
        with self.changed:
            self.changed.wait_for(lambda: self.mode != "hang")
            mode, part = self.mode, self.rng.randrange(len(data))
            delay = self.rng.random() ** 4 * 3 if mode == "late" else self.rng.random() * self.pause
        if delay:
            time.sleep(delay)
        if mode == "break" and request or mode == "cut" and not request:
            return data[:part]
        return b"" if mode == "lose" and not request else data

    def copy(self, one, other, request):
        try:
            while data := one.recv(1 << 16):
                some = self.passes(data, request)
                other.sendall(some)
                if len(some) < len(data):
                    break
        except OSError:
            pass
        self.end(one)
        self.end(other)

    def answer_exception(self, s):
        """One of the protocol or one that the call declares; the connection ends after it, as nobody knows where the next request begins."""
        s.settimeout(5)
        f = s.makefile("rb")
        f.read(4)
        name = f.read(struct.unpack(">i", f.read(4))[0])
        number = f.read(4)
        with self.changed:
            own = self.rng.random() < 0.5
        why = field(1, STRING, text("a fault of the test"))
        kind, body = (3, why + field(2, I32, struct.pack(">i", 6)) + b"\0") if own else (2, struct_of(field(1, STRUCT, struct_of(why))))
        s.sendall(struct.pack(">I", 0x80010000 | kind) + text(name) + number + body)
        while s.recv(1 << 16):
            pass
