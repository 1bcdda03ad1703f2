#!/usr/bin/env python3
"""Reads tsd's files from docs/FORMAT.md alone and prints them: read_format.py FILE...

Every kind of file has one function, found by the magic at the start of the file. If this program can't read a file that
tsd reads, the page is wrong.
"""
import copy
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
WAL_OPS = ("put", "add", "del", "keep")


def wal_operation(b, state, n_series):
    """One operation; state = [number, time, difference, list of recent flags]."""
    control = b.u8()
    by_series, by_time, by_flags = control & 3, control >> 2 & 3, control >> 4 & 3
    if by_series == 0:
        state[0] += 1
    elif by_series == 2:
        state[0] = (state[0] + b.zigzag()) & 0xFFFFFFFF
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
    if not 0 <= state[0] < n_series or flags >> 10 or flags >> 1 & 3 > 2:
        raise Damage("operation makes no sense")
    kind, exponent = WAL_KINDS[flags >> 1 & 3], flags >> 3 & 31
    return "%s series=%d time=%d%s %s" % (
        WAL_OPS[flags >> 8], state[0], state[1], "ms" if flags & 1 else "",
        "to=%d" % value if flags >> 8 == 2 else "%s m=%d exp=%d" % (kind, value, exponent))


def wal_definition(b, number, before):
    """before: id of the definition before in this record; None where definitions have no heads."""
    if before is None:
        series_id = b.varint()
    else:
        head = b.varint()
        series_id = before + (head >> 2 if not head & 2 else -1 - (head >> 2))
        if head & 1:
            return series_id, "series %d id=%d of the catalog" % (number, series_id)
    metric, n_tags = b.varint(), b.u8()
    tags = [(b.varint(), b.varint()) for _ in range(n_tags)]
    text_len, metric_len = b.varint(), b.varint()
    text = b.take(text_len)
    return series_id, "series %d id=%d metric=%d tags=%s text=%s|%s" % (
        number, series_id, metric, ",".join("%d=%d" % t for t in tags),
        text[:metric_len].decode(), text[metric_len:].decode())


def read_wal(data):
    head = Bytes(data)
    head.take(8)
    version, run, generation, worker, segment = head.u32(), head.u32(), head.u64(), head.u32(), head.u32()
    prev_generation, prev_bytes, prev_segment, crc = head.u64(), head.u64(), head.u32(), head.u32()
    if crc != crc32c(data[:52]) or version not in (1, 2, 3, 4, 5):
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
        elif kind == 2 or kind == 4 and version >= 2 or kind == 5 and version >= 3:
            if kind != 2 and b.varint() != n_series:
                raise Damage("number of a definition")
            before = 0 if kind == 5 else None
            while b.left():
                series_id, text = wal_definition(b, n_series, before)
                yield "  " + text
                before = series_id if kind == 5 else None
                n_series += 1
        elif kind == 3:
            yield "  mark %d" % b.u64()
        elif kind == 6 and version >= 5:
            made, random, sequence, sequences = b.varint(), b.u64(), 0, []
            for _ in range(b.varint()):
                sequence = (sequence + b.zigzag()) & 0xFFFFFFFFFFFFFFFF
                sequences.append(sequence)
            state = [-1, 0, 0, [0 << 1, 1 << 1 | 2 << 3, 1 << 1 | 1 << 3]]
            if not made or not sequences or 0 in sequences:
                raise Damage("id or sequence of 0")
            for sequence in sequences:
                yield "  id=%d-%016x sequence=%d %s" % (made, random, sequence, wal_operation(b, state, n_series))
            if b.left():
                raise Damage("operations without a sequence")
        else:
            raise Damage("unknown record type %d" % kind)
        at += 8 + length


# --- manifest ------------------------------------------------------------------------------------------

