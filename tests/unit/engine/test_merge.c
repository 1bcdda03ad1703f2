/*
 * test_merge.c - scans over memstores and files, case by case; all answers are compared with the plain
 * reference.
 */
#include <malloc.h>
#include <math.h>

#include "tests/unit/engine/merge_kit.h"

static void test_merge__nothing_to_read(void **state)
{
    (void)state;
    struct world w;
    world_init(&w);
    struct ask a = ask_some(&w, 1, STO_MIN_TS_MS, STO_MAX_TS_MS, NULL);
    check(&w, &a);
    apply(&w, op_int(&w.series[0], STO_OP_PUT, 1000, 1));
    apply(&w, op_int(&w.series[1], STO_OP_PUT, 1000, 1));
    check(&w, &a);
    a.n = 0;
    check(&w, &a);
    a = ask_some(&w, 1, 2000, 1999, NULL); /* empty range */
    check(&w, &a);
    a = ask_some(&w, 1, INT64_MIN, INT64_MAX, NULL);
    check(&w, &a);
    a = ask_some(&w, 1, INT64_MAX, INT64_MAX, NULL);
    check(&w, &a);
    a = ask_some(&w, 1, INT64_MIN, INT64_MIN, NULL);
    check(&w, &a);
    sto_merge_free(NULL);
    world_release(&w);
}

static void test_merge__ends_of_a_range_are_inclusive(void **state)
{
    (void)state;
    struct world w;
    world_init(&w);
    for (int64_t t = -3 * HOUR; t <= 3 * HOUR; t += HOUR / 4)
        apply(&w, op_int(&w.series[2], STO_OP_PUT, t, t));
    apply(&w, op_int(&w.series[2], STO_OP_PUT, STO_MIN_TS_MS, 7));
    apply(&w, op_int(&w.series[2], STO_OP_PUT, STO_MAX_TS_MS, 8));
    for (int round = 0; round < 2; round++) {
        for (int64_t from = -2 * HOUR; from <= HOUR; from += HOUR / 8) {
            for (int64_t to = from - 1; to <= 2 * HOUR; to += HOUR / 8 + 1) {
                struct ask a = {.series = {&w.series[2]}, .n = 1, .from_ms = from, .to_ms = to};
                check(&w, &a);
            }
        }
        struct ask all = {.series = {&w.series[2]}, .n = 1, .from_ms = INT64_MIN, .to_ms = INT64_MAX};
        check(&w, &all);
        next_generation(&w);
        flush(&w, 1, 0); /* and the same from files: no row may fall out at the ends of time */
    }
    world_release(&w);
}

static void test_merge__newer_sources_win_whatever_their_order_in_the_arrays(void **state)
{
    (void)state;
    struct world w;
    world_init(&w);
    for (int64_t g = 0; g < 6; g++) {
        for (int64_t i = 0; i < 50; i++)
            apply(&w, op_int(&w.series[4], (i + g) % 4 ? STO_OP_PUT : STO_OP_ADD, (i * (g + 1) % 60) * 1000,
                             g * 100 + i));
        next_generation(&w);
    }
    struct ask a = {.series = {&w.series[4]}, .n = 1, .from_ms = 0, .to_ms = HOUR};
    check(&w, &a);
    struct sto_mem *t = w.mems[0];
    w.mems[0] = w.mems[4];
    w.mems[4] = t;
    check(&w, &a);
    w.mems[4] = w.mems[0];
    w.mems[0] = t;
    flush(&w, 1, 0);
    flush(&w, 1, 0);
    struct sto_sst *s = w.ssts[0];
    w.ssts[0] = w.ssts[1];
    w.ssts[1] = s;
    check(&w, &a);
    world_release(&w);
}

/* One file; whole hours come from summaries without a look at the points, until something newer touches them.
 */
