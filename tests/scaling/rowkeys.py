#!/usr/bin/python3
"""How row keys spread load over the regions of an HBase table: the model behind docs/SCALING.md.

    rowkeys.py                 print the tables of the document (Markdown; 11 s of processor time)
    rowkeys.py --plots DIR     and draw its figures (SVG; needs python3-matplotlib)

A *stream* is a range of keys to whose end a writer appends: the rows of one metric (and one salt, one month ...) in the order of time. Every
scheme of row keys is a list of streams in the order of keys. A region begins at a position (stream, time) and ends where the next one
begins, so its size and its share of the writes are sums over streams, computed exactly: no row is sampled, and 10^12 points cost no more than 10^6.
Only the sizes of metrics, the shares of salts and the choice of servers are random, from a fixed seed. check.py compares the model with real keys.

Left out: caches, compactions, failures, and where within its hour a row lies (times are resolved to steps of hours).
"""
import argparse
import sys
from dataclasses import dataclass, field

import numpy as np

DAY = 86400.0
MONTH = 30 * DAY
GIB = 1024.0 ** 3
SEED = 13
MAX_FILE = 10 * GIB  # hbase.hregion.max.filesize
FIRST_SPLIT = 256 * 1024.0 ** 2  # of a table's only region on a server (SteppingSplitPolicy: twice the flush size)
JITTER = 0.25  # hbase.hregion.max.filesize.jitter: +-12.5 %
SLICES = 32768  # streams that stand for the range of a hash of series


@dataclass
class Load:
    """What is written."""
    series: float  # in all metrics together
    interval: float  # seconds between two points of a series
    days: float
    metrics: int = 500
    servers: int = 20
    tags: int = 2
    value: float = 4.0  # mean bytes of a value
    step: float = 6 * 3600.0  # seconds

    def row_points(self):
        """Points in a row, which holds an hour."""
        return max(1.0, 3600.0 / self.interval)

    def rows_per_s(self):
        """Rows begun a second: one a series and hour, or one a point where points are rarer."""
        return self.series / max(3600.0, self.interval)

    def row_bytes(self, prefix):
        """Bytes of a row of one compacted cell as HBase stores it without encoding and compression (KeyValue: lengths 8 and 2, row,
        family 1 + 1, qualifier, timestamp 8, type 1, value)."""
        n = self.row_points()
        key = prefix + 3 + 4 + 6 * self.tags
        return 8 + 2 + key + 2 + 2 * n + 8 + 1 + self.value * n + (1 if n > 1 else 0)

    def points(self):
        return self.series * self.days * DAY / self.interval


@dataclass
class Scheme:
    """Streams in the order of keys: arrays of one element each."""
    name: str
    prefix: int  # bytes before the metric's id
    share: np.ndarray  # of all series
    metric: np.ndarray  # whose rows they are; -1: of all metrics
    begin: np.ndarray  # seconds
    end: np.ndarray
    splits: list = field(default_factory=list)  # streams at which regions begin before anything is written
    whole: bool = False  # regions begin at streams only (a slice of hashes cannot be split by time)


def shares(load):
    """Share of each metric in the series, by id: Zipf with exponent 1 in random order."""
    rng = np.random.default_rng(SEED)
    s = 1.0 / np.arange(1, load.metrics + 1)
    return rng.permutation(s / s.sum())


def reverse_bits(ids, bits=24):
    out = np.zeros_like(ids)
    for i in range(bits):
        out |= ((ids >> i) & 1) << (bits - 1 - i)
    return out


def reverse_bytes(ids):
    return (ids & 255) << 16 | (ids >> 8 & 255) << 8 | ids >> 16


