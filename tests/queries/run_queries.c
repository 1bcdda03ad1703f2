/*
 * run_queries.c - runs query scripts (*.qt): load points, ask, compare (docs/QUERY.md, "Query scripts").
 *
 * Each script runs three times: points in memory; in files, flushed after each load; compacted, with days and kept totals, and the store opened anew. Each
 * question is asked twice: in one thread, and spread over three. All answers must be the same text.
 *
 *   run_queries [--remote|--remote-only|--hbase] FILE...   exit 0: all as expected; 1: differences, printed with file and line
 *
 * Options put a remote store behind the store: in memory, and everything is shipped and removed here, or kept, or half of each; in memory alone, and the
 * store here knows nothing; in HBase (tests/hbase/live_tables.h), all these four ways.
 */
#include "query/query.h"

#include "base/mem.h"
#include "query/expressions/exprquery.h"
#include "query/functions/gexp.h"
#include "tests/queries/folder.h"
#include "tests/queries/lines.h"
#include "tests/queries/remotes.h"
#include "tests/queries/retention.h"
#include "tests/queries/totals.h"
#include "tests/queries/unordered.h"
#include "tests/queries/words.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOW_S 1600000000 /* what "now" is in scripts that do not say */
enum mode {
    MODE_MEMORY,
    MODE_FILES,
    MODE_COMPACT,
    MODE_REMOTE,
    MODE_SHIPPED,
    MODE_MIXED,
    MODE_REMOTE_ONLY,
    MODE_COUNT
};
static const char *const mode_names[] = {"in memory",
                                         "in files",
                                         "compacted",
                                         "in the remote store",
                                         "here and in the remote store",
                                         "in both, by halves",
                                         "in the remote store alone"};

/* A script at work. */
struct script {
    const char *path;
    int line; /* of the statement */
    enum mode mode;
    char dir[200]; /* store */
    struct sto_store *st;
    struct sto_remote *remote; /* behind st; NULL = none */
    struct ts_pool *pool;      /* three threads */
    int64_t base_s;            /* offsets count from here */
    int64_t now_ms;            /* what "now" is */
    bool compat;
    int n_bad;                   /* differences */
    struct ts_buf got;           /* lines of the answer */
    bool metrics;                /* names of metrics are printed */
    const struct qry_spec *spec; /* of the question */
    const struct qry_head *head; /* of the answer, totals */
};

static void die(const struct script *s, const char *what, const char *why)
{
    fprintf(stderr, "%s:%d: %s: %s\n", s->path, s->line, what, why);
    exit(1);
}

static void open_store(struct script *s)
{
    struct ts_error err = {0};
    struct sto_opts opts = {.dir = s->dir,
                            .day_rows = 1,
                            .create = true,
                            .own_threads = true,
                            .wal_sync = STO_SYNC_NONE,
                            .no_background = true,
                            .remote = s->remote};
    if (sto_open(&opts, &s->st, &err) < 0)
        die(s, "open", err.text);
}

static void close_store(struct script *s)
{
    struct ts_error err = {0};
    if (sto_close(s->st, &err) < 0)
        die(s, "close", err.text);
}

static void new_store(struct script *s)
{
    if (!folder_new(s->dir, sizeof s->dir))
        die(s, "mkdtemp", s->dir);
    s->remote = s->mode >= MODE_REMOTE ? remotes_new() : NULL;
    ts_clock_set_fake(0); /* retention sets it */
    open_store(s);
}

/* Go on with a store that knows nothing: all points and names are in the remote store, whose caches must not outlive the numbers of the catalog. */
static void forget_all(struct script *s)
{
    close_store(s);
    folder_remove(s->dir);
    if (mkdir(s->dir, 0700) < 0)
        die(s, "mkdir", s->dir);
    s->remote = remotes_again(s->remote);
    open_store(s);
}

static void drop_store(struct script *s)
{
    close_store(s);
    if (s->remote)
        s->remote->ops->close(s->remote);
    folder_remove(s->dir);
}

