/*
 * weblog.c - counts the requests of web servers by domain, path and status from their logs. Every line is
 * counted exactly once.
 *
 *   lines > cells (absolute counts of buckets) > checkpoint > points > spool, synced > cells marked as sent > next checkpoint
 *
 * The checkpoint is written before points are sent: it has the positions in the files and exactly the counts
 * that will be sent. After a crash before the checkpoint the lines are read again; after a crash behind it
 * the same absolute counts are sent again. Values of one series and time arrive in the order in which they
 * were put (sink.h), so a cell may be evicted while points of it wait: no older count overwrites a newer one.
 *
 * Threads    the collector's own
 * Not here   following (weblog_follow.h), formats (weblog_format.h), counting (weblog_count.h), the checkpoint (weblog_state.h)
 */
#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"
#include "collectors/core/keys.h"
#include "collectors/core/collector.h"
#include "collectors/core/fields.h"
#include "collectors/weblog/weblog_bots.h"
#include "collectors/weblog/weblog_journal.h"
#include "collectors/weblog/weblog_state.h"

#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FIGURES_MS   60000  /* interval of the collector's own metrics when nothing happens */
#define REPORT_MS    600000 /* shortest time between two log messages about bad lines */
#define LOCK_WAIT_MS 1000   /* longest wait for an import that begins to read a log */
#define HEAD_BYTES   4096   /* first bytes of a file, which must contain its first request */

static const struct col_metric metrics[] = {
    {"web.hits", "bot domain path status", "requests",
     "Requests in the bucket that begins at the point's time; status is 1xx to 5xx or other; bot is there "
     "with collect_weblog_bots = tag.",
     COL_GAUGE},
    {"web.bytes", "bot domain path status", "bytes", "Bytes sent for them, according to the log.", COL_GAUGE},
    {"web.time.count", "bot domain path", "requests", "Requests whose time is in the log.", COL_GAUGE},
    {"web.time.sum", "bot domain path", "ms", "Sum of their durations.", COL_GAUGE},
    {"web.time.max", "bot domain path", "ms", "Longest of these durations.", COL_GAUGE},
    {"web.time.requests", "bot domain path upto_ms", "requests",
     "Requests by duration: above the previous limit and at most 10, 30, 100, 300, 1000, 3000, 10000 ms, or "
     "more.",
     COL_GAUGE},
    {"web.log.lines", "state", "lines",
     "Lines read: counted (including late ones, whose bucket was already evicted), bad, bot (since the "
     "start, with collect_weblog_bots = drop).",
     COL_COUNTER},
    {"web.log.other", "tag", "requests",
     "Requests counted under domain or path other, because the limit of values was reached.", COL_COUNTER},
    {"web.log.files", "", "files", "Logs being read, rotated ones included.", COL_GAUGE},
    {"web.log.lag", "", "bytes", "Bytes of these logs that were not read yet.", COL_GAUGE},
    {NULL, NULL, NULL, NULL, COL_GAUGE},
};

/* The collector. */
struct weblog {
    struct col_web_logs logs;        /* what to follow */
    struct col_web_follow follow;    /* files */
    struct col_web_count count;      /* counts */
    struct ts_buf scratch;           /* texts of JSON lines */
    uint64_t n_bad;                  /* bad lines of all files, stored in the checkpoint */
    uint64_t n_bots;                 /* requests of programs, since the start; drop_bots */
    bool drop_bots;                  /* such requests are not counted */
    struct col_web_journal *imports; /* logs that were imported; NULL = not known; owned */
    uint64_t n_unreported;           /* bad lines since the last log message */
    int64_t report_ms;               /* clock before which no other message is logged */
    int64_t now_ms;                  /* clock of this turn */
    int64_t send_ms, poll_ms;        /* keys */
    int64_t next_ms;                 /* clock of the next sending */
    int64_t figures_ms;              /* clock of the last figures */
    /* number of changes in the checkpoint; number that the own metrics may include */
    uint64_t n_saved, n_shown;
    char dress[COL_WEB_DRESS_BYTES]; /* host, tags and prefix of points, a line each */
    /* those of the checkpoint, while its cells are sent with them; "" = none */
    char old_dress[COL_WEB_DRESS_BYTES];
    bool flying;              /* what was sent last is not delivered yet */
    uint64_t n_taken, n_lost; /* progress of the output when the last points were sent */
    bool other_reported;      /* a message about the limit of domains was logged */
    char path[PATH_MAX];      /* of the checkpoint; "" = none */
};