static void test_merge__whole_hours_of_one_file_are_summaries(void **state)
{
    (void)state;
    struct world w;
    world_init(&w);
    uint8_t whole[ALL_HOURS];
    memset(whole, 1, sizeof(whole));
    for (uint32_t s = 0; s < N_SERIES; s++)
        for (int64_t i = 0; i < 6 * 60; i++)
            apply(&w, op_int(&w.series[s], STO_OP_PUT, i * 60000, (int64_t)rnd(1000) - 500));
    next_generation(&w);
    flush(&w, 1, INT32_MAX);
    assert_true(sto_sst_info(w.ssts[0])->s_bytes > 0);

    struct ask a = ask_some(&w, 1, 0, 6 * HOUR - 1, whole);
    struct sto_merge_counts c = check(&w, &a);
    assert_int_equal(c.n_points, 0);
    assert_int_equal(c.n_summaries, 6 * N_SERIES / 2);

    a.from_ms = HOUR / 2; /* half of the first hour: its points are read */
    c = check(&w, &a);
    assert_int_equal(c.n_points, 60 * N_SERIES / 2);
    assert_int_equal(c.n_summaries, 5 * N_SERIES / 2);

    a.from_ms = 0;
    whole[2] = 0; /* the caller does not want this one */
    c = check(&w, &a);
    assert_int_equal(c.n_points, 60 * N_SERIES / 2);
    whole[2] = 1;

    const struct sto_series *s = a.series[3];
    apply(&w, op_int(s, STO_OP_PUT, 3 * HOUR + 5, 1)); /* a memstore has the row too */
    c = check(&w, &a);
    assert_int_equal(c.n_points, 60 + 1);
    assert_int_equal(c.n_summaries, 6 * N_SERIES / 2 - 1);

    apply(&w, del(s, 4 * HOUR + HOUR / 2, 5 * HOUR)); /* touches two hours */
    c = check(&w, &a);
    assert_int_equal(c.n_summaries, 6 * N_SERIES / 2 - 3);

    apply(&w, del(a.series[4], 0, 6 * HOUR)); /* takes all of a series */
    c = check(&w, &a);
    assert_int_equal(c.n_summaries, 6 * N_SERIES / 2 - 3 - 6);
    next_generation(&w);
    flush(&w, 1, INT32_MAX); /* the same with the tombstones in a file that has no rows of them */
    c = check(&w, &a);
    assert_int_equal(c.n_summaries, 6 * N_SERIES / 2 - 3 - 6);
    compact(&w, true); /* one source again */
    c = check(&w, &a);
    assert_int_equal(c.n_points, 0);
    assert_int_equal(c.n_summaries, 6 * N_SERIES / 2 - 6);
    world_release(&w);
}

static void test_merge__rows_of_mixed_kinds_have_no_summary(void **state)
{
    (void)state;
    struct world w;
    world_init(&w);
    uint8_t whole[ALL_HOURS];
    memset(whole, 1, sizeof(whole));
    for (int64_t i = 0; i < 3 * 60; i++) {
        struct sto_point p = op_int(&w.series[6], STO_OP_PUT, i * 60000, i);
        if (i / 60 == 1 && i % 2)
            p.flags = sto_meta_flags(STO_OP_PUT, TS_NUM_DEC, 1, false);
        apply(&w, p);
    }
    next_generation(&w);
    flush(&w, 1, INT32_MAX);
    struct ask a = {.series = {&w.series[6]}, .n = 1, .from_ms = 0, .to_ms = 3 * HOUR - 1, .whole = whole};
    struct sto_merge_counts c = check(&w, &a);
    assert_int_equal(c.n_summaries, 2);
    assert_int_equal(c.n_points, 60);
    world_release(&w);
}

