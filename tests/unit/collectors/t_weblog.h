/*
 * t_weblog.h - for tests of the whole collector of web logs: a store that keeps the last value of every point, and the collector's life.
 */
#ifndef T_WEBLOG_H
#define T_WEBLOG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "collectors/collect.h"
#include "collectors/core/collector.h"

extern const struct col_collector col_weblog;

#define N_POINTS 20000

/* A store: the last value of every point. */
struct t_store {
    struct {
        char key[160]; /* metric, time, tags */
        long n;        /* value */
    } * points;
    size_t n_points;
    uint32_t seed;
    bool faults; /* puts fail at random */
};

static inline uint32_t next_rand(struct t_store *s, uint32_t below)
{
    s->seed = s->seed * 1664525u + 1013904223u;
    return (s->seed >> 8) % below;
}

static inline void store_line(struct t_store *s, const char *line)
{
    char metric[40], time[24], tags[80], key[160];
    long n;
    if (sscanf(line, "put %39s %23s %ld %79[^\n]", metric, time, &n, tags) != 4)
        return;
    if (strncmp(metric, "web.hits", 8) != 0 && strncmp(metric, "web.bytes", 9) != 0)
        return;
    snprintf(key, sizeof(key), "%s %s %s", metric, time, tags);
    size_t i = 0;
    while (i < s->n_points && strcmp(s->points[i].key, key) != 0)
        i++;
    assert_true(i < N_POINTS);
    s->n_points += i == s->n_points;
    snprintf(s->points[i].key, sizeof(s->points[i].key), "%s", key);
    s->points[i].n = n;
}

/* Taken; taken, but nobody hears of it; lost. */
static inline int store_put(void *arg, struct ts_slice lines, uint32_t n_points, bool durable,
                            struct ts_error *err)
{
    struct t_store *s = arg;
    uint32_t what = s->faults ? next_rand(s, 4) : 3;
    (void)n_points;
    (void)durable;
    while (lines.n && what > 0) {
        const char *nl = memchr(lines.p, '\n', lines.n);
        char line[300];
        snprintf(line, sizeof(line), "%.*s", (int)(nl - lines.p), lines.p);
        store_line(s, line);
        lines = (struct ts_slice){nl + 1, lines.n - (size_t)(nl + 1 - lines.p)};
    }
    return what > 1 ? 0 : ts_error_set(err, TS_EIO, "no");
}

static inline long store_sum(const struct t_store *s, const char *metric, const char *with)
{
    long sum = 0;
    for (size_t i = 0; i < s->n_points; i++)
        if (!strncmp(s->points[i].key, metric, strlen(metric)) && strstr(s->points[i].key, with))
            sum += s->points[i].n;
    return sum;
}

/* One collector with its folder; conf decides how. */
struct t_collector {
    struct ts_conf *conf;
    struct col_ctx ctx;
    struct col_emit *emit;
    void *state;
};

static inline void set(struct ts_conf *conf, const char *key, const char *value)
{
    assert_int_equal(ts_conf_set(conf, key, ts_slice_str(value), "test", NULL), 0);
}

static inline void begin(struct t_collector *c, const char *late_s, const char *bucket_s)
{
    struct ts_error err = {0};
    set(c->conf, "collect_weblog_late_s", late_s);
    set(c->conf, "collect_weblog_bucket_s", bucket_s);
    if (col_weblog.init(&c->ctx, &c->state, &err) < 0)
        fail_msg("%s", err.text);
}

static inline void sh(const char *dir, const char *command)
{
    char cmd[512];
    snprintf(cmd, sizeof(cmd), "cd %s && { %s; }", dir, command);
    assert_int_equal(system(cmd), 0);
}

#endif
