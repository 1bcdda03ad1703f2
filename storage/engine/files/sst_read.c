/*
 * sst_read.c - opens sorted files and counts references to them.
 *
 * Format     docs/FORMAT.md "Sorted file"
 * Threads    an open sst is immutable except for its reference count, the mark to unlink it, and the marks of
 *            damage; any thread may read it
 * Not here   walking rows (sst_cur.c), its index (index.c)
 */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"
#include "storage/engine/files/days_int.h"
#include "storage/engine/files/sst_int.h"

static int read_exactly(struct sto_sst__file *f, void *p, size_t n, uint64_t off, struct ts_error *err)
{
    size_t got = 0;
    TS_TRY(sto_handle_pread(&f->handle, p, n, off, &got, err));
    if (got != n)
        return ts_error_set(err, TS_ECORRUPT, "%s: %zu bytes at %" PRIu64 " are cut off after %zu", f->path,
                            n, off, got);
    return 0;
}

/* Read a section into memory of its own (at least one byte, free it with ts_free) and check its checksum. */
static int read_section(struct sto_sst__file *f, uint64_t off, uint64_t end, uint32_t crc,
                        struct ts_slice *out, struct ts_error *err)
{
    *out = (struct ts_slice){NULL, 0};
    size_t n = (size_t)(end - off);
    char *p = ts_try_malloc(n + 1);
    if (!p)
        return ts_error_set(err, TS_ENOMEM, "%s: no memory for %zu bytes at %" PRIu64, f->path, n, off);
    int rc = read_exactly(f, p, n, off, err);
    if (rc == 0 && ts_crc32c(0, p, n) != crc)
        rc = ts_error_set(err, TS_ECORRUPT, "%s: section of %zu bytes at %" PRIu64 " is damaged", f->path, n,
                          off);
    if (rc < 0) {
        ts_free(p);
        return rc;
    }
    *out = (struct ts_slice){p, n};
    return 0;
}

static int read_tombs(struct sto_sst *sst, const struct sto_sst_footer *foot, struct ts_error *err)
{
    struct ts_slice bytes;
    sst->n_tombs = (size_t)foot->info.n_tombs;
    sst->tombs = ts_try_malloc((sst->n_tombs + 1) * sizeof *sst->tombs);
    if (!sst->tombs)
        return ts_error_set(err, TS_ENOMEM, "%s: no memory for %zu tombstones", sst->t.path, sst->n_tombs);
    TS_TRY(read_section(&sst->t, foot->tombs_off, foot->bitmap_off, foot->tombs_crc, &bytes, err));
    int rc = sto_sst__get_tombs(bytes, foot, sst->tombs);
    ts_free((void *)(uintptr_t)bytes.p);
    return rc < 0 ? ts_error_set(err, rc, "%s: tombstones at %" PRIu64 " make no sense", sst->t.path,
                                 foot->tombs_off)
                  : 0;
}

/* Read header and footer of one of the two files and compare them with the manifest. */
static int open_file(struct sto_sst *sst, struct sto_sst__file *f, enum sto_sst_kind kind, uint64_t bytes,
                     struct sto_sst_footer *out_foot, struct ts_error *err)
{
    uint8_t header[STO_SST_HEADER_BYTES], footer[STO_SST_FOOTER_BYTES];
    TS_TRY(sto_handle_first(&f->handle, &f->bytes, err));
    if (f->bytes != bytes || f->bytes < sizeof header + sizeof footer)
        return ts_error_set(err, TS_ECORRUPT, "%s: has %" PRIu64 " bytes, the manifest says %" PRIu64,
                            f->path, f->bytes, bytes);
    TS_TRY(read_exactly(f, header, sizeof header, 0, err));
    TS_TRY(sto_sst__check_header(header, f->path, err));
    TS_TRY(read_exactly(f, footer, sizeof footer, f->bytes - sizeof footer, err));
    TS_TRY(sto_sst__get_footer(footer, f->bytes, f->path, out_foot, err));
    const struct sto_sst_info *in = &out_foot->info, *want = &sst->info;
    if (out_foot->kind != (uint32_t)kind || in->file_no != want->file_no || in->n_points != want->n_points ||
        in->n_rows != want->n_rows || in->gen_lo != want->gen_lo || in->gen_hi != want->gen_hi ||
        in->n_tombs != (kind == STO_SST_KIND_POINTS ? want->n_tombs : 0))
        return ts_error_set(err, TS_ECORRUPT, "%s: footer at %" PRIu64 " is not what the manifest says",
                            f->path, f->bytes - STO_SST_FOOTER_BYTES);
    sto_index_init(&f->index, &f->handle, f->bytes, out_foot, sst->pages);
    if (sto_pages_eager(sst->pages, f->index.end - f->index.off))
        TS_TRY(sto_index_load(&f->index, err));
    f->there = true;
    return 0;
}