/* Points of rows whose summaries have no sum, and of rows that were given as a summary: from the scan at hand. */
static void test_merge__points_behind_a_summary(void **state)
{
    (void)state;
    struct world w;
    struct ts_error err = {0};
    world_init(&w);
    const struct sto_series *s = &w.series[2];
    for (int64_t t = 0; t < 3 * HOUR; t += (HOUR / 60)) {
        struct sto_point p = op_int(s, STO_OP_PUT, t, t);
        double infinite = INFINITY;
        if (t / HOUR == 1) { /* an hour without a sum */
            memcpy(&p.m, &infinite, 8);
            p.flags = sto_meta_flags(STO_OP_PUT, TS_NUM_RAW, 0, true);
        }
        apply(&w, p);
    }
    next_generation(&w);
    flush(&w, 1, 0);
    const uint8_t whole[3] = {1, 1, 1};
    for (int needs_sum = 0; needs_sum < 2; needs_sum++) {
        struct sto_scan_spec spec = {.metric = s->metric,
                                     .series = &s,
                                     .n_series = 1,
                                     .to_ms = 3 * HOUR - 1,
                                     .whole_hours = whole,
                                     .needs_sum = needs_sum,
                                     .final = true};
        struct sto_merge *m = NULL;
        struct sto_row row;
        assert_int_equal(sto_merge_new(&spec, w.ssts, w.n_ssts, NULL, 0, &m, &err), 0);
        for (int32_t hour = 0; hour < 3; hour++) {
            assert_int_equal(sto_merge_next(m, &row, &err), 1);
            assert_int_equal(row.key.hour, hour);
            assert_true((row.sum == NULL) == (needs_sum && hour == 1));
            if (row.sum)
                assert_int_equal(sto_merge_points(m, &row, &err), 1);
            assert_null(row.sum);
            assert_int_equal(row.cells->n, 60);
            if (hour != 1)
                assert_int_equal(row.cells->m[59], hour * HOUR + 59 * (HOUR / 60));
        }
        assert_int_equal(sto_merge_next(m, &row, &err), 0);
        assert_int_equal(sto_merge_counts(m)->n_rows, 3); /* each row once */
        sto_merge_free(m);
    }
    world_release(&w);
}

/* Bytes that malloc has given out. */
static size_t in_use(void)
{
    struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
}

/* A scan holds a decoded block of each file that it stands in, and no context of zstd; nothing of files behind it. */
static void test_merge__memory_of_a_scan_of_many_files(void **state)
{
    enum { FILES = 50, KIB_A_FILE = 40 };
    (void)state;
    struct world w;
    struct ts_error err = {0};
    world_init(&w);
    for (int64_t g = 0; g < FILES; g++) {
        for (unsigned i = 0; i < N_SERIES; i++)
            for (int64_t t = 0; t < HOUR; t += HOUR / 60)
                apply(&w, op_int(&w.series[i], STO_OP_PUT, g * HOUR + t, rnd(1000)));
        next_generation(&w);
        flush(&w, 1, 0);
    }
    const struct sto_series *s[N_SERIES];
    size_t n = 0;
    for (unsigned i = 0; i < N_SERIES; i++)
        if (w.series[i].metric == w.series[0].metric)
            s[n++] = &w.series[i];
    for (int all = 0; all < 2; all++) {
        struct sto_scan_spec spec = {.metric = s[0]->metric,
                                     .series = all ? NULL : s,
                                     .n_series = all ? 0 : n,
                                     .to_ms = FILES * HOUR,
                                     .final = true};
        struct sto_merge *m = NULL;
        struct sto_row row;
        size_t before = in_use();
        assert_int_equal(sto_merge_new(&spec, w.ssts, w.n_ssts, NULL, 0, &m, &err), 0);
        for (int64_t g = 0; g < FILES; g++)
            assert_int_equal(sto_merge_next(m, &row, &err), 1);
        size_t most = in_use() - before;
        if (in_use() && most > FILES * KIB_A_FILE * 1024u)
            fail_msg("%zu bytes a file", most / FILES);
        while (sto_merge_next(m, &row, &err) == 1)
            ;
        if (all && in_use() > before + most / 4)
            fail_msg("%zu bytes at the end of all files", in_use() - before);
        sto_merge_free(m);
    }
    world_release(&w);
}

