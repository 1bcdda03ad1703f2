/*
 * remote_kit.h - what tests of remote stores share: series by text, shipments, what a fetch returns as text.
 */
#ifndef TESTS_UNIT_STORAGE_REMOTE_KIT_H
#define TESTS_UNIT_STORAGE_REMOTE_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/time.h"
#include "storage/remote.h"

#define R_HOUR 498228 /* 2026-11-02 12:00 UTC */
#define R_T0   ((int64_t)R_HOUR * TS_HOUR_MS)
#define R_TAGS 8

/* A series from "metric k=v k=v", keys ascending. The text must stay. */
struct r_series {
    struct sto_remote_tag tags[R_TAGS];
    struct sto_remote_series s;
};

static inline struct ts_slice r_word(const char **p)
{
    struct ts_slice w = {*p, strcspn(*p, " =")};
    *p += w.n + (w.p[w.n] != 0);
    return w;
}

static inline struct r_series *r_series(const char *text)
{
    struct r_series *r = ts_xcalloc(1, sizeof *r);
    r->s.key = STO_REMOTE_NO_KEY;
    r->s.metric = r_word(&text);
    for (; *text; r->s.n_tags++) {
        r->tags[r->s.n_tags].k = r_word(&text);
        r->tags[r->s.n_tags].v = r_word(&text);
    }
    r->s.tags = r->tags;
    return r;
}

/* Waits for the result of a call. */
struct r_result {
    pthread_mutex_t mu;
    pthread_cond_t cond;
    int n_done; /* times done was called */
    int rc;
    size_t n_refused;
};
#define R_RESULT                                                                                             \
    {                                                                                                        \
        .mu = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER                                    \
    }

static inline void r_done(void *arg, int rc, const struct ts_error *err)
{
    struct r_result *r = arg;
    if ((rc < 0) != (err != NULL))
        abort(); /* not always in the thread of the test */
    pthread_mutex_lock(&r->mu);
    r->rc = rc;
    r->n_done++;
    pthread_cond_signal(&r->cond);
    pthread_mutex_unlock(&r->mu);
}

static inline void r_refused(void *arg, size_t row, const struct ts_error *err)
{
    struct r_result *r = arg;
    (void)row;
    if (err->code >= 0)
        abort();
    pthread_mutex_lock(&r->mu);
    r->n_refused++;
    pthread_mutex_unlock(&r->mu);
}

static inline int r_wait(struct r_result *r)
{
    pthread_mutex_lock(&r->mu);
    while (!r->n_done)
        pthread_cond_wait(&r->cond, &r->mu);
    int rc = r->rc;
    assert_int_equal(r->n_done, 1);
    pthread_mutex_unlock(&r->mu);
    return rc;
}

/* Points of a row: pairs of seconds and integers. */
#define R_CELLS(...) r_cells((const int[]){__VA_ARGS__}, sizeof((int[]){__VA_ARGS__}) / sizeof(int) / 2)
static inline struct sto_cells *r_cells(const int *pairs, size_t n)
{
    struct sto_cells *c = ts_xcalloc(1, sizeof *c);
    sto_cells_reserve(c, (uint32_t)n);
    for (size_t i = 0; i < n; i++) {
        c->meta[i] = (uint32_t)pairs[2 * i] * 1000u | sto_meta_flags(STO_OP_PUT, TS_NUM_INT, 0, false);
        c->m[i] = pairs[2 * i + 1];
    }
    c->n = (uint32_t)n;
    return c;
}

/* Ship one row, whose cells are freed; returns the result. */
static inline int r_ship(struct sto_remote *r, const char *series, int32_t hour, struct sto_cells *cells)
{
    struct r_series *s = r_series(series);
    struct r_result result = R_RESULT;
    struct sto_remote_row row = {.series = s->s, .hour = hour, .cells = cells};
    struct sto_shipment shipment = {
        .rows = &row, .n = 1, .n_bytes = cells->n * 12, .refused = r_refused, .arg = &result};
    r->ops->ship(r, &shipment, NULL, r_done, &result);
    int rc = r_wait(&result);
    sto_cells_release(cells);
    ts_free(cells);
    ts_free(s);
    return rc;
}

/* Rows as text, in the order in which they come: "metric k=v @HOUR+ SEC:VALUE ...\n"; hours count from R_HOUR. */
static inline int r_print(void *arg, const struct sto_remote_row *row, size_t pos, struct ts_error *err)
{
    struct ts_buf *out = arg;
    (void)pos, (void)err;
    ts_buf_slice(out, row->series.metric);
    for (size_t i = 0; i < row->series.n_tags; i++)
        ts_buf_printf(out, " %.*s=%.*s", (int)row->series.tags[i].k.n, row->series.tags[i].k.p,
                      (int)row->series.tags[i].v.n, row->series.tags[i].v.p);
    if (row->cells)
        ts_buf_printf(out, " @%d", row->hour - R_HOUR);
    for (uint32_t i = 0; row->cells && i < row->cells->n; i++) {
        assert_int_equal(sto_meta_op(row->cells->meta[i]), STO_OP_PUT);
        ts_buf_printf(out, " %u:%lld", sto_meta_off(row->cells->meta[i]) / 1000, (long long)row->cells->m[i]);
    }
    ts_buf_char(out, '\n');
    return 0;
}

static inline int r_cmp_line(const void *pa, const void *pb)
{
    return strcmp(*(char *const *)pa, *(char *const *)pb);
}

/* What a fetch returns, sorted by lines, is this. */
static inline void r_expect(struct sto_remote *r, const struct sto_fetch *f, const char *want)
{
    struct ts_buf out, sorted;
    struct ts_error err = {0};
    char *lines[64], *save;
    size_t n = 0;
    ts_buf_init(&out, 0);
    ts_buf_init(&sorted, 0);
    if (r->ops->fetch(r, f, NULL, r_print, &out, &err) < 0)
        fail_msg("fetch: %s", err.text);
    ts_buf_char(&out, 0);
    for (char *line = strtok_r(out.p, "\n", &save); line && n < 64; line = strtok_r(NULL, "\n", &save))
        lines[n++] = line;
    qsort(lines, n, sizeof *lines, r_cmp_line);
    for (size_t i = 0; i < n; i++)
        ts_buf_printf(&sorted, "%s\n", lines[i]);
    ts_buf_char(&sorted, 0);
    assert_string_equal(sorted.p, want);
    ts_buf_release(&out);
    ts_buf_release(&sorted);
}

/* Everything of a metric. */
static inline void r_expect_metric(struct sto_remote *r, const char *metric, const char *want)
{
    struct sto_fetch f = {.metric = ts_slice_str(metric), .from_ms = STO_MIN_TS_MS, .to_ms = STO_MAX_TS_MS};
    r_expect(r, &f, want);
}

/* A counter of the status; 0 if there is none. */
struct r_stat {
    const char *name;
    uint64_t value;
};
static inline void r_stat_one(void *arg, const char *name, uint64_t value)
{
    struct r_stat *s = arg;
    if (strcmp(s->name, name) == 0)
        s->value = value;
}
static inline uint64_t r_stat(struct sto_remote *r, const char *name)
{
    struct r_stat s = {.name = name};
    r->ops->status(r, r_stat_one, &s);
    return s.value;
}

#endif
