/*
 * store.c - implements the public API with the catalog (names), the engine (points) and the small cells.
 *
 * Threads    as store.h says; this file adds no lock of its own
 * Not here   configuration keys (store_conf.c)
 */
#include "storage/store.h"

#include "base/log.h"
#include "base/time.h"
#include "base/mem.h"
#include "storage/engine/engine.h"
#include "storage/store_int.h"
#include "storage/total.h"
#include "storage/versions.h"
#include "storage/versioned.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- callbacks for the engine --- */

static int sync_names(void *arg, struct ts_error *err)
{
    struct sto_store *st = arg;
    return sto_catalog_sync(st->catalog, true, err);
}

static void tidy(void *arg)
{
    struct sto_store *st = arg;
    (void)sto_catalog_tidy(st->catalog, NULL); /* the next sync_names reports a broken log */
    sto_staging_tick(&st->staging);
}

static bool keeps(void *arg, const struct sto_series *s)
{
    struct sto_store *st = arg;
    return st->opts.keeps_series && st->opts.keeps_series(st, s);
}

/* Files that are not handed over yet refer to series by their numbers. */
static bool held(void *arg)
{
    return sto_staging_any(&((struct sto_store *)arg)->staging);
}

static void mentioned(void *arg, roaring_bitmap_t *const *ids)
{
    struct sto_store *st = arg;
    if (st->opts.mentioned_names)
        st->opts.mentioned_names(st, ids);
}

static void forget(void *arg, bool full)
{
    sto_forget_tick(&((struct sto_store *)arg)->forget, full);
}

/* Check that a log exists which was created when the store was first opened for writing. Its copy alone does
 * not suffice (reclog.c). */
static int must_be_there(const struct sto_store *st, const char *name, const char *what, struct ts_error *err)
{
    char *path = ts_fs_join(st->opts.dir, name);
    /* the function that opens it reports other errors */
    bool lost = ts_fs_exists(st->opts.fs, path, NULL) == 0;
    if (lost)
        ts_error_set(err, TS_ECORRUPT, "%s, which holds %s, is missing; run tsd fsck --repair --data %s",
                     path, what, st->opts.dir);
    ts_free(path);
    return lost ? TS_ECORRUPT : 0;
}

static struct sto_floors *marks_of_summaries(void *st)
{
    return sto_retain_aged(st);
}

static int ready(void *arg, const struct sto_engine_found *found, struct ts_error *err)
{
    struct sto_store *st = arg;
    if (!st->opts.read_only)
        TS_TRY(sto_staging_open(&st->staging, st->opts.fs, st->opts.dir, st->opts.bulk_keep_ms, err));
    if (found->used) {
        TS_TRY(must_be_there(st, "catalog.log", "names of metrics and tags", err));
        TS_TRY(must_be_there(st, "cells.log", "annotations and metadata", err));
    }
    struct sto_catalog_opts opts = {.dir = st->opts.dir,
                                    .n_shards = found->n_shards,
                                    .read_only = st->opts.read_only,
                                    .read_only_why = &st->read_only_why,
                                    .max_series = st->opts.max_series,
                                    .max_bytes = st->opts.max_name_bytes,
                                    .grow_bytes = st->opts.log_grow_bytes,
                                    .tidied = st->opts.pumped || !st->opts.no_background};
    TS_TRY(sto_catalog_open(st->opts.fs, &opts, &st->catalog, err));
    sto_catalog_keep_names(
        st->catalog,
        &(struct sto_name_keeper){.kinds = st->opts.kept_name_kinds, .mentioned = mentioned, .arg = st});
    if (sto_series_count(st->catalog) < found->series_end) /* names reach the disk before rows do */
        return ts_error_set(
            err, TS_ECORRUPT,
            "%s/catalog.log has lost names: it has %u series, but the sorted files refer to %llu",
            st->opts.dir, sto_series_count(st->catalog), (unsigned long long)found->series_end);
    TS_TRY(sto_cellmap_open(st->opts.fs, st->opts.dir, st->opts.read_only, st->opts.wal_sync != STO_SYNC_NONE,
                            &st->cells, err));
    sto_cellmap_set_read_only_why(st->cells, &st->read_only_why);
    sto_cellmap_set_sizes(st->cells, st->opts.log_grow_bytes, st->opts.max_cell_bytes);
    st->staging.catalog = st->catalog;
    st->staging.marks = marks_of_summaries;
    st->staging.marks_arg = st;
    st->staging.marks_mu = &st->age.marks_mu;
    TS_TRY(sto_quota__open(st, err));
    return sto_retain__open(st, err);
}

