/*
 * t_plot.h - queries and scripts of pictures, for their tests.
 */
#ifndef TESTS_UNIT_T_PLOT_H
#define TESTS_UNIT_T_PLOT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "query/breakdowns/breakdown.h"
#include "tsd/commands/plot.h"

#include <string.h>

/* A query by such keys, valid until the next call. */
static inline const struct qry_spec *t_by(const char *keys)
{
    static struct qry_spec spec;
    static struct ts_slice tags[8];
    spec = (struct qry_spec){.by_on = true, .by_tags = tags};
    while (*keys) {
        size_t n = strcspn(keys, ",");
        assert_int_equal(qry_breakdown_add((struct ts_slice){keys, n}, &spec, NULL), 0);
        keys += n + (keys[n] == ',');
    }
    return &spec;
}

/* The script for CSV of a query by keys, valid until the next call. */
static inline const char *t_script(struct tsd_plot *p, const char *csv, const struct qry_spec *spec)
{
    static struct ts_buf script;
    struct ts_error err = {0};
    ts_buf_release(&script);
    ts_buf_init(&script, 0);
    assert_int_equal(tsd_plot_read_csv(p, ts_slice_str(csv), spec, &err), 0);
    tsd_plot_trim(p);
    tsd_plot_script(p, &script);
    ts_buf_char(&script, 0);
    tsd_plot_release(p);
    return script.p;
}

/* A query by such keys over a range in a zone. */
static inline const struct qry_spec *t_asked(const char *keys, const char *zone, const char *from,
                                             const char *to)
{
    static struct qry_spec spec;
    struct ts_error err = {0};
    spec = *t_by(keys);
    assert_int_equal(ts_tz_open(ts_slice_str(zone), &spec.tz, &err), 0);
    assert_int_equal(ts_time_parse(ts_slice_str(from), spec.tz, 0, false, &spec.start_ms, NULL, &err), 0);
    assert_int_equal(ts_time_parse_end(ts_slice_str(to), spec.tz, 0, false, &spec.end_ms, &err), 0);
    return &spec;
}

#endif