def manifest_file(b, version):
    fields = [b.varint() for _ in range(3)] + [b.zigzag() for _ in range(4)] + [b.varint() for _ in range(5)]
    if version > 1 and b.varint():
        raise Damage("family of a file")
    return "  file no=%d gens=%d..%d time=%d..%d tombs=%d..%d points=%d rows=%d n_tombs=%d t=%d s=%d" % tuple(fields)


def manifest_hours(b, name, has_gen):
    for _ in range(b.varint()):
        yield "  %s hour=%d hours=%d gen=%d" % (name, b.zigzag(), b.varint() + 1, b.varint() if has_gen else 1)


def manifest_ids(b):
    """Which additions each shard has of clients that number them."""
    seen = set()
    while b.left():
        shard, table = b.varint(), Bytes(b.take(b.varint()))
        forgotten, n = table.varint(), table.varint()
        yield "  ids of shard=%d forgotten=%d" % (shard, forgotten)
        for _ in range(n):
            made, random, last = table.varint(), table.varint(), table.varint()
            if made <= forgotten or not last or (shard, made, random) in seen:
                raise Damage("id of a client")
            seen.add((shard, made, random))
            yield "    id=%d-%016x sequence=%d" % (made, random, last)
        if table.left():
            raise Damage("bytes behind the ids of a shard")


def manifest_extensions(b):
    last = 0
    for _ in range(b.varint()):
        kind = b.varint()
        if not last < kind <= 6:
            raise Damage("extensions of a manifest record")
        last = kind
        if kind < 4:
            yield from manifest_hours(b, ("mark", "sent", "again")[kind - 1], kind == 1)
            continue
        if kind == 5:
            yield from manifest_ids(Bytes(b.take(b.varint())))
            continue
        if kind == 6:
            yield "  complete from ms=%d boot=%d" % (b.zigzag(), b.varint()) if b.varint() else "  nothing complete"
            continue
        for _ in range(b.varint()):
            yield "  marks at ms=%d" % b.zigzag()
            yield from manifest_hours(b, "earlier mark", True)


def manifest_record(body, state):
    """Lines of one record of a record log of kind MANI."""
    b = Bytes(body)
    kind = b.u8()
    if kind == 1:
        state["manifest version"] = b.varint()
        if state["manifest version"] not in (1, 2):
            raise Damage("manifest version")
        yield "state shards=%d flushed_gen=%d run=%d next_file=%d" % tuple(b.varint() for _ in range(4))
    elif kind == 2:
        yield "edit flushed_gen=%d run=%d next_file=%d" % tuple(b.varint() for _ in range(3))
        for _ in range(b.varint()):
            yield "  remove no=%d" % b.varint()
    else:
        raise Damage("unknown manifest record %d" % kind)
    version = state["manifest version"]
    if version > 1:
        yield "  cutoff ms=%d gen=%d" % (b.zigzag(), b.varint())
    for _ in range(b.varint()):
        yield manifest_file(b, version)
    if version > 1:
        yield from manifest_extensions(b)
    if b.left():
        raise Damage("bytes behind a manifest record")


# --- unfinished merge ------------------------------------------------------------------------------------

def read_merge(data):
    head = Bytes(data)
    head.take(8)
    version, crc = head.u32(), head.u32()
    if crc != crc32c(data[16:], crc32c(data[:12])) or version not in (1, 2):
        raise Damage("checksum or version")
    b = Bytes(data[16:])
    yield "merge gens=%d..%d carried_gen=%d" % (b.varint(), b.varint(), b.varint())
    yield "  cutoff ms=%d gen=%d" % (b.zigzag(), b.varint())
    yield "  final=%d level=%d window=%d" % (b.varint(), b.varint(), b.zigzag())
    yield "  cuts at hours %s" % " ".join(str(b.zigzag()) for _ in range(b.varint()))
    yield "  last row metric=%d series=%d hour=%d" % (b.varint(), b.varint(), b.zigzag())
    yield "  inputs %s" % " ".join(str(b.varint()) for _ in range(b.varint()))
    for _ in range(b.varint()):
        yield manifest_file(b, 2)
    if version > 1:
        yield "  zstd level %d" % b.varint()
    if b.left():
        raise Damage("bytes behind the files of a merge")


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
    elif kind == 5:
        which, ids = b.u8(), catalog_ids(b)
        if which > 3:
            raise Damage("forgotten names of kind %d" % which)
        if which < 3:
            for i in ids:
                names[which].pop(i, None)
        yield "forgotten %s %s" % ((NAME_KINDS + ("series",))[which], " ".join(str(i) for i in ids))
    elif kind == 6:
        yield ("assigned %s %s" % (NAME_KINDS[b.u8()], " ".join(str(i) for i in catalog_ids(b)))).rstrip()
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


