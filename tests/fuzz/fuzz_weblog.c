/*
 * fuzz_weblog.c - formats and lines of web server logs, any bytes.
 *
 * First line of the input: a format (a name, or a string); the rest: lines of it. First byte 'J': the lines are JSON. All lines are read with
 * the format auto as well.
 *
 * Checked    no crash; a format that was refused has a reason; what a line says lies in the line; a line says the same twice and with
 * other bytes behind it; every hit that was counted is in the points exactly once; with auto, what decides is read as such whatever was decided
 * before, and a line that begins with a host never counts without one
 */
#include <stdio.h>

#include "base/log.h"
#include "collectors/weblog/weblog_count.h"
#include "collectors/weblog/weblog_format.h"
#include "collectors/weblog/weblog_logs.h"
#include "tests/fuzz/fuzz_kit.h"

static uint64_t n_hits; /* in points */

static int put(void *arg, struct ts_slice lines, uint32_t n_points, bool durable, struct ts_error *err)
{
    (void)arg;
    (void)durable;
    (void)err;
    uint32_t n_lines = 0;
    while (lines.n) {
        const char *nl = memchr(lines.p, '\n', lines.n);
        char metric[64], text[1024];
        unsigned long long n;
        long long t;
        CHECK(nl);
        snprintf(text, sizeof(text), "%.*s", (int)(nl - lines.p), lines.p);
        if (sscanf(text, "put %63s %lld %llu", metric, &t, &n) == 3 && !strcmp(metric, "web.hits"))
            n_hits += n;
        lines = (struct ts_slice){nl + 1, lines.n - (size_t)(nl + 1 - lines.p)};
        n_lines++;
    }
    CHECK(n_lines == n_points);
    return 0;
}

static void inside(struct ts_slice part, struct ts_slice whole)
{
    CHECK(part.n == 0 || (part.p >= whole.p && part.p + part.n <= whole.p + whole.n));
}

static const char *parse(const struct col_web_format *f, struct ts_slice line, struct ts_buf *scratch,
                         struct col_web_hit *h)
{
    const char *why = col_web_line_parse(f, line, scratch, h);
    if (why) {
        CHECK(*why);
        return why;
    }
    const struct ts_slice texts[] = {h->domain, h->path, h->referrer, h->client};
    for (size_t i = 0; i < 4; i++)
        if (texts[i].n && !(scratch->n && texts[i].p >= scratch->p && texts[i].p < scratch->p + scratch->n))
            inside(texts[i], line);
    struct ts_slice prefix = col_web_prefix(h->path, 2);
    inside(prefix, h->path);
    CHECK(!prefix.n || prefix.p[0] == '/');
    inside(col_web_host(h->referrer), h->referrer);
    CHECK(h->took_us >= -1 && h->bytes <= INT64_MAX && h->status < 1000);
    return NULL;
}

static void one_line(const struct col_web_format *f, struct ts_slice line, struct col_web_count *c)
{
    struct col_web_hit a, b;
    struct ts_buf sa, sb;
    char *copy = ts_xmalloc(line.n + 1);
    ts_buf_init(&sa, 0);
    ts_buf_init(&sb, 0);
    if (line.n)
        memcpy(copy, line.p, line.n);
    const char *why = parse(f, line, &sa, &a), *again = parse(f, (struct ts_slice){copy, line.n}, &sb, &b);
    CHECK(why == again);
    if (!why) {
        CHECK(a.time_ms == b.time_ms && a.status == b.status && a.bytes == b.bytes && a.took_us == b.took_us);
        CHECK(ts_slice_eq(a.path, b.path) && ts_slice_eq(a.domain, b.domain) &&
              ts_slice_eq(a.referrer, b.referrer));
        col_web_count_hit(c, &a, col_web_host(a.domain), 0);
        col_web_count_hit(c, &a, col_web_site(a.client), 0);
    }
    ts_free(copy);
    ts_buf_release(&sa);
    ts_buf_release(&sb);
}

/* Does it begin with HOST:PORT and a client? */
static bool has_host(struct ts_slice line)
{
    char text[200], host[100], client[100];
    unsigned port;
    int n = 0;
    snprintf(text, sizeof(text), "%.*s", (int)line.n, line.p);
    return sscanf(text, "%99[a-z.]:%5u %99[0-9.] - %n", host, &port, client, &n) == 3 && n > 0;
}