static struct col_web_state weblog_state(struct weblog *w)
{
    return (struct col_web_state){
        .path = w->path, .follow = &w->follow, .count = &w->count, .n_bad = &w->n_bad, .dress = w->dress};
}

static void weblog_bad(struct weblog *w, const struct col_web_place *place, uint64_t off, const char *why,
                       struct ts_slice line)
{
    w->n_bad++;
    w->n_unreported++;
    if (w->now_ms < w->report_ms)
        return;
    char shown[COL_WEB_SHOWN];
    col_web_show(line, shown, sizeof(shown));
    ts_log(TS_LOG_WARN, "weblog: bad line in %s at byte %llu: %s: %s n_bad=%llu", place->tail->path,
           (unsigned long long)off, why, shown, (unsigned long long)w->n_unreported);
    w->n_unreported = 0;
    w->report_ms = w->now_ms + REPORT_MS;
}

/* Log a warning if this is the first request of a log that was imported under another name, or by a version
 * that did not record how far: its lines are then counted twice. Such a log is recognised by its text down to
 * this line. */
static void weblog_imported_report(const struct weblog *w, const struct col_web_place *place, uint64_t off,
                                   struct ts_slice line)
{
    char head[HEAD_BYTES];
    uint64_t identity = 0;
    bool first = true;
    if (!w->imports || off > sizeof(head) || place->imported)
        return;
    if (off && (!place->file || pread(fileno(place->file), head, (size_t)off, 0) != (ssize_t)off))
        return;
    struct ts_slice above = {head, (size_t)off}, one;
    while (col_line_next(&above, &one)) {
        identity = col_web_journal_identity(first ? NULL : &identity, one);
        first = false;
    }
    identity = col_web_journal_identity(first ? NULL : &identity, line);
    if (col_web_journal_find(w->imports, identity))
        ts_log(
            TS_LOG_WARN,
            "weblog: %s was imported (weblog.imports in collect_dir), and is followed from its beginning: "
            "the lines that were imported are counted twice; import a log where it is followed, or follow it "
            "first",
            place->tail->path);
}

/* --- what was imported --- */

/* A log that is being judged. */
struct candidate {
    const struct weblog *w;       /* its collector */
    const struct col_web_tail *t; /* the log */
};

static bool candidate_has(void *arg, const char *path)
{
    const struct candidate *c = arg;
    return col_web_follow_family(&c->w->follow, c->t, path);
}

/* From here to the next checkpoint, imports must not decide about any file. */
static bool weblog_hold(void *arg, const struct col_web_tail *t)
{
    static struct ts_log_limit limit;
    struct weblog *w = arg;
    bool held = !w->imports || col_web_journal_lock(w->imports, LOCK_WAIT_MS);
    if (!held)
        ts_log_limited(
            &limit, TS_LOG_WARN,
            "weblog: %s waits: an import holds the lock of collect_dir, and may be about to take it",
            t->path);
    return held;
}

static uint64_t weblog_taken(void *arg, const struct col_web_tail *t, struct ts_slice first, bool packed)
{
    const struct weblog *w = arg;
    struct candidate c = {.w = w, .t = t};
    struct col_web_taken taken = {.bytes = 0};
    if (!w->imports)
        return 0;
    if (col_web_journal_taken(w->imports, first, candidate_has, &c, &taken) && !taken.done)
        ts_log(TS_LOG_WARN,
               "weblog: an import of %s was begun and has not ended; the collector counts what stands behind "
               "the "
               "part that belongs to the import. If it was interrupted, repeat it: that part does not count "
               "before",
               t->path);
    else if (taken.bytes && !packed)
        ts_log(TS_LOG_INFO, "weblog: %s was imported; it is followed behind that bytes=%llu", t->path,
               (unsigned long long)taken.bytes);
    return packed && taken.whole ? COL_WEB_OFF_ALL : taken.bytes;
}

/* --- lines --- */

static void weblog_line(void *arg, const struct col_web_place *place, uint64_t off, struct ts_slice line)
{
    struct weblog *w = arg;
    struct col_web_hit hit;
    if (off < place->imported || !line.n || (line.n == 1 && line.p[0] == '\r'))
        return;
    const char *why = col_web_log_parse(place->tail->log, place->kind, line, &w->scratch, &hit);
    if (!why)
        why = col_web_too_late(&hit, w->now_ms);
    if (!why)
        weblog_imported_report(w, place, off, line);
    if (why)
        weblog_bad(w, place, off, why, line);
    else if (w->drop_bots && col_web_is_bot(hit.agent))
        w->n_bots++;
    else
        col_web_count_hit(&w->count, &hit, col_web_domain(place->tail->log, place->tail->path, &hit),
                          w->now_ms);
}

