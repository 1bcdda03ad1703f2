/*
 * parse_words.c - words of a command line into parameters, and those into a spec; so a daemon gets the same
 * query.
 *
 *   START [END] AGG [rate [counter[,MAX[,RESET]]]] [downsample N FUNC] METRIC [tag=value ...] [AGG ...]
 *
 * An m of a request, sum:1h-avg:METRIC{tag=value}, may stand for AGG and all up to METRIC. N is milliseconds, as in OpenTSDB, or has a unit ("1h").
 * Source     docs/OPENTSDB.md, section 11.2
 */
#include "query/language/parse.h"

#include "query/aggregators/agg.h"

#include <stdio.h>
#include <string.h>

#define MAX_PARAMS (QRY_MAX_SUBS + 8)

/* Text of one query as an m. */
struct query_text {
    struct ts_buf m;    /* aggregator, options and metric, then filters in braces */
    const char *metric; /* as written */
    size_t head;        /* bytes before the filters that follow as words */
    bool own;           /* it has filters, or braces behind the metric */
};

/* Words on their way. */
struct words {
    const char *const *w;
    size_t n, i;
    struct ts_arena *arena;
    struct ts_error *err;
    struct qry_param *params;
    size_t n_params;
};

static void put(struct words *w, const char *name, const char *value)
{
    w->params[w->n_params++] = (struct qry_param){ts_slice_str(name), ts_slice_str(value)};
}

static bool is_agg(const char *s)
{
    return s && qry_agg_find(ts_slice_str(s), false);
}

/* An m in one word, as of a request: sum:1h-avg:web.hits{host=*}. No time begins with a letter and has a colon. */
static bool is_m(const char *s)
{
    return s && ((s[0] >= 'a' && s[0] <= 'z') || (s[0] >= 'A' && s[0] <= 'Z')) && strchr(s, ':');
}

static bool is_time(const char *s, int64_t now_ms)
{
    int64_t ms;
    return ts_time_parse(ts_slice_str(s), NULL, now_ms, false, &ms, NULL, NULL) == 0;
}

/* A time, not an aggregator: those begin with letters, and none of them has a sign. A wrong time is one too, which its reader explains. */
static bool is_end(const char *s, int64_t now_ms)
{
    if (s[0] == '+' || is_m(s))
        return false;
    return strpbrk(s, ":/-") || (s[0] >= '0' && s[0] <= '9') || is_time(s, now_ms);
}

static const char *next(struct words *w)
{
    return w->i < w->n ? w->w[w->i++] : NULL;
}
static const char *peek(const struct words *w)
{
    return w->i < w->n ? w->w[w->i] : NULL;
}

static int missing(struct words *w, const char *what)
{
    return ts_error_set(
        w->err, TS_EINVAL,
        "%s is missing: START [END] AGG [rate [counter]] [downsample N FUNC] METRIC [tag=value ...]", what);
}

static int add_rate(struct words *w, struct ts_buf *m)
{
    const char *s = peek(w);
    ts_buf_str(m, ":rate");
    if (!s || (strncmp(s, "counter", 7) != 0 && strncmp(s, "dropcounter", 11) != 0))
        return 0;
    return ts_buf_printf(m, "{%s}", next(w));
}

static int add_downsample(struct words *w, struct ts_buf *m)
{
    const char *len = next(w), *fn = next(w);
    if (!len || !fn)
        return missing(w, "what to downsample by");
    if (len[0] < '0' || len[0] > '9')
        return ts_error_set(w->err, TS_EINVAL, "Invalid downsampling interval: %s", len);
    size_t n_name = strcspn(fn, "-"); /* a fill policy may follow */
    if (!qry_agg_find((struct ts_slice){fn, n_name}, false) && !peek(w))
        return ts_error_set(w->err, TS_EINVAL,
                            "downsample %.40s needs a function (avg, sum, max, ...) before the metric %.80s",
                            len, fn);
    bool plain = len[strspn(len, "0123456789")] == 0;
    return ts_buf_printf(m, ":%s%s-%s", len, plain ? "ms" : "", fn);
}

