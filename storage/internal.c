/*
 * internal.c - names of internal metrics and of buckets.
 */
#include "storage/internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"

#define MARK TS_SLICE_LIT("\1")

/* Does the metric come last in names of this kind? */
static bool ends_with_metric(enum sto_internal_kind kind)
{
    return kind != STO_INTERNAL_HISTOGRAM;
}

void sto_internal_name(const struct sto_internal *h, struct ts_buf *out)
{
    bool last = ends_with_metric(h->kind);
    ts_buf_slice(out, MARK);
    ts_buf_char(out, (char)h->kind);
    ts_buf_slice(out, last ? h->detail : h->metric);
    ts_buf_slice(out, MARK);
    ts_buf_slice(out, last ? h->metric : h->detail);
}

bool sto_internal_parse(struct ts_slice name, struct sto_internal *out)
{
    static const char kinds[] = {STO_INTERNAL_ROLLUP, STO_INTERNAL_HISTOGRAM, STO_INTERNAL_VERSIONS,
                                 STO_INTERNAL_AGED};
    if (name.n < 3 || name.p[0] != STO_INTERNAL_MARK || !memchr(kinds, name.p[1], sizeof kinds))
        return false;
    const char *mark = memchr(name.p + 2, STO_INTERNAL_MARK, name.n - 2);
    if (!mark)
        return false;
    struct ts_slice a = {name.p + 2, (size_t)(mark - name.p) - 2};
    struct ts_slice b = {mark + 1, (size_t)(name.p + name.n - mark) - 1};
    enum sto_internal_kind kind = (enum sto_internal_kind)name.p[1];
    bool last = ends_with_metric(kind);
    *out = (struct sto_internal){.kind = kind, .metric = last ? b : a, .detail = last ? a : b};
    return out->metric.n > 0;
}

enum sto_aged_level sto_internal_level(const struct sto_internal *parts)
{
    if (parts->kind != STO_INTERNAL_AGED)
        return STO_AGED_NONE;
    return ts_slice_is(parts->detail, STO_AGED_DAYS_NAME)    ? STO_AGED_DAYS
           : ts_slice_is(parts->detail, STO_AGED_HOURS_NAME) ? STO_AGED_HOURS
                                                             : STO_AGED_NONE;
}

enum sto_aged_level sto_internal_aged(struct ts_slice name, struct sto_internal *out)
{
    struct sto_internal parts;
    enum sto_aged_level level = sto_internal_parse(name, &parts) ? sto_internal_level(&parts) : STO_AGED_NONE;
    if (out && level)
        *out = parts;
    return level;
}

void sto_internal_buckets(struct ts_slice metric, struct ts_buf *out)
{
    sto_internal_name(&(struct sto_internal){.kind = STO_INTERNAL_HISTOGRAM, .metric = metric}, out);
}

/* --- buckets of histograms --- */

void sto_float_print(float f, struct ts_buf *out)
{
    char text[TS_NUM_TEXT_BYTES], shortest[32];
    double d = (double)f;
    for (int digits = 1; digits <= 9; digits++) { /* 9 digits distinguish any two float32 */
        (void)snprintf(shortest, sizeof shortest, "%.*e", digits - 1, (double)f);
        struct ts_num v;
        if (ts_num_parse(ts_slice_str(shortest), &v, NULL) < 0)
            continue;
        d = ts_num_double(v);
        if ((float)d == f)
            break;
    }
    (void)ts_buf_append(out, text, ts_num_print_java(d, text));
}

void sto_bucket_print(const struct sto_bucket *b, struct ts_buf *out)
{
    if (b->kind != STO_BUCKET_RANGE) {
        ts_buf_char(out, b->kind == STO_BUCKET_UNDER ? 'u' : 'o');
        return;
    }
    sto_float_print(b->lower, out);
    ts_buf_char(out, ',');
    sto_float_print(b->upper, out);
}

static bool bound_parse(struct ts_slice s, float *out)
{
    struct ts_num v;
    if (!s.n || ts_num_parse(s, &v, NULL) < 0)
        return false;
    *out = (float)ts_num_double(v);
    return isfinite(*out);
}

bool sto_bucket_parse(struct ts_slice s, struct sto_bucket *out)
{
    *out = (struct sto_bucket){.kind = STO_BUCKET_RANGE};
    if (s.n == 1 && ((s.p[0] | 0x20) == 'u' || (s.p[0] | 0x20) == 'o')) {
        out->kind = (s.p[0] | 0x20) == 'u' ? STO_BUCKET_UNDER : STO_BUCKET_OVER;
        return true;
    }
    const char *comma = s.n ? memchr(s.p, ',', s.n) : NULL;
    if (!comma)
        return false;
    struct ts_slice lower = {s.p, (size_t)(comma - s.p)},
                    upper = {comma + 1, s.n - (size_t)(comma - s.p) - 1};
    return bound_parse(lower, &out->lower) && bound_parse(upper, &out->upper);
}

int sto_bucket_cmp(const struct sto_bucket *a, const struct sto_bucket *b)
{
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->lower != b->lower)
        return a->lower < b->lower ? -1 : 1;
    return (a->upper > b->upper) - (a->upper < b->upper);
}
