/*
 * make_wal.c - writes the golden write-ahead log and manifest into a folder: make_golden_wal DIR, a manifest with ship
 * marks into DIR/marks, and one with ids of clients into DIR/ids
 *
 * ctest compares what it writes today with tests/golden/v1, byte for byte: a difference is a new format,
 * which needs a new version number, new golden files and a note on upgrading.
 */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "storage/engine/manifest.h"
#include "storage/engine/log/wal.h"

/* A series with up to two tags; ts_free it. */
static struct sto_series *make_series(uint32_t id, uint32_t metric, uint32_t metric_len, const char *text,
                                      uint8_t n_tags)
{
    struct sto_series *s = ts_xcalloc(1, sizeof(*s) + n_tags * sizeof(struct sto_tag) + strlen(text));
    s->id = s->local = id;
    s->metric = metric;
    s->metric_len = metric_len;
    s->text_len = (uint32_t)strlen(text);
    s->n_tags = n_tags;
    for (uint32_t i = 0; i < n_tags; i++)
        s->tags[i] = (struct sto_tag){i + 1, i + 1};
    memcpy(s->tags + n_tags, text, s->text_len);
    return s;
}

/* Series below it are on disk in the catalog. */
static uint32_t on_disk;

static uint32_t n_known(void *arg)
{
    (void)arg;
    return on_disk;
}

/* Additions that a client has numbered: sequence 7 is one of them, 9 two. */
static int write_parts(struct sto_wal *wal, const struct sto_series *hits, struct ts_error *err)
{
    struct sto_batch *b = ts_xcalloc(1, sizeof *b);
    const struct sto_stream stream = {.id = {1600000000, 0xfedcba9876543210}, .number = 1};
    const int64_t t = 1600000040000;
    const struct sto_point adds[] = {
        {hits, t, 5, sto_meta_flags(STO_OP_ADD, TS_NUM_INT, 0, false), 0},
        {hits, t, -2, sto_meta_flags(STO_OP_ADD, TS_NUM_INT, 0, false), 0},
        {hits, t + 1000, 1, sto_meta_flags(STO_OP_ADD, TS_NUM_INT, 0, false), 0},
    };
    if (sto_batch_part(b, &stream, 7, 1))
        b->points[b->n++] = adds[0];
    if (sto_batch_part(b, &stream, 9, 2)) {
        b->points[b->n++] = adds[1];
        b->points[b->n++] = adds[2];
    }
    int rc = sto_wal_append_batch(wal, b, err);
    ts_free(b);
    return rc;
}

static int write_log(const char *dir, struct ts_error *err)
{
    struct sto_series *cpu = make_series(5, 1, 8, "cpu.user host=a core=0", 2);
    struct sto_series *hits = make_series(300, 2, 4, "hits host=a", 1);
    const int64_t t = 1600000000000;
    const uint32_t dec2 = sto_meta_flags(STO_OP_PUT, TS_NUM_DEC, 2, false);
    const struct sto_point first[] = {
        {cpu, t, 1250, dec2, 0},
        {hits, t, 3, sto_meta_flags(STO_OP_ADD, TS_NUM_INT, 0, false), 0},
        {cpu, t + 10000, -75, dec2, 0},
        {hits, t + 10000, 200, sto_meta_flags(STO_OP_ADD, TS_NUM_INT, 0, false), 0},
        {hits, t + 20000, 1, sto_meta_flags(STO_OP_ADD, TS_NUM_INT, 0, false), 0},
    };
    const struct sto_point second[] = {
        {cpu, t + 30123, 0x3fd5555555555555, sto_meta_flags(STO_OP_PUT, TS_NUM_RAW, 0, true), 0},
        {cpu, t - 1000, t + 4000, sto_meta_flags(STO_OP_DEL, TS_NUM_INT, 0, false), 0},
        {hits, -5000, INT64_MIN, sto_meta_flags(STO_OP_PUT, TS_NUM_INT, 0, false), 0},
    };
    struct sto_wal *wal;
    int rc = sto_wal_new(ts_fs_real(), dir, 1, 0, 1, &wal, err);
    if (rc == 0) {
        sto_wal_set_known(wal, n_known, NULL);
        rc = sto_wal_append(wal, first, 5, err);
    }
    if (rc == 0)
        rc = sto_wal_sync(wal, err);
    if (rc == 0)
        rc = sto_wal_append(wal, second, 3, err);
    if (rc == 0)
        rc = write_parts(wal, hits, err);
    if (rc == 0)
        rc = sto_wal_set_gen(wal, 2, err);
    if (rc == 0)
        rc = sto_wal_sync(wal, err); /* so the next segment begins with a mark */
    on_disk = 6;                     /* as after a flush: cpu is named by its number now */
    if (rc == 0)
        rc = sto_wal_append(wal, first, 2, err);
    int close_rc = sto_wal_close(wal, rc < 0 ? NULL : err);
    ts_free(cpu);
    ts_free(hits);
    return rc < 0 ? rc : close_rc;
}