static void weblog_too_long(void *arg, const struct col_web_place *place, uint64_t off)
{
    if (off >= place->imported)
        weblog_bad(arg, place, off, "it is too long", (struct ts_slice){"", 0});
}

/* --- sending --- */

static void weblog_figures(struct weblog *w, struct col_emit *emit)
{
    const struct {
        const char *state;
        uint64_t n;
    } rows[] = {
        {"counted", w->count.n_counted}, {"late", w->count.n_late}, {"bad", w->n_bad}, {"bot", w->n_bots}};
    col_emit_time(emit, w->now_ms / 1000 * 1000);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows) - !w->drop_bots; i++)
        col_emit_u64(emit, "web.log.lines", rows[i].n, COL_TAGS({"state", ts_slice_str(rows[i].state)}));
    col_emit_u64(emit, "web.log.other", w->count.names.n_other_domains,
                 COL_TAGS({"tag", TS_SLICE_LIT("domain")}));
    col_emit_u64(emit, "web.log.other", w->count.names.n_other_paths,
                 COL_TAGS({"tag", TS_SLICE_LIT("path")}));
    uint32_t n_files;
    uint64_t lag_bytes = col_web_follow_lag_bytes(&w->follow, &n_files);
    col_emit_int(emit, "web.log.files", n_files, COL_NO_TAGS);
    col_emit_u64(emit, "web.log.lag", lag_bytes, COL_NO_TAGS);
    w->figures_ms = w->now_ms;
}

/* Log once that requests are counted under domain other. */
static void weblog_other_report(struct weblog *w)
{
    const struct col_web_names *t = &w->count.names;
    bool domains = t->n_other_domains && t->n_domains >= t->limits.max_domains;
    if (w->other_reported || !domains)
        return;
    w->other_reported = true;
    ts_log(TS_LOG_WARN,
           "weblog: the limit of %u domains is reached, further ones count as other; raise "
           "collect_weblog_domains, or "
           "see collect_weblog_domain if these are no domains of yours n_other=%llu",
           t->limits.max_domains, (unsigned long long)t->n_other_domains);
}

/* Were the points that were sent last delivered? If the output has lost some, they are sent again from the
 * checkpoint. */
static bool weblog_landed(struct weblog *w, const struct col_emit *emit)
{
    struct col_out_progress p;
    if (!w->flying)
        return true;
    if (col_emit_progress(emit, &p)) {
        if (p.n_left < w->n_taken)
            return false;
        col_web_count_landed(&w->count, p.n_lost != w->n_lost);
    }
    w->flying = false;
    return true;
}

/* Send changed cells, and after them the collector's own metrics, so that a reader who sees these also sees
 * the counts. The points are then in flight if the output reports when they are delivered. */
static int weblog_put(struct weblog *w, struct col_emit *emit, bool figures, struct ts_error *err)
{
    struct col_out_progress before, after;
    bool known = col_emit_progress(emit, &before);
    TS_TRY(col_web_count_emit(&w->count, emit, err));
    if (figures)
        weblog_figures(w, emit);
    TS_TRY(col_emit_end(emit, true, err));
    if (known) {
        (void)col_emit_progress(emit, &after);
        w->flying = w->count.n_dirty > 0;
        w->n_taken = after.n_taken;
        w->n_lost = before.n_lost;
    }
    col_web_count_sent(&w->count, known);
    return 0;
}

/* Write the checkpoint if anything has changed. It contains new logs, so imports may decide again. */
static int weblog_save(struct weblog *w, struct ts_error *err)
{
    struct col_web_state st = weblog_state(w);
    uint64_t n_changes = w->follow.n_changes;
    if (*w->path && n_changes != w->n_saved)
        TS_TRY(col_web_state_save(&st, err));
    w->n_saved = n_changes;
    if (w->imports)
        col_web_journal_unlock(w->imports);
    return 0;
}

/* Run a turn; if it began with new logs, write the checkpoint at once. 1 = there is more to read, 0 = not
 * now. */
static int weblog_turn(struct weblog *w, struct ts_error *err)
{
    int more = col_web_follow_turn(&w->follow, w->now_ms, ts_clock_mono_ns() / 1000000);
    if (w->imports && col_web_journal_locked(w->imports))
        TS_TRY(weblog_save(w, err));
    return more;
}