# --- sorted files: sequences and packs --------------------------------------------------------------------

MASK = (1 << 64) - 1
HAS_SLOPE = (1, 3, 4, 5, 6)


def unzigzag(value):
    return value >> 1 ^ -(value & 1)


class Sequence:
    """Parameters of a sequence."""

    def __init__(self, codec=0, cls=0, k=0, n_esc=0, unit=1, first=0, slope=0):
        self.codec, self.cls, self.k, self.n_esc = codec, cls, k, n_esc
        self.unit, self.first, self.slope = unit, first, slope

    def n_residuals(self, n):
        return (0, 0, n, n - 1, n - 1, max(n - 2, 0), n - 1)[self.codec]

    def values(self, r, n):
        """The n values from their residuals."""
        start, slope = self.first if self.unit == 1 else 0, self.slope
        if self.codec <= 1:
            y = [start + i * slope for i in range(n)] if self.codec else [start] * n
        elif self.codec == 2:
            y = [start + x for x in r]
        elif self.codec == 6:
            y = [start] + [start + (i + 1) * slope + unzigzag(x) for i, x in enumerate(r)]
        elif self.codec == 5:
            y, difference = [start, start + slope][:n], slope
            for x in r:
                difference += unzigzag(x)
                y.append(y[-1] + difference)
        else:
            y = [start]
            for x in r:
                y.append(y[-1] + slope + (unzigzag(x) if self.codec == 3 else x))
        return [signed(v if self.unit == 1 else self.first + self.unit * v) for v in y]


def sequence(b):
    """Parameters that stand as bytes."""
    head = b.u8()
    s = Sequence(codec=head & 7, cls=head >> 3 & 3)
    s.k = b.u8() if head & 32 else 0
    s.n_esc = b.varint() if head & 64 else 0
    s.unit = b.varint() if head & 128 else 1
    s.first = b.zigzag()
    s.slope = b.zigzag() if s.codec in HAS_SLOPE else 0
    return s


class Pack:
    """The six streams of a pack, read front to back."""

    def __init__(self, b):
        self.symbols = []
        for per_byte in (1, 2, 4, 1, 1, 1):
            raw = b.varint()
            stored = b.varint() if raw else 0
            n = (raw + per_byte - 1) // per_byte
            data = unzstd(struct.pack("<I", 0xFD2FB528) + b.take(stored), n) if stored else b.take(n)
            width = 8 // per_byte
            self.symbols.append([byte >> width * i & (1 << width) - 1 for byte in data for i in range(per_byte)][:raw])
        self.escapes, self.bytes = Bytes(bytes(self.symbols[3])), Bytes(bytes(self.symbols[4]))
        self.low, self.n_low = int.from_bytes(bytes(self.symbols[5]), "little"), 0
        self.symbols = [iter(s) for s in self.symbols[:3]]

    def get(self, s, n):
        """Values of the next sequence."""
        residuals, escape, found = [], (255, 15, 3)[s.cls], 0
        for _ in range(s.n_residuals(n)):
            r = next(self.symbols[s.cls]) << s.k | self.low >> self.n_low & (1 << s.k) - 1
            self.n_low += s.k
            if r >> s.k == escape and s.n_esc:
                r, found = self.escapes.varint(), found + 1
            residuals.append(r)
        if found != s.n_esc:
            raise Damage("escapes")
        return s.values(residuals, n)

    def end(self):
        if self.escapes.left() or self.bytes.left() or any(True for s in self.symbols for _ in s) or self.low >> self.n_low:
            raise Damage("bytes left in a pack")


