/*
 * life.c - years of a store in minutes, by a clock of its own, against a plain model.
 *
 *   life [--days N] [--series N] [--churn N] [--deletes N] [--retention DAYS] [--seed N] [--dir DIR]
 *
 * Each day has a point every five minutes of each series, late ones by hours and by months, --deletes ranges deleted,
 * --churn new series that live for a day, flushes every six hours and the merges that are worth doing. From a quarter to
 * a third of the days ten years of hours are filled in, series by series; from half of the days on --retention is in
 * force. Every tenth day the store is closed and opened again. Parts of series are compared with the model each day, all
 * of them every thirtieth.
 *
 * Each day series without points are forgotten, once retention is in force.
 *
 * Printed for every tenth day: files, their MB, points in them, how often a point was written (flush and merges), MB of
 * memory and of catalog.log, ms of the longest put or turn, of the longest flush, of all merges and of a look that finds none,
 * series, MB of memory that they and the sets of them take.
 * Exit 1: an answer differs, or of the last quarter the number of files is above that of the third by half and ten, or
 * the number of series, or their memory, by an eighth.
 *
 * Threads    one: the store is pumped, so that the same seed gives the same life
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/time.h"
#include "storage/store.h"

#define T0            (1700000000000ll / TS_DAY_MS * TS_DAY_MS)
#define SLOT_MS       300000ll
#define SLOTS_A_DAY   (TS_DAY_MS / SLOT_MS)
#define BACK_DAYS     3660 /* how far the backfill goes */
#define FLUSHES_A_DAY 4
#define CHURN_POINTS  3

struct life {
    struct sto_store *st;
    const char *dir;
    int64_t n_days, n_series, n_churn, n_deletes, retention_days, seed; /* as asked */
    uint64_t rnd;
    const struct sto_series **series;
    int16_t *slots;                               /* n_series times n_slots: value, 0 = no point */
    int64_t n_slots;                              /* from BACK_DAYS before T0 to the last day */
    int64_t now_ms;                               /* the store's clock */
    uint64_t n_wrong;                             /* answers that differ */
    double stall_ms, flush_ms, merge_ms, look_ms; /* longest since the last print; merges: sum */
    uint64_t most_files[4];                       /* by quarter of the days */
    uint64_t most_series[4], most_bytes[4]; /* the same: series there are, and what they take in memory */
    uint64_t most_names[4],
        most_log[4]; /* the same: bytes of names in memory, of the catalog's log on disk */
};

static uint64_t rnd(struct life *l, uint64_t n)
{
    l->rnd += 0x9e3779b97f4a7c15ull;
    return ts_hash_u64(l->rnd) % n;
}

static double real_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void longest(double *out, double began_ms)
{
    double ms = real_ms() - began_ms;
    *out = ms > *out ? ms : *out;
}

static void must(int rc, const char *what, const struct ts_error *err)
{
    if (rc >= 0)
        return;
    fprintf(stderr, "life: %s: %s\n", what, err->text);
    exit(1);
}

static void set_clock(struct life *l, int64_t now_ms)
{
    l->now_ms = now_ms;
    ts_clock_set_fake(now_ms);
    ts_clock_set_fake_mono((now_ms - T0 + TS_DAY_MS) * 1000000);
}

static const struct sto_series *series_of(struct life *l, const char *metric, const char *host)
{
    char text[96];
    const struct sto_series *s = NULL;
    struct ts_error err = {0};
    int n = snprintf(text, sizeof text, "%s host=%s", metric, host);
    struct sto_tag_text tag = {TS_SLICE_LIT("host"), ts_slice_str(host)};
    must(sto_series_resolve(sto_store_catalog(l->st), (struct ts_slice){text, (size_t)n},
                            (uint32_t)strlen(metric), &tag, 1, true, &s, &err),
         "series", &err);
    return s;
}

static void find_series(struct life *l)
{
    for (int64_t i = 0; i < l->n_series; i++) {
        char host[32];
        snprintf(host, sizeof host, "h%" PRId64, i);
        l->series[i] = series_of(l, i % 2 ? "cpu" : "net", host);
    }
}

static void open_store(struct life *l, bool with_retention)
{
    struct ts_error err = {0};
    struct sto_opts opts = {.dir = l->dir,
                            .create = true,
                            .no_background = true,
                            .pumped = true,
                            .wal_sync = STO_SYNC_NONE,
                            .retention_ms = with_retention ? l->retention_days * TS_DAY_MS : 0};
    must(sto_open(&opts, &l->st, &err), "open", &err);
    find_series(l);
}

