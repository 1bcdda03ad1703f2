#!/usr/bin/env python3
"""Reads tsd's files from docs/FORMAT.md alone and prints them: read_format.py FILE...

Every kind of file has one function, found by the magic at the start of the file. If this program can't read a file that
tsd reads, the page is wrong.
"""
import ctypes
import ctypes.util
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


def manifest_record(body, _state):
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


# --- catalog -------------------------------------------------------------------------------------------

NAME_KINDS = ("metric", "tagk", "tagv")


def unzstd(frame, n):
    """The n bytes of one zstd frame, by the library that tsd uses."""
    library = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
    library.ZSTD_decompress.restype = ctypes.c_size_t
    out = ctypes.create_string_buffer(n + 1)
    if library.ZSTD_decompress(out, ctypes.c_size_t(n), frame, ctypes.c_size_t(len(frame))) != n:
        raise Damage("zstd frame")
    return out.raw[:n]


def mix(x):
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        x ^= x >> 33
        x = x * factor & 0xFFFFFFFFFFFFFFFF
    return x ^ x >> 33


def shard(metric, tags, n_shards):
    """Shard of a series; tags are (key id, value id)."""
    h = mix(metric)
    for key, value in sorted(tags):
        h = mix(h ^ (key << 32 | value))
    return h % n_shards


def catalog_ids(b):
    ids, at = [], 0
    for _ in range(b.varint()):
        first, length = at + b.varint(), b.varint()
        at = first + length
        ids += range(first, at)
    return ids


def catalog_names(b, names):
    kind = b.u8()
    ids = catalog_ids(b)
    shared = [b.u8() for _ in ids]
    lengths = [b.varint() for _ in ids]
    before = b""
    for i, front, length in zip(ids, shared, lengths):
        if front > len(before):
            raise Damage("name %d shares more than there is" % i)
        before = before[:front] + b.take(length)
        names[kind].setdefault(i, before.decode("utf-8", "backslashreplace"))
        yield "%s %d %s" % (NAME_KINDS[kind], i, names[kind][i])


def catalog_column(b, n):
    mode, values, before = b.u8(), [], 0
    for _ in range(n):
        before = before + b.zigzag() if mode == 1 else b.varint()
        values.append(before)
    return values


def catalog_series(b, names):
    ids = catalog_ids(b)
    shapes = []
    for _ in range(b.varint()):
        metric = b.varint()
        shapes.append((metric, [b.varint() for _ in range(b.u8())]))
    places = [b.varint() if len(shapes) > 1 else 0 for _ in ids]
    found = {}
    for place, (metric, keys) in enumerate(shapes):
        mine = [i for i, p in zip(ids, places) if p == place]
        columns = [catalog_column(b, len(mine)) for _ in keys]
        for i, values in zip(mine, zip(*columns)):
            found[i] = (metric, list(zip(keys, values)))
    for i in ids:
        metric, tags = found[i]
        text = " ".join("%s=%s" % (names[1][k], names[2][v]) for k, v in tags)
        yield "series %d shard=%d/16 %s %s" % (i, shard(metric, tags, 16), names[0][metric], text)


def catalog_record(body, state):
    """Lines of one record of a record log of kind CATA; state keeps the names from record to record."""
    names = state.setdefault("names", ({}, {}, {}))
    b = Bytes(body)
    kind, flags, raw_bytes = b.u8(), b.u8(), b.varint()
    payload = b.take(b.left())
    b = Bytes(unzstd(payload, raw_bytes) if flags & 1 else payload)
    if flags > 1 or b.left() != raw_bytes:
        raise Damage("flags or length of a catalog record")
    if kind == 1:
        yield "sizes metrics=%d tagk=%d tagv=%d series=%d" % tuple(b.varint() for _ in range(4))
    elif kind == 2:
        yield from catalog_names(b, names)
    elif kind == 3:
        yield from catalog_series(b, names)
    elif kind == 4:
        which, i = b.u8(), b.varint()
        names[which][i] = b.take(b.left()).decode("utf-8", "backslashreplace")
        yield "rename %s %d %s" % (NAME_KINDS[which], i, names[which][i])
    else:
        raise Damage("unknown catalog record %d" % kind)
    if b.left():
        raise Damage("bytes behind a catalog record")


# --- cells ---------------------------------------------------------------------------------------------

def cells_record(body, _state):
    """Lines of one record of a record log of kind CELL."""
    b = Bytes(body)
    while b.left():
        key = b.take(b.varint())
        value = b.take(b.varint())
        yield "%s %r" % ("put" if value else "delete", key) + (" %r" % value if value else "")


# --- record log -------------------------------------------------------------------------------------------

RECORD_KINDS = {  # kind -> lines of one record's body; state lives as long as the file is read
    b"MANI": manifest_record,
    b"CATA": catalog_record,
    b"CELL": cells_record,
}


def read_reclog(data):
    head = Bytes(data)
    head.take(8)
    version, kind, crc = head.u32(), head.take(4), head.u32()
    if crc != crc32c(data[:16]) or version != 1:
        raise Damage("header")
    yield "record log kind=%s" % kind.decode()
    at, state = 20, {}
    while at < len(data):
        b = Bytes(data[at:])
        length, crc, synced, head_crc = b.u32(), b.u32(), b.u64(), b.u32()
        if head_crc != crc32c(b.data[:16]) or synced > at:
            raise Damage("head of record at offset %d" % at)
        body = b.take(length)
        if crc != crc32c(body):
            raise Damage("record at offset %d" % at)
        yield from RECORD_KINDS[kind](body, state)
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
