/*
 * floors.c - references to floors, and their file.
 *
 * Threads    floors.h
 */
#include "storage/floors.h"

#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/mem.h"

#define MAGIC   "TSDFLOOR"
#define VERSION 1u
/* Little-endian. */
enum file_off {
    F_VERSION = 8,
    F_COUNT = 12, /* floors */
    F_BODY =
        16 /* of each: cutoff_ms (8), gen (8), length of the set (8), the set; then a CRC-32C of all before it */
};
#define HEAD_BYTES 24u
#define CRC_BYTES  4u

struct sto_floors *sto_floors_new(size_t n)
{
    struct sto_floors *f = ts_xcalloc(1, sizeof *f + n * sizeof f->at[0]);
    atomic_init(&f->refs, 1);
    f->n = n;
    return f;
}

void sto_floors_filled(struct sto_floors *f)
{
    f->max_gen = 0;
    for (size_t i = 0; i < f->n; i++)
        f->max_gen = f->at[i].gen > f->max_gen ? f->at[i].gen : f->max_gen;
}

struct sto_floors *sto_floors_ref(struct sto_floors *f)
{
    if (f)
        atomic_fetch_add_explicit(&f->refs, 1, memory_order_relaxed);
    return f;
}

void sto_floors_unref(struct sto_floors *f)
{
    if (!f || atomic_fetch_sub_explicit(&f->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t i = 0; i < f->n; i++)
        if (f->at[i].series)
            roaring_bitmap_free(f->at[i].series);
    ts_free(f);
}

/* --- the file --- */

/* The next floor of b[*at..end); false: it does not fit. */
static bool get_floor(const uint8_t *b, size_t end, size_t *at, struct sto_floor *out)
{
    if (end - *at < HEAD_BYTES)
        return false;
    out->cutoff_ms = (int64_t)ts_ld64(b + *at);
    out->gen = ts_ld64(b + *at + 8);
    uint64_t n = ts_ld64(b + *at + 16);
    *at += HEAD_BYTES;
    if (n > end - *at || roaring_bitmap_portable_deserialize_size((const char *)b + *at, (size_t)n) != n)
        return false;
    out->series = roaring_bitmap_portable_deserialize_safe((const char *)b + *at, (size_t)n);
    *at += (size_t)n;
    return out->series != NULL;
}

static int decode(const char *path, const uint8_t *b, size_t n, struct sto_floors **out, struct ts_error *err)
{
    if (n < F_BODY + CRC_BYTES || memcmp(b, MAGIC, F_VERSION) != 0 ||
        ts_ld32(b + n - CRC_BYTES) != ts_crc32c(0, b, n - CRC_BYTES))
        return ts_error_set(err, TS_ECORRUPT, "%s is damaged", path);
    if (ts_ld32(b + F_VERSION) != VERSION)
        return ts_error_set(err, TS_EVERSION, "%s: version %u, this program knows %u", path,
                            ts_ld32(b + F_VERSION), VERSION);
    uint32_t count = ts_ld32(b + F_COUNT);
    if (count > STO_FLOORS_MAX)
        return ts_error_set(err, TS_ECORRUPT, "%s is damaged: it has %u floors", path, count);
    struct sto_floors *f = sto_floors_new(count);
    size_t at = F_BODY, k = 0;
    while (k < count && get_floor(b, n - CRC_BYTES, &at, &f->at[k]))
        k++;
    if (k < count || at != n - CRC_BYTES) {
        sto_floors_unref(f);
        return ts_error_set(err, TS_ECORRUPT, "%s is damaged: its floors are cut off", path);
    }
    sto_floors_filled(f);
    *out = f;
    return 1;
}

int sto_floors_read(const struct ts_fs *fs, const char *dir, struct sto_floors **out, struct ts_error *err)
{
    return sto_floors_read_from(fs, dir, STO_FLOORS_NAME, out, err);
}

int sto_floors_read_from(const struct ts_fs *fs, const char *dir, const char *name, struct sto_floors **out,
                         struct ts_error *err)
{
    char *path = ts_fs_join(dir, name), *p = NULL;
    size_t n = 0;
    *out = NULL;
    int rc = ts_fs_read_small(fs, path, STO_FLOORS_MAX_BYTES, &p, &n, err);
    if (rc == 1)
        rc = decode(path, (const uint8_t *)p, n, out, err);
    ts_free(p);
    ts_free(path);
    return rc;
}

int sto_floors_write(const struct ts_fs *fs, const char *dir, const struct sto_floors *f,
                     struct ts_error *err)
{
    return sto_floors_write_to(fs, dir, STO_FLOORS_NAME, f, err);
}

int sto_floors_write_to(const struct ts_fs *fs, const char *dir, const char *name, const struct sto_floors *f,
                        struct ts_error *err)
{
    char *path = ts_fs_join(dir, name);
    size_t n = F_BODY + CRC_BYTES, at = F_BODY;
    for (size_t i = 0; i < f->n; i++)
        n += HEAD_BYTES + roaring_bitmap_portable_size_in_bytes(f->at[i].series);
    uint8_t *b = n <= STO_FLOORS_MAX_BYTES ? ts_try_malloc(n) : NULL;
    int rc = 0;
    if (!b)
        rc = ts_error_set(err, n <= STO_FLOORS_MAX_BYTES ? TS_ENOMEM : TS_ELIMIT,
                          "%s needs %zu bytes; it may have %u", path, n, STO_FLOORS_MAX_BYTES);
    for (size_t i = 0; b && i < f->n; i++) {
        size_t set = roaring_bitmap_portable_serialize(f->at[i].series, (char *)b + at + HEAD_BYTES);
        ts_st64(b + at, (uint64_t)f->at[i].cutoff_ms);
        ts_st64(b + at + 8, f->at[i].gen);
        ts_st64(b + at + 16, set);
        at += HEAD_BYTES + set;
    }
    if (b) {
        memcpy(b, MAGIC, F_VERSION);
        ts_st32(b + F_VERSION, VERSION);
        ts_st32(b + F_COUNT, (uint32_t)f->n);
        ts_st32(b + at, ts_crc32c(0, b, at));
        rc = ts_fs_write_atomic(fs, path, b, n, err);
    }
    ts_free(b);
    ts_free(path);
    return rc;
}