/* Files that all have rows of the same series and hours: each row needs all of them. */
static void test_merge__a_scan_keeps_to_its_memory(void **state)
{
    enum { FILES = 60, ROWS = 6 };
    (void)state;
    struct world w;
    world_init(&w);
    for (int64_t g = 0; g < FILES; g++) {
        for (int64_t i = 0; i < ROWS * N_SERIES; i++)
            apply(&w, op_int(&w.series[i % N_SERIES], STO_OP_PUT, i / N_SERIES * HOUR + g * 1000, rnd(1000)));
        next_generation(&w);
        flush(&w, 1, 0);
    }
    for (int all = 0; all < 2; all++) {
        const struct sto_series *s = &w.series[0];
        struct sto_scan_spec spec = {.metric = s->metric,
                                     .series = all ? NULL : &s,
                                     .n_series = all ? 0 : 1,
                                     .to_ms = ROWS * HOUR - 1,
                                     .final = true,
                                     .must_go_on = all};
        uint64_t whole = 0; /* what it takes without a limit */
        for (unsigned i = 0; i < 3; i++) {
            struct ts_budget memory;
            struct ts_error err = {0};
            struct sto_merge *m = NULL;
            struct sto_row row;
            int n = 0;
            ts_budget_init(&memory, "this scan", "some_key", NULL, i == 0 ? 0 : i == 1 ? whole / 2 : 1);
            spec.memory = &memory;
            int rc = sto_merge_new(&spec, w.ssts, w.n_ssts, NULL, 0, &m, &err);
            while (rc >= 0 && (rc = sto_merge_next(m, &row, &err)) == 1) {
                assert_int_equal(row.cells->n, FILES);
                n++;
            }
            if (i == 2 && !all) {
                assert_int_equal(rc, TS_ELIMIT);
                assert_non_null(strstr(err.text, "some_key"));
                assert_int_equal(memory.used_bytes, 0);
                continue;
            }
            if (rc < 0)
                fail_msg("%s", err.text);
            assert_int_equal(n, all ? ROWS * N_SERIES : ROWS);
            assert_int_equal(sto_merge_counts(m)->n_refused > 0, i > 0);
            whole = i == 0 ? memory.peak_bytes : whole;
            assert_true(whole > FILES * 8 * 1024);
            if (i > 0 && memory.peak_bytes >
                             whole / 2 + TS_TALLY_STEP) /* a step of what is not refused, as the heap */
                fail_msg("%llu bytes of %llu", (unsigned long long)memory.peak_bytes,
                         (unsigned long long)whole);
            sto_merge_free(m);
            assert_int_equal(memory.used_bytes, 0);
        }
    }
    world_release(&w);
}

/* What is taken for the result of a row is given back if its cells are deleted: else a scan over many such rows has no memory left, and reads each block again and again. */
static void test_merge__deleted_rows_keep_no_memory(void **state)
{
    enum { ROWS = 1000 };
    (void)state;
    struct world w;
    struct ts_budget memory;
    struct ts_error err = {0};
    struct sto_merge *m = NULL;
    struct sto_row row;
    world_init(&w);
    const struct sto_series *s = &w.series[0];
    for (int64_t t = 0; t < ROWS * HOUR; t += HOUR / 60)
        apply(&w, op_int(s, STO_OP_PUT, t, 1));
    next_generation(&w);
    flush(&w, 1, 0);
    apply(&w, del(s, 0, (ROWS - 1) * HOUR - 1));
    ts_budget_init(&memory, "this scan", "some_key", NULL, 512u << 10);
    struct sto_scan_spec spec = {.metric = s->metric,
                                 .series = &s,
                                 .n_series = 1,
                                 .to_ms = ROWS * HOUR - 1,
                                 .final = true,
                                 .memory = &memory};
    assert_int_equal(sto_merge_new(&spec, w.ssts, w.n_ssts, w.mems, w.n_mems, &m, &err), 0);
    assert_int_equal(sto_merge_next(m, &row, &err), 1);
    assert_int_equal(row.key.hour, ROWS - 1);
    assert_int_equal(row.cells->n, 60);
    assert_int_equal(sto_merge_next(m, &row, &err), 0);
    assert_int_equal(sto_merge_counts(m)->n_refused, 0);
    sto_merge_free(m);
    assert_int_equal(memory.used_bytes, 0);
    world_release(&w);
}

