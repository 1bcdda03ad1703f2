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
    """refuse: no connections. hang: nothing is passed on until the fault is over. drop: the same, and then it is thrown away, and connections
    end. mute: answers are held back until the fault is over. late: everything is, after a while. break: a request ends in
    its middle. lose: requests arrive, their answers do not. cut: an answer ends in its middle. exception: each request is answered with one.
    denied: with one that says that repeating is of no use."""

    FAULTS = ("refuse", "hang", "drop", "mute", "late", "break", "lose", "cut", "exception", "denied")

    def __init__(self, host, port, seed, pause=0):
        """pause: seconds that what one read returns waits at most, so that what passes takes a while."""
        self.pause, self.to, self.port, self.rng, self.mode = pause, (host, port), free_port(), random.Random(seed), "pass"
        self.changed, self.open = threading.Condition(), set()
        self.n_held = self.n_dropped = 0    # reads that wait for the end of a fault; faults "drop"
        self.server = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self.accept, args=(self.server,), daemon=True).start()

    def set(self, mode):
        with self.changed:
            was, self.mode = self.mode, mode
            self.n_dropped += mode == "drop"
            sockets = list(self.open) if mode in ("refuse", "exception", "denied") else []
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
            if self.mode in ("exception", "denied"):
                self.answer_exception(a, self.mode == "denied")
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
            n_dropped = self.n_dropped - (self.mode == "drop")
            self.n_held += 1
            self.changed.wait_for(lambda: self.mode not in ("hang", "drop") and (request or self.mode != "mute"))
            self.n_held -= 1
            mode, part = self.mode, self.rng.randrange(len(data))
            if self.n_dropped > n_dropped:
                return b""
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

    def answer_exception(self, s, final):
        """One of the protocol or one that the call declares; the connection ends after it, as nobody knows where the next request begins."""
        s.settimeout(5)
        f = s.makefile("rb")
        f.read(4)
        name = f.read(struct.unpack(">i", f.read(4))[0])
        number = f.read(4)
        with self.changed:
            own = self.rng.random() < 0.5 and not final
        why = field(1, STRING, text("AccessDeniedException: a fault of the test" if final else "a fault of the test"))
        kind, body = (3, why + field(2, I32, struct.pack(">i", 6)) + b"\0") if own else (2, struct_of(field(1, STRUCT, struct_of(why))))
        s.sendall(struct.pack(">I", 0x80010000 | kind) + text(name) + number + body)
        while s.recv(1 << 16):
            pass
