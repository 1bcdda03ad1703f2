/*
 * emit.c - lines from points.
 *
 * Threads    see emit.h; the two counts are read by others
 */
#include "collectors/core/emit.h"

#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"
#include "collectors/core/fields.h"
#include "collectors/core/repeat.h"

#include <math.h>
#include <stdatomic.h>

#define LINE_MAX_BYTES  ((size_t)1024) /* of a program; docs/OPENTSDB.md, section 12.2 */
#define VALUE_MAX_BYTES 255u           /* of a tag value */
#define PART_BYTES      ((size_t)1 << 20)
#define EXTRA_MAX       32u /* host and further tags */

/* A tag that every line gets. */
struct extra {
    char *key;  /* owned */
    char *text; /* " key=value", owned */
};

struct col_emit {
    struct col_out out;               /* where batches go */
    char *prefix;                     /* owned */
    struct extra extras[EXTRA_MAX];   /* sorted by key */
    unsigned n_extras;                /* entries */
    int64_t ts_ms;                    /* of the next points */
    struct ts_buf time;               /* the same as text */
    struct ts_buf batch;              /* lines */
    struct ts_buf key, line;          /* of one point: metric and tags; the whole line */
    uint32_t n_batch;                 /* points in batch */
    int part_rc;                      /* what the output said to a part of this batch */
    struct ts_error part_err;         /* its text */
    struct col_repeat *repeat;        /* NULL = every value is sent */
    atomic_uint_least64_t n_points;   /* handed over */
    atomic_uint_least64_t n_left_out; /* repetitions */
};

/* --- names --- */

static bool name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.' || c == '/';
}

static bool name_ok(struct ts_slice s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!name_char(s.p[i]))
            return false;
    return s.n > 0;
}

void col_name_append(struct ts_buf *out, struct ts_slice value)
{
    if (!value.n)
        value = TS_SLICE_LIT("none");
    if (value.n > VALUE_MAX_BYTES)
        value.n = VALUE_MAX_BYTES;
    for (size_t i = 0; i < value.n; i++)
        ts_buf_char(out, name_char(value.p[i]) ? value.p[i] : '_');
}

/* Take "key=value" off the front of a comma-separated list. */
static bool tag_next(const char **list, struct ts_slice *out_key, struct ts_slice *out_value)
{
    while (**list == ',' || **list == ' ')
        (*list)++;
    size_t n = strcspn(*list, ", "), eq = strcspn(*list, "=, ");
    if (!n)
        return false;
    *out_key = (struct ts_slice){*list, eq};
    *out_value = (struct ts_slice){*list + eq + (eq < n), n - eq - (eq < n)};
    *list += n;
    return true;
}

int col_tags_check(const char *tags, struct ts_error *err)
{
    struct ts_slice key, value;
    unsigned n = 0;
    while (tag_next(&tags, &key, &value)) {
        if (!name_ok(key) || !name_ok(value))
            return ts_error_set(err, TS_EINVAL,
                                "collect_tags: \"%.*s\" is no key=value of letters, digits and -_./",
                                (int)(key.n + 1 + value.n), key.p);
        if (++n >= EXTRA_MAX)
            return ts_error_set(err, TS_EINVAL, "collect_tags: at most %u tags", EXTRA_MAX - 1);
    }
    return 0;
}

int col_prefix_check(const char *prefix, struct ts_error *err)
{
    if (*prefix && !name_ok(ts_slice_str(prefix)))
        return ts_error_set(err, TS_EINVAL,
                            "collect_prefix: \"%s\" has other characters than letters, digits and -_./",
                            prefix);
    return 0;
}

/* Keep the tags sorted; the first of two with the same key stays. */
static void extra_add(struct col_emit *e, struct ts_slice key, struct ts_slice value)
{
    struct ts_buf text;
    unsigned i = 0;
    while (i < e->n_extras && ts_slice_cmp(ts_slice_str(e->extras[i].key), key) < 0)
        i++;
    if ((i < e->n_extras && ts_slice_is(key, e->extras[i].key)) || e->n_extras == EXTRA_MAX)
        return;
    ts_buf_init(&text, 0);
    ts_buf_printf(&text, " %.*s=", (int)key.n, key.p);
    col_name_append(&text, value);
    ts_buf_char(&text, '\0');
    memmove(&e->extras[i + 1], &e->extras[i], (e->n_extras - i) * sizeof(e->extras[0]));
    e->extras[i].text = text.p; /* taken */
    e->extras[i].key = ts_xstrndup(key.p, key.n);
    e->n_extras++;
}

struct col_emit *col_emit_new(const struct col_emit_opts *opts)
{
    struct col_emit *e = ts_xcalloc(1, sizeof(*e));
    struct ts_slice key, value;
    const char *tags = opts->tags ? opts->tags : "";
    e->out = opts->out;
    e->prefix = ts_xstrdup(opts->prefix ? opts->prefix : "");
    while (tag_next(&tags, &key, &value))
        extra_add(e, key, value);
    if (opts->host && *opts->host)
        extra_add(e, TS_SLICE_LIT("host"), ts_slice_str(opts->host));
    ts_buf_init(&e->time, 32);
    ts_buf_init(&e->batch, 0);
    ts_buf_init(&e->key, 0);
    ts_buf_init(&e->line, 0);
    if (opts->repeat_interval_s > 0)
        e->repeat = col_repeat_new(opts->repeat_interval_s);
    col_emit_time(e, 0);
    return e;
}

