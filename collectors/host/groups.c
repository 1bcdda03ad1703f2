/*
 * groups.c - groups of processes by the names of their commands: processor time, memory, threads, open files (collect_processes).
 *
 * A process belongs to the first group that takes it. Processor time is a counter of what was used while we looked: processes that end take
 * nothing away from it.
 *
 * Threads    the collector's own
 * Not here   commands by use (process.c), units and containers (units.c)
 * Source     proc_pid_stat(5), proc_pid_cmdline(5), proc_pid_fd(5)
 */
#include "base/array.h"
#include "base/mem.h"
#include "collectors/core/collector.h"
#include "collectors/core/fields.h"
#include "collectors/host/process.h"
#include "collectors/core/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GROUPS_MAX    256u               /* of the key */
#define CMDLINE_BYTES ((size_t)64 << 10) /* looked at of a command line */

static const struct col_metric metrics[] = {
    {"proc.group.count", "group", "processes", "Processes of a group (collect_processes).", COL_GAUGE},
    {"proc.group.threads", "group", "threads", "Their threads.", COL_GAUGE},
    {"proc.group.cpu", "group", "ms",
     "Processor time of its processes since tsd collect began; those that have ended since count.",
     COL_COUNTER},
    {"proc.group.memory", "group", "bytes", "Their resident memory; what they share counts for each.",
     COL_GAUGE},
    {"proc.group.open_files", "group", "files",
     "Their open files, as far as the user of tsd collect may see them.", COL_GAUGE},
    {NULL, NULL, NULL, NULL, COL_GAUGE},
};

/* A group. */
struct group {
    char *name;                                /* owned */
    char *patterns;                            /* of commands, separated by commas; owned */
    bool lines;                                /* they are compared with the whole command line too */
    uint64_t n, n_threads, rss_bytes, n_files; /* of this round */
    bool files_seen;                           /* open files of one at least could be counted */
    uint64_t jiffies;                          /* since we began */
};

/* A process of a group. */
struct member {
    uint64_t pid, start; /* together: never two processes */
    uint64_t jiffies;    /* of processor time */
};

/* The collector's state. */
struct groups {
    const struct col_ctx *ctx;               /* borrowed */
    struct group *p;                         /* owned */
    unsigned n;                              /* groups */
    bool lines;                              /* one looks at command lines */
    struct member *now, *last;               /* of this round and the one before; owned, last is sorted */
    size_t n_now, cap_now, n_last, cap_last; /* entries */
    bool has_last;                           /* there was a round before */
    uint64_t page_bytes, jiffies_per_s;      /* of the machine */
    struct ts_buf text, line;                /* of one process */
};

static void groups_release(void *state)
{
    struct groups *g = state;
    if (!g)
        return;
    for (unsigned i = 0; i < g->n; i++) {
        ts_free(g->p[i].name);
        ts_free(g->p[i].patterns);
    }
    ts_free(g->p);
    ts_free(g->now);
    ts_free(g->last);
    ts_buf_release(&g->text);
    ts_buf_release(&g->line);
    ts_free(g);
}

/* "NAME=PATTERNS; NAME=PATTERNS" */
static int groups_parse(struct groups *g, const char *text, struct ts_error *err)
{
    struct ts_slice one;
    while (col_list_next(&text, ';', &one)) {
        const char *eq = memchr(one.p, '=', one.n);
        struct ts_slice name = col_trim((struct ts_slice){one.p, eq ? (size_t)(eq - one.p) : 0});
        struct ts_slice patterns = {NULL, 0};
        if (eq)
            patterns = col_trim((struct ts_slice){eq + 1, (size_t)(one.p + one.n - eq - 1)});
        if (!name.n || !patterns.n || g->n == GROUPS_MAX)
            return ts_error_set(
                err, TS_EINVAL,
                "collect_processes: \"%.*s\" is no NAME=PATTERN,PATTERN, or there are more than %u groups",
                (int)one.n, one.p, GROUPS_MAX);
        g->p = ts_xrealloc(g->p, (g->n + 1) * sizeof(*g->p));
        g->p[g->n] = (struct group){.name = ts_xstrndup(name.p, name.n),
                                    .patterns = ts_xstrndup(patterns.p, patterns.n)};
        g->p[g->n].lines = strpbrk(g->p[g->n].patterns, "/ ") != NULL;
        g->lines |= g->p[g->n++].lines;
    }
    return 0;
}

static bool groups_wanted(const struct ts_conf *conf)
{
    return *ts_conf_str(conf, "collect_processes") != '\0';
}

static int groups_init(const struct col_ctx *ctx, void **out_state, struct ts_error *err)
{
    if (!groups_wanted(ctx->conf))
        return ts_error_set(err, TS_ENOTFOUND, "collect_processes is empty");
    struct groups *g = ts_xcalloc(1, sizeof(*g));
    g->ctx = ctx;
    g->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    g->jiffies_per_s = (uint64_t)sysconf(_SC_CLK_TCK);
    ts_buf_init(&g->text, CMDLINE_BYTES);
    ts_buf_init(&g->line, CMDLINE_BYTES);
    int rc = groups_parse(g, ts_conf_str(ctx->conf, "collect_processes"), err);
    if (rc < 0)
        groups_release(g);
    else
        *out_state = g;
    return rc;
}