/* Write the checkpoint, send points, and evict cells that are not needed any more. After an error nothing has
 * changed, and the next call tries again. While earlier points are not delivered, new counts wait (the log
 * and the checkpoint have them), so that each cell is then sent once instead of every few seconds. */
static int weblog_send(struct weblog *w, struct col_emit *emit, struct ts_error *err)
{
    TS_TRY(weblog_save(w, err));
    bool changed = w->n_saved != w->n_shown;
    w->n_shown = w->n_saved;
    bool landed = weblog_landed(w, emit);
    bool figures = w->now_ms - w->figures_ms >= FIGURES_MS || (landed && (changed || w->count.n_dirty));
    if (figures)
        weblog_other_report(w);
    if (landed && w->count.n_dirty)
        TS_TRY(weblog_put(w, emit, figures, err));
    else if (figures)
        weblog_figures(w, emit);
    TS_TRY(col_emit_end(emit, false, err));
    (void)col_web_count_evict(&w->count, w->now_ms, false);
    if (col_web_count_full(&w->count))
        (void)col_web_count_evict(&w->count, w->now_ms, true);
    w->next_ms = w->now_ms + w->send_ms;
    return 0;
}

/* Host, tags or prefix have changed since the checkpoint: send its cells with the old ones and close their
 * buckets, so that nothing is counted under both. No line is read before that. 1 = done, 0 = not yet. */
static int weblog_redress(struct weblog *w, struct col_emit *emit, struct ts_error *err)
{
    struct col_emit_opts opts = {.out = col_emit_out(emit)};
    char text[COL_WEB_DRESS_BYTES], *parts[3] = {text, text, text};
    if (!*w->old_dress)
        return 1;
    if (!weblog_landed(w, emit))
        return 0;
    if (w->count.n_dirty) {
        (void)snprintf(text, sizeof(text), "%s", w->old_dress);
        for (unsigned i = 1; i < 3; i++) {
            char *nl = strchr(parts[i - 1], '\n');
            parts[i] = nl ? nl + 1 : parts[i - 1] + strlen(parts[i - 1]);
            if (nl)
                *nl = '\0';
        }
        opts.host = parts[0];
        opts.tags = parts[1];
        opts.prefix = parts[2];
        struct col_emit *old = col_emit_new(&opts);
        int rc = weblog_put(w, old, false, err);
        col_emit_free(old);
        return rc < 0 ? rc : 0;
    }
    ts_log(TS_LOG_INFO, "weblog: host, tags or prefix changed; counts so far keep the old ones");
    col_web_count_forget(&w->count);
    w->old_dress[0] = '\0';
    w->n_saved = w->n_shown = UINT64_MAX; /* the next sending writes a checkpoint */
    return 1;
}

/* May lines be read? Not while counts can't be sent and there are too many of them; the lines then stay in
 * their logs. */
static bool weblog_may_read(const struct weblog *w)
{
    return !(w->flying && col_web_count_full(&w->count));
}

static int weblog_run(void *state, struct col_emit *emit, int stop_fd, struct ts_error *err)
{
    struct weblog *w = state;
    struct pollfd p = {.fd = stop_fd, .events = POLLIN};
    bool stop = false;
    while (!stop) {
        int more = 0, dressed = weblog_redress(w, emit, err);
        w->now_ms = ts_clock_ms();
        if (dressed < 0)
            return dressed;
        if (!dressed) {
            stop = poll(&p, 1, (int)w->poll_ms) > 0;
            continue;
        }
        if (weblog_may_read(w))
            TS_TRY(more = weblog_turn(w, err));
        if (w->now_ms >= w->next_ms || w->next_ms > w->now_ms + w->send_ms || col_web_count_full(&w->count))
            TS_TRY(weblog_send(w, emit, err));
        stop = poll(&p, 1, more && weblog_may_read(w) ? 0 : (int)w->poll_ms) > 0;
    }
    return *w->old_dress ? 0 : weblog_send(w, emit, err);
}

/* Read and send what is new since the checkpoint. */
static int weblog_once(void *state, struct col_emit *emit, struct ts_error *err)
{
    struct weblog *w = state;
    int more = 1, dressed = 0;
    /* first send, then check whether it was delivered at once */
    for (unsigned i = 0; i < 2 && dressed == 0; i++)
        dressed = weblog_redress(w, emit, err);
    if (dressed <= 0)
        return dressed;
    while (more) {
        w->now_ms = ts_clock_ms();
        if (!weblog_may_read(w))
            return weblog_send(w, emit, err);
        TS_TRY(more = weblog_turn(w, err));
        if (!more || col_web_count_full(&w->count))
            TS_TRY(weblog_send(w, emit, err));
    }
    return 0;
}

