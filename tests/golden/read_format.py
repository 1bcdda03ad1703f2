#!/usr/bin/env python3
"""Reads tsd's files from docs/FORMAT.md alone and prints them: read_format.py FILE...

Every kind of file has one function, found by the magic at the start of the file. If this program can't read a file that
tsd reads, the page is wrong.
"""
import struct
import sys

CRC_TABLE = []
for _i in range(256):
    _c = _i
    for _ in range(8):
        _c = (_c >> 1) ^ (0x82F63B78 if _c & 1 else 0)
    CRC_TABLE.append(_c)


def crc32c(data, crc=0):
    """CRC-32C of data, continuing from crc."""
    crc ^= 0xFFFFFFFF
    for byte in data:
        crc = (crc >> 8) ^ CRC_TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


class Damage(Exception):
    """The bytes are not what the page says."""


class Bytes:
    """Fields of a run of bytes, front to back."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def left(self):
        return len(self.data) - self.at

    def take(self, n):
        if n > self.left():
            raise Damage("cut off at %d" % self.at)
        self.at += n
        return self.data[self.at - n:self.at]

    def u8(self):
        return self.take(1)[0]

    def u16(self):
        return struct.unpack("<H", self.take(2))[0]

    def u32(self):
        return struct.unpack("<I", self.take(4))[0]

    def u64(self):
        return struct.unpack("<Q", self.take(8))[0]

    def varint(self):
        value = 0
        for shift in range(0, 70, 7):
            byte = self.u8()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
        raise Damage("varint too long")

    def zigzag(self):
        value = self.varint()
        return value >> 1 ^ -(value & 1)


def signed(value):
    """64 bits in two's complement."""
    value &= (1 << 64) - 1
    return value - (1 << 64) if value >> 63 else value


# --- write-ahead log ---------------------------------------------------------------------------------

WAL_KINDS = ("int", "dec", "raw")
WAL_OPS = ("put", "add", "del")


def wal_operation(b, state, n_series):
    """One operation; state = [number, time, difference, list of recent flags]."""
    control = b.u8()
    by_series, by_time, by_flags = control & 3, control >> 2 & 3, control >> 4 & 3
    if by_series == 0:
        state[0] += 1
    elif by_series == 2:
        state[0] += b.zigzag()
    elif by_series == 3:
        raise Damage("series code 3")
    if by_time >= 2:
        state[2] = b.zigzag() * (1000 if by_time == 3 else 1)
    if by_time:
        state[1] = signed(state[1] + state[2])
    recent = state[3]
    flags = b.u16() if by_flags == 3 else recent.pop(by_flags)
    recent.insert(0, flags)
    del recent[3:]
    value = b.u64() if control & 0x80 else b.varint()
    value = signed(~value if control & 0x40 else value)
    if not 0 <= state[0] < n_series or flags >> 10 or flags >> 8 > 2 or flags >> 1 & 3 > 2:
        raise Damage("operation makes no sense")
    kind, exponent = WAL_KINDS[flags >> 1 & 3], flags >> 3 & 31
    return "%s series=%d time=%d%s %s" % (
        WAL_OPS[flags >> 8], state[0], state[1], "ms" if flags & 1 else "",
        "to=%d" % value if flags >> 8 == 2 else "%s m=%d exp=%d" % (kind, value, exponent))


def wal_definition(b, number):
    series_id, metric, n_tags = b.varint(), b.varint(), b.u8()
    tags = [(b.varint(), b.varint()) for _ in range(n_tags)]
    text_len, metric_len = b.varint(), b.varint()
    text = b.take(text_len)
    return "series %d id=%d metric=%d tags=%s text=%s|%s" % (
        number, series_id, metric, ",".join("%d=%d" % t for t in tags),
        text[:metric_len].decode(), text[metric_len:].decode())