static void auto_line(const struct col_web_auto *a, struct ts_slice line)
{
    struct col_web_hit h, again;
    struct col_web_look look;
    struct ts_buf scratch, other;
    enum col_web_kind fields = COL_WEB_KIND_UNKNOWN;
    char text[COL_WEB_KIND_BYTES];
    if (col_web_kind_directive(line, &fields)) { /* says what others are */
        col_web_kind_text(fields, text);
        CHECK(col_web_kind_of(text) == fields);
        return;
    }
    ts_buf_init(&scratch, 0);
    ts_buf_init(&other, 0);
    col_web_auto_look(a, line, &scratch, &look);
    CHECK(look.n_lines <= 1);
    for (unsigned k = COL_WEB_KIND_UNKNOWN; k <= COL_WEB_KIND_NONE; k++) {
        const char *why = col_web_auto_parse(a, (enum col_web_kind)k, line, &scratch, &h);
        CHECK(!why || *why);
        CHECK(!why || look.kind == COL_WEB_KIND_UNKNOWN); /* sure is sure */
        CHECK(why || h.domain.n || !has_host(line));
        if (why || look.kind == COL_WEB_KIND_UNKNOWN)
            continue;
        CHECK(!col_web_auto_parse(a, look.kind, line, &other, &again));
        CHECK(h.time_ms == again.time_ms && h.status == again.status && h.bytes == again.bytes);
        CHECK(ts_slice_eq(h.domain, again.domain) && ts_slice_eq(h.path, again.path));
    }
    ts_buf_release(&scratch);
    ts_buf_release(&other);
}

/* Lines by themselves, and as the beginning of a file. */
static void auto_text(struct ts_slice in)
{
    struct col_web_auto *a = col_web_auto_new();
    struct ts_buf scratch;
    struct col_web_look look;
    char odd[COL_WEB_ODD_BYTES];
    ts_buf_init(&scratch, 0);
    col_web_auto_look(a, in, &scratch, &look);
    CHECK(look.n_lines <= COL_WEB_LOOK_LINES);
    if (look.n_lines) {
        inside(look.first, in);
        col_web_look_odd(&look, "x", odd);
    }
    while (in.n) {
        const char *nl = memchr(in.p, '\n', in.n);
        struct ts_slice line = {in.p, nl ? (size_t)(nl - in.p) : in.n};
        auto_line(a, line);
        in = (struct ts_slice){in.p + line.n + (nl != NULL), in.n - line.n - (nl != NULL)};
    }
    ts_buf_release(&scratch);
    col_web_auto_free(a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct ts_slice in = {(const char *)data, n};
    const char *nl = n ? memchr(in.p, '\n', n) : NULL;
    struct ts_error err = {0};
    struct col_web_format *f;
    if (!nl)
        return 0;
    ts_log_set_level(TS_LOG_ERROR);
    auto_text((struct ts_slice){nl + 1, (size_t)((const char *)data + n - (nl + 1))});
    struct ts_slice format = {in.p, (size_t)(nl - in.p)};
    if (format.n && format.p[0] == 'J')
        format = TS_SLICE_LIT("json");
    int rc = col_web_format_new(format, &f, &err);
    check_answer(rc, &err);
    if (rc < 0)
        return 0;
    struct col_web_limits limits = {
        .bucket_ms = 60000, .max_domains = 3, .max_paths = 2, .path_depth = 1 + (n & 1), .max_cells = 1000};
    struct col_web_count c;
    struct col_emit *emit = col_emit_new(&(struct col_emit_opts){.out = {.put = put}});
    col_web_count_init(&c, &limits);
    in = (struct ts_slice){nl + 1, (size_t)((const char *)data + n - (nl + 1))};
    while (in.n) {
        nl = memchr(in.p, '\n', in.n);
        struct ts_slice line = {in.p, nl ? (size_t)(nl - in.p) : in.n};
        one_line(f, line, &c);
        in = (struct ts_slice){in.p + line.n + (nl != NULL), in.n - line.n - (nl != NULL)};
    }
    n_hits = 0;
    CHECK(col_web_count_emit(&c, emit, NULL) == 0);
    CHECK(col_emit_end(emit, false, NULL) == 0);
    CHECK(n_hits == c.n_counted);
    col_web_count_release(&c);
    col_emit_free(emit);
    col_web_format_free(f);
    return 0;
}