/* --- a process --- */

static int member_cmp(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    return x->pid != y->pid ? (x->pid > y->pid) - (x->pid < y->pid)
                            : (x->start > y->start) - (x->start < y->start);
}

/* Processor time since the last round. What a process used before we first looked is not ours. */
static uint64_t member_growth(const struct groups *g, const struct member *now)
{
    const struct member *was = g->n_last ? bsearch(now, g->last, g->n_last, sizeof(*now), member_cmp) : NULL;
    if (!was)
        return g->has_last ? now->jiffies : 0;
    return now->jiffies >= was->jiffies ? now->jiffies - was->jiffies : 0;
}

/* Its arguments with blanks between them. */
static struct ts_slice command_line(struct groups *g, const char *pid)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/%.20s/cmdline", pid);
    if (col_source_read(g->ctx->root, path, &g->line, NULL) < 0)
        return (struct ts_slice){"", 0};
    for (size_t i = 0; i < g->line.n; i++)
        if (!g->line.p[i])
            g->line.p[i] = ' ';
    return col_trim(ts_buf_get(&g->line));
}

static struct group *groups_find(struct groups *g, const char *pid, struct ts_slice command)
{
    struct ts_slice line = g->lines ? command_line(g, pid) : command;
    for (unsigned i = 0; i < g->n; i++)
        if (col_match_any(g->p[i].patterns, command) ||
            (g->p[i].lines && col_match_any(g->p[i].patterns, line)))
            return &g->p[i];
    return NULL;
}

static int count_entry(void *arg, const char *name)
{
    (void)name;
    ++*(uint64_t *)arg;
    return 0;
}

static int groups_one(void *arg, const char *name)
{
    struct groups *g = arg;
    struct col_proc_stat st;
    char path[64];
    uint64_t n_files = 0;
    if (*name < '0' || *name > '9' || strlen(name) > 20)
        return 0;
    (void)snprintf(path, sizeof(path), "/proc/%.20s/stat", name);
    if (col_source_read(g->ctx->root, path, &g->text, NULL) < 0 ||
        !col_proc_stat_parse(ts_buf_get(&g->text), &st))
        return 0;
    struct group *group = groups_find(g, name, st.command);
    if (!group)
        return 0;
    struct member m = {.pid = st.pid, .start = st.start, .jiffies = st.jiffies};
    TS_ARRAY_GROW(g->now, g->n_now, g->cap_now, 64);
    g->now[g->n_now++] = m;
    group->n++;
    group->n_threads += st.n_threads;
    group->rss_bytes += st.rss_pages * g->page_bytes;
    group->jiffies += member_growth(g, &m);
    (void)snprintf(path, sizeof(path), "/proc/%.20s/fd", name);
    if (col_source_list(g->ctx->root, path, count_entry, &n_files, NULL) == 0) {
        group->n_files += n_files;
        group->files_seen = true;
    }
    return 0;
}

/* --- a round --- */

static void groups_emit(const struct groups *g, struct col_emit *emit)
{
    for (unsigned i = 0; i < g->n; i++) {
        const struct group *p = &g->p[i];
        const struct col_tag tag = {"group", ts_slice_str(p->name)};
        col_emit_u64(emit, "proc.group.count", p->n, &tag, 1);
        col_emit_u64(emit, "proc.group.threads", p->n_threads, &tag, 1);
        col_emit_u64(emit, "proc.group.cpu", p->jiffies * 1000 / g->jiffies_per_s, &tag, 1);
        col_emit_u64(emit, "proc.group.memory", p->rss_bytes, &tag, 1);
        if (p->files_seen || !p->n)
            col_emit_u64(emit, "proc.group.open_files", p->n_files, &tag, 1);
    }
}

static int groups_read(void *state, struct col_emit *emit, struct ts_error *err)
{
    struct groups *g = state;
    for (unsigned i = 0; i < g->n; i++) {
        struct group *p = &g->p[i];
        p->n = p->n_threads = p->rss_bytes = p->n_files = 0;
        p->files_seen = false;
    }
    g->n_now = 0;
    TS_TRY(col_source_list(g->ctx->root, "/proc", groups_one, g, err));
    groups_emit(g, emit);
    struct member *old = g->last;
    size_t cap = g->cap_last;
    g->last = g->now;
    g->n_last = g->n_now;
    g->cap_last = g->cap_now;
    g->now = old;
    g->cap_now = cap;
    if (g->n_last > 1)
        qsort(g->last, g->n_last, sizeof(*g->last), member_cmp);
    g->has_last = true;
    return 0;
}

const struct col_collector col_groups = {
    .name = "groups",
    .help = "Groups of processes by their commands (collect_processes).",
    .metrics = metrics,
    .interval_s = 15,
    .by_request = true,
    .wanted = groups_wanted,
    .init = groups_init,
    .read = groups_read,
    .release = groups_release,
};
