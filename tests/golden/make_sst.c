/*
 * make_sst.c - golden sorted files: make_golden_sst DIR writes them, make_golden_sst --read DIR checks that
 * they read back as written.
 *
 * Bytes are not compared with today's: another zstd compresses otherwise. What matters is that every released
 * file can be read.
 */
#include <stdio.h>
#include <string.h>

#include "base/fs.h"
#include "base/hash.h"
#include "storage/engine/files/sst.h"

#define FILE_NO  0x1au
#define N_METRIC 3u
#define N_SERIES 10u
#define N_HOURS  3u
#define LEVEL    17u /* of version 3 */
/* Sizes of the files, where the manifest would have them. */
#define T_BYTES_1 8943u /* version 1 */
#define T_BYTES_2 8946u /* version 2: each tombstone has a generation */
#define T_BYTES_3 8673u /* version 3: with a level */
#define S_BYTES   1841u
#define S_BYTES_3 1534u

static uint64_t next(uint64_t *r)
{
    *r += 0x9e3779b97f4a7c15ull;
    return ts_hash_u64(*r);
}

static int64_t bits(double d)
{
    int64_t b;
    memcpy(&b, &d, 8);
    return b;
}

/* One cell; which shape depends on the series. */
static void put_cell(struct sto_cells *c, uint32_t shape, uint32_t i, uint32_t off, int64_t *walk,
                     uint64_t *r)
{
    uint8_t kind = TS_NUM_INT, exp = 0;
    int64_t m = 0;
    *walk += (int64_t)(next(r) % 201) - 100;
    switch (shape) {
    case 0: /* walk of decimals, some with fewer digits */
        kind = TS_NUM_DEC;
        exp = *walk % 10 == 0 ? 1 : 2;
        m = exp == 1 ? *walk / 10 : *walk;
        break;
    case 1: /* counter with a reset */
        m = i < 20 ? 1000000000000ll + i * 5000ll + *walk : i * 5000ll;
        break;
    case 2: /* doubles */
        kind = TS_NUM_RAW;
        m = bits((double)*walk / 7 * (i % 5 ? 1 : -1));
        break;
    case 3: /* integers and decimals */
        kind = i % 3 ? TS_NUM_DEC : TS_NUM_INT;
        exp = i % 3 ? 1 : 0;
        m = *walk;
        break;
    case 4: /* decimals, rarely a raw double */
        kind = i % 16 == 5 ? TS_NUM_RAW : TS_NUM_DEC;
        exp = i % 16 == 5 ? 0 : 3;
        m = i % 16 == 5 ? bits(1.0 / (i + 3)) : *walk;
        break;
    case 5: /* anything */
        kind = (uint8_t)(i % 3);
        exp = kind == TS_NUM_DEC ? (uint8_t)(i % 23) : 0;
        m = kind == TS_NUM_RAW ? bits(-0.0) : (int64_t)(next(r) >> 11) * (i % 2 ? 1 : -1);
        break;
    case 6: /* small numbers with outliers */
        m = i % 13 == 7 ? INT64_MIN + i : (int64_t)(next(r) % 3);
        break;
    case 7: /* a curve */
        m = (int64_t)i * (7 * (int64_t)i - 300);
        break;
    case 8: /* a line with jitter; so are its times */
        m = 123456 * (int64_t)i + (int64_t)(next(r) % 5);
        break;
    default: /* always the same */
        m = 42;
        break;
    }
    c->meta[c->n] =
        off | sto_meta_flags(shape == 1 && i % 2 ? STO_OP_ADD : STO_OP_PUT, kind, exp, off % 1000 != 0);
    c->m[c->n++] = m;
}

