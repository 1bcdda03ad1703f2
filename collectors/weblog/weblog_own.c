/*
 * weblog_own.c - the table, and what its rows share.
 *
 * Threads    see weblog_own.h
 */
#include "collectors/weblog/weblog_own.h"

#include <string.h>

const struct col_web_own *const col_web_owns[] = {&col_web_haproxy, &col_web_cloudfront, &col_web_iis, NULL};

const struct col_web_own *col_web_own_of(enum col_web_kind kind)
{
    for (unsigned i = 0; col_web_owns[i]; i++)
        if (col_web_owns[i]->kind == col_web_kind_base(kind))
            return col_web_owns[i];
    return NULL;
}

const struct col_web_own *col_web_own_named(struct ts_slice name)
{
    for (unsigned i = 0; col_web_owns[i]; i++)
        if (ts_slice_is(name, col_web_owns[i]->name))
            return col_web_owns[i];
    return NULL;
}

const char *col_web_date_time(struct col_web_hit *h, struct ts_slice date, struct ts_slice time,
                              struct ts_buf *scratch)
{
    ts_buf_clear(scratch);
    ts_buf_slice(scratch, date);
    ts_buf_char(scratch, 'T');
    ts_buf_slice(scratch, time);
    return col_web_hit_set(h, COL_WEB_TIME, ts_buf_get(scratch));
}
