/*
 * fuzz_wal.c - the reader of the write-ahead log on any bytes.
 *
 * First byte even: the rest is a segment file. Odd: the rest is bodies of records, each after its length
 * (u16); header and checksums are made here, so that the decoders behind the checksum are reached.
 *
 * Checked    no crash; what is read lies within what was defined; a replay that cut leaves a log that reads
 *            the same; points that were read can be written and come back the same
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/log.h"
#include "base/mem.h"
#include "storage/engine/log/wal.h"
#include "storage/engine/log/wal_format.h"
#include "tests/faults/faultfs.h"
#include "tests/fuzz/fuzz_kit.h"

#define N_SERIES   16u
#define MAX_POINTS 20000u
#define NAME       "w/00000001-00000001-000-0000.log"

static struct sto_series all_series[N_SERIES];

/* Points read. */
struct seen {
    struct sto_point *v;
    size_t n;
};

static const struct sto_series *on_series(void *arg, uint32_t id, uint32_t metric, const struct sto_tag *tags,
                                          size_t n_tags, struct ts_slice text, uint32_t metric_len,
                                          struct ts_error *err)
{
    (void)arg, (void)err;
    CHECK(metric_len <= text.n && n_tags <= 255);
    uint64_t sum = metric; /* touch all of it */
    for (size_t i = 0; i < n_tags; i++)
        sum += (uint64_t)tags[i].k + tags[i].v;
    for (size_t i = 0; i < text.n; i++)
        sum += (uint8_t)text.p[i];
    return sum % 13 == 5 ? NULL : &all_series[id % N_SERIES];
}

static const struct sto_series *on_known(void *arg, uint32_t id, struct ts_error *err)
{
    (void)arg;
    if (id % 17 == 3) {
        ts_error_set(err, TS_ECORRUPT, "series %u is lost", id);
        return NULL;
    }
    return id % 13 == 5 ? NULL : &all_series[id % N_SERIES];
}

static uint32_t n_known(void *arg)
{
    return *(uint32_t *)arg;
}

static int on_points(void *arg, uint64_t gen, const struct sto_point *points, size_t n, struct ts_error *err)
{
    struct seen *s = arg;
    CHECK(gen == 1 && n >= 1);
    for (size_t i = 0; i < n; i++) {
        CHECK(points[i].series >= all_series && points[i].series < all_series + N_SERIES);
        CHECK(sto_meta_off(points[i].flags) == 0 && sto_meta_op(points[i].flags) <= STO_OP_DEL);
        CHECK(sto_meta_kind(points[i].flags) <= TS_NUM_RAW &&
              sto_meta_exp(points[i].flags) <= TS_NUM_MAX_EXP);
        if (s->n == MAX_POINTS)
            return ts_error_set(err, TS_ELIMIT, "enough");
        s->v[s->n++] = points[i];
    }
    return 0;
}

static int replay(struct t_faultfs *f, bool read_only, struct seen *s)
{
    static const struct sto_wal_replay_ops ops = {
        .series = on_series, .known = on_known, .points = on_points};
    struct sto_wal_replay_result res;
    struct ts_error err = {0};
    s->n = 0;
    int rc = sto_wal_replay(t_faultfs_fs(f), "w", 0, &ops, s, read_only, &res, &err);
    CHECK(rc == 0 ? err.code == 0 : err.code == rc && err.text[0]);
    return rc;
}

static bool same(const struct seen *a, const struct seen *b)
{
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (a->v[i].series != b->v[i].series || a->v[i].ts_ms != b->v[i].ts_ms || a->v[i].m != b->v[i].m ||
            a->v[i].flags != b->v[i].flags)
            return false;
    return true;
}

/* Bodies with their lengths -> a segment with a header and good checksums. Returns its length; out has room.
 */
static size_t frame(const uint8_t *p, size_t n, uint8_t *out)
{
    const struct sto_wal_head head = {.name = {.run = 1, .gen = 1}, .prev_segment = STO_WAL_NO_SEGMENT};
    const uint8_t *end = p + n;
    uint8_t *o = out + STO_WAL_HEADER_BYTES;
    sto_wal__head_put(out, &head);
    while (end - p >= 2) {
        size_t n_body = ts_ld16(p);
        p += 2;
        n_body = n_body < (size_t)(end - p) ? n_body : (size_t)(end - p);
        memcpy(o + STO_WAL_RECORD_HEAD_BYTES, p, n_body);
        p += n_body;
        sto_wal__record_close(o, o + STO_WAL_RECORD_HEAD_BYTES + n_body, sto_wal__salt(&head.name));
        o += STO_WAL_RECORD_HEAD_BYTES + n_body;
    }
    return (size_t)(o - out);
}

/* Write what was read, read it again. */
static void write_again(const struct seen *s, struct seen *again)
{
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_wal *wal;
    t_faultfs_put(f, "w/x", "", 0); /* makes the folder */
    CHECK(sto_wal_new(t_faultfs_fs(f), "w", 1, 0, 1, &wal, NULL) == 0);
    uint32_t on_disk = 3; /* of the N_SERIES; two of them are neither lost nor left out by on_known */
    sto_wal_set_known(wal, n_known, &on_disk);
    CHECK(sto_wal_append(wal, s->v, s->n, NULL) == 0);
    CHECK(sto_wal_close(wal, NULL) == 0);
    CHECK(replay(f, true, again) == 0 && same(s, again));
    t_faultfs_free(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    ts_log_set_level(TS_LOG_ERROR + 1);
    for (uint32_t i = 0; i < N_SERIES; i++)
        all_series[i] = (struct sto_series){.id = i, .local = i, .metric = 1}; /* without a text */
    if (n == 0)
        return 0;
    struct t_faultfs *f = t_faultfs_new(1);
    struct seen a = {.v = ts_xmalloc(MAX_POINTS * sizeof(*a.v))},
                b = {.v = ts_xmalloc(MAX_POINTS * sizeof(*b.v))};
    uint8_t *file = ts_xmalloc(STO_WAL_HEADER_BYTES + 5 * n);
    size_t n_file = n - 1;
    if (data[0] & 1)
        n_file = frame(data + 1, n - 1, file);
    else
        memcpy(file, data + 1, n_file);
    t_faultfs_put(f, NAME, file, n_file);
    int rc = replay(f, true, &a);
    CHECK(replay(f, false, &b) == rc && same(&a, &b));
    CHECK(replay(f, true, &b) == rc && same(&a, &b));
    if (rc == 0 && a.n)
        write_again(&a, &b);
    t_faultfs_free(f);
    ts_free(file);
    ts_free(a.v);
    ts_free(b.v);
    return 0;
}