/* Everything goes to the remote store; drop: nothing stays here. */
static void ship(struct script *s, bool drop)
{
    struct ts_error err = {0};
    sto_writer_turn(sto_writer(s->st, 0));
    if (sto_flush(s->st, STO_LEVEL_FILES, &err) < 0 || sto_ship(s->st, &err) < 0 ||
        (drop && sto_drop_shipped(s->st, INT64_MAX, &err) < 0))
        die(s, "ship", err.text);
}

static void settle(struct script *s)
{
    struct ts_error err = {0};
    enum sto_level level = s->mode == MODE_FILES     ? STO_LEVEL_FILES
                           : s->mode == MODE_COMPACT ? STO_LEVEL_COMPACT
                                                     : STO_LEVEL_LOG;
    if (s->mode == MODE_REMOTE || s->mode == MODE_SHIPPED || s->mode == MODE_REMOTE_ONLY)
        ship(s, s->mode == MODE_REMOTE);
    if (s->mode == MODE_REMOTE_ONLY)
        forget_all(s);
    sto_writer_turn(sto_writer(s->st, 0));
    if (sto_flush(s->st, level, &err) < 0)
        die(s, "flush", err.text);
    if (s->mode == MODE_COMPACT) {
        close_store(s);
        open_store(s);
    }
}

/* --- loading --- */
/* "10", "-3.250": seconds into ms. */
static int64_t offset_ms(struct script *s, const char *text, char **end)
{
    bool neg = *text == '-';
    int64_t ms = strtoll(text, end, 10) * 1000;
    if (**end == '.' && (*end)[1] != '.') {
        char *from = *end + 1;
        int64_t frac = strtoll(from, end, 10);
        if (*end - from != 3)
            die(s, "a fraction has three digits", text);
        ms += neg ? -frac : frac;
    }
    return s->base_s * 1000 + ms;
}

/* "cpu{host=a,dc=x}" into a series. */
static const struct sto_series *resolve(struct script *s, char *name)
{
    struct sto_tag_text tags[16];
    size_t n = 0;
    struct ts_error err = {0};
    const struct sto_series *series;
    char *open = strchr(name, '{'), *tag;
    if (!open || name[strlen(name) - 1] != '}')
        die(s, "not METRIC{k=v,...}", name);
    name[strlen(name) - 1] = 0;
    *open = ' ';
    size_t metric_len = (size_t)(open - name);
    for (tag = open; tag; n++) {
        char *next = strchr(tag + 1, ',');
        size_t len = next ? (size_t)(next - tag - 1) : strlen(tag + 1);
        char *eq = memchr(tag + 1, '=', len);
        if (!eq || n == 16)
            die(s, "not k=v", tag + 1);
        tags[n].k = (struct ts_slice){tag + 1, (size_t)(eq - tag - 1)};
        tags[n].v = (struct ts_slice){eq + 1, len - tags[n].k.n - 1};
        if (next)
            *next = ' ';
        tag = next;
    }
    keep_totals(s->mode == MODE_COMPACT ? s->st : NULL, (struct ts_slice){name, metric_len}, tags, n);
    if (sto_series_resolve(sto_store_catalog(s->st), ts_slice_str(name), (uint32_t)metric_len, tags, n, true,
                           &series, &err) < 0)
        die(s, "series", err.text);
    return series;
}

static void put_point(struct script *s, const struct sto_series *series, int64_t t, struct ts_slice value)
{
    struct ts_num num;
    struct ts_error err = {0};
    int rc;
    if (ts_num_parse(value, &num, &err) < 0)
        die(s, "value", err.text);
    struct sto_writer *writer = sto_writer(s->st, 0);
    while ((rc = sto_put(writer, series, t, num, t % 1000 != 0)) == TS_EBUSY) {
        struct pollfd pfd = {.fd = sto_writer_fd(writer), .events = POLLIN};
        sto_writer_turn(writer);
        poll(&pfd, 1, 10);
    }
    if (rc < 0)
        die(s, "put", ts_err_name(rc));
}

