/*
 * top.c - tsd top: what a daemon does at the moment, refreshed on a terminal.
 *
 * Rates are differences of counters of /api/stats between two views.
 *
 * Threads    the main thread
 * Not here   the requests (status_get.c), the first lines of a view (status.c)
 */
#include "base/num.h"
#include "base/time.h"
#include "tsd/commands/client.h"
#include "tsd/commands/status.h"
#include "tsd/commands/terminal.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#define TOP_INTERVAL_S 2
#define TOP_LINES      10

const struct ts_opt tsd_top_opts[] = {
    {.name = "interval",
     .letter = 'i',
     .arg = "SECONDS",
     .help = "Time between two views, 0.1 to 3600. Default 2."},
    {.name = "lines",
     .letter = 'n',
     .arg = "N",
     .help = "Metrics and queries shown at most, each. Default 10."},
    TSD_CLIENT_OPTS,
    {.name = NULL},
};

/* Counters whose rates are shown. */
static const struct {
    const char *what;               /* as shown */
    const char *name, *tagk, *tagv; /* of the figure */
} top_counters[] = {
    {"points in", "datapoints.added", NULL, NULL},
    {"put lines", "rpc.received", "type", "telnet"},
    {"HTTP requests", "rpc.received", "type", "http"},
    {"of these puts", "rpc.received", "type", "put"},
    {"datagrams", "rpc.received", "type", "udp"},
    {"queries", "http.query.success", NULL, NULL},
    {"connections", "connectionmgr.connections", "type", "total"},
    {"refused points", "rpc.errors", NULL, NULL},
};
#define TOP_COUNTERS (sizeof(top_counters) / sizeof(top_counters[0]))

/* Counters at a time. */
struct top_sample {
    int64_t at_ns;          /* monotonic; 0 = none yet */
    double n[TOP_COUNTERS]; /* -1 = not known */
};
/* One run. */
struct top_run {
    const struct tsd_args *args; /* of the command */
    int64_t interval_ms;         /* --interval */
    size_t lines;                /* --lines */
    struct top_sample last;      /* of the view before */
    json_t *last_metrics;        /* of the view before; may be NULL */
    json_t *last_senders;        /* likewise */
};

static volatile sig_atomic_t top_stop; /* a signal came */

static void top_on_signal(int sig)
{
    (void)sig;
    top_stop = 1;
}

/* --- one view --- */

/* Points of a metric in a list of /api/tsd/metrics; -1 if unknown. */
static double top_points(const json_t *root, const char *metric)
{
    size_t i;
    json_t *m;
    json_array_foreach(json_object_get(root, "metrics"), i, m)
    {
        const char *name = json_string_value(json_object_get(m, "metric"));
        if (name && strcmp(name, metric) == 0)
            return tsd_status_num(m, "points", -1);
    }
    return -1;
}

/* Add the member points_per_s to metrics that the view before had too. */
static void top_metric_rates(const struct top_run *r, json_t *metrics, double seconds)
{
    size_t i;
    json_t *m;
    json_array_foreach(json_object_get(metrics, "metrics"), i, m)
    {
        const char *name = json_string_value(json_object_get(m, "metric"));
        double now = tsd_status_num(m, "points", -1), before = name ? top_points(r->last_metrics, name) : -1;
        if (now >= 0 && before >= 0 && now >= before && seconds > 0)
            (void)json_object_set_new(m, "points_per_s", json_real((now - before) / seconds));
    }
}

/* A table of counters with their rates. */
static void top_rates(const struct top_sample *now, const struct top_sample *before, struct ts_buf *out)
{
    json_t *list = json_array();
    double seconds = before->at_ns ? (double)(now->at_ns - before->at_ns) / 1e9 : 0;
    for (size_t i = 0; i < TOP_COUNTERS; i++) {
        if (now->n[i] < 0)
            continue;
        json_t *row = json_pack("{s:s, s:f}", "what", top_counters[i].what, "total", now->n[i]);
        if (seconds > 0 && now->n[i] >= before->n[i])
            (void)json_object_set_new(row, "per_s", json_real((now->n[i] - before->n[i]) / seconds));
        (void)json_array_append_new(list, row);
    }
    tsd_status_list(list, "", "what,per_s,total", 1, TOP_COUNTERS, out);
    json_decref(list);
}

