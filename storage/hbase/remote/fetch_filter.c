/*
 * fetch_filter.c - a row filter of HBase on the tags of keys, in its filter language.
 *
 * The filter language knows only regular expressions over keys that HBase decodes as UTF-8, which keys are not. Bytes below 80 are decoded as
 * themselves wherever they stand, while one or more bytes from 80 on become one or more other characters, so that their number is lost. So an id is
 * matched by its low bytes exactly and by its others roughly: more rows may match than have the tags, but never fewer, and readers check the keys of
 * all rows (fetch_row.c). As a pattern matches anywhere in a key, the salt, the metric and the time need no part of it.
 *
 * Where conditions leave few ranges of keys, or the series are known, scanners get these instead (fetch_ranges.c).
 *
 * Cost of a condition: a group for each different id without its last byte, that is for each 256 values whose ids were assigned one after another.
 * Source     HBase 2.5: org.apache.hadoop.hbase.filter.ParseFilter, RegexStringComparator (DOTALL, find)
 */
#include "storage/hbase/remote/fetch_int.h"

#include "storage/hbase/bigendian.h"

#define MAX_GROUPS 64 /* of the values of a condition; above, only the key of the tag is matched */
#define HIGH       "[^\\x00-\\x7f]"

/* Append a pattern of bytes. *high: the byte before is at least 80, or may be. */
static void put_bytes(struct ts_buf *out, const uint8_t *p, size_t n, bool *high)
{
    for (size_t i = 0; i < n; i++) {
        bool is_high = p[i] >= 0x80;
        if (!is_high)
            ts_buf_printf(out, "\\x%02x", p[i]);
        else if (!*high)
            ts_buf_str(out, HIGH "+");
        *high = is_high;
    }
}

/* Append a pattern of the last bytes of values [from, to), whose other bytes are equal. */
static void put_last(struct ts_buf *out, const uint64_t *values, size_t from, size_t to, bool after_high)
{
    bool has_low = false, has_high = false;
    for (size_t i = from; i < to; i++) {
        has_high |= (values[i] & 0x80) != 0;
        has_low |= (values[i] & 0x80) == 0;
    }
    ts_buf_str(out, "(?:");
    for (size_t i = from, n = 0; i < to; i++)
        if ((values[i] & 0x80) == 0)
            ts_buf_printf(out, "%s\\x%02x", n++ ? "" : "[", (unsigned)(values[i] & 0xff));
    ts_buf_printf(out, "%s%s%s)", has_low ? "]" : "", has_low && has_high ? "|" : "",
                  has_high ? after_high ? HIGH "*" : HIGH "+" : "");
}

static size_t group_end(const uint64_t *values, size_t from, size_t n)
{
    size_t to = from + 1;
    while (to < n && values[to] >> 8 == values[from] >> 8)
        to++;
    return to;
}

static size_t count_groups(const struct sto_hbase__cond *c)
{
    size_t n = 0;
    for (size_t i = 0; i < c->n_values; i = group_end(c->values, i, c->n_values))
        n++;
    return n;
}

static void put_cond(const struct sto_hbase_schema *s, const struct sto_hbase__cond *c, struct ts_buf *out)
{
    uint8_t bytes[STO_HBASE_MAX_WIDTH];
    /* The first bytes may be decoded together with those of the tag before. */
    bool high = true;
    sto_hbase_put(bytes, c->tagk, s->tagk_width);
    put_bytes(out, bytes, s->tagk_width, &high);
    size_t n_groups = c->any ? 0 : count_groups(c);
    if (n_groups == 0 || n_groups > MAX_GROUPS)
        return;
    ts_buf_str(out, "(?:");
    for (size_t i = 0, end; i < c->n_values; i = end) {
        bool high_here = high;
        end = group_end(c->values, i, c->n_values);
        sto_hbase_put(bytes, c->values[i], s->tagv_width);
        if (i)
            ts_buf_char(out, '|');
        put_bytes(out, bytes, s->tagv_width - 1u, &high_here);
        put_last(out, c->values, i, end, high_here);
    }
    ts_buf_char(out, ')');
}

void sto_hbase__filter_conds(const struct sto_hbase_schema *s, const struct sto_hbase__cond *conds, size_t n,
                             struct ts_buf *out)
{
    if (n == 0)
        return;
    ts_buf_str(out, "RowFilter(=, 'regexstring:");
    for (size_t i = 0; i < n; i++) {
        if (i && conds[i].tagk == conds[i - 1].tagk)
            continue; /* the tag occurs once */
        if (i)
            ts_buf_str(out, ".*");
        put_cond(s, &conds[i], out);
    }
    ts_buf_str(out, "')");
}

void sto_hbase__filter_simple(struct sto_hbase__fetch *x, const char *name)
{
    ts_buf_printf(&x->filter, "%s%s()", x->filter.n ? " AND " : "", name);
    sto_hbase__list_simple(&x->cell_filter, name);
}

void sto_hbase__filter_type(struct sto_hbase__fetch *x, char type)
{
    ts_buf_printf(&x->filter, "%sColumnPrefixFilter('%c')", x->filter.n ? " AND " : "", type);
    sto_hbase__list_prefix(&x->cell_filter, (struct ts_slice){&type, 1});
}