/* "cpu{host=a} 0:1 10..3600/10:2.5": points, or the same value from..to in steps (to excluded). */
static void load_line(struct script *s, char *line)
{
    char *save, *word = strtok_r(line, " ", &save), *end;
    const struct sto_series *series = resolve(s, word);
    while ((word = strtok_r(NULL, " ", &save)) != NULL) {
        int64_t from = offset_ms(s, word, &end), to = from + 1, step = 1;
        if (strncmp(end, "..", 2) == 0) {
            to = offset_ms(s, end + 2, &end);
            if (*end != '/')
                die(s, "not FROM..TO/STEP:VALUE", word);
            step = offset_ms(s, end + 1, &end) - s->base_s * 1000;
        }
        if (*end != ':' || step <= 0)
            die(s, "not TIME:VALUE", word);
        for (int64_t t = from; t < to; t += step)
            put_point(s, series, t, ts_slice_str(end + 1));
    }
}

/* --- answers as text --- */
static void print_time(struct script *s, int64_t ts_ms)
{
    int64_t ms = ts_ms - s->base_s * 1000;
    if (ms % 1000 == 0)
        ts_buf_printf(&s->got, " %lld:", (long long)(ms / 1000));
    else
        ts_buf_printf(&s->got, " %s%lld.%03lld:", ms < 0 ? "-" : "", (long long)llabs(ms) / 1000,
                      (long long)llabs(ms) % 1000);
}

static void print_double(struct script *s, double d, bool nan_is_null)
{
    char num[TS_NUM_TEXT_BYTES];
    if (d != d && nan_is_null)
        ts_buf_str(&s->got, "null");
    else
        ts_buf_append(&s->got, num, ts_num_print_java(d, num));
}

static int emit_series(void *arg, const struct qry_series *r, struct ts_error *err)
{
    struct script *s = arg;
    (void)err;
    if (s->metrics || s->spec->n_subs > 1)
        ts_buf_printf(&s->got, "%.*s", (int)r->metric.n, r->metric.p);
    ts_buf_char(&s->got, '{');
    for (size_t i = 0; i < r->n_tags; i++)
        ts_buf_printf(&s->got, "%s%.*s=%.*s", i ? "," : "", (int)r->tags[i].k.n, r->tags[i].k.p,
                      (int)r->tags[i].v.n, r->tags[i].v.p);
    ts_buf_char(&s->got, '}');
    for (size_t i = 0; i < r->n_agg_tags; i++)
        ts_buf_printf(&s->got, "%s%.*s%s", i ? " " : " [", (int)r->agg_tags[i].n, r->agg_tags[i].p,
                      i + 1 == r->n_agg_tags ? "]" : "");
    for (size_t i = 0; i < r->n_tsuids; i++)
        ts_buf_printf(&s->got, " <%.*s>", (int)r->tsuids[i].n, r->tsuids[i].p);
    for (size_t k = 0; k < r->n; k++) {
        print_time(s, r->ts_ms[k]);
        if (r->is_int ? r->is_int[k] : r->all_int) {
            ts_buf_printf(&s->got, "%lld", (long long)(int64_t)r->v[k]);
        } else {
            double d;
            memcpy(&d, &r->v[k], 8);
            print_double(s, d, r->nan_is_null);
        }
    }
    return ts_buf_char(&s->got, '\n');
}

static int emit_head(void *arg, const struct qry_head *head, struct ts_error *err)
{
    struct script *s = arg;
    (void)err;
    s->head = head;
    if (head->n_values > 1)
        for (size_t i = 0; i < head->n_values; i++)
            ts_buf_printf(&s->got, "%s[%.*s]%s", i ? " " : "", (int)head->values[i].n, head->values[i].p,
                          i + 1 == head->n_values ? "\n" : "");
    return 0;
}

static void print_total(struct script *s, const struct qry_total_value *v)
{
    char num[TS_NUM_TEXT_BYTES];
    if (v->null)
        ts_buf_str(&s->got, "null");
    else if (v->is_int)
        ts_buf_append(&s->got, num, ts_num_print_i128(v->i, num));
    else
        print_double(s, v->d, false);
}

