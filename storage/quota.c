/*
 * quota.c - the limit of bytes and its cutoff, in memory and in DIR/QUOTA.
 *
 * Threads    quota.h; readers take no lock
 * Invariant  what is in force is in the file: the file is written first
 */
#include "storage/quota.h"

#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/time.h"

#define MAGIC   "TSDQUOTA"
#define VERSION 2u /* with a cutoff of points; without one 1, which older programs read */
#define IS_SET  1u /* a flag */
/* Little-endian. The checksum of all before it comes last. */
enum file_off {
    Q_VERSION = 8,
    Q_FLAGS = 12,
    Q_MAX_BYTES = 16,
    Q_CUTOFF_MS = 24,
    Q_POINTS_MS = 32, /* from version 2 on */
    Q_1_BYTES = 36,   /* of version 1 */
    Q_2_BYTES = 44,
    Q_MOST_BYTES = 4096 /* of any version */
};

static int64_t mono_ms(void)
{
    return ts_clock_mono_ns() / 1000000;
}

/* --- the file --- */

static int decode(const char *path, const uint8_t *b, size_t n, struct sto_quota_file *out,
                  struct ts_error *err)
{
    bool is_ours = n >= Q_FLAGS && memcmp(b, MAGIC, Q_VERSION) == 0;
    uint32_t version = is_ours ? ts_ld32(b + Q_VERSION) : 0;
    size_t length = version == 1 ? Q_1_BYTES : Q_2_BYTES;
    bool whole = is_ours && (n == Q_1_BYTES || n == Q_2_BYTES) &&
                 ts_ld32(b + n - sizeof(uint32_t)) == ts_crc32c(0, b, n - sizeof(uint32_t));
    /* another version may have another length, so its checksum may lie elsewhere */
    if (is_ours && version > VERSION && (whole || (n != Q_1_BYTES && n != Q_2_BYTES)))
        return ts_error_set(err, TS_EVERSION, "%s: version %u, this program knows %u", path, version,
                            VERSION);
    if (!whole || version < 1 || version > VERSION || n != length)
        return ts_error_set(
            err, TS_ECORRUPT,
            "%s is damaged; tsd fsck --repair sets it aside, so that max_bytes can be set again", path);
    *out = (struct sto_quota_file){.is_set = ts_ld32(b + Q_FLAGS) & IS_SET,
                                   .max_bytes = ts_ld64(b + Q_MAX_BYTES),
                                   .cutoff_ms = (int64_t)ts_ld64(b + Q_CUTOFF_MS)};
    out->points_ms = version > 1 ? (int64_t)ts_ld64(b + Q_POINTS_MS) : out->cutoff_ms;
    if (out->points_ms < out->cutoff_ms)
        out->points_ms = out->cutoff_ms;
    return 1;
}

int sto_quota_read(const struct ts_fs *fs, const char *dir, struct sto_quota_file *out, struct ts_error *err)
{
    char *path = ts_fs_join(dir, STO_QUOTA_NAME), *p = NULL;
    size_t n = 0;
    *out = (struct sto_quota_file){.cutoff_ms = STO_MIN_TS_MS, .points_ms = STO_MIN_TS_MS};
    int rc = ts_fs_read_small(fs, path, Q_MOST_BYTES, &p, &n, err);
    if (rc == 1)
        rc = decode(path, (const uint8_t *)p, n, out, err);
    ts_free(p);
    ts_free(path);
    return rc;
}

/* Write f, and put it in force. q->mu held. */
static int put_in_force(struct sto_quota *q, const struct sto_quota_file *f, struct ts_error *err)
{
    uint8_t b[Q_2_BYTES];
    bool apart = f->points_ms > f->cutoff_ms;
    size_t n = apart ? Q_2_BYTES : Q_1_BYTES;
    memcpy(b, MAGIC, Q_VERSION);
    ts_st32(b + Q_VERSION, apart ? 2 : 1);
    ts_st32(b + Q_FLAGS, f->is_set ? IS_SET : 0);
    ts_st64(b + Q_MAX_BYTES, f->max_bytes);
    ts_st64(b + Q_CUTOFF_MS, (uint64_t)f->cutoff_ms);
    if (apart)
        ts_st64(b + Q_POINTS_MS, (uint64_t)f->points_ms);
    ts_st32(b + n - sizeof(uint32_t), ts_crc32c(0, b, n - sizeof(uint32_t)));
    char *path = ts_fs_join(q->dir, STO_QUOTA_NAME);
    int rc = ts_fs_write_atomic(q->fs, path, b, n, err);
    ts_free(path);
    if (rc < 0)
        return rc;
    q->file = *f;
    uint64_t max_bytes = f->is_set ? f->max_bytes : q->conf_bytes;
    uint64_t was = atomic_exchange_explicit(&q->max_bytes, max_bytes, memory_order_relaxed);
    if (max_bytes && (!was || max_bytes < was))
        atomic_store_explicit(&q->hold_ms, mono_ms() + q->grace_ms, memory_order_relaxed);
    /* partner: sto_quota_n_changes */
    int64_t points_ms = atomic_exchange_explicit(&q->points_ms, f->points_ms, memory_order_release);
    int64_t cutoff_ms = atomic_exchange_explicit(&q->cutoff_ms, f->cutoff_ms, memory_order_release);
    if (points_ms != f->points_ms || cutoff_ms != f->cutoff_ms)
        atomic_fetch_add_explicit(&q->n_changes, 1, memory_order_release);
    return 0;
}