def read_wal(data):
    head = Bytes(data)
    head.take(8)
    version, run, generation, worker, segment = head.u32(), head.u32(), head.u64(), head.u32(), head.u32()
    prev_generation, prev_bytes, prev_segment, crc = head.u64(), head.u64(), head.u32(), head.u32()
    if crc != crc32c(data[:52]) or version != 1:
        raise Damage("header")
    yield "write-ahead log run=%d generation=%d worker=%d segment=%d" % (run, generation, worker, segment)
    if prev_segment != 0xFFFFFFFF:
        yield "after segment=%d generation=%d bytes=%d" % (prev_segment, prev_generation, prev_bytes)
    salt = crc32c(struct.pack("<IQII", run, generation, worker, segment))
    n_series, at = 0, 56
    while at < len(data):
        record = Bytes(data[at:])
        length, crc = record.u32(), record.u32()
        b = Bytes(record.take(length))
        if not length or crc != crc32c(b.data, crc32c(data[at:at + 4], salt)):
            raise Damage("record at offset %d" % at)
        kind = b.u8()
        if kind == 1:
            state = [-1, 0, 0, [0 << 1, 1 << 1 | 2 << 3, 1 << 1 | 1 << 3]]
            while b.left():
                yield "  " + wal_operation(b, state, n_series)
        elif kind == 2:
            while b.left():
                yield "  " + wal_definition(b, n_series)
                n_series += 1
        elif kind == 3:
            yield "  mark %d" % b.u64()
        else:
            raise Damage("unknown record type %d" % kind)
        at += 8 + length


# --- manifest ------------------------------------------------------------------------------------------

def manifest_file(b):
    fields = [b.varint() for _ in range(3)] + [b.zigzag() for _ in range(4)] + [b.varint() for _ in range(5)]
    return "  file no=%d gens=%d..%d time=%d..%d tombs=%d..%d points=%d rows=%d n_tombs=%d t=%d s=%d" % tuple(fields)


def manifest_record(body):
    """Lines of one record of a record log of kind MANI."""
    b = Bytes(body)
    kind = b.u8()
    if kind == 1:
        if b.varint() != 1:
            raise Damage("manifest version")
        yield "state shards=%d flushed_gen=%d run=%d next_file=%d" % tuple(b.varint() for _ in range(4))
    elif kind == 2:
        yield "edit flushed_gen=%d run=%d next_file=%d" % tuple(b.varint() for _ in range(3))
        for _ in range(b.varint()):
            yield "  remove no=%d" % b.varint()
    else:
        raise Damage("unknown manifest record %d" % kind)
    for _ in range(b.varint()):
        yield manifest_file(b)
    if b.left():
        raise Damage("bytes behind a manifest record")


# --- record log -------------------------------------------------------------------------------------------

RECORD_KINDS = {b"MANI": manifest_record}  # kind -> lines of one record's body


def read_reclog(data):
    head = Bytes(data)
    head.take(8)
    version, kind, crc = head.u32(), head.take(4), head.u32()
    if crc != crc32c(data[:16]) or version != 1:
        raise Damage("header")
    yield "record log kind=%s" % kind.decode()
    at = 20
    while at < len(data):
        b = Bytes(data[at:])
        length, crc, synced, head_crc = b.u32(), b.u32(), b.u64(), b.u32()
        if head_crc != crc32c(b.data[:16]) or synced > at:
            raise Damage("head of record at offset %d" % at)
        body = b.take(length)
        if crc != crc32c(body):
            raise Damage("record at offset %d" % at)
        yield from RECORD_KINDS[kind](body)
        at += 20 + length


# --- which file is it -----------------------------------------------------------------------------------------

READERS = {  # magic, the first 8 bytes -> lines of a file
    b"TSDWAL\r\n": read_wal,
    b"TSDRECL\n": read_reclog,
}


def main(paths):
    for path in paths:
        print("== %s" % path)
        with open(path, "rb") as f:
            data = f.read()
        reader = READERS.get(data[:8])
        if not reader:
            print("%s: unknown magic %r" % (path, data[:8]), file=sys.stderr)
            return 3
        try:
            for line in reader(data):
                print(line)
        except Damage as damage:
            sys.stdout.flush()
            print("%s: %s" % (path, damage), file=sys.stderr)
            return 3
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
