/*
 * weblog_try.c - a preview of a web log: its format, what each of its first lines says, which points they make.
 *
 * Threads    one
 */
#include "base/buf.h"
#include "base/lineread.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/time.h"
#include "collectors/core/emit.h"
#include "collectors/core/fields.h"
#include "collectors/weblog/weblog_bots.h"
#include "collectors/weblog/weblog_import.h"
#include "collectors/weblog/weblog_logs.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LOOK_LINES 10000u /* for the summary */
#define SHOWN_TOP  5u     /* domains in it */

/* A preview under way. */
struct
try {
    const struct ts_conf *conf;       /* keys */
    const char *path;                 /* file */
    unsigned n_shown;                 /* lines that are shown one by one */
    struct col_web_log log;           /* format and domain */
    enum col_web_kind kind;           /* of its lines */
    struct col_web_limits limits;     /* of counting */
    struct col_web_count points, all; /* of the lines shown; of all that are looked at */
    uint64_t n_lines, n_bad, n_none;  /* looked at; bad; without a domain */
    uint64_t n_ahead, n_far;          /* requests after now; of these those that are bad lines for it */
    int64_t now_ms;                   /* clock at the start */
    bool drop_bots;                   /* requests of programs do not count */
    uint64_t n_bots;                  /* of these */
    struct ts_buf scratch, *out;      /* texts of JSON lines; the preview */
};

static void say_time(struct ts_buf *out, int64_t ms)
{
    struct ts_civil c = ts_civil_from_ms(NULL, ms);
    ts_buf_printf(out, "%04d-%02u-%02uT%02u:%02u:%02uZ", c.year, c.month, c.day, c.hour, c.minute, c.second);
}

/* "     3  2026-11-06T12:00:00Z domain=a.org path=/a status=200 bytes=100 ms=12", or what is wrong with it. */
static void line_say(const struct try *t, struct ts_slice line, const char *why, const struct col_web_hit *h)
{
    char shown[COL_WEB_SHOWN];
    ts_buf_printf(t->out, "%6llu  ", (unsigned long long)t->n_lines);
    if (why) {
        col_web_show(line, shown, sizeof(shown));
        ts_buf_printf(t->out, "bad: %s: %s\n", why, shown);
        return;
    }
    say_time(t->out, h->time_ms);
    ts_buf_str(t->out, " domain=");
    col_name_append(t->out, col_web_domain(&t->log, t->path, h));
    if (t->limits.path_depth) {
        ts_buf_str(t->out, " path=");
        col_name_append(t->out, col_web_prefix(h->path, t->limits.path_depth));
    }
    if (t->limits.tag_bots || t->drop_bots)
        ts_buf_str(t->out, col_web_is_bot(h->agent) ? " bot=yes" : " bot=no");
    ts_buf_printf(t->out, " status=%u bytes=%llu", h->status, (unsigned long long)h->bytes);
    if (h->took_us >= 0)
        ts_buf_printf(t->out, " ms=%.3f", (double)h->took_us / 1000);
    ts_buf_char(t->out, '\n');
}

static void line_look(struct try *t, struct ts_slice line)
{
    struct col_web_hit h;
    t->n_lines++;
    if (!line.n || (line.n == 1 && line.p[0] == '\r') ||
        (t->log.detect && col_web_kind_directive(line, &t->kind)))
        return;
    const char *why = col_web_log_parse(&t->log, t->kind, line, &t->scratch, &h);
    if (!why && h.time_ms > t->now_ms) {
        why = col_web_too_late(&h, t->now_ms);
        t->n_ahead++;
        t->n_far += why != NULL;
    }
    if (t->n_lines <= t->n_shown)
        line_say(t, line, why, &h);
    t->n_bad += why != NULL;
    if (why)
        return;
    if (t->drop_bots && col_web_is_bot(h.agent)) {
        t->n_bots++;
        return;
    }
    struct ts_slice domain = col_web_domain(&t->log, t->path, &h);
    t->n_none += !domain.n;
    if (t->n_lines <= t->n_shown)
        col_web_count_hit(&t->points, &h, domain, 0);
    col_web_count_hit(&t->all, &h, domain, 0);
}

/* The domains with the most requests. */
static void domains_say(const struct try *t)
{
    uint64_t *hits = ts_xcalloc(t->all.names.n + 1, sizeof(*hits));
    for (uint32_t i = 0; i < t->all.n_cells; i++)
        for (unsigned k = 0; k < COL_WEB_CLASSES; k++)
            hits[t->all.names.list[t->all.cells[i].series].parent] += t->all.cells[i].hits[k];
    for (unsigned n = 0; n < SHOWN_TOP; n++) {
        uint32_t best = t->all.names.n;
        for (uint32_t i = 0; i < t->all.names.n; i++)
            if (hits[i] > hits[best])
                best = i;
        if (best == t->all.names.n)
            break;
        ts_buf_printf(t->out, "  domain=%s: %llu\n", t->all.names.list[best].text,
                      (unsigned long long)hits[best]);
        hits[best] = 0;
    }
    ts_free(hits);
}