/* Handles are good until series may have been forgotten. */
static void forget(struct life *l)
{
    struct ts_error err = {0};
    must(sto_store_pump_forget(l->st, &err), "forget", &err);
    find_series(l);
}

/* --- writing --- */

static void flush(struct life *l)
{
    struct ts_error err = {0};
    double began = real_ms();
    must(sto_flush(l->st, STO_LEVEL_FILES, &err), "flush", &err);
    longest(&l->flush_ms, began);
    began = real_ms();
    must(sto_store_pump_merges(l->st, &err), "merges", &err);
    l->merge_ms += real_ms() - began;
    began = real_ms();
    must(sto_store_pump_merges(l->st, &err), "a look at merges", &err);
    longest(&l->look_ms, began);
}

static void op(struct life *l, const struct sto_series *s, bool delete, int64_t ts_ms, int64_t m)
{
    struct sto_writer *writer = sto_writer(l->st, 0);
    double began = real_ms();
    int rc;
    while ((rc = delete ? sto_delete(writer, s, ts_ms, m)
                        : sto_put(writer, s, ts_ms, (struct ts_num){.m = m, .kind = TS_NUM_INT}, false)) ==
           TS_EBUSY)
        sto_writer_turn(writer);
    longest(&l->stall_ms, began);
    if (rc < 0) {
        fprintf(stderr, "life: %s refused: %s\n", delete ? "delete" : "put", ts_err_name(rc));
        exit(1);
    }
}

static void turn(struct life *l)
{
    double began = real_ms();
    sto_writer_turn(sto_writer(l->st, 0));
    longest(&l->stall_ms, began);
    sto_store_pump(l->st);
}

static int64_t slot_of(int64_t ts_ms)
{
    return (ts_ms - T0) / SLOT_MS + BACK_DAYS * SLOTS_A_DAY;
}

static int64_t time_of(int64_t slot)
{
    return T0 + (slot - BACK_DAYS * SLOTS_A_DAY) * SLOT_MS;
}

static void put(struct life *l, int64_t series, int64_t slot)
{
    int16_t value = (int16_t)(rnd(l, 30000) + 1);
    op(l, l->series[series], false, time_of(slot), value);
    l->slots[series * l->n_slots + slot] = value;
}

static void delete_range(struct life *l, int64_t series, int64_t from, int64_t to)
{
    op(l, l->series[series], true, time_of(from), time_of(to));
    memset(&l->slots[series * l->n_slots + from], 0, (size_t)(to - from + 1) * sizeof *l->slots);
}

/* Every twenty-fourth of a day. */
static void hour(struct life *l, int64_t now_slot)
{
    for (int64_t k = 0; k < SLOTS_A_DAY / 24; k++)
        for (int64_t i = 0; i < l->n_series; i++)
            put(l, i, now_slot + k);
    for (int64_t k = 0; k < l->n_series; k++) { /* some are late by hours, few by months */
        int64_t back = (int64_t)(rnd(l, 20) ? rnd(l, SLOTS_A_DAY / 2) : rnd(l, 90 * SLOTS_A_DAY));
        put(l, (int64_t)rnd(l, (uint64_t)l->n_series), now_slot - back);
    }
    for (int64_t k = 0; k < l->n_deletes / 24; k++) {
        int64_t from = now_slot - (int64_t)rnd(l, 40 * SLOTS_A_DAY), n = (int64_t)rnd(l, 24);
        delete_range(l, (int64_t)rnd(l, (uint64_t)l->n_series), from,
                     from + n > now_slot ? now_slot : from + n);
    }
    turn(l);
}

/* Series that nobody writes to on any other day; the next call checks those of the day before. */
static void churn(struct life *l, int64_t day)
{
    for (int64_t i = 0; i < l->n_churn; i++) {
        char host[48];
        snprintf(host, sizeof host, "pod-%" PRId64 "-%" PRId64, day, i);
        const struct sto_series *s = series_of(l, "short", host);
        for (int64_t k = 0; k < CHURN_POINTS; k++)
            op(l, s, false, T0 + day * TS_DAY_MS + k * 60000, i + k);
        if (i % 1000 == 0)
            turn(l);
    }
}

