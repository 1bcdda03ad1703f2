/*
 * args.c - a line into words, and their checks in OpenTSDB's order.
 *
 * Threads    see args.h
 * Not here   characters of names (rules.c), fast ways for put (put.c)
 */
#include "tsd/ingest/args.h"

#define ARGS_MAX_TAGS (TSD_TAGS_MAX + 1) /* tags of one line that are looked at: more than any limit allows */

int tsd_args_say(struct tsd_ingest *in, int code, const char *text, struct ts_slice what)
{
    ts_buf_clear(&in->msg);
    ts_buf_str(&in->msg, text);
    ts_buf_slice(&in->msg, what);
    return code;
}

/* With compat the bytes of a line are ISO-8859-1: make them UTF-8. */
static struct ts_slice args_recode(struct tsd_ingest *in, struct ts_slice s)
{
    size_t i = 0;
    while (i < s.n && (unsigned char)s.p[i] < 128)
        i++;
    if (i == s.n)
        return s;
    ts_buf_clear(&in->recoded);
    for (i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c < 128) {
            ts_buf_char(&in->recoded, (char)c);
        } else {
            ts_buf_char(&in->recoded, (char)(0xc0 | c >> 6));
            ts_buf_char(&in->recoded, (char)(0x80 | (c & 0x3f)));
        }
    }
    return ts_buf_get(&in->recoded);
}

static size_t args_count(struct ts_slice s)
{
    size_t n = 1;
    for (const char *p = s.p, *end = s.p + s.n; p < end && (p = memchr(p, ' ', (size_t)(end - p))); p++)
        n++;
    return n;
}

int tsd_args_begin(struct tsd_ingest *in, struct ts_slice raw, unsigned min_args, unsigned reported_min_args,
                   struct tsd_line_args *out)
{
    *out = (struct tsd_line_args){.rest = raw, .more = raw.p != NULL};
    if (raw.p && in->rules->compat)
        out->rest = args_recode(in, raw);
    size_t n = raw.p ? args_count(out->rest) : 0;
    if (n >= min_args)
        return 0;
    ts_buf_clear(&in->msg);
    ts_buf_printf(&in->msg, "not enough arguments (need least %u, got %zu)", reported_min_args, n);
    return TS_EINVAL;
}

bool tsd_args_word(struct tsd_line_args *a, struct ts_slice *out)
{
    if (!a->more)
        return false;
    const char *blank = memchr(a->rest.p, ' ', a->rest.n);
    a->more = blank != NULL;
    *out = (struct ts_slice){a->rest.p, blank ? (size_t)(blank - a->rest.p) : a->rest.n};
    if (blank)
        a->rest = (struct ts_slice){blank + 1, a->rest.n - out->n - 1};
    return true;
}

int tsd_args_head(struct tsd_ingest *in, struct tsd_line_args *a)
{
    struct ts_slice word = {NULL, 0};
    (void)tsd_args_word(a, &a->metric);
    (void)tsd_args_word(a, &word);
    if (a->metric.n == 0)
        return tsd_args_say(in, TS_EINVAL, "empty metric name", a->metric);
    ts_buf_clear(&in->msg);
    return tsd_time_read(in->rules, word, &a->time, &in->msg);
}

static int args_tag(struct tsd_ingest *in, struct ts_slice word)
{
    const char *eq = memchr(word.p, '=', word.n);
    size_t k = eq ? (size_t)(eq - word.p) : 0;
    if (!eq || k == 0 || k + 1 == word.n || memchr(eq + 1, '=', word.n - k - 1))
        return tsd_args_say(in, TS_EINVAL, "invalid tag: ", word);
    struct sto_tag_text tag = {{word.p, k}, {eq + 1, word.n - k - 1}};
    for (size_t i = 0; i < in->n_tags; i++) {
        if (!ts_slice_eq(in->tags[i].k, tag.k))
            continue;
        if (ts_slice_eq(in->tags[i].v, tag.v))
            return 0;
        tsd_args_say(in, TS_EINVAL, "duplicate tag: ", word);
        ts_buf_str(&in->msg, ", tags=");
        tsd_tags_text(in->tags, in->n_tags, &in->msg);
        return TS_EINVAL;
    }
    tsd_ingest_add_tag(in, tag);
    return 0;
}

int tsd_args_tags(struct tsd_ingest *in, struct tsd_line_args *a)
{
    struct ts_slice word;
    in->n_tags = 0;
    while (tsd_args_word(a, &word))
        if (word.n && in->n_tags < ARGS_MAX_TAGS)
            TS_TRY(args_tag(in, word));
    return 0;
}

int tsd_args_bad_time(struct tsd_ingest *in, int64_t raw, struct ts_slice value, struct ts_slice metric,
                      const struct sto_tag_text *tags, size_t n_tags)
{
    ts_buf_clear(&in->msg);
    ts_buf_printf(&in->msg, "bad timestamp=%lld when trying to add value=", (long long)raw);
    ts_buf_slice(&in->msg, value);
    ts_buf_str(&in->msg, " to metric=");
    ts_buf_slice(&in->msg, metric);
    ts_buf_str(&in->msg, ", tags=");
    tsd_tags_text(tags, n_tags, &in->msg);
    if (tsd_time_not_for_hbase(in->rules, raw)) {
        ts_buf_str(&in->msg, " (HBase's tables hold times from 1970 to 2106)");
        return TS_EBACKEND;
    }
    if (!in->rules->compat)
        tsd_time_why(raw, &in->msg);
    return TS_EINVAL;
}

/* Number in value_word, then range of the time. */
static int args_value(struct tsd_ingest *in, struct tsd_line_args *a)
{
    struct ts_error err = {0};
    int rc = ts_num_parse(a->value_word, &a->value, &err);
    if (rc < 0) {
        tsd_args_say(in, rc, err.text, (struct ts_slice){NULL, 0});
        if (rc != TS_EINVAL)
            return rc;
        ts_buf_str(&in->msg, " for metric=");
        ts_buf_slice(&in->msg, a->metric);
        ts_buf_printf(&in->msg, " timestamp=%lld", (long long)a->time.raw);
        return rc;
    }
    if (!a->time.bad)
        return 0;
    return tsd_args_bad_time(in, a->time.raw, a->value_word, a->metric, in->tags, in->n_tags);
}

int tsd_args_point(struct tsd_ingest *in, struct tsd_line_args *a)
{
    TS_TRY(tsd_args_head(in, a));
    (void)tsd_args_word(a, &a->value_word);
    if (a->value_word.n == 0)
        return tsd_args_say(in, TS_EINVAL, "empty value", a->value_word);
    TS_TRY(tsd_args_tags(in, a));
    return args_value(in, a);
}