# --- sorted files: blocks --------------------------------------------------------------------------------------


def double(bits):
    return struct.unpack("<d", struct.pack("<q", bits))[0]


def ordered(bits):
    """Bits of a double <-> integer of the same order."""
    return bits if bits >= 0 else signed(bits ^ 0x7FFFFFFFFFFFFFFF)


def number(kind, exponent, m):
    return "%d" % m if kind == 0 else repr(m / 10 ** exponent if kind == 1 else double(m))


def keys_of(first, columns):
    """Keys (metric, series, hour) of the rows from their first three columns."""
    keys = [first]
    for metric, series, hour in list(zip(*columns))[1:]:
        before = keys[-1]
        keys.append((before[0] + metric, series if metric else before[1] + series, before[2] + hour))
    return keys


def block_body(data):
    """Bytes behind checksum and version."""
    b = Bytes(data)
    if b.u32() != crc32c(data[4:]):
        raise Damage("checksum of a block")
    if b.u8() != 1:
        raise Damage("version of a block")
    return b


def block_row(cells, n, flags, mode, times, values, seconds, n_patches):
    """Offsets and values of a row as text."""
    offsets, m = cells.get(times, n), cells.get(values, n)
    exponent, mode = mode >> 2, mode & 3
    mixed = flags == 1024
    flag = [cells.bytes.u16() for _ in range(n)] if mixed else [flags] * n
    out = []
    for off, f, v in zip(offsets, flag, m):
        kind = f >> 1 & 3
        if mode == 1:
            v = ordered(v)
        elif mode == 0 and kind == 0 and exponent:
            v //= 10 ** exponent
        elif mode == 0 and kind == 2 and n_patches:
            v = signed(cells.bytes.u64())
        text = number(kind, f >> 3 & 31, v)
        out.append("%d%s:%s%s" % (off * (1000 if seconds else 1), "ms" if f & 1 else "", ("", "+", "?", "=")[f >> 8], text))
    return " ".join(out)


def points_block(data):
    b = block_body(data)
    n_rows, n_points = b.varint(), b.varint()
    first = (b.varint(), b.varint(), b.zigzag())
    parameters = [sequence(b) for _ in range(17)]
    first_times, first_values = sequence(b), sequence(b)
    table, cells = Pack(b), Pack(b)
    columns = [table.get(s, n_rows) for s in parameters]
    table.end()
    keys = keys_of(first, columns[:3])
    times, values = [], []
    for row in zip(*columns):
        times.append(Sequence(row[6] & 7, row[6] >> 3 & 3, *row[7:9], row[9], 0, row[10]))
        values.append(Sequence(row[11] & 7, row[11] >> 3 & 3, *row[12:14], row[14], 0, row[15]))
    # a row's first offset and value come behind all rows: read once to get there, then again knowing them
    for cells in (copy.deepcopy(cells), cells):
        rows = [block_row(cells, row[3], row[4], row[5], times[i], values[i], row[6] & 32, row[16])
                for i, row in enumerate(zip(*columns))]
        for sequences, s in ((times, first_times), (values, first_values)):
            for one, value in zip(sequences, cells.get(s, n_rows)):
                one.first = value
    cells.end()
    if b.left() or sum(columns[3]) != n_points:
        raise Damage("bytes behind a block")
    for key, text in zip(keys, rows):
        yield key, text