/* A file whose summaries are damaged or missing is read without them: the points hold the same
 * information. */
static int open_sums(struct sto_sst *sst, struct ts_error *err)
{
    struct sto_sst_footer foot;
    struct ts_error why = {0};
    int rc = open_file(sst, &sst->s, STO_SST_KIND_SUMS, sst->info.s_bytes, &foot, &why);
    if (rc == TS_ECORRUPT || rc == TS_ENOTFOUND) {
        sto_sst_lose_sums(sst, &why);
        sto_index_release(&sst->s.index);
        sto_handle_close(&sst->s.handle);
        rc = 0;
    }
    if (rc < 0 && err)
        *err = why;
    return rc;
}

int sto_sst__open_sums(struct sto_sst *sst, struct sto_sst__file *f, enum sto_sst_kind kind,
                       struct ts_slice *out_about, struct ts_error *err)
{
    struct sto_sst_footer foot;
    uint64_t bytes;
    *out_about = (struct ts_slice){NULL, 0};
    sto_handle_init(&f->handle, sst->fs, f->path, sst->t.handle.cache);
    f->handle.removed_code = TS_ECORRUPT;
    TS_TRY(sto_handle_first(&f->handle, &bytes, err));
    TS_TRY(open_file(sst, f, kind, bytes, &foot, err));
    return read_section(f, foot.bitmap_off, foot.index_off, foot.bitmap_crc, out_about, err);
}

/* Open the file of days, and read what says whose days they are (sto_days__zone_put), which the caller frees. */
static int open_days(struct sto_sst *sst, struct ts_slice *out_zone, struct ts_error *err)
{
    return sto_sst__open_sums(sst, &sst->d, STO_SST_KIND_DAYS, out_zone, err);
}

static void close_days(struct sto_sst *sst)
{
    sst->d.there = false;
    sto_index_release(&sst->d.index);
    sto_handle_close(&sst->d.handle);
}

bool sto_sst_open_days(struct sto_sst *sst)
{
    struct ts_slice is;
    struct ts_buf want;
    struct ts_error why = {0};
    if (atomic_load_explicit(&sst->has_days,
                             memory_order_relaxed)) /* set by this thread, or before it got sst */
        return sto_sst_has_days(sst);
    ts_buf_init(&want, 0);
    int rc = open_days(sst, &is, &why);
    bool same = rc == 0 && sto_days__zone_put(sst, &want) && ts_slice_eq(is, ts_buf_get(&want));
    ts_free((void *)(uintptr_t)is.p);
    ts_buf_release(&want);
    if (same)
        rc = sto_index_load(&sst->d.index, &why);
    if (rc == 0 && same) { /* release: who sees it sees all of d */
        atomic_store_explicit(&sst->has_days, true, memory_order_release);
        return true;
    }
    if (rc < 0 && rc != TS_ENOTFOUND)
        ts_log(TS_LOG_WARN, "day summaries are left out until they are made again error=\"%s\"", why.text);
    close_days(sst);
    return false;
}

