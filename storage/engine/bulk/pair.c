/*
 * pair.c - footers, sizes and names of pairs of sorted files.
 *
 * Threads    any
 */
#include "storage/engine/bulk/pair.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/fs_regular.h"

int sto_pair_footer(const struct ts_fs *fs, const char *dir, uint64_t file_no, enum sto_sst_kind kind,
                    struct sto_sst_footer *out, uint64_t *out_bytes, struct ts_error *err)
{
    char *path = sto_sst__path(dir, file_no, kind);
    uint8_t bytes[STO_SST_FOOTER_BYTES];
    struct ts_file *file = NULL;
    uint64_t size = 0;
    size_t n = 0;
    int rc = ts_fs_open_regular(fs, path, &file, err);
    if (rc == 0)
        rc = fs->size(file, &size, err);
    if (rc == 0 && size < STO_SST_HEADER_BYTES + sizeof bytes)
        rc = ts_error_set(err, TS_ECORRUPT, "%s: is cut off at %" PRIu64, path, size);
    if (rc == 0)
        rc = fs->pread(file, bytes, sizeof bytes, size - sizeof bytes, &n, err);
    if (rc == 0 && n < sizeof bytes)
        rc = ts_error_set(err, TS_ECORRUPT, "%s: has become shorter while it was read", path);
    if (rc == 0)
        rc = sto_sst__get_footer(bytes, size, path, out, err);
    if (rc == 0 && (out->kind != (uint32_t)kind || out->info.file_no != file_no))
        rc = ts_error_set(err, TS_ECORRUPT, "%s: footer at %" PRIu64 " is that of another file", path,
                          size - sizeof bytes);
    if (file)
        (void)fs->close(file, NULL);
    ts_free(path);
    *out_bytes = size;
    return rc;
}

int sto_pair_info(const struct ts_fs *fs, const char *dir, uint64_t file_no, struct sto_sst_info *out,
                  struct ts_error *err)
{
    struct sto_sst_footer t, s;
    struct ts_error why = {0};
    uint64_t t_bytes, s_bytes = 0;
    TS_TRY(sto_pair_footer(fs, dir, file_no, STO_SST_KIND_POINTS, &t, &t_bytes, err));
    int rc = sto_pair_footer(fs, dir, file_no, STO_SST_KIND_SUMS, &s, &s_bytes, &why);
    if (rc < 0 && rc != TS_ENOTFOUND) {
        if (err)
            *err = why;
        return rc;
    }
    *out = t.info;
    out->t_bytes = t_bytes;
    out->s_bytes = rc == 0 ? s_bytes : 0;
    return 0;
}

/* Numbers found so far. */
struct numbers {
    uint64_t *v;
    size_t n, cap;
};

static int add_number(void *arg, const char *name)
{
    struct numbers *l = arg;
    enum sto_sst_kind kind;
    uint64_t no;
    if (!sto_sst__name_parse(name, &no, &kind) || kind != STO_SST_KIND_POINTS)
        return 0;
    TS_ARRAY_GROW(l->v, l->n, l->cap, 64);
    l->v[l->n++] = no;
    return 0;
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

int sto_pair_list(const struct ts_fs *fs, const char *dir, uint64_t **out_nos, size_t *out_n,
                  struct ts_error *err)
{
    struct numbers l = {0};
    struct ts_error why = {0};
    int rc = fs->list(fs, dir, add_number, &l, &why);
    if (rc < 0 && rc != TS_ENOTFOUND) {
        ts_free(l.v);
        if (err)
            *err = why;
        return rc;
    }
    if (l.n)
        qsort(l.v, l.n, sizeof *l.v, by_number);
    *out_nos = l.v;
    *out_n = l.n;
    return 0;
}

int sto_pair_remove(const struct ts_fs *fs, const char *dir, uint64_t file_no, struct ts_error *err)
{
    int rc = 0;
    for (int kind = STO_SST_KIND_POINTS; kind <= STO_SST_KIND_SUMS; kind++) {
        char *path = sto_sst__path(dir, file_no, (enum sto_sst_kind)kind);
        struct ts_error why = {0};
        int one = fs->unlink(fs, path, &why);
        if (one < 0 && one != TS_ENOTFOUND && rc == 0) {
            rc = one;
            if (err)
                *err = why;
        }
        ts_free(path);
    }
    return rc;
}