def sums_block(data):
    b = block_body(data)
    n_rows = b.varint()
    first = (b.varint(), b.varint(), b.zigzag())
    parameters = [sequence(b) for _ in range(15)]
    pack = Pack(b)
    columns = [pack.get(s, n_rows) for s in parameters]
    pack.end()
    for key, row in zip(keys_of(first, columns[:3]), zip(*columns)):
        flags, kinds, n, first_off, last_off, low, *rest = row[3:]
        if not flags & 1:
            yield key, "no summary"
            continue
        numbers = []
        for i, m in enumerate([low] + [signed(low + x) for x in rest[:3]]):
            kind = kinds >> 7 * i & 3
            numbers.append(number(kind, kinds >> 7 * i + 2 & 31, ordered(m) if kind == 2 else m))
        quotient, rest_low, rest_high = rest[3:]
        total = (rest_high + (rest_low >> 63) << 64) + (rest_low & MASK)
        if flags & 2:
            total += n * low
        elif flags & 16:
            scaled, by = (quotient + n * low) << 64, 10 ** (flags >> 8)
            total += scaled // by if scaled >= 0 else -(-scaled // by)
        scale = 1000 if flags & 8 else 1
        yield key, "n=%d off=%d..%d first=%s last=%s min=%s max=%s sum=%s" % (
            n, first_off * scale, (first_off + last_off) * scale, numbers[1], numbers[2], numbers[0], numbers[3],
            total if flags & 4 else "unknown")


# --- sorted files ------------------------------------------------------------------------------------------------


def sst_key(b, before):
    metric, series = b.varint(), b.varint()
    return (before[0] + metric, series if metric else before[1] + series, before[2] + b.zigzag())


def sst_index(data, n_blocks):
    b, before = Bytes(data), (0, 0, -1 << 31)
    for _ in range(n_blocks):
        first = sst_key(b, before)
        before = sst_key(b, first)
        yield first, before, b.varint(), b.u32()
    if b.left():
        raise Damage("bytes behind the index")


def sst_tombs(data, n, version, gen_lo):
    b, metric, series, start = Bytes(data), 0, 0, 0
    for _ in range(n):
        step = b.varint()
        series = b.varint() + (0 if step else series)
        metric += step
        start = signed(start + b.zigzag())
        end = signed(start + b.varint())
        gen = " gen=%d" % (gen_lo + b.varint()) if version > 1 else ""
        yield "tombstone metric=%d series=%d %d..%d" % (metric, series, start, end) + gen
    if b.left():
        raise Damage("bytes behind tombstones")