/* --- life --- */

static void weblog_release(void *state)
{
    struct weblog *w = state;
    if (!w)
        return;
    col_web_follow_release(&w->follow);
    col_web_count_release(&w->count);
    col_web_logs_release(&w->logs);
    col_web_journal_close(w->imports);
    ts_buf_release(&w->scratch);
    ts_free(w);
}

static int weblog_load(struct weblog *w, const struct col_ctx *ctx, struct ts_error *err)
{
    if (!ctx->state_dir)
        return 0;
    int n = snprintf(w->path, sizeof(w->path), "%s/" COL_WEB_STATE_NAME, ctx->state_dir);
    if (n < 0 || (size_t)n >= sizeof(w->path))
        return ts_error_set(err, TS_EINVAL, "collect_dir is too long");
    w->imports = col_web_journal_look(ctx->state_dir);
    struct col_web_state st = weblog_state(w);
    st.dress = w->old_dress;
    int rc = col_web_state_load(&st, ts_clock_ms(), err);
    if (rc == TS_ENOTFOUND && err)
        *err = (struct ts_error){0};
    if (!strcmp(w->old_dress, w->dress))
        w->old_dress[0] = '\0';
    w->n_saved = w->n_shown = UINT64_MAX; /* the first sending writes one */
    return rc == TS_ENOTFOUND ? 0 : rc;
}

static int weblog_make(struct weblog *w, const struct col_ctx *ctx, struct ts_error *err)
{
    struct col_web_limits limits;
    int n;
    TS_TRY(col_web_logs_init(&w->logs, ctx->conf, err));
    if (!w->logs.n)
        return ts_error_set(err, TS_ENOTFOUND, "collect_weblog names no log");
    TS_TRY(col_web_limits_get(ctx->conf, &limits, err));
    struct col_web_follow_opts opts = {
        .logs = &w->logs,
        .olddirs = ts_conf_str(ctx->conf, "collect_weblog_olddir"),
        .rotated_ms = ts_conf_int(ctx->conf, "collect_weblog_rotated_s") * 1000,
        .keep_ms = ts_conf_int(ctx->conf, "collect_weblog_keep_days") * TS_DAY_MS,
        .from_end = !ctx->state_dir,
        .hold = weblog_hold,
        .imported = weblog_taken,
        .line = weblog_line,
        .too_long = weblog_too_long,
        .arg = w};
    col_web_follow_init(&w->follow, &opts);
    col_web_count_init(&w->count, &limits);
    w->drop_bots = !strcmp(ts_conf_str(ctx->conf, "collect_weblog_bots"), "drop");
    w->send_ms = ts_conf_int(ctx->conf, "collect_weblog_send_s") * 1000;
    w->poll_ms = ts_conf_int(ctx->conf, "collect_weblog_poll_ms");
    char host[256];
    col_host_name(ctx->conf, host, sizeof(host));
    n = snprintf(w->dress, sizeof(w->dress), "%s\n%s\n%s", host, ts_conf_str(ctx->conf, "collect_tags"),
                 ts_conf_str(ctx->conf, "collect_prefix"));
    if (n < 0 || (size_t)n >= sizeof(w->dress))
        return ts_error_set(err, TS_EINVAL,
                            "collect_host, collect_tags and collect_prefix are longer than 2,000 bytes");
    return weblog_load(w, ctx, err);
}

static int weblog_init(const struct col_ctx *ctx, void **out_state, struct ts_error *err)
{
    struct weblog *w = ts_xcalloc(1, sizeof(*w));
    ts_buf_init(&w->scratch, 0);
    int rc = weblog_make(w, ctx, err);
    if (rc < 0)
        weblog_release(w);
    else
        *out_state = w;
    return rc;
}

static bool weblog_wanted(const struct ts_conf *conf)
{
    return *ts_conf_str(conf, "collect_weblog") != '\0';
}

const struct col_collector col_weblog = {
    .name = "weblog",
    .help = "Requests of web servers from their logs (collect_weblog), every line once.",
    .metrics = metrics,
    .every_value = true,
    .by_request = true,
    .wanted = weblog_wanted,
    .init = weblog_init,
    .run = weblog_run,
    .once = weblog_once,
    .release = weblog_release,
};
