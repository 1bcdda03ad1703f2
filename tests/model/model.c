/*
 * model.c - random operations on a whole store against the plain reference, with readers at work.
 *
 *   model [--seed N] [--ops N] [--writers N] [--series N] [--dir DIR]
 *
 * Operations: put, overwrite, late put, add, delete of a range, flush, compaction, reopen, comparison of a
 * series with the reference. Readers scan meanwhile: times strictly ascending, and a witness series (point i
 * has value i) is always a prefix that never shrinks. The seed is printed; the same seed gives the same
 * operations; how far it is stands on standard error every ten seconds. Exit 0: agreed; 1: the first difference is printed.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"
#include "storage/store.h"
#include "tests/model/reference.h"

#define T0          (1700000000000ll / TS_HOUR_MS * TS_HOUR_MS)
#define N_READERS   2
#define PROGRESS_NS 10000000000ll

struct model {
    struct sto_store *st;
    struct t_ref *ref;
    uint64_t rnd; /* state of the random numbers */
    unsigned n_writers, n_series;
    const struct sto_series **series; /* the last one is the witness */
    int64_t n_witness;                /* points of the witness */
    char dir[200];
    pthread_rwlock_t open_lock; /* readers hold it while they use the store; reopen takes it */
    atomic_bool stop;
    atomic_uint n_bad;
    _Atomic uint64_t n_scans;
};

static uint64_t rnd(struct model *m, uint64_t n)
{
    m->rnd += 0x9e3779b97f4a7c15ull;
    return ts_hash_u64(m->rnd) % n;
}

static void bad(struct model *m, const char *what, uint64_t a, int64_t b)
{
    fprintf(stderr, "DIFFERENT: %s (%" PRIu64 ", %" PRId64 ")\n", what, a, b);
    atomic_fetch_add(&m->n_bad, 1);
}

static void open_store(struct model *m)
{
    struct ts_error err = {0};
    struct sto_opts opts = {.dir = m->dir,
                            .create = true,
                            .n_writers = m->n_writers,
                            .own_threads = true,
                            .memstore_bytes = 1u << 20,
                            .wal_sync_interval_ms = 5};
    if (sto_open(&opts, &m->st, &err) < 0) {
        fprintf(stderr, "open: %s\n", err.text);
        exit(1);
    }
    for (unsigned i = 0; i < m->n_series; i++) {
        char text[64], host[16];
        snprintf(host, sizeof host, "h%u", i);
        int n = snprintf(text, sizeof text, "m%u host=%s", i % 3, host);
        struct sto_tag_text tag = {TS_SLICE_LIT("host"), ts_slice_str(host)};
        if (sto_series_resolve(sto_store_catalog(m->st), (struct ts_slice){text, (size_t)n}, 2, &tag, 1, true,
                               &m->series[i], &err) < 0) {
            fprintf(stderr, "series: %s\n", err.text);
            exit(1);
        }
    }
}

/* --- operations --- */

static struct sto_writer *port_of(struct model *m, const struct sto_series *s)
{
    return sto_writer(m->st, s->id % m->n_writers);
}

static int64_t some_time(struct model *m, bool *out_ms)
{
    int64_t t;
    switch (rnd(m, 8)) {
    case 0: /* far away: other partitions, before 1970 */
        t = T0 - (int64_t)rnd(m, 60ull * 365) * TS_DAY_MS + (int64_t)rnd(m, 4) * 1000;
        break;
    case 1: /* late */
        t = T0 - (int64_t)rnd(m, 72) * TS_HOUR_MS + (int64_t)rnd(m, 3600) * 1000;
        break;
    default:
        t = T0 + (int64_t)rnd(m, 6 * 3600) * 1000;
        break;
    }
    *out_ms = rnd(m, 10) == 0;
    return *out_ms ? t + (int64_t)rnd(m, 1000) : t;
}