static bool is_tag(const char *s)
{
    return s && s[0] && strchr(s + 1, '=') && !strchr(s, ' ');
}

/* Has the shell cut the braces of a metric? */
static int check_braces(const struct words *w, const char *metric)
{
    const char *open = strchr(metric, '{');
    if (open && !strchr(open, '}'))
        return ts_error_set(
            w->err, TS_EINVAL,
            "%.80s lacks a closing brace: write a metric that has blanks or commas in its braces "
            "in quotes, 'METRIC{tag=value, tag=value}'",
            metric);
    return 0;
}

/* AGG [rate ..] [downsample ..] METRIC, or an m. */
static int take_metric(struct words *w, struct query_text *q)
{
    const char *agg = next(w), *s;
    struct ts_buf *m = &q->m;
    ts_buf_str(m, agg);
    q->metric = agg;
    if (is_m(agg))
        return 0;
    if (strcmp(agg, "rate") == 0 || strcmp(agg, "downsample") == 0)
        return ts_error_set(w->err, TS_EINVAL,
                            "%s stands before the metric: AGG [rate] [downsample N FUNC] METRIC", agg);
    TS_TRY(qry_parse_agg(ts_slice_str(agg), false, &(const struct qry_agg *){NULL}, w->err));
    while ((s = next(w)) != NULL) {
        if (strcmp(s, "rate") == 0)
            TS_TRY(add_rate(w, m));
        else if (strcmp(s, "downsample") == 0)
            TS_TRY(add_downsample(w, m));
        else
            break;
    }
    if (!s)
        return missing(w, "the metric");
    ts_buf_printf(m, ":%s", s);
    q->metric = s;
    return 0;
}

/* One query of the line. */
static int one_query(struct words *w, struct query_text *q)
{
    struct ts_buf *m = &q->m;
    TS_TRY(take_metric(w, q));
    TS_TRY(check_braces(w, q->metric));
    q->head = m->n;
    q->own = strchr(q->metric, '{') || is_tag(peek(w));
    for (size_t k = 0; is_tag(peek(w)); k++) {
        const char *tag = next(w);
        ts_buf_printf(m, "%s%s%s", k ? "," : "{", tag, is_tag(peek(w)) ? "" : "}");
    }
    return 0;
}

/* Filters behind the last metric apply to all metrics if no other one has any. But if the last metric also
 * stands before without filters, they apply only to the last one. */
static int share_filters(struct words *w, struct query_text *q, size_t n)
{
    struct query_text *last = &q[n - 1];
    size_t n_own = 0, lacks = 0;
    bool apart = false;
    for (size_t i = 0; i + 1 < n; i++) {
        n_own += q[i].own;
        lacks = q[i].own ? lacks : i;
        apart |= !q[i].own && q[i].m.n == last->head && memcmp(q[i].m.p, last->m.p, last->head) == 0;
    }
    if (n < 2 || last->m.n == last->head || apart || n_own == n - 1)
        return 0;
    if (n_own)
        return ts_error_set(w->err, TS_EINVAL,
                            "%.80s has no filters, but other metrics before the last one have: write them "
                            "behind each metric, '%.80s{}' for one without",
                            q[lacks].metric, q[lacks].metric);
    for (size_t i = 0; i + 1 < n; i++)
        ts_buf_append(&q[i].m, last->m.p + last->head, last->m.n - last->head);
    return 0;
}

void qry_uri_encode(struct ts_slice s, struct ts_buf *out)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                     (c && strchr("-._~:/,*", c));
        if (plain)
            ts_buf_char(out, (char)c);
        else
            ts_buf_printf(out, "%%%02X", c);
    }
}