static void test_merge__files_without_summaries_are_read_by_points(void **state)
{
    (void)state;
    struct world w;
    world_init(&w);
    uint8_t whole[ALL_HOURS];
    memset(whole, 1, sizeof(whole));
    for (uint32_t s = 0; s < N_SERIES; s++)
        for (int64_t h = 0; h < 5; h++)
            apply(&w, op_int(&w.series[s], STO_OP_PUT, h * HOUR + s, (int64_t)s * h));
    next_generation(&w);
    flush(&w, 1, INT32_MAX);
    assert_int_equal(sto_sst_info(w.ssts[0])->s_bytes,
                     0); /* one point a row: a summary would be no smaller */
    struct ask a = ask_some(&w, 1, 0, 5 * HOUR - 1, whole);
    struct sto_merge_counts c = check(&w, &a);
    assert_int_equal(c.n_summaries, 0);
    assert_int_equal(c.n_points, 5 * N_SERIES / 2);
    world_release(&w);
}

static void test_merge__files_that_cannot_matter_are_not_read(void **state)
{
    (void)state;
    struct world w;
    world_init(&w);
    for (int64_t h = 0; h < 4; h++) {
        for (uint32_t s = 0; s < 10; s++) /* each file has other series and another hour */
            for (int64_t i = 0; i < 40; i++)
                apply(&w, op_int(&w.series[h * 10 + s], STO_OP_PUT, h * HOUR + i * 1000, i));
        next_generation(&w);
        flush(&w, 1, INT32_MAX);
    }
    struct ask a = {.series = {&w.series[10]}, .n = 1, .from_ms = INT64_MIN, .to_ms = INT64_MAX};
    assert_int_equal(check(&w, &a).n_points, 40);
    a.from_ms = 2 * HOUR; /* the series is in a file of another hour */
    assert_int_equal(check(&w, &a).n_points, 0);
    a = (struct ask){.series = {&w.series[0], &w.series[30]}, .n = 2, .from_ms = 0, .to_ms = HOUR};
    assert_int_equal(check(&w, &a).n_points, 40);
    world_release(&w);
}

/* A batch of one file shares its generation with the tombstones beside it: what was written after the delete
 * stays. */
static void test_merge__tombstones_spare_what_was_written_beside_them(void **state)
{
    (void)state;
    struct world w;
    world_init(&w);
    const struct sto_series *s = &w.series[8];
    for (int64_t i = 0; i < 30; i++)
        apply(&w, op_int(s, STO_OP_PUT, i * 60000, i));
    next_generation(&w);
    apply(&w, op_int(s, STO_OP_PUT, 0, 100));
    apply(&w, del(s, 0, 20 * 60000));
    apply(&w, op_int(s, STO_OP_ADD, 60000, 200));
    apply(&w, op_int(s, STO_OP_PUT, 120000, 300));
    next_generation(&w);
    struct ask a = {.series = {s}, .n = 1, .from_ms = 0, .to_ms = HOUR};
    check(&w, &a);
    flush(&w, 1, INT32_MAX);
    check(&w, &a);
    flush(&w, 1, INT32_MAX);
    assert_int_equal(w.n_ssts, 3);
    check(&w, &a);
    for (size_t turn = 0; turn < 3; turn++) { /* in any order */
        struct sto_sst *first = w.ssts[0];
        w.ssts[0] = w.ssts[1];
        w.ssts[1] = w.ssts[2];
        w.ssts[2] = first;
        check(&w, &a);
    }
    compact(&w, false);
    check(&w, &a);
    compact(&w, true);
    check(&w, &a);
    world_release(&w);
}