int sto_sst_days_zone(struct sto_sst *sst, const struct ts_tz **out_zone, struct ts_error *err)
{
    struct ts_slice is;
    int rc = open_days(sst, &is, err);
    if (rc == 0 && is.n <= STO_DAYS__ZONE_NAME)
        rc = ts_error_set(err, TS_ECORRUPT, "%s: has no name of a zone", sst->d.path);
    if (rc == 0)
        rc = ts_tz_open((struct ts_slice){is.p + STO_DAYS__ZONE_NAME, is.n - STO_DAYS__ZONE_NAME}, out_zone,
                        err);
    ts_free((void *)(uintptr_t)is.p);
    close_days(sst);
    return rc;
}

bool sto_sst_has_days(const struct sto_sst *sst)
{
    return atomic_load_explicit(&sst->has_days, memory_order_acquire) &&
           !atomic_load_explicit(&sst->days_lost, memory_order_relaxed); /* a hint; needs no order */
}

uint64_t sto_sst_disk_bytes(const struct sto_sst *sst)
{
    return sst->info.t_bytes + sst->info.s_bytes + (sto_sst_has_days(sst) ? sst->d.bytes : 0) +
           sto_sst__totals_bytes(sst);
}

void sto_sst_lose_days(struct sto_sst *sst, const struct ts_error *why)
{
    if (!atomic_exchange_explicit(&sst->days_lost, true, memory_order_relaxed))
        ts_log(TS_LOG_WARN, "day summaries are left out until they are made again error=\"%s\"", why->text);
}

bool sto_sst_drop_lost_days(struct sto_sst *sst)
{
    if (!atomic_load_explicit(&sst->days_lost, memory_order_relaxed))
        return false;
    (void)sst->fs->unlink(sst->fs, sst->d.path, NULL);
    return true;
}

bool *sto_sst_days_tried(struct sto_sst *sst)
{
    return &sst->days_tried;
}

static int open_files(struct sto_sst *sst, struct ts_error *err)
{
    struct sto_sst_footer foot;
    TS_TRY(open_file(sst, &sst->t, STO_SST_KIND_POINTS, sst->info.t_bytes, &foot, err));
    sst->rows_crc = foot.index_crc;
    sst->level = foot.level;
    sst->wear.made_ms = foot.made_ms;
    sst->wear.carried_gen = foot.carried_gen;
    TS_TRY(read_tombs(sst, &foot, err));
    TS_TRY(sto_sst_series_open(&sst->series, &sst->t.handle, &foot, sst->pages, err));
    return sst->info.s_bytes ? open_sums(sst, err) : 0;
}

static void release_file(struct sto_sst *sst, struct sto_sst__file *f, bool unlink_later)
{
    sto_index_release(&f->index);
    sto_handle_close(&f->handle);
    if (unlink_later)
        (void)sst->fs->unlink(sst->fs, f->path, NULL);
    ts_free(f->path);
}

static void count_held(struct sto_sst *sst, int by)
{
    if (!sst->held)
        return;
    atomic_fetch_add_explicit(&sst->held->n, (uint64_t)(int64_t)by, memory_order_relaxed);
    atomic_fetch_add_explicit(&sst->held->bytes,
                              (uint64_t)(int64_t)by * (sst->info.t_bytes + sst->info.s_bytes),
                              memory_order_relaxed);
}

static void sst_free(struct sto_sst *sst, bool unlink_later)
{
    sto_sst_series_release(&sst->series);
    release_file(sst, &sst->t, unlink_later);
    release_file(sst, &sst->s, unlink_later && sst->info.s_bytes > 0);
    release_file(sst, &sst->d, unlink_later);
    sto_sst__totals_free(sst, unlink_later);
    count_held(sst, -1);
    ts_free(sst->tombs);
    ts_free(sst->broken);
    ts_free(sst);
}