static void backfill(struct life *l, int64_t series)
{
    for (int64_t slot = 0; slot < BACK_DAYS * SLOTS_A_DAY; slot += SLOTS_A_DAY / 24) {
        put(l, series, slot);
        if (slot % (SLOTS_A_DAY * 10) == 0)
            turn(l);
    }
    turn(l);
}

/* --- checking --- */

/* The points that the store has of a series, compared one by one with those expected: next(arg, &ts, &m) tells these in
 * order, false at the end. */
static bool same_points(struct life *l, const struct sto_series *s, int64_t from_ms, int64_t to_ms,
                        bool (*next)(void *arg, int64_t *ts_ms, int64_t *m), void *arg)
{
    struct sto_snap *snap = sto_snap_take(l->st);
    struct sto_scan_spec spec = {
        .metric = s->metric, .series = &s, .n_series = 1, .from_ms = from_ms, .to_ms = to_ms};
    struct sto_merge *scan = NULL;
    struct sto_row row;
    struct ts_error err = {0};
    int64_t ts_ms, m;
    bool same = true;
    int rc = sto_scan(snap, &spec, &scan, &err);
    while (rc >= 0 && (rc = sto_merge_next(scan, &row, &err)) == 1)
        for (uint32_t i = 0; i < row.cells->n && same; i++) {
            int64_t at = (int64_t)row.key.hour * TS_HOUR_MS + sto_meta_off(row.cells->meta[i]);
            same = next(arg, &ts_ms, &m) && ts_ms == at && m == row.cells->m[i];
            if (!same)
                fprintf(stderr, "life: %.*s: %" PRId64 " = %" PRId64 ", expected %" PRId64 " = %" PRId64 "\n",
                        (int)s->text_len, sto_series_text(s).p, at, row.cells->m[i], ts_ms, m);
        }
    must(rc, "scan", &err);
    sto_merge_free(scan);
    sto_snap_release(snap);
    if (same && next(arg, &ts_ms, &m)) {
        fprintf(stderr, "life: %.*s: nothing at %" PRId64 ", expected %" PRId64 "\n", (int)s->text_len,
                sto_series_text(s).p, ts_ms, m);
        same = false;
    }
    l->n_wrong += !same;
    return same;
}

struct expected {
    const int16_t *slots; /* of the series */
    int64_t at, end;      /* slots */
};

static bool next_slot(void *arg, int64_t *ts_ms, int64_t *m)
{
    struct expected *x = arg;
    while (x->at < x->end && !x->slots[x->at])
        x->at++;
    if (x->at >= x->end) {
        *ts_ms = *m = 0;
        return false;
    }
    *ts_ms = time_of(x->at);
    *m = x->slots[x->at++];
    return true;
}

static void check(struct life *l, int64_t series, int64_t from, int64_t to, bool with_retention)
{
    int64_t first = slot_of(l->now_ms - l->retention_days * TS_DAY_MS + SLOT_MS - 1);
    from = with_retention && from < first ? first : from;
    struct expected x = {.slots = l->slots + series * l->n_slots, .at = from, .end = to + 1};
    if (from <= to)
        (void)same_points(l, l->series[series], time_of(from), time_of(to), next_slot, &x);
}

struct short_life {
    int64_t day, i, k;
};

static bool next_short(void *arg, int64_t *ts_ms, int64_t *m)
{
    struct short_life *x = arg;
    *ts_ms = T0 + x->day * TS_DAY_MS + x->k * 60000;
    *m = x->i + x->k;
    return x->k++ < CHURN_POINTS;
}

static void check_day(struct life *l, int64_t day, int64_t now_slot, bool with_retention)
{
    for (int k = 0; k < 4; k++) {
        int64_t span = k % 2 ? 3 * SLOTS_A_DAY : now_slot, from = now_slot - (int64_t)rnd(l, (uint64_t)span);
        check(l, (int64_t)rnd(l, (uint64_t)l->n_series), from, now_slot, with_retention);
    }
    for (int64_t i = 0; day % 30 == 29 && i < l->n_series; i++)
        check(l, i, 0, now_slot, with_retention);
    for (int k = 0; l->n_churn && k < 4; k++) {
        char host[48];
        int64_t back = with_retention ? l->retention_days - 1 : day;
        struct short_life x = {.day = day - (int64_t)rnd(l, (uint64_t)(back < day ? back : day) + 1),
                               .i = (int64_t)rnd(l, (uint64_t)l->n_churn)};
        snprintf(host, sizeof host, "pod-%" PRId64 "-%" PRId64, x.day, x.i);
        (void)same_points(l, series_of(l, "short", host), STO_MIN_TS_MS, STO_MAX_TS_MS, next_short, &x);
    }
}

