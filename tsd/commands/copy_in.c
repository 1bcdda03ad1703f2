/*
 * copy_in.c - tsd copy from HBase into a folder.
 *
 * Slices are written into the log of the store, which is synced before the progress file says that they were copied. Points are written
 * as they come; those of a slice that was not finished are written again, which changes nothing.
 *
 * Threads    the store runs its writer; the thread that reports a row fills its batch
 */
#include "base/mem.h"
#include "storage/internal.h"
#include "tsd/commands/copy.h"

#include <poll.h>

#define WAIT_MS 20
#define TEXT_BYTES                                                                                           \
    ((size_t)1 << 24) /* of a series, at most: 255 tags with the longest names need more, and are refused */

/* A metric being copied. */
struct in {
    struct tsd_copy *c;
    struct sto_writer *writer;
    struct ts_buf text;        /* of a series */
    struct sto_tag_text *tags; /* 255 of them */
};

static void wait_for_store(const struct in *in)
{
    struct pollfd pfd = {.fd = sto_writer_fd(in->writer), .events = POLLIN};
    sto_writer_turn(in->writer);
    (void)poll(&pfd, 1, WAIT_MS);
    sto_writer_turn(in->writer);
}

/* 0, or a refusal of these names, which *err describes. */
static int find_series(struct in *in, const struct sto_remote_series *names, const struct sto_series **out,
                       struct ts_error *err)
{
    struct ts_buf *text = &in->text;
    if (names->n_tags > UINT8_MAX)
        return ts_error_set(err, TS_EINVAL, "the series has %zu tags", names->n_tags);
    ts_buf_clear(text);
    ts_buf_slice(text, names->metric);
    for (size_t i = 0; i < names->n_tags; i++) {
        in->tags[i] = (struct sto_tag_text){names->tags[i].k, names->tags[i].v};
        ts_buf_char(text, ' ');
        ts_buf_slice(text, names->tags[i].k);
        ts_buf_char(text, '=');
        ts_buf_slice(text, names->tags[i].v);
    }
    if (text->failed)
        return ts_error_set(err, TS_EINVAL, "the names of the series are too long");
    return sto_series_resolve(sto_store_catalog(in->c->store), ts_buf_get(text), (uint32_t)names->metric.n,
                              in->tags, names->n_tags, true, out, err);
}

static int put_cells(struct in *in, const struct sto_series *series, const struct sto_remote_row *row,
                     struct ts_error *err)
{
    const struct sto_cells *cells = row->cells;
    for (uint32_t i = 0; i < cells->n;) {
        struct sto_batch *batch = sto_writer_batch(in->writer, series);
        if (!batch) {
            int rc = sto_writer_error(in->writer, err);
            if (rc != TS_EBUSY)
                return rc;
            wait_for_store(in);
            continue;
        }
        for (; i < cells->n && batch->n < STO_BATCH_POINTS; i++) {
            uint32_t meta = cells->meta[i];
            struct ts_num v = sto_cell_num(meta, cells->m[i]);
            if (v.kind == TS_NUM_RAW) /* the files hold short decimals in fewer bytes */
                v = ts_num_from_double(ts_num_double(v));
            batch->points[batch->n++] =
                (struct sto_point){.series = series,
                                   .ts_ms = row->hour * TS_HOUR_MS + sto_meta_off(meta),
                                   .m = v.m,
                                   .flags = sto_meta_flags(STO_OP_PUT, v.kind, v.exp, meta & STO_META_MS)};
        }
    }
    return 0;
}

/* 1: it was stored; 0: refused. visible: NULL, or the metric of the series that users know of that of the row. */
static int put_row(struct in *in, const struct sto_remote_row *row, const struct ts_slice *visible,
                   struct ts_error *err)
{
    const struct sto_series *series;
    struct sto_remote_series names = row->series;
    int rc = 0;
    if (visible) {
        names.metric = *visible;
        rc = find_series(in, &names, &series, err);
    }
    if (rc == 0)
        rc = find_series(in, &row->series, &series, err);
    if (rc == TS_EINVAL) {
        tsd_copy_refuse(in->c, row, err->text);
        return 0;
    }
    TS_TRY(rc);
    TS_TRY(put_cells(in, series, row, err));
    while (!sto_writer_ready(in->writer) && !sto_store_refusing(in->c->store))
        wait_for_store(in);
    return 1;
}

static int on_row(void *arg, const struct sto_remote_row *row, struct ts_error *err)
{
    struct in *in = arg;
    struct sto_internal name;
    bool is_rollup = sto_internal_parse(row->series.metric, &name);
    int rc = put_row(in, row, is_rollup ? &name.metric : NULL, err);
    in->c->n_points += rc > 0 ? row->cells->n : 0;
    return rc < 0 ? rc : 0;
}

static int on_bucket(void *arg, const struct sto_remote_row *row, struct ts_error *err)
{
    struct in *in = arg;
    struct sto_internal name;
    if (!sto_internal_parse(row->series.metric, &name))
        return 0;
    int rc = put_row(in, row, &name.metric, err);
    in->c->n_histograms += rc > 0 && tsd_copy_is_every(row) ? row->cells->n : 0;
    return rc < 0 ? rc : 0;
}

static int on_note(void *arg, const struct sto_remote_note *note, struct ts_error *err)
{
    struct in *in = arg;
    const struct sto_series *series = NULL;
    int rc = note->series ? find_series(in, note->series, &series, err) : 0;
    if (rc == TS_EINVAL) {
        in->c->n_refused_notes++;
        tsd_say("an annotation was not copied: %s", err->text);
        return 0;
    }
    return rc < 0 ? rc : tsd_copy_note_in(in->c, series, note, err);
}

static int on_global(void *arg, const struct sto_remote_note *note, size_t pos, struct ts_error *err)
{
    (void)pos;
    return on_note(arg, note, err);
}

/* What was recorded is on disk, and then that it was copied. */
static int save(void *arg, struct ts_error *err)
{
    struct in *in = arg;
    sto_writer_turn(in->writer);
    TS_TRY(sto_flush(in->c->store, STO_LEVEL_DISK, err));
    TS_TRY(sto_cell_sync(in->c->store, err));
    return tsd_copy_state_sync(in->c->state, err);
}

static int on_slice(void *arg, int64_t next_ms, struct ts_error *err)
{
    struct in *in = arg;
    struct tsd_copy *c = in->c;
    sto_writer_turn(in->writer);
    tsd_copy_show(c, next_ms);
    TS_TRY(tsd_copy_state_set(c->state, c->metrics[c->at], c->from_ms, next_ms, err));
    return tsd_copy_state_is_due(c->state) ? save(in, err) : 0;
}

int tsd_copy_in(struct tsd_copy *c, struct ts_error *err)
{
    struct in in = {.c = c, .writer = sto_writer(c->store, 0), .tags = ts_xcalloc(255, sizeof *in.tags)};
    struct tsd_copy_way way = {
        .read = tsd_copy_read_hbase,
        .reader = {.row = on_row, .bucket = on_bucket, .note = on_note, .slice = on_slice, .arg = &in},
        .save = save};
    ts_buf_init(&in.text, TEXT_BYTES);
    int rc = tsd_copy_metrics(c, &way, err);
    if (rc == 0)
        rc = tsd_copy_notes_global(c, on_global, &in, err);
    if (rc == 0)
        rc = sto_cell_sync(c->store, err);
    if (rc == 0)
        rc = sto_flush(c->store, STO_LEVEL_FILES, err);
    ts_buf_release(&in.text);
    ts_free(in.tags);
    return rc;
}