static struct sto_sst *sst_new(const struct ts_fs *fs, const char *dir, const struct sto_sst_caches *caches,
                               const struct sto_sst_info *info)
{
    struct sto_sst *sst = ts_xcalloc(1, sizeof *sst);
    sst->fs = fs;
    sst->info = *info;
    sst->pages = caches ? caches->pages : NULL;
    atomic_init(&sst->refs, 1);
    atomic_init(&sst->unlink_later, false);
    atomic_init(&sst->sums_lost, false);
    atomic_init(&sst->index_lost, false);
    atomic_init(&sst->no_remake, false);
    sst->wear.since_ms = INT64_MAX;
    sst->t.path = sto_sst__path(dir, info->file_no, STO_SST_KIND_POINTS);
    sst->s.path = sto_sst__path(dir, info->file_no, STO_SST_KIND_SUMS);
    sst->d.path = sto_sst__path(dir, info->file_no, STO_SST_KIND_DAYS);
    sto_handle_init(&sst->t.handle, fs, sst->t.path, caches ? caches->handles : NULL);
    sto_handle_init(&sst->s.handle, fs, sst->s.path, caches ? caches->handles : NULL);
    sto_handle_init(&sst->d.handle, fs, sst->d.path, caches ? caches->handles : NULL);
    atomic_init(&sst->has_days, false);
    atomic_init(&sst->days_lost, false);
    atomic_init(&sst->totals, NULL);
    sst->s.handle.removed_code = TS_ECORRUPT; /* as when the store is opened: it is read by its points */
    return sst;
}

int sto_sst_open(const struct ts_fs *fs, const char *dir, const struct sto_sst_caches *caches,
                 const struct sto_sst_info *info, struct sto_sst **out_sst, struct ts_error *err)
{
    *out_sst = NULL;
    struct sto_sst *sst = sst_new(fs, dir, caches, info);
    int rc = open_files(sst, err);
    if (rc < 0) {
        sst_free(sst, false);
        return rc;
    }
    sst->memory_bytes = sizeof *sst + sst->n_tombs * sizeof *sst->tombs + sto_sst_series_memory(&sst->series);
    *out_sst = sst;
    return 0;
}

struct sto_sst *sto_sst_new_broken(const struct ts_fs *fs, const char *dir, const struct sto_sst_info *info,
                                   const char *why)
{
    struct sto_sst *sst = sst_new(fs, dir, NULL, info);
    sst->broken = ts_xstrdup(why);
    return sst;
}

bool sto_sst_has_sums(const struct sto_sst *sst)
{
    return sst->s.there && !atomic_load_explicit(&sst->sums_lost, memory_order_relaxed); /* a hint; needs no
                                                                                         * order */
}

bool sto_sst_needs_remake(const struct sto_sst *sst)
{
    return (sst->broken || sto_sst_has_lost_index(sst) ||
            atomic_load_explicit(&sst->sums_lost, memory_order_relaxed)) &&
           !atomic_load_explicit(&sst->no_remake, memory_order_relaxed);
}

void sto_sst_note_unread(struct sto_sst *sst)
{
    if (++sst->n_unread == 3)
        sto_sst_set_no_remake(sst);
}

void sto_sst_set_no_remake(struct sto_sst *sst)
{
    atomic_store_explicit(&sst->no_remake, true, memory_order_relaxed);
}

void sto_sst_lose_sums(struct sto_sst *sst, const struct ts_error *why)
{
    if (!atomic_exchange_explicit(&sst->sums_lost, true, memory_order_relaxed))
        ts_log(TS_LOG_WARN, "summaries are left out until they are made again error=\"%s\"", why->text);
}

const char *sto_sst_broken(const struct sto_sst *sst)
{
    return sst->broken;
}

bool sto_sst_has_lost_index(const struct sto_sst *sst)
{
    return atomic_load_explicit(&sst->index_lost, memory_order_relaxed) || /* hints; they need no order */
           atomic_load_explicit(&sst->series.damaged, memory_order_relaxed);
}

int sto_sst__index_failed(struct sto_sst *sst, const struct sto_sst__file *f, int rc, struct ts_error *err)
{
    if (rc != TS_ECORRUPT || f != &sst->t)
        return rc;
    if (!atomic_exchange_explicit(&sst->index_lost, true, memory_order_relaxed))
        ts_log(TS_LOG_ERROR, "%s: index at %" PRIu64 " is damaged", f->path, f->index.off);
    return ts_error_set(err, rc,
                        "%s: index at %" PRIu64
                        " is damaged; a running tsd makes it again within a minute if "
                        "all rows can be read, else run tsd fsck",
                        f->path, f->index.off);
}