static int emit_total(void *arg, const struct qry_total *t, struct ts_error *err)
{
    struct script *s = arg;
    (void)err;
    for (size_t i = 0; i < s->head->n_times; i++) {
        char text[QRY_TIME_COLUMN_BYTES];
        size_t n = qry_time_column_print(s->head->times[i], t, text);
        if (s->head->times[i] == QRY_COLUMN_HOUR && t->repeated)
            n = (size_t)snprintf(text, sizeof text, "%02d'", t->local.hour);
        ts_buf_printf(&s->got, "%.*s%s ", (int)n, text,
                      t->partial && i + 1 == s->head->n_times && s->spec->partial ? "*" : "");
    }
    for (size_t i = 0; i < s->head->n_tags; i++)
        ts_buf_printf(&s->got, "%.*s ", (int)t->tags[i].n, t->tags[i].p);
    print_total(s, &(struct qry_total_value){t->null, t->is_int, t->i, t->d});
    for (size_t i = 0; i < t->n_more; i++) {
        ts_buf_char(&s->got, ' ');
        print_total(s, &t->more[i]);
    }
    return ts_buf_char(&s->got, '\n');
}

static int emit_last(void *arg, const struct qry_latest *p, struct ts_error *err)
{
    struct script *s = arg;
    (void)err;
    ts_buf_slice(&s->got, sto_series_text(p->series));
    for (size_t i = 0; i < p->n; i++) {
        print_time(s, p->ts_ms[i]);
        if (p->v[i].kind == TS_NUM_INT)
            ts_buf_printf(&s->got, "%lld", (long long)p->v[i].m);
        else
            print_double(s, ts_num_double(p->v[i]), false);
    }
    return ts_buf_char(&s->got, '\n');
}

/* --- questions --- */
/* "@10" becomes the ms of base + 10 s. */
static void expand(struct script *s, const char *text, struct ts_buf *out)
{
    ts_buf_clear(out);
    while (*text) {
        char *end;
        if (*text != '@') {
            ts_buf_char(out, *text++);
            continue;
        }
        ts_buf_printf(out, "%lldms", (long long)offset_ms(s, text + 1, &end));
        text = end;
    }
    ts_buf_char(out, 0);
}

/* Functions over queries. */
static int ask_gexp(struct script *s, char *text, struct ts_pool *pool, struct ts_arena *arena,
                    struct ts_error *err)
{
    struct qry_param params[MAX_WORDS];
    struct qry_limit limit = {0};
    struct qry_gexp g;
    TS_TRY(qry_gexp_parse(params, split_params(text, params), s->now_ms, s->compat, arena, &g, err));
    s->spec = &g.spec;
    s->metrics = true;
    return qry_gexp_run(s->st, pool, &g, &limit, emit_series, s, err);
}

/* A column of a formula or metric a line: "ID METRIC,METRIC{tags} [keys] TIME:VALUE ...". */
static int emit_columns(void *arg, const struct qry_exp_result *r, struct ts_error *err)
{
    struct script *s = arg;
    (void)err;
    for (size_t i = 0; i < r->n_cols; i++) {
        const struct qry_label *l = &r->labels[i].label;
        struct ts_slice name = r->output->alias.p ? r->output->alias : r->output->id;
        ts_buf_printf(&s->got, "%.*s ", (int)name.n, name.p);
        for (size_t k = 0; k < l->n_metrics; k++)
            ts_buf_printf(&s->got, "%s%.*s", k ? "," : "", (int)l->metrics[k].text.n, l->metrics[k].text.p);
        for (size_t k = 0; k < l->n_tags; k++)
            ts_buf_printf(&s->got, "%s%.*s=%.*s", k ? "," : "{", (int)l->tags[k].k.text.n,
                          l->tags[k].k.text.p, (int)l->tags[k].v.text.n, l->tags[k].v.text.p);
        ts_buf_str(&s->got, l->n_tags ? "}" : "{}");
        for (size_t k = 0; k < l->n_agg_tags; k++)
            ts_buf_printf(&s->got, "%s%.*s%s", k ? " " : " [", (int)l->agg_tags[k].text.n,
                          l->agg_tags[k].text.p, k + 1 == l->n_agg_tags ? "]" : "");
        for (size_t row = 0; row < r->n_rows; row++) {
            print_time(s, r->ts_ms[row]);
            print_double(s, r->v[i][row], r->nan_is_null);
        }
        ts_buf_char(&s->got, '\n');
    }
    return 0;
}