static void make_row(const struct sto_key *key, struct sto_cells *c)
{
    uint64_t r = key->series * (uint64_t)100 + (uint64_t)(key->hour + 5);
    uint32_t shape = key->series % N_SERIES, n = key->metric == 9 ? 3 : 48, off = 0;
    int64_t walk = 5000;
    c->n = 0;
    sto_cells_reserve(c, n);
    for (uint32_t i = 0; i < n; i++) {
        put_cell(c, shape, i, off, &walk, &r);
        if (shape == 0)
            off += 10000;
        else if (shape == 2)
            off += 1 + (uint32_t)(next(&r) % 20000);
        else if (shape == 8)
            off = (i + 1) * 15000 + (uint32_t)(next(&r) % 7);
        else
            off += 1000 * (1 + (uint32_t)(next(&r) % 9));
    }
}

static struct sto_key key_of(uint32_t i)
{
    uint32_t s = i / N_HOURS;
    return (struct sto_key){
        .metric = s / N_SERIES == 2 ? 9 : 1 + s / N_SERIES, .series = s, .hour = (int32_t)(i % N_HOURS) - 1};
}

static const struct sto_tomb tombs[] = {
    {1, 3, -3600000, -1, 0}, {1, 3, 7200000, 7300000, 5}, {9, 500, INT64_MIN, INT64_MAX, 6}};
#define N_TOMBS (sizeof tombs / sizeof tombs[0])

static int write_files(const char *dir, struct ts_error *err)
{
    const struct ts_fs *fs = ts_fs_real();
    struct sto_sst_writer *w;
    struct sto_sst_info info;
    struct sto_cells c = {0};
    TS_TRY(fs->mkdir(fs, dir, err));
    TS_TRY(sto_sst_writer_new(fs, dir, FILE_NO, &w, err));
    sto_sst_writer_note(w, 1600000000123, 7);
    int rc = sto_sst_writer_set_level(w, LEVEL, err);
    for (uint32_t i = 0; rc == 0 && i < N_METRIC * N_SERIES * N_HOURS; i++) {
        struct sto_key key = key_of(i);
        make_row(&key, &c);
        rc = sto_sst_write_row(w, &key, &c, err);
    }
    for (size_t i = 0; rc == 0 && i < N_TOMBS; i++)
        rc = sto_sst_write_tomb(w, &tombs[i], err);
    sto_cells_release(&c);
    if (rc < 0) {
        sto_sst_writer_abort(w);
        return rc;
    }
    TS_TRY(sto_sst_writer_finish(w, 4, 6, &info, err));
    printf("n_points %llu n_rows %llu t_bytes %llu s_bytes %llu\n", (unsigned long long)info.n_points,
           (unsigned long long)info.n_rows, (unsigned long long)info.t_bytes,
           (unsigned long long)info.s_bytes);
    return 0;
}

static bool same_double(uint32_t meta, int64_t m, uint32_t meta2, int64_t m2)
{
    if (sto_meta_kind(meta) == TS_NUM_INT || sto_meta_kind(meta2) == TS_NUM_INT)
        return sto_meta_kind(meta) == sto_meta_kind(meta2) && m == m2;
    return bits(ts_num_double(sto_cell_num(meta, m))) == bits(ts_num_double(sto_cell_num(meta2, m2)));
}

static bool same_row(const struct sto_cells *a, const struct sto_cells *b)
{
    const uint32_t keep = STO_META_OFF_MASK | STO_META_MS | STO_META_OP_MASK;
    if (a->n != b->n)
        return false;
    for (uint32_t i = 0; i < a->n; i++)
        if ((a->meta[i] & keep) != (b->meta[i] & keep) ||
            !same_double(a->meta[i], a->m[i], b->meta[i], b->m[i]))
            return false;
    return true;
}

static bool same_summary(const struct sto_summary *a, const struct sto_cells *cells)
{
    struct sto_summary b;
    if (!sto_summary_make(cells, &b))
        return a == NULL;
    return a && a->n == b.n && a->is_int == b.is_int && a->has_sum == b.has_sum && a->sum == b.sum &&
           a->first_off == b.first_off && a->last_off == b.last_off &&
           ts_num_double(a->min) == ts_num_double(b.min) && ts_num_double(a->max) == ts_num_double(b.max) &&
           ts_num_double(a->first) == ts_num_double(b.first) &&
           ts_num_double(a->last) == ts_num_double(b.last);
}