def by_id(load, name, ids, presplit):
    """Metrics ordered by some 24-bit id, with regions that begin at equal parts of the space of ids where that helps."""
    order = np.argsort(ids, kind="stable")
    n = load.metrics
    at = np.searchsorted(ids[order], np.arange(1, presplit) * (2 ** 24 // presplit)) if presplit else []
    splits = sorted({int(i) for i in at if 0 < i < n})
    return Scheme(name, 0, shares(load)[order], order, np.zeros(n), np.full(n, np.inf), splits)


def salted(load, buckets):
    """One byte of salt: each bucket has all metrics, and a region of its own from the start."""
    rng = np.random.default_rng(SEED + buckets)
    share = shares(load)
    part = np.array([rng.multinomial(max(1, int(s * load.series)), [1 / buckets] * buckets) / max(1, int(s * load.series))
                     for s in share])
    n, m = buckets * load.metrics, load.metrics
    return Scheme("salt, %d buckets" % buckets, 1, (part * share[:, None]).T.ravel(), np.tile(np.arange(m), buckets),
                  np.zeros(n), np.full(n, np.inf), [b * m for b in range(1, buckets)])


def hashed(load, presplit):
    """Four bytes of a hash of metric and tags first: rows of all metrics are mixed."""
    rng = np.random.default_rng(SEED)
    count = rng.poisson(load.series / SLICES, SLICES) if load.series < 1e9 else np.full(SLICES, load.series / SLICES)
    return Scheme("hash of the series", 4, count / count.sum(), np.full(SLICES, -1), np.zeros(SLICES), np.full(SLICES, np.inf),
                  [SLICES * i // presplit for i in range(1, presplit)], True)


def monthly(load):
    """Two bytes of the month first; ids in sequence behind it. Months of 30 days."""
    n = int(np.ceil(load.days * DAY / MONTH))
    begin = np.repeat(np.arange(n) * MONTH, load.metrics)
    return Scheme("prefix of the month", 2, np.tile(shares(load), n), np.tile(np.arange(load.metrics), n), begin,
                  begin + MONTH)


def schemes(load):
    """All that are compared. Regions at the start: three a server, or one a salt, where keys can be known before."""
    rng = np.random.default_rng(SEED)
    ids = np.arange(1, load.metrics + 1)
    three = 3 * load.servers
    return [by_id(load, "sequential ids", ids, 0),
            by_id(load, "bytes reversed", reverse_bytes(ids), three),
            by_id(load, "bits reversed", reverse_bits(ids), three),
            by_id(load, "hashed metric id", rng.permutation(2 ** 24 - 1)[:load.metrics] + 1, three),
            salted(load, 4), salted(load, load.servers), salted(load, 100),
            hashed(load, three), monthly(load)]


class Table:
    """Regions of a table while it is written to. Boundaries are (stream, seconds); region i ends where i + 1 begins."""

    def __init__(self, load, scheme, limit=MAX_FILE, first=FIRST_SPLIT, jitter=JITTER):
        self.load, self.scheme, self.limit, self.first, self.jitter = load, scheme, limit, first, jitter
        self.rng = np.random.default_rng(SEED)
        self.rate = scheme.share * load.rows_per_s() * load.row_bytes(scheme.prefix)  # bytes a second
        self.stream = np.array([0] + list(scheme.splits), dtype=np.int64)
        self.since = np.zeros(len(self.stream))
        self.server = self.rng.permutation(np.arange(len(self.stream)) % load.servers)
        self.wobble = self.new_wobble(len(self.stream))
        self.n_first = len(self.stream)
        self.now = 0.0

    def new_wobble(self, n):
        return 1 + (self.rng.random(n) - 0.5) * self.jitter

    def written(self):
        """Bytes of each stream so far."""
        s = self.scheme
        return self.rate * (np.clip(self.now, s.begin, s.end) - s.begin)

    def before(self, cumulated, stream, since):
        """Bytes in the table before these positions."""
        s = self.scheme
        i = np.minimum(stream, len(self.rate) - 1)
        inside = self.rate[i] * (np.clip(np.minimum(since, self.now), s.begin[i], s.end[i]) - s.begin[i])
        return cumulated[stream] + np.where(stream < len(self.rate), inside, 0.0)

    def sizes(self):
        """Bytes of each region."""
        total = np.concatenate([[0.0], np.cumsum(self.written())])
        return np.diff(np.append(self.before(total, self.stream, self.since), total[-1])), total

    def loads(self):
        """Share of the writes of each region: those of the streams that end in it."""
        s = self.scheme
        on = np.where((s.begin <= self.now) & (self.now < s.end), self.rate, 0.0)
        total = np.concatenate([[0.0], np.cumsum(on)])
        ends = np.append(self.stream, len(on))  # the end of a stream lies behind every boundary within it
        return np.diff(total[ends]) / total[-1]

    def split(self):
        """Halve the regions that are too large, each once in a step: daughters must be compacted before they are split again."""
        sizes, total = self.sizes()
        alone = np.bincount(self.server, minlength=self.load.servers)[self.server] == 1
        large = np.flatnonzero(sizes > np.where(alone, np.minimum(self.first, self.limit), self.limit) * self.wobble)
        if not len(large):
            return 0
        middle = self.before(total, self.stream[large], self.since[large]) + sizes[large] / 2
        stream = np.searchsorted(total, middle, side="right") - 1
        if self.scheme.whole:
            since = np.zeros(len(stream))
            fits = (stream > self.stream[large])
            large, stream, since = large[fits], stream[fits], since[fits]
        else:
            since = self.scheme.begin[stream] + (middle - total[stream]) / self.rate[stream]
        self.stream = np.insert(self.stream, large + 1, stream)
        self.since = np.insert(self.since, large + 1, since)
        self.server = np.insert(self.server, large + 1, self.server[large])
        self.wobble = np.insert(self.wobble, large + 1, self.new_wobble(len(large)))
        return len(large)

    def balance(self):
        """Even numbers of regions, whatever their load, as HBase's balancer does by default (a region counts 100 times as much as requests)."""
        count = np.bincount(self.server, minlength=self.load.servers)
        while count.max() - count.min() > 1:
            high, low = int(count.argmax()), int(count.argmin())
            self.server[self.rng.choice(np.flatnonzero(self.server == high))] = low
            count[high] -= 1
            count[low] += 1

    def server_loads(self):
        return np.bincount(self.server, self.loads(), self.load.servers)

    def run(self, each=None):
        """Write for all days. Returns a history: arrays by step of day, usable servers, share of the hottest region, regions, splits."""
        history = {name: [] for name in ("day", "usable", "hottest", "hot", "regions", "splits")}
        for i in range(int(round(self.load.days * DAY / self.load.step))):
            loads = self.loads()
            history["day"].append(self.now / DAY)
            history["usable"].append(1 / self.server_loads().max())
            history["hottest"].append(loads.max())
            history["hot"].append(np.count_nonzero(loads > 0))
            self.now = (i + 1) * self.load.step
            history["splits"].append(self.split())
            self.balance()
            history["regions"].append(len(self.stream))
            if each:
                each(self)
        return {k: np.array(v) for k, v in history.items()}

    def at(self, stream, since):
        """Index of the region that has a position."""
        scale = 2 * self.load.days * DAY
        keys = self.stream + self.since / scale
        return int(np.searchsorted(keys, stream + since / scale, side="right")) - 1

    def fan_out(self, metric, begin, end, answer, rows):
        """(ranges of keys, regions, rows that are read) of a scan. metric None: of all of them; answer: rows that are wanted; rows: those of
        the metric in that time."""
        s = self.scheme
        if s.whole and answer == 24:  # one series: its hash is known
            return 1, 1, answer
        if s.whole:
            return 1, len(self.stream), self.load.rows_per_s() * self.load.days * DAY
        wanted = np.flatnonzero((s.begin < end) & (s.end > begin) & ((s.metric == metric) if metric is not None else True))
        regions = set()
        for i in wanted.tolist():
            regions.update(range(self.at(i, max(begin, s.begin[i])), self.at(i, min(end, s.end[i]) - 1) + 1))
        ranges = len(wanted)
        if metric is None and begin <= s.begin[wanted[0]] and np.all(s.end[wanted] <= end):
            ranges = 1  # neighbours, from the first to the last row
        return ranges, len(regions), rows


def salt_of(keys, buckets):
    """OpenTSDB's salt (docs/OPENTSDB.md, 10.3) of rows of bytes: metric and tags, without the time."""
    h = np.ones(len(keys), dtype=np.int32)
    for column in keys.astype(np.int8).T:
        h = (h * np.int32(31) + column.astype(np.int32)).astype(np.int32)
    return np.abs(np.fmod(h.astype(np.int64), buckets))


def series_keys(metric, *tagvs):
    """Metric and pairs of tags as in row keys: tag keys 1, 2, ... and the ids of values given for each."""
    n = len(tagvs[0])
    parts = [np.full(n, metric)]
    for i, v in enumerate(tagvs):
        parts += [np.full(n, i + 1), np.asarray(v)]
    return np.concatenate([np.stack([p >> 16 & 255, p >> 8 & 255, p & 255], axis=1) for p in parts], axis=1).astype(np.uint8)


# --- the document's tables ---

YEAR = Load(series=2e6, interval=60, days=365)
SCALES = [Load(1e5, 10, 1157.4, step=DAY), Load(1e6, 10, 115.74), Load(1e7, 60, 69.4), Load(1e8, 600, 69.4), Load(1e9, 3600, 41.67)]


def markdown(title, header, rows):
    print("\n%s\n" % title)
    print("| " + " | ".join(header) + " |")
    print("|---|" + "---:|" * (len(header) - 1))
    for row in rows:
        print("| " + " | ".join(row) + " |")


def spread_row(name, table, h):
    late = h["day"] >= 30
    per_day = np.add.reduceat(h["splits"], np.flatnonzero(np.diff(np.floor(h["day"]), prepend=-1)))
    return [name, "%.1f" % h["usable"][~late].mean(), "%.1f" % h["usable"][late].mean(), "%.1f" % h["usable"][late].min(),
            "%.1f %%" % (100 * h["hottest"][late].mean()), "%d" % h["hot"][-1], "%d" % table.n_first, "%d" % h["regions"][-1],
            "%d" % h["splits"].sum(), "%d" % per_day.max()]


def queries(load):
    """(title, metric or None, begin, end, rows in the answer, rows in the range by metric)."""
    share = shares(load)
    metric = int(np.argsort(-share)[load.metrics // 10])  # the tenth part is larger
    n = share[metric] * load.series
    end = load.days * DAY
    hours = [24, 1, load.days * 24, MONTH / 3600]
    rows = load.rows_per_s() * 3600
    return [("one series, one day", metric, end - 2 * DAY, end - DAY, hours[0], n * hours[0]),
            ("one metric, all series, one hour", metric, end - 3600 * 25, end - 3600 * 24, n, n),
            ("one metric, all series, one year", metric, 0.0, end, n * hours[2], n * hours[2]),
            ("all metrics, one month", None, 10 * MONTH, 11 * MONTH, rows * hours[3], rows * hours[3])]


def short(x):
    for limit, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k")):
        if x >= limit:
            v = x / (1e3 if unit == "k" else limit)
            return ("%.0f %s" if v >= 100 else "%.1f %s") % (v, unit)
    return "%.0f" % x


def hash_table():
    """Largest bucket over the mean, for OpenTSDB's hash and several numbers of buckets."""
    ids = np.arange(1, 100001)
    kinds = [("100,000 hosts", series_keys(1, ids)), ("12,500 hosts x 8 values", series_keys(1, ids // 8 + 1, ids % 8 + 1)),
             ("hosts of which 1 in 64 reports", series_keys(1, ids * 64))]
    numbers = (4, 16, 20, 31, 32, 64, 100, 128, 256)
    rows = []
    for name, keys in kinds:
        row = [name]
        for buckets in numbers:
            count = np.bincount(salt_of(keys, buckets), minlength=buckets)
            row.append("%.2f" % (count.max() / count.mean()))
        rows.append(row)
    return ["largest bucket / mean"] + [str(n) for n in numbers], rows


def scale_rows():
    for load in SCALES:
        row = ["%s x %d s" % (short(load.series), load.interval), "%.0f" % load.days, short(load.series / load.interval),
               short(load.rows_per_s()), short(load.rows_per_s() * load.days * DAY),
               "%.1f TiB" % (load.rows_per_s() * load.days * DAY * load.row_bytes(1) / GIB / 1024)]
        for scheme in (by_id(load, "", np.arange(1, load.metrics + 1), 0), salted(load, 20), salted(load, 100), hashed(load, 60)):
            table = Table(load, scheme)
            h = table.run()
            half = len(h["day"]) // 2
            row.append("%d, %.1f, %.2f %%" % (len(table.stream), h["usable"][half:].mean(), 100 * h["hottest"][half:].mean()))
        yield row


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--plots", metavar="DIR", help="draw the figures there")
    args = args.parse_args()
    header, rows = hash_table()
    markdown("Salt", header, rows)
    done = []
    for scheme in schemes(YEAR):
        table = Table(YEAR, scheme)
        done.append((scheme.name, table, table.run()))
    markdown("Spread: %s series, %d s, %d days, %d metrics, %d servers" %
             (short(YEAR.series), YEAR.interval, YEAR.days, YEAR.metrics, YEAR.servers),
             ["scheme", "usable servers, first 30 days", "later, mean", "later, least", "hottest region", "regions written to",
              "regions at first", "at the end", "splits", "most a day"], [spread_row(*d) for d in done])
    asked = queries(YEAR)
    fans = {name: [table.fan_out(*q[1:]) for q in asked] for name, table, _ in done}
    markdown("Fan-out: ranges / regions / rows read", ["scheme"] + [q[0] for q in asked],
             [[name] + [" / ".join(short(x) for x in f) for f in fan] for name, fan in fans.items()])
    print("\nRows in the answers: " + ", ".join(short(q[4]) for q in asked))
    markdown("Scale: regions, usable servers, hottest region",
             ["series", "days to 10^12 points", "points/s", "rows/s", "rows", "size", "sequential", "salt 20", "salt 100", "hash"],
             list(scale_rows()))
    if args.plots:
        import plots
        plots.draw(args.plots, done, [q[0] for q in asked], fans)
    return 0


if __name__ == "__main__":
    sys.exit(main())