def roaring(data):
    """Numbers in a 32-bit Roaring bitmap, portable format."""
    b, out = Bytes(data), []
    cookie = b.u32()
    with_runs = cookie & 0xFFFF == 12347
    n = (cookie >> 16) + 1 if with_runs else b.u32()
    if not with_runs and cookie != 12346:
        raise Damage("cookie of a bitmap")
    runs = int.from_bytes(b.take((n + 7) // 8), "little") if with_runs else 0
    heads = [(b.u16(), b.u16() + 1) for _ in range(n)]
    if not with_runs or n >= 4:
        b.take(4 * n)
    for i, (high, count) in enumerate(heads):
        if runs >> i & 1:
            low = []
            for _ in range(b.u16()):
                start, length = b.u16(), b.u16()
                low += range(start, start + length + 1)
        elif count <= 4096:
            low = [b.u16() for _ in range(count)]
        else:
            bitmap = int.from_bytes(b.take(8192), "little")
            low = [j for j in range(65536) if bitmap >> j & 1]
        out += [high << 16 | x for x in low]
    if b.left():
        raise Damage("bytes behind a bitmap")
    return out


def read_sst(data):
    version, crc = struct.unpack("<II", data[8:16])
    if version not in (1, 2, 3) or crc != crc32c(data[:12]):
        raise Damage("header")
    end = len(data) - 160
    foot = Bytes(data[end:])
    number_, gen_lo, gen_hi = foot.u64(), foot.u64(), foot.u64()
    times = [signed(foot.u64()) for _ in range(4)]
    n_points, n_rows, n_tombs = foot.u64(), foot.u64(), foot.u64()
    tombs, bitmap, index = foot.u64(), foot.u64(), foot.u64()
    n_blocks = foot.u32()
    crcs = [foot.u32() for _ in range(3)]
    kind = foot.u32()
    kind, level = kind & 0xFFFF, kind >> 16
    if level > 22 or version < 3 and level:
        raise Damage("level")
    if foot.u32() != 0:
        raise Damage("family")
    made, carried = signed(foot.u64()), foot.u64()
    if foot.u32() != version or foot.u32() != crc32c(foot.data[:148]) or foot.take(8) != data[:8]:
        raise Damage("footer")
    if crcs != [crc32c(data[a:b]) for a, b in ((tombs, bitmap), (bitmap, index), (index, end))]:
        raise Damage("checksum of a section")
    yield "sorted file kind=%d no=%d gens=%d..%d time=%d..%d tombs=%d..%d points=%d rows=%d n_tombs=%d blocks=%d" % (
        kind, number_, gen_lo, gen_hi, *times, n_points, n_rows, n_tombs, n_blocks)
    if version > 1:
        yield "made ms=%d, heeds tombstones of generations up to %d" % (made, carried)
    if version > 2:
        yield "zstd level %d" % level
    yield from sst_tombs(data[tombs:bitmap], n_tombs, version, gen_lo)
    if kind == 1:
        yield "series %s" % " ".join("%d" % s for s in roaring(data[bitmap:index]))
    at = 16
    for first, last, length, crc in sst_index(data[index:end], n_blocks):
        block = data[at:at + length]
        if block[:4] != struct.pack("<I", crc):
            raise Damage("block at %d is not the one of the index" % at)
        yield "block at=%d bytes=%d" % (at, length)
        keys = []
        for key, text in points_block(block) if kind == 1 else sums_block(block):
            keys.append(key)
            yield "  metric=%d series=%d hour=%d " % key + text
        if (keys[0], keys[-1]) != (first, last):
            raise Damage("keys of the index")
        at += length
    if at != tombs:
        raise Damage("blocks do not end at the tombstones")


# --- bulk loads -------------------------------------------------------------------------------------------------

def read_bulk(data):
    """STATE and BULK: texts of lines."""
    tail = b"crc %08x\n" % crc32c(data[:-13])
    if data[-13:] != tail:
        raise Damage("checksum")
    lines = data[:-13].decode().split("\n")
    if lines[0] == "tsd bulk 1":
        words = {"note": None, "day": 2, "run": -1, "merging": 0, "merging-by-key": 0, "unit": -2, "merged": 0}
    elif lines[0] == "tsd bulk hand-over 1":
        words = {"id": None, "gen": 1, "sum": 3, "file": 1}
    else:
        raise Damage("version")
    if lines[-1]:
        raise Damage("last line")
    yield "bulk load: %s" % lines[0]
    for line in lines[1:-1]:
        word, _, rest = line.partition(" ")
        if word not in words:
            raise Damage("line %r" % line)
        count = words[word]
        if count is not None:
            numbers = [int(n) for n in rest.split()]
            if len(numbers) != count if count >= 0 else len(numbers) < -count - 1:
                raise Damage("line %r" % line)
            rest = " ".join("%d" % n for n in numbers)
        yield "  %s %s" % (word, rest) if rest else "  %s" % word


# --- which file is it -----------------------------------------------------------------------------------------

READERS = {  # magic, the first 8 bytes -> lines of a file
    b"TSDWAL\r\n": read_wal,
    b"TSDRECL\n": read_reclog,
    b"TSDSST\r\n": read_sst,
    b"TSDMERGE": read_merge,
    b"tsd bulk": read_bulk,
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