static struct ts_num some_value(struct model *m)
{
    switch (rnd(m, 6)) {
    case 0:
        return (struct ts_num){
            .m = (int64_t)rnd(m, 20000) - 10000, .kind = TS_NUM_DEC, .exp = (uint8_t)rnd(m, 4)};
    case 1:
        return ts_num_from_double((double)(int64_t)ts_hash_u64(m->rnd) * 1.37e-7);
    case 2:
        return (struct ts_num){.m = (int64_t)ts_hash_u64(m->rnd), .kind = TS_NUM_INT};
    default:
        return (struct ts_num){.m = (int64_t)rnd(m, 100), .kind = TS_NUM_INT};
    }
}

static void check(int rc, const char *what)
{
    if (rc < 0) {
        fprintf(stderr, "%s: %s\n", what, ts_err_name(rc));
        exit(1);
    }
}

static void op_write(struct model *m, enum sto_op op)
{
    const struct sto_series *s = m->series[rnd(m, m->n_series - 1)];
    struct sto_writer *writer = port_of(m, s);
    bool ms;
    int64_t t = some_time(m, &ms);
    struct sto_point p = {.series = s, .ts_ms = t};
    int rc;
    if (op == STO_OP_DEL) {
        p.m = t + (int64_t)rnd(m, rnd(m, 20) ? 600000 : 10 * TS_DAY_MS);
        p.flags = sto_meta_flags(op, TS_NUM_INT, 0, true);
        rc = sto_delete(writer, s, t, p.m);
    } else {
        struct ts_num v =
            op == STO_OP_ADD ? (struct ts_num){.m = (int64_t)rnd(m, 9), .kind = TS_NUM_INT} : some_value(m);
        p.m = v.m;
        p.flags = sto_meta_flags(op, v.kind, v.exp, ms);
        while ((rc = op == STO_OP_ADD ? sto_add(writer, s, t, v, ms, 1) : sto_put(writer, s, t, v, ms)) ==
               TS_EBUSY)
            sto_writer_turn(writer);
    }
    check(rc, "write");
    t_ref_apply(m->ref, &p);
}

static void op_witness(struct model *m)
{
    const struct sto_series *s = m->series[m->n_series - 1];
    int64_t t = T0 + m->n_witness * 1000;
    struct ts_num v = {.m = m->n_witness, .kind = TS_NUM_INT};
    while (sto_put(port_of(m, s), s, t, v, false) == TS_EBUSY)
        sto_writer_turn(port_of(m, s));
    struct sto_point p = {
        .series = s, .ts_ms = t, .m = v.m, .flags = sto_meta_flags(STO_OP_PUT, TS_NUM_INT, 0, false)};
    t_ref_apply(m->ref, &p);
    m->n_witness++;
}

static void settle(struct model *m, enum sto_level level)
{
    struct ts_error err = {0};
    for (unsigned i = 0; i < m->n_writers; i++)
        sto_writer_turn(sto_writer(m->st, i));
    if (sto_flush(m->st, level, &err) < 0) {
        fprintf(stderr, "flush %d: %s\n", (int)level, err.text);
        exit(1);
    }
}

static struct sto_merge *scan_of(struct sto_snap *snap, const struct sto_series *const *s, int64_t from,
                                 int64_t to)
{
    struct sto_scan_spec spec = {
        .metric = (*s)->metric, .series = s, .n_series = 1, .from_ms = from, .to_ms = to, .final = true};
    struct sto_merge *scan = NULL;
    struct ts_error err = {0};
    if (sto_scan(snap, &spec, &scan, &err) < 0) {
        fprintf(stderr, "scan: %s\n", err.text);
        exit(1);
    }
    return scan;
}

