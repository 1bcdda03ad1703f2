/*
 * disk.c - block devices and partitions, from /proc/diskstats.
 *
 * Whether a device is whole says /sys/class/block/<dev>/partition, not its number: tcollector's rule (minor number divisible by 16) is
 * wrong for NVMe, device mapper and md. Lines of all kernels are read: 7 (old partitions), 14, 18, 20 columns and more.
 * Sectors are 512 bytes here whatever the device's are.
 *
 * Threads    the collector's own
 * Source     the kernel's Documentation/admin-guide/iostats.rst; docs/OPENTSDB.md, section 12.5, iostat
 */
#include "collectors/host/disk.h"

#include "base/array.h"
#include "base/mem.h"
#include "base/time.h"
#include "collectors/core/fields.h"
#include "collectors/core/source.h"

#include <stdio.h>

#define ROWS(what, prefix)                                                                                   \
    {prefix ".read_requests", "dev", "requests", "Reads of " what " that ended.", COL_COUNTER},              \
        {prefix ".read_merged", "dev", "requests", "Reads joined with a neighbour.", COL_COUNTER},           \
        {prefix ".read_sectors", "dev", "sectors", "Sectors of 512 bytes read.", COL_COUNTER},               \
        {prefix ".read_bytes", "dev", "bytes", "The same in bytes.", COL_COUNTER},                           \
        {prefix ".msec_read", "dev", "ms", "Time of all reads, added up.", COL_COUNTER},                     \
        {prefix ".write_requests", "dev", "requests", "Writes that ended.", COL_COUNTER},                    \
        {prefix ".write_merged", "dev", "requests", "Writes joined with a neighbour.", COL_COUNTER},         \
        {prefix ".write_sectors", "dev", "sectors", "Sectors of 512 bytes written.", COL_COUNTER},           \
        {prefix ".write_bytes", "dev", "bytes", "The same in bytes.", COL_COUNTER},                          \
        {prefix ".msec_write", "dev", "ms", "Time of all writes, added up.", COL_COUNTER},                   \
        {prefix ".ios_in_progress", "dev", "requests", "Requests under way.", COL_GAUGE},                    \
        {prefix ".msec_total", "dev", "ms", "Time during which something was under way.", COL_COUNTER},      \
        {prefix ".msec_weighted_total", "dev", "ms", "Time of all requests, added up.", COL_COUNTER},        \
        {prefix ".discards_requests", "dev", "requests", "Discards that ended.", COL_COUNTER},               \
        {prefix ".discards_merged", "dev", "requests", "Discards joined with a neighbour.", COL_COUNTER},    \
        {prefix ".sectors_discarded", "dev", "sectors", "Sectors discarded.", COL_COUNTER},                  \
        {prefix ".msecs_discard", "dev", "ms", "Time of all discards, added up.", COL_COUNTER},              \
        {prefix ".flush_requests", "dev", "requests", "Flushes that ended.", COL_COUNTER},                   \
        {prefix ".msecs_flushing", "dev", "ms", "Time of all flushes, added up.", COL_COUNTER},              \
        {prefix ".svctm", "dev", "ms", "Busy time a request, since the last read of these figures.",         \
         COL_GAUGE},                                                                                         \
        {prefix ".await", "dev", "ms", "Time a request took, since then.", COL_GAUGE},                       \
        {prefix ".r_await", "dev", "ms", "Time a read took, since then.", COL_GAUGE},                        \
        {prefix ".w_await", "dev", "ms", "Time a write took, since then.", COL_GAUGE},                       \
    {                                                                                                        \
        prefix ".util", "dev", "percent",                                                                    \
            "Part of the time during which something was under way, since then.", COL_GAUGE                  \
    }

static const struct col_metric metrics[] = {
    ROWS("a whole device", "iostat.disk"),
    ROWS("a partition", "iostat.part"),
    {"iostat.part.read_issued", "dev", "requests", "Reads of a partition (kernels before 2.6.25).",
     COL_COUNTER},
    {"iostat.part.write_issued", "dev", "requests", "Writes of a partition (kernels before 2.6.25).",
     COL_COUNTER},
    {NULL, NULL, NULL, NULL, COL_GAUGE},
};

/* Columns after the name. */
enum {
    READS,
    READ_MERGED,
    READ_SECTORS,
    READ_MS,
    WRITES,
    WRITE_MERGED,
    WRITE_SECTORS,
    WRITE_MS,
    IN_PROGRESS,
    BUSY_MS,
    WEIGHTED_MS,
    N_OLD,
    N_COLUMNS = 17
};