static int put_text(void *arg, struct ts_slice lines, uint32_t n_points, bool durable, struct ts_error *err)
{
    (void)n_points;
    (void)durable;
    (void)err;
    return ts_buf_slice(arg, lines);
}

/* "1 line", "2 lines". */
static void count_say(struct ts_buf *out, uint64_t n, const char *what)
{
    ts_buf_printf(out, "%" PRIu64 " %s%s", n, what, ts_plural(n));
}

static void end_say(struct try *t)
{
    const struct col_web_names *names = &t->all.names;
    count_say(t->out, t->n_lines, "line");
    ts_buf_str(t->out, " looked at: ");
    count_say(t->out, t->all.n_counted, "request");
    ts_buf_str(t->out, ", ");
    count_say(t->out, t->n_bad, "bad line");
    ts_buf_str(t->out, ", ");
    count_say(t->out, names->n_domains, "domain");
    ts_buf_char(t->out, '\n');
    if (t->n_bots)
        ts_buf_printf(t->out, "of programs: %llu requests, which do not count (collect_weblog_bots = drop)\n",
                      (unsigned long long)t->n_bots);
    if (t->n_ahead)
        ts_buf_printf(
            t->out,
            "in the future: %llu requests, %llu of them by more than a day, which are bad lines; check the "
            "clock here and where the log was written, and its zone\n",
            (unsigned long long)t->n_ahead, (unsigned long long)t->n_far);
    domains_say(t);
    if (t->n_none * 2 > t->all.n_counted)
        ts_buf_printf(t->out, "%s\n", COL_WEB_NONE_HINT);
    if (!t->points.n_counted)
        return;
    ts_buf_printf(t->out, "points of the first %u lines:\n", t->n_shown);
    struct col_emit *emit =
        col_emit_new(&(struct col_emit_opts){.out = {.put = put_text, .arg = t->out},
                                             .prefix = ts_conf_str(t->conf, "collect_prefix"),
                                             .tags = ts_conf_str(t->conf, "collect_tags")});
    (void)col_web_count_emit(&t->points, emit, NULL);
    (void)col_emit_end(emit, false, NULL);
    col_emit_free(emit);
}

/* Which lines these are; false: none that are known, which is said. */
static bool kind_say(struct try *t, struct ts_slice text)
{
    struct col_web_look look;
    if (!t->log.detect) {
        ts_buf_printf(t->out, "%s: read as %s\n", t->path, ts_conf_str(t->conf, "collect_weblog_format"));
        return true;
    }
    col_web_auto_look(t->log.detect, text, &t->scratch, &look);
    t->kind = look.kind;
    if (look.kind != COL_WEB_KIND_UNKNOWN) {
        ts_buf_printf(t->out, "%s: lines are %s\n", t->path, col_web_kind_name(look.kind));
        return true;
    }
    char odd[COL_WEB_ODD_BYTES];
    const char *guess = col_web_guess(look.first);
    col_web_look_odd(&look, "nothing would be read of it", odd);
    ts_buf_printf(t->out, "%s: %s%s%s\n", t->path, guess ? guess : "", guess ? "; " : "",
                  look.n_lines ? odd : "it has no lines yet");
    return false;
}

static int try_file(struct try *t, struct ts_error *err)
{
    struct ts_lines *lines;
    struct ts_slice piece, line;
    bool more = true;
    TS_TRY(ts_lines_open(t->path, &lines, err));
    int rc = ts_lines_next(lines, &piece, err);
    if (rc == 0)
        ts_buf_printf(t->out, "%s: it is empty\n", t->path);
    bool known = rc > 0 && kind_say(t, piece);
    bool odd = rc > 0 && !known;
    if (known) {
        while (more && rc > 0) {
            while (more && col_line_next(&piece, &line)) {
                line_look(t, line);
                more = t->n_lines < LOOK_LINES;
            }
            if (more)
                rc = ts_lines_next(lines, &piece, err);
        }
        end_say(t);
    }
    ts_lines_close(lines);
    return rc < 0 ? rc : odd || t->n_bad;
}

int col_web_try(const struct ts_conf *conf, const char *path, unsigned n_shown, struct ts_buf *out,
                struct ts_error *err)
{
    struct try t = {.conf = conf, .path = path, .n_shown = n_shown, .out = out, .now_ms = ts_clock_ms()};
    struct col_web_limits many;
    TS_TRY(col_web_limits_get(conf, &t.limits, err));
    TS_TRY(col_web_log_init(&t.log, ts_conf_str(conf, "collect_weblog_format"),
                            ts_conf_str(conf, "collect_weblog_domain"), err));
    many = t.limits;
    many.max_domains = LOOK_LINES;
    many.path_depth = 0;
    t.drop_bots = !strcmp(ts_conf_str(conf, "collect_weblog_bots"), "drop");
    ts_buf_init(&t.scratch, 0);
    col_web_count_init(&t.points, &t.limits);
    col_web_count_init(&t.all, &many);
    int rc = try_file(&t, err);
    col_web_count_release(&t.points);
    col_web_count_release(&t.all);
    col_web_log_release(&t.log);
    ts_buf_release(&t.scratch);
    return rc;
}