static size_t totals(void *arg, struct sto_total_ids *out)
{
    return sto_total_list(arg, out);
}

static int tags_of(void *arg, uint32_t series, struct sto_tag *tags)
{
    const struct sto_store *st = arg;
    unsigned reading = sto_catalog_read_begin(st->catalog);
    const struct sto_series *s = sto_series_get(st->catalog, series);
    int n = s ? s->n_tags : -1;
    if (n > 0)
        memcpy(tags, s->tags, (size_t)n * sizeof *tags);
    sto_catalog_read_end(st->catalog, reading);
    return n;
}

static int age(void *arg, int64_t before_ms, const struct sto_age_left **out_left)
{
    struct sto_store *st = arg;
    *out_left = &st->age.left;
    return sto_age__pass(st, before_ms);
}

static struct sto_keep *keep(void *arg)
{
    return sto_retain_keep(arg);
}

static const struct sto_series *restore(void *arg, uint32_t id, uint32_t metric, const struct sto_tag *tags,
                                        size_t n_tags, struct ts_slice text, uint32_t metric_len,
                                        struct ts_error *err)
{
    struct sto_store *st = arg;
    const struct sto_series *series = NULL;
    if (sto_series_restore(st->catalog, id, metric, tags, n_tags, text, metric_len, &series, err) < 0)
        return NULL;
    return series;
}

static uint32_t n_known(void *arg)
{
    const struct sto_store *st = arg;
    return sto_series_n_on_disk(st->catalog);
}

static const struct sto_series *series_of(void *arg, uint32_t id)
{
    const struct sto_store *st = arg;
    return sto_series_get(st->catalog, id);
}

static const struct sto_series *known(void *arg, uint32_t id, struct ts_error *err)
{
    const struct sto_store *st = arg;
    return sto_series_known(st->catalog, id, err);
}

static int cmp_tag(const void *pa, const void *pb)
{
    const struct sto_remote_tag *a = pa, *b = pb;
    return ts_slice_cmp(a->k, b->k);
}

/* Names for the remote store; they are valid until the catalog is closed. */
static bool names(void *arg, uint32_t series, struct sto_remote_tag *tags, struct sto_remote_series *out)
{
    const struct sto_store *st = arg;
    unsigned reading = sto_catalog_read_begin(st->catalog);
    const struct sto_series *s = sto_series_get(st->catalog, series);
    for (unsigned i = 0; s && i < s->n_tags; i++)
        tags[i] = (struct sto_remote_tag){sto_uid_name(st->catalog, STO_UID_TAGK, s->tags[i].k),
                                          sto_uid_name(st->catalog, STO_UID_TAGV, s->tags[i].v)};
    if (s) {
        qsort(tags, s->n_tags, sizeof *tags, cmp_tag);
        *out = (struct sto_remote_series){.key = series,
                                          .metric = sto_uid_name(st->catalog, STO_UID_METRIC, s->metric),
                                          .tags = tags,
                                          .n_tags = s->n_tags};
    }
    sto_catalog_read_end(st->catalog, reading);
    return s != NULL;
}

/* The folder is still locked. */
static void closed(void *arg)
{
    struct sto_store *st = arg;
    sto_age__close(st);
    sto_retain__close(st);
    sto_quota_close(&st->quota);
    int rc = sto_cellmap_close(st->cells, &st->close_err);
    int rc2 = sto_catalog_close(st->catalog, rc < 0 ? NULL : &st->close_err);
    sto_staging_release(&st->staging);
    st->close_rc = rc < 0 ? rc : rc2;
    st->cells = NULL;
    st->catalog = NULL;
}

static void on_fatal(void *arg, const struct ts_error *err)
{
    const struct sto_store *st = arg;
    ts_log(TS_LOG_ERROR,
           "stopping: %s (errno %d). A failed write or sync is never repeated, since a second attempt may "
           "succeed although the data is lost. Everything that was acknowledged is safe. Check the disk "
           "(dmesg, df, SMART) and start tsd again: it continues with what is on the disk. If it does not "
           "start, run tsd fsck --data %s",
           err->text, err->sys_errno, st->opts.dir);
    _Exit(1);
}