/* with_ids: clients have numbered additions; shard 3 has forgotten ids up to 5 and has last added sequence 7 of one, shard 12 has
 * forgotten those up to 9. with_marks: a remote store has received some hours, and some of them are to be sent again. */
static int write_manifest(const char *dir, bool with_marks, bool with_ids, struct ts_error *err)
{
    const struct sto_sst_info first = {.file_no = 1,
                                       .gen_lo = 1,
                                       .gen_hi = 1,
                                       .min_ms = -5000,
                                       .max_ms = 1600000030123,
                                       .tomb_min_ms = 1599999999000,
                                       .tomb_max_ms = 1600000004000,
                                       .n_points = 7,
                                       .n_rows = 3,
                                       .n_tombs = 1,
                                       .t_bytes = 400},
                              second = {.file_no = 2,
                                        .gen_lo = 1,
                                        .gen_hi = 2,
                                        .min_ms = 0,
                                        .max_ms = 3599000,
                                        .tomb_min_ms = INT64_MAX,
                                        .tomb_max_ms = INT64_MIN,
                                        .n_points = 3600,
                                        .n_rows = 1,
                                        .t_bytes = 5000,
                                        .s_bytes = 200};
    const uint64_t gone = 1;
    struct sto_mark marks[] = {{-2, 400000, 1}, {444444, 444444, 2}, {444445, 444450, 1}};
    struct sto_mark sent_hours[] = {{-2, 444460, 1}}, again_hours[] = {{-1, -1, 1}, {444440, 444445, 1}};
    const struct sto_mark_list shipped = {marks, sizeof marks / sizeof *marks}, sent = {sent_hours, 1},
                               again = {again_hours, sizeof again_hours / sizeof *again_hours};
    const struct sto_mark_history past = {.past = {{-1, {NULL, 0}}, {1600000000000, {marks, 2}}}, .n = 2};
    static const char ids[] = "\x03\x06\x05\x01\x80\x08\x2a\x07"
                              "\x0c\x02\x09\x00";
    const struct sto_complete complete = {true, 1600002000000, 77}, none = {0};
    const struct sto_manifest_edit start = {.run = 1},
                                   flush = {.add = &first,
                                            .n_add = 1,
                                            .flushed_gen = 1,
                                            .once = {ids, with_ids ? sizeof ids - 1 : 0}},
                                   compact = {.add = &second,
                                              .n_add = 1,
                                              .remove = &gone,
                                              .n_remove = 1,
                                              .cutoff_ms = -3600000,
                                              .cutoff_gen = 2,
                                              .next_file_no = 9},
                                   send = {.sent = &sent}, ship = {.flushed_gen = 2, .marks = &shipped},
                                   reship = {.again = &again}, drop = {.past = &past},
                                   begin = {.complete = &complete}, end = {.complete = &none};
    struct sto_manifest *m;
    TS_TRY(sto_manifest_open(ts_fs_real(), dir, true, false, 16, &m, err));
    int rc = sto_manifest_apply(m, &start, err);
    /* ship also has the hours that were sent */
    const struct sto_manifest_edit *const edits[] = {&flush,  &compact, &send,  &ship,
                                                     &reship, &drop,    &begin, &end};
    for (size_t i = 0; i < (with_marks ? sizeof edits / sizeof *edits : 2) && rc == 0; i++)
        rc = sto_manifest_apply(m, edits[i], err);
    sto_manifest_close(m);
    return rc;
}

int main(int argc, char **argv)
{
    struct ts_error err = {0};
    char marks[4096], ids[4096];
    if (argc != 2 || (size_t)snprintf(marks, sizeof marks, "%s/marks", argv[1]) >= sizeof marks ||
        (size_t)snprintf(ids, sizeof ids, "%s/ids", argv[1]) >= sizeof ids) {
        fprintf(stderr, "usage: make_golden_wal DIR\n");
        return 2;
    }
    if (ts_fs_real()->mkdir(ts_fs_real(), argv[1], &err) < 0 || write_log(argv[1], &err) < 0 ||
        write_manifest(argv[1], false, false, &err) < 0 ||
        ts_fs_real()->mkdir(ts_fs_real(), marks, &err) < 0 || write_manifest(marks, true, false, &err) < 0 ||
        ts_fs_real()->mkdir(ts_fs_real(), ids, &err) < 0 || write_manifest(ids, false, true, &err) < 0) {
        fprintf(stderr, "make_golden_wal: %s\n", err.text);
        return 1;
    }
    return 0;
}