void col_emit_free(struct col_emit *e)
{
    if (!e)
        return;
    for (unsigned i = 0; i < e->n_extras; i++) {
        ts_free(e->extras[i].key);
        ts_free(e->extras[i].text);
    }
    col_repeat_free(e->repeat);
    ts_free(e->prefix);
    ts_buf_release(&e->time);
    ts_buf_release(&e->batch);
    ts_buf_release(&e->key);
    ts_buf_release(&e->line);
    ts_free(e);
}

void col_emit_time(struct col_emit *e, int64_t ts_ms)
{
    char text[TS_NUM_TEXT_BYTES];
    e->ts_ms = ts_ms;
    ts_buf_clear(&e->time);
    ts_buf_append(&e->time, text, ts_num_print_int(ts_ms % 1000 ? ts_ms : ts_ms / 1000, text));
}

int64_t col_emit_time_get(const struct col_emit *e)
{
    return e->ts_ms;
}

/* --- points --- */

static int emit_hand_over(struct col_emit *e, bool durable, struct ts_error *err)
{
    uint32_t n = e->n_batch;
    int rc = e->out.put(e->out.arg, ts_buf_get(&e->batch), n, durable, err);
    ts_buf_clear(&e->batch);
    e->n_batch = 0;
    atomic_fetch_add_explicit(&e->n_points, n, memory_order_relaxed); /* a figure, orders nothing */
    return rc;
}

/* e->key is " tags" without those of all lines; has says which of these the line has itself (bit i = extras[i]). */
static void emit_line(struct col_emit *e, struct ts_slice metric, struct ts_slice value, uint32_t has)
{
    ts_buf_clear(&e->line);
    ts_buf_str(&e->line, "put ");
    ts_buf_str(&e->line, e->prefix);
    ts_buf_slice(&e->line, metric);
    ts_buf_char(&e->line, ' ');
    ts_buf_slice(&e->line, ts_buf_get(&e->time));
    ts_buf_char(&e->line, ' ');
    ts_buf_slice(&e->line, value);
    ts_buf_slice(&e->line, ts_buf_get(&e->key));
    for (unsigned i = 0; i < e->n_extras; i++)
        if (!(has >> i & 1))
            ts_buf_str(&e->line, e->extras[i].text);
    ts_buf_char(&e->line, '\n');
    if (e->repeat) {
        ts_buf_char(&e->key, ' '); /* key: " a=b metric" */
        ts_buf_slice(&e->key, metric);
        unsigned n =
            col_repeat_take(e->repeat, ts_buf_get(&e->key), value, e->ts_ms, ts_buf_get(&e->line), &e->batch);
        e->n_batch += n;
        if (n != 1) /* one kept back; or one that was kept back goes out now. A figure, orders nothing */
            atomic_fetch_add_explicit(&e->n_left_out, n ? UINT64_MAX : 1, memory_order_relaxed);
    } else {
        ts_buf_slice(&e->batch, ts_buf_get(&e->line));
        e->n_batch++;
    }
    if (e->batch.n >= PART_BYTES && e->part_rc == 0)
        e->part_rc = emit_hand_over(e, false, &e->part_err);
}

/* Append " key=value"; returns the bit of the tag of all lines that it replaces. */
static uint32_t emit_tag(struct col_emit *e, struct ts_slice key, struct ts_slice value)
{
    ts_buf_char(&e->key, ' ');
    ts_buf_slice(&e->key, key);
    ts_buf_char(&e->key, '=');
    col_name_append(&e->key, value);
    for (unsigned i = 0; i < e->n_extras; i++)
        if (ts_slice_is(key, e->extras[i].key))
            return 1u << i;
    return 0;
}

static void emit_point(struct col_emit *e, const char *metric, struct ts_slice value,
                       const struct col_tag *tags, unsigned long n_tags)
{
    uint32_t has = 0;
    ts_buf_clear(&e->key);
    for (unsigned long i = 0; i < n_tags; i++)
        has |= emit_tag(e, ts_slice_str(tags[i].key), tags[i].value);
    emit_line(e, ts_slice_str(metric), value, has);
}

void col_emit_int(struct col_emit *e, const char *metric, int64_t value, const struct col_tag *tags,
                  unsigned long n_tags)
{
    char text[TS_NUM_TEXT_BYTES];
    emit_point(e, metric, (struct ts_slice){text, ts_num_print_int(value, text)}, tags, n_tags);
}

void col_emit_u64(struct col_emit *e, const char *metric, uint64_t value, const struct col_tag *tags,
                  unsigned long n_tags)
{
    col_emit_int(e, metric, (int64_t)(value & INT64_MAX), tags, n_tags);
}