/* A table of the addresses that sent the most points, with their rates. */
static void top_senders(const struct top_run *r, const json_t *status, double seconds, struct ts_buf *out)
{
    json_t *list = json_object_get(status, "senders"), *now, *before;
    size_t i, k;
    json_array_foreach(list, i, now)
    {
        json_array_foreach(r->last_senders, k, before)
        {
            double n = tsd_status_num(now, "points", 0) - tsd_status_num(before, "points", 0);
            if (seconds > 0 && n >= 0 &&
                json_equal(json_object_get(now, "address"), json_object_get(before, "address")))
                (void)json_object_set_new(now, "points_per_s", json_real(n / seconds));
        }
    }
    tsd_status_list(list, "Senders with connections", "address,connections,points_per_s,points", 1, r->lines,
                    out);
}

/* The view as text. */
static int top_view(struct top_run *r, struct ts_buf *out, struct ts_error *err)
{
    json_t *status, *stats = NULL, *metrics = NULL;
    struct tsd_metrics_request busiest = {.sort = "written", .limit = r->lines};
    struct top_sample now = {0};
    TS_TRY(tsd_status_get(r->args, &status, err));
    int rc = tsd_client_json(r->args, "/api/stats", TSD_STATUS_TIMEOUT_MS, &stats, err);
    if (rc == 0)
        rc = tsd_metrics_get(r->args, &busiest, &metrics, err);
    if (rc == 0) {
        now.at_ns = ts_clock_mono_ns();
        for (size_t i = 0; i < TOP_COUNTERS; i++)
            now.n[i] = tsd_stats_sum(stats, top_counters[i].name, top_counters[i].tagk, top_counters[i].tagv);
        tsd_status_head(status, out);
        (void)ts_buf_char(out, '\n');
        top_rates(&now, &r->last, out);
        double seconds = r->last.at_ns ? (double)(now.at_ns - r->last.at_ns) / 1e9 : 0;
        top_metric_rates(r, metrics, seconds);
        json_t *list = json_object_get(metrics, "metrics");
        top_senders(r, status, seconds, out);
        if (tsd_status_num(json_array_get(list, 0), "points", -1) >=
            0) /* names alone say nothing of who is busy */
            tsd_status_list(list, "Metrics written last", "metric,points_per_s,series,points,last", 1,
                            r->lines, out);
        json_t *running = tsd_status_queries(tsd_status_at(status, "queries.running"), 0);
        tsd_status_list(running, "Running queries", "id,client,text,ms", 3, r->lines, out);
        json_decref(running);
        r->last = now;
        json_decref(r->last_metrics);
        r->last_metrics = json_incref(metrics);
        json_decref(r->last_senders);
        r->last_senders = json_incref(json_object_get(status, "senders"));
    }
    json_decref(status);
    json_decref(stats);
    json_decref(metrics);
    return rc;
}

/* --- a terminal --- */

/* Wait for the next view or a key; true: it ends. */
static bool top_wait(int64_t ms)
{
    int64_t until_ns = ts_clock_mono_ns() + ms * 1000000;
    for (;;) {
        int64_t left_ms = (until_ns - ts_clock_mono_ns() + 999999) / 1000000;
        struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
        if (top_stop)
            return true;
        if (left_ms <= 0)
            return false;
        if (poll(&p, isatty(STDIN_FILENO) ? 1 : 0, (int)left_ms) <= 0 || !p.revents)
            continue;
        char key;
        ssize_t n = read(STDIN_FILENO, &key, 1);
        if (n <= 0 || key == 'q' || key == 'Q' || key == 27)
            return true;
        if (key == ' ')
            return false;
    }
}