static int read_rows(struct sto_sst *sst, enum sto_sst_what what, struct ts_error *err)
{
    struct sto_sst_cur *cur = sto_sst_cur_new(sst, what, NULL);
    struct sto_cells want = {0};
    const struct sto_cells *got;
    uint32_t i = 0;
    int rc = sto_sst_cur_seek(cur, &(struct sto_key){.hour = INT32_MIN}, err);
    for (; rc == 1; i++) {
        struct sto_key key = key_of(i);
        bool same = sto_key_cmp(&key, sto_sst_cur_key(cur)) == 0;
        make_row(&key, &want);
        if (what == STO_SST_POINTS) {
            rc = sto_sst_cur_cells(cur, &got, err);
            same = same && rc == 0 && same_row(&want, got);
        } else {
            same = same && same_summary(sto_sst_cur_summary(cur), &want);
        }
        if (!same && rc >= 0)
            rc = ts_error_set(err, TS_ECORRUPT, "row %u is not what was written", i);
        if (rc >= 0)
            rc = sto_sst_cur_next(cur, err);
    }
    if (rc == 0 && i != N_METRIC * N_SERIES * N_HOURS)
        rc = ts_error_set(err, TS_ECORRUPT, "%u rows", i);
    sto_cells_release(&want);
    sto_sst_cur_free(cur);
    return rc;
}

static int read_files(const char *dir, struct ts_error *err)
{
    struct sto_sst_info info = {.file_no = FILE_NO,
                                .gen_lo = 4,
                                .gen_hi = 6,
                                .n_points = 2970,
                                .n_rows = 90,
                                .n_tombs = 3,
                                .t_bytes = T_BYTES_2,
                                .s_bytes = S_BYTES};
    struct sto_sst *sst;
    uint64_t gens[N_TOMBS] = {4, 5, 6};
    unsigned level = 0;
    if (sto_sst_open(ts_fs_real(), dir, NULL, &info, &sst, NULL) < 0) {
        info.t_bytes = T_BYTES_3;
        info.s_bytes = S_BYTES_3;
        level = LEVEL;
    }
    if (level && sto_sst_open(ts_fs_real(), dir, NULL, &info, &sst, NULL) < 0) {
        info.t_bytes = T_BYTES_1;
        info.s_bytes = S_BYTES;
        level = 0;
        gens[1] = gens[2] = 4; /* the lowest generation of the file */
        TS_TRY(sto_sst_open(ts_fs_real(), dir, NULL, &info, &sst, err));
    }
    size_t n;
    const struct sto_tomb *got = sto_sst_tombs(sst, &n);
    int rc = n == N_TOMBS ? 0 : ts_error_set(err, TS_ECORRUPT, "%zu tombstones", n);
    if (sto_sst_level(sst) != level)
        rc = ts_error_set(err, TS_ECORRUPT, "level %u", sto_sst_level(sst));
    for (size_t i = 0; rc == 0 && i < N_TOMBS; i++)
        if (got[i].series != tombs[i].series || got[i].from_ms != tombs[i].from_ms || got[i].gen != gens[i])
            rc = ts_error_set(err, TS_ECORRUPT, "tombstone %zu is not what was written", i);
    if (rc == 0)
        rc = read_rows(sst, STO_SST_POINTS, err);
    if (rc == 0)
        rc = read_rows(sst, STO_SST_SUMMARIES, err);
    sto_sst_unref(sst);
    return rc;
}

int main(int argc, char **argv)
{
    struct ts_error err = {0};
    if (argc < 2 || (argc == 3 && strcmp(argv[1], "--read") != 0) || argc > 3) {
        fprintf(stderr, "usage: make_golden_sst [--read] DIR\n");
        return 2;
    }
    int rc = argc == 3 ? read_files(argv[2], &err) : write_files(argv[1], &err);
    if (rc < 0)
        fprintf(stderr, "make_golden_sst: %s\n", err.text);
    return rc < 0 ? 1 : 0;
}