static int ask_exp(struct script *s, const char *text, struct ts_pool *pool, struct ts_arena *arena,
                   struct ts_error *err)
{
    struct qry_limit limit = {0};
    struct qry_exp q;
    TS_TRY(qry_exp_parse(ts_slice_str(text), s->now_ms, s->compat, arena, &q, err));
    return qry_exp_run(s->st, pool, &q, &limit, emit_columns, s, err);
}

/* One question in this many threads; the answer or the error is in s->got. */
static int ask(struct script *s, const char *kind, const char *text, struct ts_pool *pool)
{
    struct ts_arena arena;
    struct ts_buf q;
    struct qry_spec spec = {0};
    struct qry_limit limit = {0};
    struct ts_error err = {0};
    struct qry_param params[MAX_WORDS];
    int rc;
    ts_arena_init(&arena, 0);
    ts_buf_init(&q, 0);
    ts_buf_clear(&s->got);
    expand(s, text, &q);
    s->spec = &spec;
    s->metrics = false;
    if (strcmp(kind, "exp") == 0) {
        rc = ask_exp(s, q.p, pool, &arena, &err);
    } else if (strcmp(kind, "gexp") == 0) {
        rc = ask_gexp(s, q.p, pool, &arena, &err);
    } else if (strcmp(kind, "last") == 0) {
        char *back = strstr(q.p, " back ");
        int64_t hours = 0, now = s->now_ms;
        if (back) {
            char *end;
            *back = 0;
            hours = strtoll(back + 6, &end, 10);
            now = strncmp(end, " at ", 4) == 0 ? strtoll(end + 4, NULL, 10) : now;
        }
        struct qry_last_request ask = {.back_scan_hours = hours, .now_ms = now};
        char *until = strstr(q.p, " until "), *n = strstr(q.p, " n ");
        if (until) {
            *until = 0;
            ask.at_on = true;
            ask.at_ms = strtoll(until + 7, NULL, 10);
        }
        if (n) {
            *n = 0;
            ask.n = (size_t)strtoll(n + 3, NULL, 10);
        }
        ask.timeseries = ts_slice_str(q.p);
        rc = qry_run_latest(s->st, pool, &ask, &limit, emit_last, s, &err);
    } else {
        if (strcmp(kind, "words") == 0)
            rc = parse_words(q.p, s->now_ms, &arena, &spec, &err);
        else if (strcmp(kind, "json") == 0)
            rc = qry_parse_json(ts_slice_str(q.p), s->now_ms, s->compat, &arena, &spec, &err);
        else
            rc = qry_parse_params(params, split_params(q.p, params), s->now_ms, s->compat, &arena, &spec,
                                  &err);
        if (rc == 0)
            rc = spec.by_on ? qry_table(s->st, pool, &spec, &limit, emit_head, emit_total, s, &err)
                            : qry_run(s->st, pool, &spec, &limit, emit_series, s, &err);
    }
    if (rc < 0) {
        ts_buf_clear(&s->got);
        ts_buf_printf(&s->got, "error: %s\n", err.text);
    }
    ts_buf_release(&q);
    ts_arena_release(&arena);
    return rc;
}

/* Is the answer as wanted? Series and tags stand in the order of ids, which the view gives in the order of names;
 * in the scripts it is that of loading. The first metric by id names the result of a function. So these differ
 * where the catalog is empty. Ids of the catalog (TSUIDs) are not to be had there. */
static bool same(const struct script *s, const char *kind, const char *text, struct ts_slice want)
{
    struct ts_buf a, b;
    if (ts_slice_eq(ts_buf_get(&s->got), want))
        return true;
    if (s->mode != MODE_REMOTE_ONLY || strcmp(kind, "words") == 0 || strcmp(kind, "exp") == 0)
        return false;
    if (strstr(text, "tsuid"))
        return true;
    ts_buf_init(&a, 0);
    ts_buf_init(&b, 0);
    unordered(ts_buf_get(&s->got), strcmp(kind, "gexp") != 0, &a);
    unordered(want, strcmp(kind, "gexp") != 0, &b);
    bool yes = ts_slice_eq(ts_buf_get(&a), ts_buf_get(&b));
    ts_buf_release(&a);
    ts_buf_release(&b);
    return yes;
}