/* Does a time of several words begin at the next word, as 2 days ago? The shell has cut it, and its words mean nothing alone. */
static int check_whole(const struct words *w, int64_t now_ms)
{
    for (size_t n = 3; n > 1; n--) {
        char text[64] = "";
        bool odd = false; /* a word is neither a time nor an aggregator */
        for (size_t k = 0; k < n && w->i + n <= w->n; k++) {
            const char *s = w->w[w->i + k];
            size_t len = strlen(text);
            (void)snprintf(text + len, sizeof text - len, "%s%s", k ? " " : "", s);
            odd |= !is_agg(s) && !is_time(s, now_ms);
        }
        if (odd && text[0] && is_time(text, now_ms))
            return ts_error_set(w->err, TS_EINVAL,
                                "%s are %zu words: write a time that has blanks in quotes, '%s'", text, n,
                                text);
    }
    return 0;
}

/* START [END], up to the first aggregator; what is not there is named. */
static int take_range(struct words *w, int64_t now_ms)
{
    TS_TRY(check_whole(w, now_ms));
    const char *s = next(w);
    if (!s || (!is_time(s, now_ms) && ((w->n < 3 && !is_m(peek(w))) || is_agg(s) || is_m(s))))
        return missing(w, "the start");
    put(w, "start", s);
    if (peek(w) && is_end(peek(w), now_ms)) {
        TS_TRY(check_whole(w, now_ms));
        put(w, "end", next(w));
    }
    while (peek(w) && peek(w)[0] == '+')
        w->i++; /* options of OpenTSDB's plots */
    if (w->n - w->i < 2 && !is_m(peek(w)))
        return missing(w, is_agg(peek(w)) ? "the metric" : "the aggregator (sum, avg, max, ...)");
    return 0;
}

/* All queries of the line, up to max. */
static int take_queries(struct words *w, struct query_text *q, size_t max)
{
    size_t n = 0;
    int rc = 0;
    for (; peek(w) && rc == 0; n++) {
        if (n == max)
            return ts_error_set(w->err, TS_EINVAL, "Too many queries, at most %d", QRY_MAX_SUBS);
        rc = one_query(w, &q[n]);
    }
    if (rc == 0)
        rc = share_filters(w, q, n);
    for (size_t i = 0; i < n && rc == 0; i++) {
        if (q[i].m.failed)
            rc = ts_error_set(w->err, TS_ENOMEM, "The query is too long");
        else
            put(w, "m", ts_arena_strndup(w->arena, q[i].m.p, q[i].m.n));
    }
    return rc;
}

static int take_words(struct words *w, int64_t now_ms)
{
    TS_TRY(take_range(w, now_ms));
    size_t max = w->n - w->i; /* an m is one word */
    if (max > QRY_MAX_SUBS)
        max = QRY_MAX_SUBS;
    struct query_text *q = ts_arena_zalloc(w->arena, (max + 1) * sizeof *q);
    for (size_t i = 0; i < max; i++)
        ts_buf_init(&q[i].m, 1 << 20);
    int rc = take_queries(w, q, max);
    for (size_t i = 0; i < max; i++)
        ts_buf_release(&q[i].m);
    return rc;
}

int qry_parse_words(const char *const *words, size_t n, const char *by, const char *tz, const char *fill,
                    int64_t now_ms, struct ts_arena *arena, struct qry_spec *out, struct ts_buf *out_uri,
                    struct ts_error *err)
{
    struct words w = {.w = words, .n = n, .arena = arena, .err = err};
    w.params = ts_arena_zalloc(arena, (MAX_PARAMS + 4) * sizeof *w.params);
    TS_TRY(take_words(&w, now_ms));
    if (by)
        put(&w, "by", by);
    if (tz)
        put(&w, by ? "tz" : "timezone", tz);
    if (fill && !by)
        return ts_error_set(err, TS_EINVAL,
                            "fill is for totals; downsample has its own: downsample 1h-sum-zero");
    if (fill)
        put(&w, "fill", fill);
    TS_TRY(qry_parse_params(w.params, w.n_params, now_ms, false, arena, out, err));
    for (size_t i = 0; out_uri && i < w.n_params; i++) {
        ts_buf_printf(out_uri, "%s%.*s=", i ? "&" : "", (int)w.params[i].name.n, w.params[i].name.p);
        qry_uri_encode(w.params[i].value, out_uri);
    }
    return 0;
}