static void test_merge__a_memstore_of_deletes_alone_counts(void **state)
{
    (void)state;
    struct world w;
    world_init(&w);
    const struct sto_series *s = &w.series[2];
    for (int64_t t = 0; t <= 2 * HOUR; t += HOUR / 8)
        apply(&w, op_int(s, STO_OP_PUT, t, t));
    apply(&w, op_int(s, STO_OP_PUT, HOUR - 1, 5));
    next_generation(&w);
    apply(&w, del(s, HOUR - 1, HOUR - 1)); /* the last ms of an hour, */
    apply(&w, del(s, HOUR, HOUR));         /* the first of one */
    apply(&w, del(s, 2 * HOUR + 1, INT64_MAX));
    struct ask a = {.series = {s}, .n = 1, .from_ms = 0, .to_ms = 2 * HOUR};
    for (int round = 0; round < 2; round++) {
        check(&w, &a);
        /* Rows in the range but of another series, and rows far from it, are not read. */
        apply(&w, op_int(&w.series[4], STO_OP_PUT, HOUR, 1));
        apply(&w, op_int(s, STO_OP_PUT, 50 * HOUR, 1));
        assert_int_equal(check(&w, &a).n_points, 18);
        next_generation(&w);
        flush(&w, 1, INT32_MAX);
    }
    world_release(&w);
}

/* Deletes and adds that are written between two rows of a scan: who sees the add sees the delete before it.
 */
static void test_merge__deletes_during_a_scan_are_heeded(void **state)
{
    (void)state;
    for (int64_t n_others = 0; n_others < 400; n_others += 50) {
        struct world w;
        world_init(&w);
        const struct sto_series *s = &w.series[0], *other = &w.series[2];
        for (int64_t t = 0; t < 3 * HOUR; t += HOUR / 2) {
            apply(&w, op_int(s, STO_OP_PUT, t, 1));
            apply(&w, op_int(other, STO_OP_PUT, t, 1));
        }
        next_generation(&w);
        flush(&w, 1, INT32_MAX);
        apply(&w, op_int(s, STO_OP_PUT, 0, 2));
        apply(&w, op_int(s, STO_OP_ADD, 2 * HOUR, 1));
        apply(&w, del(s, HOUR, HOUR));

        struct sto_scan_spec spec = {
            .metric = 5, .series = &s, .n_series = 1, .to_ms = 3 * HOUR, .final = true};
        struct sto_merge *merge;
        struct sto_row row;
        assert_int_equal(sto_merge_new(&spec, w.ssts, w.n_ssts, w.mems, w.n_mems, &merge, NULL), 0);
        assert_int_equal(sto_merge_next(merge, &row, NULL), 1);
        for (int64_t i = 0; i < n_others; i++)
            apply(&w, del(other, i * 2, i % 7 ? i * 2 : 3 * HOUR));
        apply(&w, del(s, 2 * HOUR, 2 * HOUR));
        apply(&w, op_int(s, STO_OP_ADD, 2 * HOUR, 5));
        assert_int_equal(sto_merge_next(merge, &row, NULL), 1);
        assert_int_equal(row.key.hour, 1);
        assert_int_equal(row.cells->n, 1); /* the other series' deletes are not ours */
        for (int64_t i = 0; i < n_others; i++)
            apply(&w, del(other, i * 3, i * 3));
        apply(&w, del(s, 2 * HOUR, 2 * HOUR));
        apply(&w, op_int(s, STO_OP_ADD, 2 * HOUR, 7));
        assert_int_equal(sto_merge_next(merge, &row, NULL), 1);
        assert_int_equal(row.key.hour, 2);
        assert_int_equal(row.cells->n, 2);
        assert_int_equal(row.cells->m[0], 7);
        assert_int_equal(row.cells->m[1], 1);
        assert_int_equal(sto_merge_next(merge, &row, NULL), 0);
        sto_merge_free(merge);
        world_release(&w);
    }
}