/* --- open and close --- */

/* Append to the error what to do about damage, as far as the text has space for it. */
static void advise(struct ts_error *err, const char *dir)
{
    size_t n = err ? strlen(err->text) : 0;
    if (err && !strstr(err->text, "tsd fsck"))
        (void)snprintf(err->text + n, sizeof(err->text) - n, "; run tsd fsck --data %s", dir);
}

/* why: the error that prevents opening for writing, if the caller wanted that; the store is then opened for
 * reading only. */
static int open_store(const struct sto_opts *opts, const struct ts_error *why, struct sto_store **out_store,
                      struct ts_error *err)
{
    struct sto_store *st = ts_xcalloc(1, sizeof *st);
    st->opts = sto_opts_filled(opts);
    if (why)
        st->read_only_why = *why;
    const struct sto_engine_owner owner = {
        .read_only_why = st->read_only_why,
        .forget = opts->forget_every_ms && !opts->own_threads && !opts->remote ? forget : NULL,
        .sync_names = sync_names,
        .tidy = tidy,
        .ready = ready,
        .restore = restore,
        .n_known = n_known,
        .known = known,
        .closed = closed,
        .on_fatal = opts->survive_sync_errors ? NULL : on_fatal,
        .names = names,
        .series = series_of,
        .keep = keep,
        .age = opts->remote || opts->read_only ? NULL : age,
        .quota = &st->quota,
        .totals = totals,
        .tags = tags_of,
        .arg = st,
    };
    st->forget =
        (struct sto_forget){.every_ms = opts->forget_every_ms, .keep = keeps, .held = held, .arg = st};
    int rc = sto_engine_open(&st->opts, &owner, &st->engine, err);
    if (rc == TS_ECORRUPT)
        advise(err, opts->dir);
    if (rc < 0) {
        ts_free(st); /* closed() has run */
        return rc;
    }
    sto_versioned__open(st);
    st->forget.catalog = st->catalog;
    st->forget.engine = st->staging.engine = st->engine;
    atomic_store_explicit(&st->forget.ready, true, memory_order_release); /* partner: sto_forget_tick */
    *out_store = st;
    return 0;
}

/* The disk is full, which only a sync has shown (delayed allocation, thin volumes, NFS). It is not known
 * which part of the logs is on disk, so nothing may be appended to them until a later start has synced them.
 * Their contents can be read. */
static int open_to_read(const struct sto_opts *opts, struct sto_store **out_store, struct ts_error *full)
{
    struct sto_opts reading = *opts;
    reading.read_only = true;
    ts_error_wrap(full,
                  STO_DISK_FULL ", the store is opened for reading only; free space and start tsd again");
    TS_TRY(open_store(&reading, full, out_store, NULL));
    ts_log(TS_LOG_ERROR, "puts are refused: %s", full->text);
    return 0;
}

int sto_open(const struct sto_opts *opts, struct sto_store **out_store, struct ts_error *err)
{
    struct ts_error why = {0}, full;
    *out_store = NULL;
    int rc = open_store(opts, NULL, out_store, &why);
    full = why;
    if (rc == TS_ENOSPC && !opts->read_only && open_to_read(opts, out_store, &full) == 0)
        return 0;
    if (rc < 0 && err)
        *err = why;
    return rc;
}

int sto_close(struct sto_store *st, struct ts_error *err)
{
    if (!st)
        return 0;
    int rc = sto_engine_close(st->engine, err);
    if (rc == 0 && st->close_rc < 0) {
        rc = st->close_rc;
        if (err)
            *err = st->close_err;
    }
    ts_free(st);
    return rc;
}

struct sto_catalog *sto_store_catalog(struct sto_store *st)
{
    return st->catalog;
}

struct sto_remote *sto_store_remote(const struct sto_store *st)
{
    return st->opts.remote;
}

const char *sto_store_refusing(const struct sto_store *st)
{
    return sto_engine_refusing(st->engine, NULL);
}

/* --- writing --- */

struct sto_writer *sto_writer(struct sto_store *st, unsigned i)
{
    return sto_engine_writer(st->engine, i);
}