static void question(struct script *s, const char *kind, const char *text, struct ts_slice want)
{
    for (int threads = 0; threads < 2; threads++) {
        ask(s, kind, text, threads ? s->pool : NULL);
        if (same(s, kind, text, want))
            continue;
        s->n_bad++;
        printf("%s:%d: %s, %s: %s %s\n--- got\n%.*s--- want\n%.*s", s->path, s->line, mode_names[s->mode],
               threads ? "three threads" : "one thread", kind, text, (int)s->got.n, s->got.p ? s->got.p : "",
               (int)want.n, want.p ? want.p : "");
    }
}

/* --- the script --- */
static void load(struct script *s, struct ts_buf *b)
{
    ts_buf_char(b, 0);
    char *save;
    size_t n = 0, half = 1;
    for (const char *p = b->p; *p; p++)
        half += *p == '\n';
    half /= 2;
    for (char *line = strtok_r(b->p, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        load_line(s, line);
        if (s->mode == MODE_MIXED && ++n == half)
            ship(s, true);
    }
    settle(s);
}

static void statement(struct script *s, struct lines *l)
{
    char *text = ts_xstrdup(l->line), *arg = strchr(text, ' ');
    struct ts_buf b;
    ts_buf_init(&b, 0);
    s->line = l->number;
    if (arg)
        *arg++ = 0;
    else
        arg = text + strlen(text);
    block(l, &b);
    if (strcmp(text, "base") == 0) {
        s->base_s = strtoll(arg, NULL, 10);
    } else if (strcmp(text, "now") == 0) {
        s->now_ms = strtoll(arg, NULL, 10) * 1000;
    } else if (strcmp(text, "compat") == 0) {
        s->compat = strcmp(arg, "on") == 0;
    } else if (strcmp(text, "retention") == 0) {
        retention_set(s->st, arg, s->now_ms);
    } else if (strcmp(text, "clear") == 0) {
        drop_store(s);
        new_store(s);
    } else if (strcmp(text, "load") == 0) {
        load(s, &b);
    } else if (strcmp(text, "query") == 0 || strcmp(text, "json") == 0 || strcmp(text, "words") == 0 ||
               strcmp(text, "last") == 0 || strcmp(text, "gexp") == 0 || strcmp(text, "exp") == 0) {
        question(s, text, arg, ts_buf_get(&b));
    } else {
        die(s, "no such statement", text);
    }
    ts_buf_release(&b);
    ts_free(text);
}

static int run_script(const char *path, enum mode first, enum mode end)
{
    struct script s = {.path = path, .pool = ts_pool_new(3, "query")};
    ts_buf_init(&s.got, 0);
    for (s.mode = first; s.mode < end; s.mode++) {
        struct lines l = {.f = fopen(path, "r"), .line = ts_xmalloc(LINE_BYTES)};
        if (!l.f)
            die(&s, "open", path);
        s.base_s = 1499997600;
        s.now_ms = NOW_S * 1000ll;
        s.compat = false;
        new_store(&s);
        while (next_line(&l))
            statement(&s, &l);
        drop_store(&s);
        fclose(l.f);
        ts_free(l.line);
    }
    ts_pool_free(s.pool);
    ts_buf_release(&s.got);
    return s.n_bad;
}

int main(int argc, char **argv)
{
    int n_bad = 0;
    const char *over = argc > 1 && argv[1][0] == '-' ? argv[1] : "";
    bool only = strcmp(over, "--remote-only") == 0, hbase = strcmp(over, "--hbase") == 0;
    enum mode first = only ? MODE_REMOTE_ONLY : *over ? MODE_REMOTE : MODE_MEMORY;
    enum mode end = only || hbase ? MODE_COUNT : *over ? MODE_REMOTE_ONLY : MODE_REMOTE;
    remotes_start(hbase);
    for (int i = *over ? 2 : 1; i < argc; i++)
        n_bad += run_script(argv[i], first, end);
    remotes_end();
    if (n_bad)
        printf("%d differences\n", n_bad);
    return n_bad ? 1 : 0;
}