static const char *const names[N_COLUMNS] = {
    "read_requests",       "read_merged",       "read_sectors",    "msec_read",         "write_requests",
    "write_merged",        "write_sectors",     "msec_write",      "ios_in_progress",   "msec_total",
    "msec_weighted_total", "discards_requests", "discards_merged", "sectors_discarded", "msecs_discard",
    "flush_requests",      "msecs_flushing",
};
static const char *const old_names[4] = {"read_issued", "read_sectors", "write_issued", "write_sectors"};

/* A device as it was. */
struct disk {
    char dev[64];          /* kernel's name */
    char name[128];        /* as reported */
    bool whole;            /* no partition */
    uint64_t v[N_COLUMNS]; /* last counters */
    int64_t at_ms;         /* when; 0 = never */
};

struct col_disks {
    const char *exclude;   /* patterns, borrowed */
    col_disk_query_fn ask; /* the system */
    void *arg;             /* of ask */
    struct disk *p;        /* in order of appearance */
    unsigned n, cap;       /* entries */
};

struct col_disks *col_disks_new(const char *exclude, col_disk_query_fn ask, void *arg)
{
    struct col_disks *d = ts_xcalloc(1, sizeof(*d));
    d->exclude = exclude;
    d->ask = ask;
    d->arg = arg;
    return d;
}

void col_disks_free(struct col_disks *d)
{
    if (d)
        ts_free(d->p);
    ts_free(d);
}

/* A device seen before, or a new one. */
static struct disk *disks_find(struct col_disks *d, struct ts_slice dev)
{
    for (unsigned i = 0; i < d->n; i++)
        if (ts_slice_is(dev, d->p[i].dev))
            return &d->p[i];
    TS_ARRAY_GROW(d->p, d->n, d->cap, 16);
    struct disk *k = &d->p[d->n++];
    *k = (struct disk){.whole = true};
    (void)snprintf(k->dev, sizeof(k->dev), "%.*s", (int)dev.n, dev.p);
    return k;
}

/* Read its name each time, since dm-0 may be set up anew. Under another name it is another device. */
static void disk_name(struct col_disks *d, struct disk *k)
{
    char name[sizeof(k->name)] = "";
    d->ask(d->arg, k->dev, &k->whole, name);
    if (!*name)
        (void)snprintf(name, sizeof(name), "%s", k->dev);
    if (strcmp(name, k->name) != 0)
        k->at_ms = 0;
    memcpy(k->name, name, sizeof(name));
}

static void disk_int(const struct disk *k, const char *what, uint64_t v, struct col_emit *emit)
{
    char metric[64];
    (void)snprintf(metric, sizeof(metric), "iostat.%s.%s", k->whole ? "disk" : "part", what);
    col_emit_u64(emit, metric, v, COL_TAGS({"dev", ts_slice_str(k->name)}));
}

static void disk_num(const struct disk *k, const char *what, double v, struct col_emit *emit)
{
    char metric[64];
    (void)snprintf(metric, sizeof(metric), "iostat.%s.%s", k->whole ? "disk" : "part", what);
    col_emit_num(emit, metric, (double)(int64_t)(v * 100.0 + 0.5) / 100.0,
                 COL_TAGS({"dev", ts_slice_str(k->name)}));
}

/* Growth of a counter; the kernel keeps times in 32 bits, and some counters on 32-bit machines. */
static double disk_delta(const struct disk *k, const uint64_t *now, unsigned column)
{
    uint64_t d = now[column] - k->v[column];
    return (double)(now[column] < k->v[column] ? (uint64_t)(uint32_t)d : d);
}

static double per(double what, double n)
{
    return n > 0 ? what / n : 0;
}