static int put_op(struct sto_writer *writer, const struct sto_series *series, int64_t ts_ms, int64_t m,
                  uint32_t flags, uint32_t asker)
{
    if (ts_ms < STO_MIN_TS_MS || ts_ms > STO_MAX_TS_MS)
        return TS_EINVAL;
    struct sto_batch *b = sto_writer_batch(writer, series);
    if (!b)
        return sto_writer_error(writer, NULL);
    b->points[b->n++] =
        (struct sto_point){.series = series, .ts_ms = ts_ms, .m = m, .flags = flags, .asker = asker};
    return 0;
}

int sto_put(struct sto_writer *writer, const struct sto_series *series, int64_t ts_ms, struct ts_num value,
            bool ms)
{
    return put_op(writer, series, ts_ms, value.m, sto_meta_flags(STO_OP_PUT, value.kind, value.exp, ms), 0);
}

int sto_add(struct sto_writer *writer, const struct sto_series *series, int64_t ts_ms, struct ts_num value,
            bool ms, uint32_t asker)
{
    return put_op(writer, series, ts_ms, value.m, sto_meta_flags(STO_OP_ADD, value.kind, value.exp, ms),
                  asker);
}

int sto_put_version(struct sto_writer *writer, const struct sto_series *series, int64_t ts_ms,
                    const struct sto_stamp *stamp, struct ts_num value, bool ms)
{
    if (ts_ms < STO_MIN_TS_MS || ts_ms > STO_MAX_TS_MS)
        return TS_EINVAL;
    struct sto_batch *b = sto_writer_batch_part(writer, series, NULL, 2);
    if (!b)
        return sto_writer_error(writer, NULL);
    b->points[b->n++] = (struct sto_point){
        .series = series, .ts_ms = ts_ms, .m = stamp->written_us, .flags = sto_stamp_flags(stamp->keep)};
    b->points[b->n++] = (struct sto_point){.series = series,
                                           .ts_ms = ts_ms,
                                           .m = value.m,
                                           .flags = sto_meta_flags(STO_OP_KEEP, value.kind, value.exp, ms)};
    return 0;
}

int sto_delete(struct sto_writer *writer, const struct sto_series *series, int64_t from_ms, int64_t to_ms)
{
    if (from_ms > to_ms)
        return TS_EINVAL;
    from_ms = from_ms < STO_MIN_TS_MS ? STO_MIN_TS_MS : from_ms;
    to_ms = to_ms > STO_MAX_TS_MS ? STO_MAX_TS_MS : to_ms;
    return put_op(writer, series, from_ms, to_ms, sto_meta_flags(STO_OP_DEL, TS_NUM_INT, 0, true), 0);
}

enum sto_level sto_ack_level(const struct sto_store *st)
{
    return st->opts.wal_sync == STO_SYNC_NONE ? STO_LEVEL_LOG : STO_LEVEL_DISK;
}

int sto_flush(struct sto_store *st, enum sto_level level, struct ts_error *err)
{
    switch (level) {
    case STO_LEVEL_LOG:
        return sto_engine_wait(st->engine, false, err);
    case STO_LEVEL_DISK:
        return sto_engine_wait(st->engine, true, err);
    case STO_LEVEL_FILES:
        return sto_engine_flush(st->engine, err);
    case STO_LEVEL_COMPACT:
        TS_TRY(sto_engine_compact(st->engine, err));
        sto_forget_soon(&st->forget);
        return 0;
    }
    return ts_error_set(err, TS_EINVAL, "no such level");
}

void sto_store_pump(struct sto_store *st)
{
    sto_engine_pump_sync(st->engine);
}

int sto_store_pump_merges(struct sto_store *st, struct ts_error *err)
{
    return sto_engine_pump_merges(st->engine, err);
}

int sto_store_pump_forget(struct sto_store *st, struct ts_error *err)
{
    uint64_t n;
    return sto_forget_now(&st->forget, &n, err);
}

int sto_compact(struct sto_store *st, const struct sto_compact_spec *spec, struct sto_compact_result *out,
                struct ts_error *err)
{
    return sto_engine_compact_range(st->engine, spec, out, err);
}

struct sto_shards sto_shards(const struct sto_store *st)
{
    return sto_engine_shards(st->engine);
}