/* --- what it costs --- */

struct figures {
    uint64_t files, bytes, points, flushed, merged, memory, catalog, series, series_bytes, names_bytes;
};

static void each_figure(void *arg, const char *name, uint64_t value)
{
    struct figures *f = arg;
    static const struct {
        const char *name;
        size_t at;
    } known[] = {{"files.count", offsetof(struct figures, files)},
                 {"files.bytes", offsetof(struct figures, bytes)},
                 {"files.points", offsetof(struct figures, points)},
                 {"flush.points", offsetof(struct figures, flushed)},
                 {"compaction.points", offsetof(struct figures, merged)},
                 {"files.index_bytes", offsetof(struct figures, memory)},
                 {"memstore.bytes", offsetof(struct figures, memory)},
                 {"memstore.snapshot_bytes", offsetof(struct figures, memory)},
                 {"catalog.names_bytes", offsetof(struct figures, memory)},
                 {"catalog.series_bytes", offsetof(struct figures, memory)},
                 {"catalog.index_bytes", offsetof(struct figures, memory)},
                 {"catalog.series", offsetof(struct figures, series)},
                 {"catalog.names_bytes", offsetof(struct figures, names_bytes)},
                 {"catalog.series_bytes", offsetof(struct figures, series_bytes)},
                 {"catalog.index_bytes", offsetof(struct figures, series_bytes)},
                 {"catalog.log_bytes", offsetof(struct figures, catalog)}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(name, known[i].name) == 0)
            *(uint64_t *)(void *)((char *)f + known[i].at) += value;
}

/* Counters begin anew with each opening: kept over it. */
static struct figures before;

static void at_most(uint64_t *most, uint64_t value)
{
    *most = value > *most ? value : *most;
}

static void look(struct life *l, int64_t day, bool print)
{
    struct figures f = {0};
    sto_stats(l->st, each_figure, &f);
    int64_t quarter = day * 4 / l->n_days;
    at_most(&l->most_files[quarter], f.files);
    at_most(&l->most_series[quarter], f.series);
    at_most(&l->most_bytes[quarter], f.series_bytes);
    at_most(&l->most_names[quarter], f.names_bytes);
    at_most(&l->most_log[quarter], f.catalog);
    if (!print)
        return;
    uint64_t flushed = before.flushed + f.flushed, merged = before.merged + f.merged;
    printf("%5" PRId64 " %6" PRIu64 " %8.2f %10" PRIu64 " %6.2f %8.1f %8.2f %8.2f %8.1f %8.0f %8.2f %8" PRIu64
           " %8.2f\n",
           day, f.files, (double)f.bytes / 1e6, f.points,
           flushed ? (double)(flushed + merged) / (double)flushed : 0, (double)f.memory / 1e6,
           (double)f.catalog / 1e6, l->stall_ms, l->flush_ms, l->merge_ms, l->look_ms, f.series,
           (double)f.series_bytes / 1e6);
    fflush(stdout);
    l->stall_ms = l->flush_ms = l->merge_ms = l->look_ms = 0;
}

static void reopen(struct life *l, bool with_retention)
{
    struct ts_error err = {0};
    struct figures f = {0};
    sto_stats(l->st, each_figure, &f);
    before.flushed += f.flushed;
    before.merged += f.merged;
    must(sto_close(l->st, &err), "close", &err);
    open_store(l, with_retention);
}

static void day_of(struct life *l, int64_t day, bool with_retention)
{
    int64_t slot = slot_of(T0 + day * TS_DAY_MS);
    for (int64_t h = 0; h < 24; h++) {
        set_clock(l, T0 + day * TS_DAY_MS + (h + 1) * TS_HOUR_MS - 1000);
        hour(l, slot + h * (SLOTS_A_DAY / 24));
        if (h % (24 / FLUSHES_A_DAY) == 0)
            flush(l);
    }
    churn(l, day);
    int64_t filling = day - l->n_days / 4;
    int64_t a_day = l->n_series / (l->n_days / 12 + 1) + 1;
    for (int64_t i = filling * a_day; filling >= 0 && i < (filling + 1) * a_day && i < l->n_series; i++)
        backfill(l, i);
    turn(l);
    if (with_retention)
        forget(l);
    if (day % 10 == 9)
        reopen(l, with_retention);
    check_day(l, day, slot + SLOTS_A_DAY - 1, with_retention);
    look(l, day, day % 10 == 9 || day == l->n_days - 1);
}