void col_emit_num(struct col_emit *e, const char *metric, double value, const struct col_tag *tags,
                  unsigned long n_tags)
{
    char text[TS_NUM_TEXT_BYTES];
    if (isfinite(value))
        emit_point(e, metric, (struct ts_slice){text, ts_num_print_double(value, text)}, tags, n_tags);
}

/* --- lines of programs --- */

/* Digits, at least two, with an optional dot; more than 11 characters without one are milliseconds. */
static bool line_time(struct ts_slice s, int64_t *out_ms)
{
    const char *dot = s.n ? memchr(s.p, '.', s.n) : NULL;
    struct ts_slice whole = {s.p, dot ? (size_t)(dot - s.p) : s.n};
    uint64_t v;
    if (whole.n < 2 || whole.n > 13 || !col_u64_of(whole, &v))
        return false;
    if (!dot) {
        *out_ms = (int64_t)(s.n > 11 ? v : v * 1000);
        return true;
    }
    int64_t ms = (int64_t)v * 1000, unit = 100;
    for (const char *p = dot + 1; p < s.p + s.n; p++, unit /= 10) {
        if (*p < '0' || *p > '9')
            return false;
        ms += (*p - '0') * unit;
    }
    *out_ms = ms;
    return true;
}

static bool line_value(struct ts_slice *s)
{
    struct ts_num v;
    if (ts_slice_is_nocase(*s, "true"))
        *s = TS_SLICE_LIT("1");
    else if (ts_slice_is_nocase(*s, "false"))
        *s = TS_SLICE_LIT("0");
    return ts_num_parse(*s, &v, NULL) == 0;
}

static int line_tags(struct col_emit *e, struct ts_slice line, uint32_t *out_has, struct ts_error *err)
{
    struct ts_slice word;
    *out_has = 0;
    ts_buf_clear(&e->key);
    while (col_word_next(&line, &word)) {
        const char *eq = memchr(word.p, '=', word.n);
        struct ts_slice key = {word.p, eq ? (size_t)(eq - word.p) : word.n};
        struct ts_slice value = {eq ? eq + 1 : word.p, eq ? word.n - key.n - 1 : 0};
        if (!name_ok(key) || !name_ok(value))
            return ts_error_set(err, TS_EPARSE, "\"%.*s\" is no tag=value of letters, digits and -_./",
                                (int)word.n, word.p);
        *out_has |= emit_tag(e, key, value);
    }
    return 0;
}

int col_emit_line(struct col_emit *e, struct ts_slice line, struct ts_error *err)
{
    struct ts_slice metric, time, value;
    int64_t ts_ms, before_ms = e->ts_ms;
    uint32_t has;
    if (line.n >= LINE_MAX_BYTES)
        return ts_error_set(err, TS_EPARSE, "a line of %zu bytes; %zu are too many", line.n, LINE_MAX_BYTES);
    bool ok = col_word_next(&line, &metric);
    if (ok && ts_slice_is(metric, "put"))
        ok = col_word_next(&line, &metric);
    if (!ok || !col_word_next(&line, &time) || !col_word_next(&line, &value))
        return ts_error_set(err, TS_EPARSE, "a line is METRIC TIME VALUE [tag=value ...]");
    if (!name_ok(metric))
        return ts_error_set(err, TS_EPARSE, "\"%.*s\" is no metric: letters, digits and -_./ are",
                            (int)metric.n, metric.p);
    if (!line_time(time, &ts_ms))
        return ts_error_set(err, TS_EPARSE, "\"%.*s\" is no time in seconds or milliseconds", (int)time.n,
                            time.p);
    struct ts_slice number = value;
    if (!line_value(&number))
        return ts_error_set(err, TS_EPARSE, "\"%.*s\" is no number", (int)value.n, value.p);
    TS_TRY(line_tags(e, line, &has, err));
    col_emit_time(e, ts_ms);
    emit_line(e, metric, number, has);
    col_emit_time(e, before_ms);
    return 0;
}

int col_emit_end(struct col_emit *e, bool durable, struct ts_error *err)
{
    int rc = e->n_batch || durable ? emit_hand_over(e, durable, err) : 0;
    if (e->part_rc < 0) {
        rc = e->part_rc;
        if (err)
            *err = e->part_err;
    }
    e->part_rc = 0;
    return rc;
}

bool col_emit_progress(const struct col_emit *e, struct col_out_progress *out)
{
    if (e->out.progress)
        e->out.progress(e->out.arg, out);
    return e->out.progress != NULL;
}

struct col_out col_emit_out(const struct col_emit *e)
{
    return e->out;
}

void col_emit_counts(const struct col_emit *e, uint64_t *out_points, uint64_t *out_left_out)
{
    *out_points = atomic_load_explicit(&e->n_points, memory_order_relaxed);     /* figures, order nothing */
    *out_left_out = atomic_load_explicit(&e->n_left_out, memory_order_relaxed); /* as above */
}