/* Every byte of the first blocks of a file is turned round. */
static void spoil(const struct world *w, uint64_t file_no)
{
    char path[128];
    unsigned char bytes[400];
    (void)snprintf(path, sizeof(path), "%s/%08llu.t", w->dir, (unsigned long long)file_no);
    FILE *f = fopen(path, "r+b");
    assert_non_null(f);
    assert_int_equal(fseek(f, 16, SEEK_SET), 0);
    size_t n = fread(bytes, 1, sizeof(bytes), f);
    assert_true(n > 100);
    for (size_t i = 0; i < n; i++)
        bytes[i] ^= 0xff;
    assert_int_equal(fseek(f, 16, SEEK_SET), 0);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

/* A damaged file ends a scan with words; whole hours never look at it. */
static void test_merge__damage_is_told_and_summaries_stand_alone(void **state)
{
    (void)state;
    struct world w;
    world_init(&w);
    uint8_t whole[4] = {1, 1, 1, 1};
    for (uint32_t s = 0; s < N_SERIES; s++)
        for (int64_t i = 0; i < 4 * 100; i++)
            apply(&w, op_int(&w.series[s], STO_OP_PUT, i * 36000, (int64_t)rnd(1u << 30)));
    next_generation(&w);
    flush(&w, 1, INT32_MAX);
    spoil(&w, sto_sst_info(w.ssts[0])->file_no);
    struct ask a = ask_some(&w, 1, 0, 4 * HOUR - 1, whole);
    assert_int_equal(check(&w, &a).n_summaries, 4 * N_SERIES / 2);

    struct sto_scan_spec spec = {.metric = a.series[0]->metric,
                                 .series = a.series,
                                 .n_series = a.n,
                                 .from_ms = 1,
                                 .to_ms = 4 * HOUR - 1,
                                 .whole_hours = whole,
                                 .final = true};
    for (int by_series = 0; by_series < 2; by_series++) {
        struct sto_merge *merge = NULL;
        struct sto_row row;
        struct ts_error err = {0};
        spec.series = by_series ? a.series : NULL;
        int rc = sto_merge_new(&spec, w.ssts, w.n_ssts, NULL, 0, &merge, &err);
        while (rc >= 0 && (rc = sto_merge_next(merge, &row, &err)) == 1)
            ;
        assert_int_equal(rc, TS_ECORRUPT);
        assert_int_equal(err.code, TS_ECORRUPT);
        assert_true(strlen(err.text) > 0);
        sto_merge_free(merge);
    }
    world_release(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_merge__nothing_to_read),
        cmocka_unit_test(test_merge__ends_of_a_range_are_inclusive),
        cmocka_unit_test(test_merge__newer_sources_win_whatever_their_order_in_the_arrays),
        cmocka_unit_test(test_merge__whole_hours_of_one_file_are_summaries),
        cmocka_unit_test(test_merge__rows_of_mixed_kinds_have_no_summary),
        cmocka_unit_test(test_merge__points_behind_a_summary),
        cmocka_unit_test(test_merge__memory_of_a_scan_of_many_files),
        cmocka_unit_test(test_merge__a_scan_keeps_to_its_memory),
        cmocka_unit_test(test_merge__deleted_rows_keep_no_memory),
        cmocka_unit_test(test_merge__files_without_summaries_are_read_by_points),
        cmocka_unit_test(test_merge__files_that_cannot_matter_are_not_read),
        cmocka_unit_test(test_merge__tombstones_spare_what_was_written_beside_them),
        cmocka_unit_test(test_merge__a_memstore_of_deletes_alone_counts),
        cmocka_unit_test(test_merge__deletes_during_a_scan_are_heeded),
        cmocka_unit_test(test_merge__damage_is_told_and_summaries_stand_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