/* Draw a view over the one before: no more lines and columns than the terminal has. */
static void top_draw(struct ts_slice view)
{
    struct tsd_terminal t;
    tsd_terminal_look(&t);
    size_t rows = t.height, width = t.width;
    struct ts_buf screen;
    ts_buf_init(&screen, 0);
    (void)ts_buf_str(&screen, "\033[H");
    for (size_t row = 0; row + 1 < rows && view.n; row++) {
        size_t column = 0;
        for (; view.n && *view.p != '\n'; view.p++, view.n--) {
            bool escape = *view.p == 27; /* up to m: a colour, which takes no column */
            while (escape && view.n > 1 && *view.p != 'm') {
                (void)ts_buf_char(&screen, *view.p++);
                view.n--;
            }
            column += !escape && ((unsigned char)*view.p & 0xc0) != 0x80;
            if (escape || column <= width)
                (void)ts_buf_char(&screen, *view.p);
        }
        (void)ts_buf_str(&screen, "\033[K\n");
        view.p += view.n > 0;
        view.n -= view.n > 0;
    }
    (void)ts_buf_str(&screen, "\033[J");
    tsd_term_put(&screen, TSD_STYLE_DIM, TS_SLICE_LIT("q quits, blank refreshes"));
    (void)fwrite(screen.p, 1, screen.n, stdout);
    (void)fflush(stdout);
    ts_buf_release(&screen);
}

static void top_loop(struct top_run *r)
{
    do {
        struct ts_error err = {0};
        struct ts_buf view;
        ts_buf_init(&view, 0);
        if (top_view(r, &view, &err) < 0) {
            ts_buf_clear(&view);
            tsd_term_put(&view, TSD_STYLE_BAD, ts_slice_str(err.text));
            (void)ts_buf_str(&view, "\ntrying again\n");
            r->last.at_ns = 0; /* another daemon may have other counters */
        }
        top_draw(ts_buf_get(&view));
        ts_buf_release(&view);
    } while (!top_wait(r->interval_ms));
}

static void top_terminal(struct top_run *r)
{
    struct sigaction on = {.sa_handler = top_on_signal};
    struct termios before, raw;
    bool keys = isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &before) == 0;
    (void)sigaction(SIGINT, &on, NULL);
    (void)sigaction(SIGTERM, &on, NULL);
    if (keys) {
        raw = before;
        raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    }
    (void)fputs("\033[?1049h\033[?25l", stdout); /* the other screen, no cursor */
    top_loop(r);
    (void)fputs("\033[?25h\033[?1049l", stdout);
    (void)fflush(stdout);
    if (keys)
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &before);
}

/* --- the command --- */

/* One view; rates need two. */
static int top_once(struct top_run *r)
{
    struct ts_error err = {0};
    struct ts_buf view;
    ts_buf_init(&view, 0);
    int rc = top_view(r, &view, &err);
    if (rc == 0) {
        ts_buf_clear(&view);
        (void)poll(NULL, 0, (int)r->interval_ms);
        rc = top_view(r, &view, &err);
    }
    if (rc == 0)
        return tsd_print_page(&view);
    ts_buf_release(&view);
    return tsd_fail(&err);
}

int tsd_top_run(const struct tsd_args *args)
{
    struct top_run r = {.args = args, .interval_ms = TOP_INTERVAL_S * 1000, .lines = TOP_LINES};
    const char *interval = tsd_args_get(args, "interval"), *lines = tsd_args_get(args, "lines");
    struct ts_error err = {0};
    struct ts_num s;
    int64_t n;
    json_t *probe;
    if (args->n_words)
        return tsd_usage(args, "top takes no words");
    if (interval && (ts_num_parse(ts_slice_str(interval), &s, NULL) < 0 || !(ts_num_double(s) >= 0.1) ||
                     ts_num_double(s) > 3600))
        return tsd_usage(args, "--interval is a number of seconds from 0.1 to 3600, not \"%.60s\"", interval);
    if (interval)
        r.interval_ms = (int64_t)(ts_num_double(s) * 1000);
    if (lines && (ts_num_parse_int(ts_slice_str(lines), &n, NULL) < 0 || n < 1 || n > 1000))
        return tsd_usage(args, "--lines is a number from 1 to 1000, not \"%.60s\"", lines);
    if (lines)
        r.lines = (size_t)n;
    if (!tsd_term_on()) {
        int code = top_once(&r);
        json_decref(r.last_metrics);
        json_decref(r.last_senders);
        return code;
    }
    if (tsd_client_json(args, "/api/version", TSD_STATUS_TIMEOUT_MS, &probe, &err) < 0)
        return tsd_fail(&err);
    json_decref(probe);
    top_terminal(&r);
    json_decref(r.last_metrics);
    json_decref(r.last_senders);
    return TSD_EXIT_OK;
}