static void compare(struct model *m, unsigned i)
{
    const struct sto_series *s = m->series[i];
    int64_t from = STO_MIN_TS_MS, to = STO_MAX_TS_MS;
    if (rnd(m, 2)) {
        bool ms;
        from = some_time(m, &ms);
        to = from + (int64_t)rnd(m, TS_DAY_MS);
    }
    struct t_ref_point *want;
    size_t n_want = t_ref_scan(m->ref, s->id, from, to, &want), n = 0;
    struct sto_snap *snap = sto_snap_take(m->st);
    struct sto_merge *scan = scan_of(snap, &s, from, to);
    struct sto_row row;
    struct ts_error err = {0};
    int rc;
    while ((rc = sto_merge_next(scan, &row, &err)) == 1)
        for (uint32_t k = 0; k < row.cells->n; k++, n++) {
            int64_t t = row.key.hour * TS_HOUR_MS + sto_meta_off(row.cells->meta[k]);
            if (n >= n_want)
                bad(m, "a point too many", i, t);
            else if (want[n].ts_ms != t)
                bad(m, "another time than expected", i, t - want[n].ts_ms);
            else if (!t_ref_same(want[n].value, sto_cell_num(row.cells->meta[k], row.cells->m[k])))
                bad(m, "another value", i, t);
            else if (want[n].ms != !!(row.cells->meta[k] & STO_META_MS))
                bad(m, "another resolution", i, t);
            if (atomic_load(&m->n_bad))
                goto out;
        }
    if (rc < 0)
        bad(m, err.text, i, rc);
    if (n != n_want)
        bad(m, "points are missing", i, (int64_t)(n_want - n));
out:
    sto_merge_free(scan);
    sto_snap_release(snap);
    ts_free(want);
}

static void reopen(struct model *m)
{
    struct ts_error err = {0};
    pthread_rwlock_wrlock(&m->open_lock);
    if (sto_close(m->st, &err) < 0) {
        fprintf(stderr, "close: %s\n", err.text);
        exit(1);
    }
    m->n_writers = 1 + (unsigned)rnd(m, 4);
    open_store(m);
    pthread_rwlock_unlock(&m->open_lock);
}

/* --- readers --- */

static void *reader(void *arg)
{
    struct model *m = arg;
    int64_t seen = 0;
    for (unsigned round = 0; !atomic_load(&m->stop); round++) {
        pthread_rwlock_rdlock(&m->open_lock);
        unsigned i = round % 4 ? m->n_series - 1 : round / 4 % m->n_series;
        bool witness = i == m->n_series - 1;
        struct sto_snap *snap = sto_snap_take(m->st);
        struct sto_merge *scan = scan_of(snap, &m->series[i], STO_MIN_TS_MS, STO_MAX_TS_MS);
        struct sto_row row;
        struct ts_error err = {0};
        int64_t last = INT64_MIN, n = 0;
        int rc;
        while ((rc = sto_merge_next(scan, &row, &err)) == 1)
            for (uint32_t k = 0; k < row.cells->n; k++, n++) {
                int64_t t = row.key.hour * TS_HOUR_MS + sto_meta_off(row.cells->meta[k]);
                if (t <= last)
                    bad(m, "times do not ascend", i, t);
                last = t;
                if (witness && (t != T0 + n * 1000 || row.cells->m[k] != n))
                    bad(m, "the witness has a hole", (uint64_t)n, row.cells->m[k]);
                if (atomic_load(&m->n_bad))
                    k = row.cells->n;
            }
        if (rc < 0)
            bad(m, err.text, i, rc);
        if (witness && n < seen)
            bad(m, "the witness shrank", (uint64_t)n, seen);
        seen = witness ? n : seen;
        sto_merge_free(scan);
        sto_snap_release(snap);
        atomic_fetch_add(&m->n_scans, 1);
        pthread_rwlock_unlock(&m->open_lock);
        struct timespec pause = {.tv_nsec = 200000}; /* glibc's lock prefers readers: let a reopen in */
        nanosleep(&pause, NULL);
    }
    return NULL;
}

static void step(struct model *m)
{
    uint64_t r = rnd(m, 100000);
    if (r < 8)
        reopen(m);
    else if (r < 16)
        settle(m, STO_LEVEL_COMPACT);
    else if (r < 60)
        settle(m, STO_LEVEL_FILES);
    else if (r < 200) {
        settle(m, STO_LEVEL_LOG);
        compare(m, (unsigned)rnd(m, m->n_series));
    } else if (r < 900)
        op_write(m, STO_OP_DEL);
    else if (r < 10000)
        op_write(m, STO_OP_ADD);
    else if (r < 30000)
        op_witness(m);
    else
        op_write(m, STO_OP_PUT);
}