/* --- open and close --- */

int sto_quota_open(struct sto_quota *q, const struct ts_fs *fs, const char *dir, uint64_t conf_bytes,
                   int64_t grace_ms, struct ts_error *err)
{
    struct sto_quota_file f;
    TS_TRY(sto_quota_read(fs, dir, &f, err));
    *q = (struct sto_quota){.fs = fs, .dir = dir, .conf_bytes = conf_bytes, .grace_ms = grace_ms, .file = f};
    atomic_init(&q->max_bytes, f.is_set ? f.max_bytes : conf_bytes);
    atomic_init(&q->cutoff_ms, f.cutoff_ms);
    atomic_init(&q->points_ms, f.points_ms);
    atomic_init(&q->hold_ms, mono_ms() + grace_ms);
    pthread_mutex_init(&q->mu, NULL);
    q->is_open = true;
    return 0;
}

void sto_quota_close(struct sto_quota *q)
{
    if (q->is_open)
        pthread_mutex_destroy(&q->mu);
    q->is_open = false;
}

/* --- what is in force --- */

uint64_t sto_quota_max_bytes(const struct sto_quota *q)
{
    return atomic_load_explicit(&q->max_bytes, memory_order_relaxed);
}

bool sto_quota_is_set(struct sto_quota *q)
{
    pthread_mutex_lock(&q->mu);
    bool is_set = q->file.is_set;
    pthread_mutex_unlock(&q->mu);
    return is_set;
}

int64_t sto_quota_cutoff_ms(const struct sto_quota *q)
{
    return atomic_load_explicit(&q->cutoff_ms, memory_order_acquire); /* partner: put_in_force */
}

int64_t sto_quota_points_ms(const struct sto_quota *q)
{
    return atomic_load_explicit(&q->points_ms, memory_order_acquire); /* partner: put_in_force */
}

uint64_t sto_quota_n_changes(const struct sto_quota *q)
{
    return atomic_load_explicit(&q->n_changes, memory_order_acquire); /* partner: put_in_force */
}

int64_t sto_quota_held_ms(const struct sto_quota *q)
{
    int64_t left_ms = atomic_load_explicit(&q->hold_ms, memory_order_relaxed) - mono_ms();
    return left_ms > 0 ? left_ms : 0;
}

/* --- changing it --- */

int sto_quota_set(struct sto_quota *q, bool is_set, uint64_t max_bytes, struct ts_error *err)
{
    pthread_mutex_lock(&q->mu);
    struct sto_quota_file f = q->file;
    f.is_set = is_set;
    f.max_bytes = is_set ? max_bytes : 0;
    int rc = put_in_force(q, &f, err);
    pthread_mutex_unlock(&q->mu);
    return rc;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

int sto_quota_raise(struct sto_quota *q, int64_t points_ms, int64_t cutoff_ms, uint64_t max_bytes,
                    struct ts_error *err)
{
    pthread_mutex_lock(&q->mu);
    struct sto_quota_file f = q->file;
    f.cutoff_ms = later(cutoff_ms, f.cutoff_ms);
    f.points_ms = later(later(points_ms, f.points_ms), f.cutoff_ms);
    bool rises = (f.cutoff_ms > q->file.cutoff_ms || f.points_ms > q->file.points_ms) &&
                 sto_quota_max_bytes(q) == max_bytes;
    int rc = rises ? put_in_force(q, &f, err) : 0;
    pthread_mutex_unlock(&q->mu);
    return rc < 0 ? rc : rises;
}

int sto_quota_clear(struct sto_quota *q, struct ts_error *err)
{
    pthread_mutex_lock(&q->mu);
    struct sto_quota_file f = q->file;
    f.cutoff_ms = f.points_ms = STO_MIN_TS_MS;
    int rc = sto_quota_max_bytes(q) ? 0 : put_in_force(q, &f, err);
    pthread_mutex_unlock(&q->mu);
    return rc;
}