static void disk_rates(const struct disk *k, const uint64_t *now, int64_t now_ms, struct col_emit *emit)
{
    double dt_ms = (double)(now_ms - k->at_ms);
    if (!k->at_ms || dt_ms <= 0 || now[READS] < k->v[READS] || now[WRITES] < k->v[WRITES])
        return; /* first time, or the device was replaced by another */
    double reads = disk_delta(k, now, READS), writes = disk_delta(k, now, WRITES);
    double read_ms = disk_delta(k, now, READ_MS), write_ms = disk_delta(k, now, WRITE_MS);
    double busy_ms = disk_delta(k, now, BUSY_MS), util = 100.0 * busy_ms / dt_ms;
    disk_num(k, "svctm", per(busy_ms, reads + writes), emit);
    disk_num(k, "await", per(read_ms + write_ms, reads + writes), emit);
    disk_num(k, "r_await", per(read_ms, reads), emit);
    disk_num(k, "w_await", per(write_ms, writes), emit);
    disk_num(k, "util", util > 100.0 ? 100.0 : util, emit);
}

static void disk_line(struct col_disks *d, struct ts_slice dev, const uint64_t *v, unsigned n, int64_t now_ms,
                      struct col_emit *emit)
{
    uint64_t any = 0;
    for (unsigned i = 0; i < n; i++)
        any |= v[i];
    if (!any)
        return; /* never did anything */
    struct disk *k = disks_find(d, dev);
    disk_name(d, k);
    if (n == 4) {
        k->whole = false;
        for (unsigned i = 0; i < 4; i++)
            disk_int(k, old_names[i], v[i], emit);
        return;
    }
    for (unsigned i = 0; i < n; i++)
        disk_int(k, names[i], v[i], emit);
    disk_int(k, "read_bytes", v[READ_SECTORS] * 512, emit);
    disk_int(k, "write_bytes", v[WRITE_SECTORS] * 512, emit);
    disk_rates(k, v, now_ms, emit);
    memcpy(k->v, v, sizeof(k->v));
    k->at_ms = now_ms;
}

/* "   8       0 sda 1 2 3 ..." */
void col_disks_parse(struct col_disks *d, struct ts_slice text, int64_t now_ms, struct col_emit *emit)
{
    struct ts_slice line, dev;
    uint64_t number;
    while (col_line_next(&text, &line)) {
        uint64_t v[N_COLUMNS] = {0};
        if (!col_u64_next(&line, &number) || !col_u64_next(&line, &number) || !col_word_next(&line, &dev))
            continue;
        if (dev.n >= sizeof(d->p->dev) || col_match_any(d->exclude, dev))
            continue;
        unsigned n = col_u64_row(line, v, N_COLUMNS);
        if (n == 4 || n >= N_OLD)
            disk_line(d, dev, v, n, now_ms, emit);
    }
}

/* --- on a host --- */

struct disk_state {
    const struct col_ctx *ctx; /* borrowed */
    struct col_disks *disks;   /* owned */
    struct ts_buf text;        /* of the file */
};

static void disk_query(void *arg, const char *dev, bool *out_whole, char out_name[128])
{
    const struct col_ctx *ctx = arg;
    char path[160];
    int64_t number;
    (void)snprintf(path, sizeof(path), "/sys/class/block/%s/partition", dev);
    *out_whole = !col_source_int(ctx->root, path, &number);
    (void)snprintf(path, sizeof(path), "/sys/class/block/%s/dm/name", dev);
    (void)col_source_word(ctx->root, path, out_name, 128);
}

static int disk_init(const struct col_ctx *ctx, void **out_state, struct ts_error *err)
{
    struct disk_state *s = ts_xcalloc(1, sizeof(*s));
    ts_buf_init(&s->text, (size_t)16 << 20);
    s->ctx = ctx;
    s->disks =
        col_disks_new(ts_conf_str(ctx->conf, "collect_disk_exclude"), disk_query, (void *)(uintptr_t)ctx);
    (void)err;
    *out_state = s;
    return 0;
}

static int disk_read(void *state, struct col_emit *emit, struct ts_error *err)
{
    struct disk_state *s = state;
    TS_TRY(col_source_read(s->ctx->root, "/proc/diskstats", &s->text, err));
    col_disks_parse(s->disks, ts_buf_get(&s->text), ts_clock_mono_ns() / 1000000, emit);
    return 0;
}

static void disk_release(void *state)
{
    struct disk_state *s = state;
    if (!s)
        return;
    col_disks_free(s->disks);
    ts_buf_release(&s->text);
    ts_free(s);
}

const struct col_collector col_disk = {
    .name = "disk",
    .help = "Requests, bytes and times of block devices (iostat.disk.*) and partitions (iostat.part.*).",
    .metrics = metrics,
    .interval_s = 60,
    .rates = true,
    .init = disk_init,
    .read = disk_read,
    .release = disk_release,
};
