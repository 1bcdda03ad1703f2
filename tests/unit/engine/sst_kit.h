/*
 * sst_kit.h - sorted files on the file system in memory, for their tests.
 */
#ifndef TESTS_UNIT_ENGINE_SST_KIT_H
#define TESTS_UNIT_ENGINE_SST_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "storage/engine/files/sst.h"
#include "tests/faults/faultfs.h"
#include "tests/unit/summary_kit.h"

#define DIR_NAME "d"
#define FILE_NO  0x1fu
#define T_PATH   DIR_NAME "/0000001f.t"
#define S_PATH   DIR_NAME "/0000001f.s"

static uint64_t seed;
static struct t_faultfs *disk;
static struct sto_pages *pages; /* cache of must_open; NULL: none */

static inline int set_up(void **state)
{
    (void)state;
    seed = 7;
    disk = t_faultfs_new(1);
    return t_faultfs_fs(disk)->mkdir(t_faultfs_fs(disk), DIR_NAME, NULL);
}

static inline int tear_down(void **state)
{
    (void)state;
    size_t n_open = t_faultfs_n_open(disk);
    t_faultfs_free(disk);
    return n_open == 0 ? 0 : -1;
}

static inline uint64_t rnd(void)
{
    return t_rand(&seed);
}

/* Cells of row (series, hour): the same each time; n depends on both. */
static inline void make_cells(uint32_t series, int32_t hour, struct sto_cells *c)
{
    uint64_t r = series * 1000003ull + (uint32_t)hour;
    uint32_t n = 1 + (uint32_t)(t_rand(&r) % 60);
    uint32_t kind = series / 2 % 4; /* 3: mixed */
    c->n = 0;
    sto_cells_reserve(c, n);
    for (uint32_t i = 0; i < n; i++) {
        uint8_t k = (uint8_t)(kind == 3 ? i % 3 : kind);
        int64_t m = (int64_t)(t_rand(&r) % 10000);
        double d = (double)m / 3;
        if (k == TS_NUM_RAW)
            memcpy(&m, &d, 8);
        uint8_t exp = k == TS_NUM_DEC ? 2 : 0;
        c->meta[i] = i * 59000 + (uint32_t)(t_rand(&r) % 59) * 1000;
        c->meta[i] |= sto_meta_flags(STO_OP_PUT, k, exp, false);
        c->m[i] = m;
    }
    c->n = n;
}

static inline void assert_cells_equal(const struct sto_cells *a, const struct sto_cells *b)
{
    assert_int_equal(a->n, b->n);
    for (uint32_t i = 0; i < a->n; i++) {
        assert_int_equal(sto_meta_off(a->meta[i]), sto_meta_off(b->meta[i]));
        assert_int_equal(sto_meta_op(a->meta[i]), sto_meta_op(b->meta[i]));
        bool is_int = sto_meta_kind(a->meta[i]) == TS_NUM_INT;
        assert_int_equal(is_int, sto_meta_kind(b->meta[i]) == TS_NUM_INT);
        double x = ts_num_double(sto_cell_num(a->meta[i], a->m[i])),
               y = ts_num_double(sto_cell_num(b->meta[i], b->m[i]));
        if (is_int)
            assert_true(a->m[i] == b->m[i]);
        else
            assert_memory_equal(&x, &y, 8);
    }
}

static inline struct sto_sst_writer *new_writer(void)
{
    struct sto_sst_writer *w;
    struct ts_error err = {0};
    if (sto_sst_writer_new(t_faultfs_fs(disk), DIR_NAME, FILE_NO, &w, &err) < 0)
        fail_msg("%s", err.text);
    return w;
}

static inline void must_write(struct sto_sst_writer *w, struct sto_key key, const struct sto_cells *c)
{
    struct ts_error err = {0};
    if (sto_sst_write_row(w, &key, c, &err) < 0)
        fail_msg("%s", err.text);
}

static inline struct sto_sst_info must_finish(struct sto_sst_writer *w)
{
    struct sto_sst_info info;
    struct ts_error err = {0};
    if (sto_sst_writer_finish(w, 3, 5, &info, &err) < 0)
        fail_msg("%s", err.text);
    return info;
}

static inline struct sto_sst *must_open(const struct sto_sst_info *info)
{
    struct sto_sst *sst;
    struct ts_error err = {0};
    if (sto_sst_open(t_faultfs_fs(disk), DIR_NAME, &(struct sto_sst_caches){.pages = pages}, info, &sst,
                     &err) < 0)
        fail_msg("%s", err.text);
    return sst;
}

/* Key of the i-th row of the standard file: two metrics, even series, hours -3, 0, 3 .. */
#define N_HOURS 10u
static inline struct sto_key key_at(uint32_t i, uint32_t n_series)
{
    uint32_t s = i / N_HOURS;
    return (struct sto_key){
        .metric = 5 + s / n_series, .series = s * 2, .hour = (int32_t)(i % N_HOURS) * 3 - 3};
}

/* The standard file: 2 * n_series series of ten hours, three tombstones. */
static inline struct sto_sst_info write_standard(uint32_t n_series)
{
    struct sto_sst_writer *w = new_writer();
    struct sto_cells c = {0};
    for (uint32_t i = 0; i < 2 * n_series * N_HOURS; i++) {
        struct sto_key k = key_at(i, n_series);
        make_cells(k.series, k.hour, &c);
        must_write(w, k, &c);
    }
    static const struct sto_tomb tombs[] = {
        {6, 3, 100, 200, 0}, {6, 3, -50, 10, 0}, {5, 9, INT64_MIN, INT64_MAX, 0}};
    for (int i = 0; i < 3; i++)
        assert_int_equal(sto_sst_write_tomb(w, &tombs[i], NULL), 0);
    sto_cells_release(&c);
    return must_finish(w);
}

#endif