/* A line on standard error every ten seconds: done operations, operations of a second, scans. */
static void progress(struct model *m, uint64_t done, uint64_t all, int64_t began_ns, int64_t *told_ns)
{
    int64_t now_ns = done % 1024 ? *told_ns : ts_clock_mono_ns();
    if (now_ns - *told_ns < PROGRESS_NS)
        return;
    *told_ns = now_ns;
    fprintf(stderr, "%" PRIu64 " of %" PRIu64 " operations, %.0f a second, %" PRIu64 " scans\n", done, all,
            (double)done * 1e9 / (double)(now_ns - began_ns), atomic_load(&m->n_scans));
}

int main(int argc, char **argv)
{
    uint64_t seed = (uint64_t)time(NULL), n_ops = 100000;
    struct model m = {.n_writers = 2, .n_series = 40};
    snprintf(m.dir, sizeof m.dir, "/tmp/tsd-model.XXXXXX");
    bool own_dir = true;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--seed"))
            seed = strtoull(argv[i + 1], NULL, 10);
        else if (!strcmp(argv[i], "--ops"))
            n_ops = strtoull(argv[i + 1], NULL, 10);
        else if (!strcmp(argv[i], "--writers"))
            m.n_writers = (unsigned)strtoul(argv[i + 1], NULL, 10);
        else if (!strcmp(argv[i], "--series"))
            m.n_series = (unsigned)strtoul(argv[i + 1], NULL, 10);
        else
            return fprintf(stderr, "usage: model [--seed N] [--ops N] [--writers N] [--series N]\n"), 2;
    }
    printf("seed %" PRIu64 ", %" PRIu64 " operations\n", seed, n_ops);
    fflush(stdout);
    if (own_dir && !mkdtemp(m.dir))
        return perror("mkdtemp"), 1;
    ts_log_set_level(TS_LOG_WARN);
    m.rnd = seed;
    m.series = ts_xcalloc(m.n_series, sizeof *m.series);
    m.ref = t_ref_new();
    pthread_rwlock_init(&m.open_lock, NULL);
    open_store(&m);
    pthread_t threads[N_READERS];
    for (int i = 0; i < N_READERS; i++)
        pthread_create(&threads[i], NULL, reader, &m);
    int64_t began_ns = ts_clock_mono_ns(), told_ns = began_ns;
    for (uint64_t i = 0; i < n_ops && !atomic_load(&m.n_bad); i++) {
        step(&m);
        progress(&m, i + 1, n_ops, began_ns, &told_ns);
    }
    settle(&m, STO_LEVEL_LOG);
    for (unsigned i = 0; i < m.n_series && !atomic_load(&m.n_bad); i++)
        compare(&m, i);
    if (!atomic_load(&m.n_bad))
        reopen(&m);
    for (unsigned i = 0; i < m.n_series && !atomic_load(&m.n_bad); i++)
        compare(&m, i);
    atomic_store(&m.stop, true);
    for (int i = 0; i < N_READERS; i++)
        pthread_join(threads[i], NULL);
    sto_close(m.st, NULL);
    t_ref_free(m.ref);
    ts_free(m.series);
    pthread_rwlock_destroy(&m.open_lock);
    printf("%s: %u differences, %" PRIu64 " scans by readers\n", atomic_load(&m.n_bad) ? "FAILED" : "ok",
           atomic_load(&m.n_bad), atomic_load(&m.n_scans));
    char cmd[300];
    snprintf(cmd, sizeof cmd, "rm -rf '%s'", m.dir);
    if (!atomic_load(&m.n_bad) && system(cmd) != 0)
        return 1;
    return atomic_load(&m.n_bad) != 0;
}