/* Is the last quarter's most within a part of the third's? */
static bool is_level(const char *what, const uint64_t most[4], uint64_t part, uint64_t some)
{
    printf("most %s by quarter: %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", what, most[0], most[1],
           most[2], most[3]);
    return most[3] <= most[2] + most[2] / part + some;
}

static bool levels_off(const struct life *l)
{
    bool files = is_level("files", l->most_files, 2, 10), series = is_level("series", l->most_series, 8, 10);
    bool names = is_level("bytes of names", l->most_names, 8, 65536);
    bool log =
        is_level("bytes of the catalog's log", l->most_log, 4, 1 << 21); /* rewritten when it has doubled */
    return is_level("bytes of series", l->most_bytes, 8, 65536) && files && series && names && log;
}

static int usage(void)
{
    fprintf(stderr, "usage: life [--days N] [--series N] [--churn N] [--deletes N] [--retention DAYS] "
                    "[--seed N] [--dir DIR]\n");
    return 2;
}

static int read_args(struct life *l, int argc, char **argv)
{
    const struct {
        const char *name;
        int64_t *out;
    } known[] = {{"--days", &l->n_days},   {"--series", &l->n_series},
                 {"--churn", &l->n_churn}, {"--deletes", &l->n_deletes},
                 {"--seed", &l->seed},     {"--retention", &l->retention_days}};
    for (int i = 1; i < argc; i += 2) {
        size_t k = 0;
        while (k < sizeof known / sizeof known[0] && strcmp(argv[i], known[k].name) != 0)
            k++;
        if (i + 1 == argc)
            return usage();
        if (strcmp(argv[i], "--dir") == 0)
            l->dir = argv[i + 1];
        else if (k == sizeof known / sizeof known[0] ||
                 ts_num_parse_int(ts_slice_str(argv[i + 1]), known[k].out, NULL) < 0 || *known[k].out < 0)
            return usage();
    }
    return l->n_days >= 8 && l->n_series >= 1 && l->retention_days >= 1 ? 0 : usage();
}

int main(int argc, char **argv)
{
    struct life l = {
        .n_days = 365, .n_series = 20, .n_churn = 2000, .n_deletes = 1440, .retention_days = 60, .seed = 1};
    char made[] = "/tmp/tsd-life-XXXXXX";
    if (read_args(&l, argc, argv) != 0)
        return 2;
    if (!l.dir && !(l.dir = mkdtemp(made)))
        return 2;
    ts_log_set_level(TS_LOG_ERROR);
    l.rnd = (uint64_t)l.seed;
    l.n_slots = (BACK_DAYS + l.n_days + 1) * SLOTS_A_DAY;
    l.slots = ts_xcalloc((size_t)(l.n_series * l.n_slots), sizeof *l.slots);
    l.series = ts_xcalloc((size_t)l.n_series, sizeof *l.series);
    printf("life of %" PRId64 " days, seed %" PRId64
           "\n  day  files       MB     points  times       MB  catalog  put ms flush ms merge ms  look ms   "
           "series series MB\n",
           l.n_days, l.seed);
    set_clock(&l, T0);
    open_store(&l, false);
    for (int64_t day = 0; day < l.n_days; day++) {
        bool with_retention = day >= l.n_days / 2;
        if (day == l.n_days / 2)
            reopen(&l, true);
        day_of(&l, day, with_retention);
    }
    struct ts_error err = {0};
    must(sto_close(l.st, &err), "close", &err);
    bool level = levels_off(&l);
    if (l.dir == made) {
        char cmd[64];
        snprintf(cmd, sizeof cmd, "rm -rf %s", made);
        if (system(cmd) != 0)
            return 2;
    }
    ts_free(l.slots);
    ts_free(l.series);
    printf("%s: %" PRIu64 " answers differ, files and series %s\n", l.n_wrong || !level ? "WRONG" : "ok",
           l.n_wrong, level ? "level off" : "grow");
    return l.n_wrong || !level;
}