int sto_sst_check_index(struct sto_sst *sst, struct ts_error *err)
{
    struct ts_error why = {0};
    int rc = sst->t.there ? sto_index_load(&sst->t.index, &why) : 0;
    rc = sto_sst__index_failed(sst, &sst->t, rc, &why);
    if (rc == 0 && sto_sst_has_sums(sst)) {
        rc = sto_index_load(&sst->s.index, &why);
        if (rc == TS_ECORRUPT) {
            sto_sst_lose_sums(sst, &why);
            rc = 0;
        }
    }
    if (rc < 0 && err)
        *err = why;
    return rc;
}

struct sto_sst *sto_sst_ref(struct sto_sst *sst)
{
    /* relaxed: the caller already has a reference, so nothing needs to become visible */
    atomic_fetch_add_explicit(&sst->refs, 1, memory_order_relaxed);
    return sst;
}

void sto_sst_unref(struct sto_sst *sst)
{
    if (!sst)
        return;
    /* acq_rel: everything that other threads did with the sst, also sto_sst_unlink_later, happens before it is
     * freed */
    if (atomic_fetch_sub_explicit(&sst->refs, 1, memory_order_acq_rel) == 1)
        sst_free(sst, atomic_load_explicit(&sst->unlink_later, memory_order_relaxed));
}

void sto_sst_unlink_later(struct sto_sst *sst, struct sto_sst_held *held)
{
    sst->held = held;
    count_held(sst, 1);
    /* relaxed: the unref of the same thread publishes it */
    atomic_store_explicit(&sst->unlink_later, true, memory_order_relaxed);
}

void sto_sst_remove(const struct ts_fs *fs, const char *dir, const struct sto_sst_info *info)
{
    for (int kind = STO_SST_KIND_POINTS; kind <= STO_SST_KIND_DAYS; kind++) {
        if (kind == STO_SST_KIND_SUMS && !info->s_bytes)
            continue;
        char *path = sto_sst__path(dir, info->file_no, (enum sto_sst_kind)kind);
        (void)fs->unlink(fs, path, NULL);
        ts_free(path);
    }
}

const struct sto_sst_info *sto_sst_info(const struct sto_sst *sst)
{
    return &sst->info;
}
unsigned sto_sst_level(const struct sto_sst *sst)
{
    return sst->level;
}

struct sto_sst_wear *sto_sst_wear(struct sto_sst *sst)
{
    return &sst->wear;
}
size_t sto_sst_memory(struct sto_sst *sst)
{
    return sst->memory_bytes + sto_index_memory(&sst->t.index) + sto_index_memory(&sst->s.index) +
           (sto_sst_has_days(sst) ? sto_index_memory(&sst->d.index) : 0) + sto_sst__totals_memory(sst);
}
struct sto_sst_series *sto_sst_series(struct sto_sst *sst)
{
    return &sst->series;
}

const struct sto_tomb *sto_sst_tombs(const struct sto_sst *sst, size_t *out_n)
{
    *out_n = sst->n_tombs;
    return sst->tombs;
}

int sto_sst__read_block(struct sto_sst__file *f, const struct sto_sst_block *b, uint8_t *buf,
                        struct ts_error *err)
{
    TS_TRY(read_exactly(f, buf, b->len, b->off, err));
    return sto_sst__check_block(f, b, buf, err);
}

int sto_sst__check_block(const struct sto_sst__file *f, const struct sto_sst_block *b, const uint8_t *bytes,
                         struct ts_error *err)
{
    if (b->len < 4 || ts_ld32(bytes) != b->crc)
        return ts_error_set(err, TS_ECORRUPT,
                            "%s: block at %" PRIu64 " is damaged or not the one the index names", f->path,
                            b->off);
    return 0;
}
