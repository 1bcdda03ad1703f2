/*
 * t_points.h - what a collector emitted, to look things up in.
 */
#ifndef T_POINTS_H
#define T_POINTS_H

#include "base/buf.h"
#include "collectors/core/collector.h"
#include "collectors/core/emit.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct t_points {
    struct ts_buf lines;   /* all lines put */
    uint32_t n;            /* points */
    struct col_emit *emit; /* gives them here; no host, time 1000 s */
};

static int t_points_put(void *arg, struct ts_slice lines, uint32_t n_points, bool durable,
                        struct ts_error *err)
{
    struct t_points *p = arg;
    (void)durable;
    (void)err;
    p->n += n_points;
    return ts_buf_slice(&p->lines, lines);
}

static inline void t_points_init(struct t_points *p)
{
    struct col_emit_opts opts = {.out = {.put = t_points_put, .arg = p}};
    *p = (struct t_points){.n = 0};
    ts_buf_init(&p->lines, 0);
    p->emit = col_emit_new(&opts);
    col_emit_time(p->emit, 1000000);
}

static inline void t_points_release(struct t_points *p)
{
    col_emit_free(p->emit);
    ts_buf_release(&p->lines);
}

/* End the batch; what was before is forgotten with fresh. */
static inline void t_points_end(struct t_points *p)
{
    (void)col_emit_end(p->emit, false, NULL);
}

static inline void t_points_clear(struct t_points *p)
{
    ts_buf_clear(&p->lines);
    p->n = 0;
}

/* Value of the point "metric tag=value ..." as text, "" if there is none, "twice" if there are two. */
static inline const char *t_value(struct t_points *p, const char *point)
{
    static char out[64];
    struct ts_slice text = ts_buf_get(&p->lines);
    const char *blank = strchr(point, ' ');
    size_t n_metric = blank ? (size_t)(blank - point) : strlen(point);
    out[0] = '\0';
    while (text.n) {
        const char *nl = memchr(text.p, '\n', text.n);
        char line[2048], value[64], tags[1500] = "";
        snprintf(line, sizeof(line), "%.*s", (int)(nl - text.p), text.p);
        text = (struct ts_slice){nl + 1, text.n - (size_t)(nl + 1 - text.p)};
        if (strncmp(line, "put ", 4) != 0 || strncmp(line + 4, point, n_metric) != 0 ||
            line[4 + n_metric] != ' ')
            continue;
        if (sscanf(line + 4 + n_metric, " %*s %63s %1499[^\n]", value, tags) < 1 ||
            strcmp(tags, blank ? blank + 1 : "") != 0)
            continue;
        snprintf(out, sizeof(out), "%s", *out ? "twice" : value);
    }
    return out;
}

/* Every metric emitted stands in the collector's table; prints the first that does not. */
static inline bool t_all_listed(struct t_points *p, const struct col_collector *c)
{
    struct ts_slice text = ts_buf_get(&p->lines);
    while (text.n) {
        const char *nl = memchr(text.p, '\n', text.n);
        struct ts_slice rest = {text.p + 4, (size_t)(nl - text.p) - 4};
        struct ts_slice metric = {rest.p, (size_t)((const char *)memchr(rest.p, ' ', rest.n) - rest.p)};
        if (!col_metric_find(c, metric)) {
            printf("%s has no metric %.*s\n", c->name, (int)metric.n, metric.p);
            return false;
        }
        text = (struct ts_slice){nl + 1, text.n - (size_t)(nl + 1 - text.p)};
    }
    return true;
}

#endif