int sto_store_pump_shards(struct sto_store *st, struct ts_error *err)
{
    return sto_engine_pump_shards(st->engine, err);
}

int sto_rebalance(struct sto_store *st, unsigned n_shards, struct ts_error *err)
{
    return sto_engine_set_shards(st->engine, n_shards, err);
}

void sto_compact_soon(struct sto_store *st)
{
    sto_engine_compact_soon(st->engine);
}

/* --- small cells --- */

static int remote_key(void *arg, struct ts_slice key, struct ts_buf *out)
{
    struct sto_store *st = arg;
    return st->opts.remote_cell(st, key, out);
}

static struct sto_shared_cells shared(struct sto_store *st)
{
    return (struct sto_shared_cells){.map = st->cells,
                                     .remote = st->opts.remote,
                                     .key = st->opts.remote_cell ? remote_key : NULL,
                                     .arg = st,
                                     .changes = &st->changes};
}

int sto_cell_get(struct sto_store *st, struct ts_slice key, struct ts_buf *out)
{
    return sto_cellmap_get(st->cells, key, out);
}

int sto_cell_put(struct sto_store *st, struct ts_slice key, struct ts_slice value, struct ts_error *err)
{
    struct sto_shared_cells s = shared(st);
    return sto_shared_put(&s, key, value, false, err);
}

int sto_cell_put_later(struct sto_store *st, struct ts_slice key, struct ts_slice value, struct ts_error *err)
{
    struct sto_shared_cells s = shared(st);
    return sto_shared_put(&s, key, value, true, err);
}

int sto_cell_cas(struct sto_store *st, struct ts_slice key, struct ts_slice expected, struct ts_slice value,
                 struct ts_error *err)
{
    struct sto_shared_cells s = shared(st);
    return sto_shared_cas(&s, key, expected, value, false, err);
}

int sto_cell_cas_later(struct sto_store *st, struct ts_slice key, struct ts_slice expected,
                       struct ts_slice value, struct ts_error *err)
{
    struct sto_shared_cells s = shared(st);
    return sto_shared_cas(&s, key, expected, value, true, err);
}

int sto_cell_refresh(struct sto_store *st, struct ts_slice key, bool must, struct ts_error *err)
{
    struct sto_shared_cells s = shared(st);
    return sto_shared_refresh(&s, key, must, err);
}

uint64_t sto_cell_stamp(struct sto_store *st)
{
    struct sto_shared_cells s = shared(st);
    return sto_shared_stamp(&s);
}

int sto_cell_seen(struct sto_store *st, struct ts_slice key, struct ts_slice value, uint64_t stamp,
                  struct ts_error *err)
{
    struct sto_shared_cells s = shared(st);
    return value.n ? sto_shared_seen(&s, key, value, stamp, err) : sto_shared_missing(&s, key, stamp, err);
}

int sto_cell_sync(struct sto_store *st, struct ts_error *err)
{
    return sto_cellmap_sync(st->cells, err);
}

int sto_cell_incr(struct sto_store *st, struct ts_slice key, int64_t delta, int64_t *out_value,
                  struct ts_error *err)
{
    return sto_cellmap_incr(st->cells, key, delta, out_value, err);
}

void sto_cell_each(struct sto_store *st, struct ts_slice prefix,
                   bool (*each)(void *arg, struct ts_slice key, struct ts_slice value), void *arg)
{
    sto_cellmap_each(st->cells, prefix, each, arg);
}

void sto_cell_range(struct sto_store *st, struct ts_slice from, struct ts_slice to,
                    bool (*each)(void *arg, struct ts_slice key, struct ts_slice value), void *arg)
{
    sto_cellmap_range(st->cells, from, to, each, arg);
}

void sto_stats(struct sto_store *st, void (*each)(void *arg, const char *name, uint64_t value), void *arg)
{
    sto_engine_stats(st->engine, each, arg);
    sto_catalog_stats(st->catalog, each, arg);
    each(arg, "forget.passes", atomic_load(&st->forget.n_passes));
    sto_age__stats(st, each, arg);
    each(arg, "forget.errors", atomic_load(&st->forget.n_errors));
    each(arg, "cells.bytes", sto_cellmap_bytes(st->cells));
}
