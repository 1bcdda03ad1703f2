/*
 * cgroup.c - processor time, memory, tasks, bytes of disks and limits of control groups: systemd's units and slices, containers.
 *
 * Version 2 has one tree (/sys/fs/cgroup); version 1 one for each resource, in which the same paths stand. Groups of a moment (login
 * sessions, transient units) are left out by a key: each would be a series of its own for ever. When there are more groups than are to
 * be reported, those that used most processor time and memory are, and the number of the others is a metric.
 *
 * Threads    the collector's own
 * Not here   names of containers (container.h)
 * Source     the kernel's Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/
 */
#include "base/log.h"
#include "base/array.h"
#include "base/mem.h"
#include "collectors/host/container.h"
#include "collectors/core/fields.h"
#include "collectors/host/parse.h"
#include "collectors/core/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CGROUP     "/sys/fs/cgroup"
#define DEPTH_MAX  8u      /* folders below the root: Kubernetes has six */
#define PATH_BYTES 512     /* of a group */
#define GROUPS_MAX 100000u /* looked at */

static const struct col_metric metrics[] = {
    {"proc.cgroup.cpu", "cgroup container type unit", "ms",
     "Processor time of a control group: type user, system.", COL_COUNTER},
    {"proc.cgroup.memory", "cgroup container unit", "bytes",
     "Memory it uses, its share of the page cache included.", COL_GAUGE},
    {"proc.cgroup.tasks", "cgroup container unit", "tasks", "Processes and threads in it.", COL_GAUGE},
    {"proc.cgroup.memory_limit", "cgroup container unit", "bytes",
     "Most memory it may use, where there is a limit.", COL_GAUGE},
    {"proc.cgroup.oom_kills", "cgroup container unit", "processes",
     "Processes killed because its limit of memory was reached.", COL_COUNTER},
    {"proc.cgroup.throttled", "cgroup container unit", "ms",
     "Time it was held back by its limit of processor time.", COL_COUNTER},
    {"proc.cgroup.cpu_limit", "cgroup container unit", "cores",
     "Most cores it may use, where there is a limit.", COL_GAUGE},
    {"proc.cgroup.io", "cgroup container type unit", "bytes", "Bytes of all disks: type read, write.",
     COL_COUNTER},
    {"proc.cgroup.left_out", "", "groups",
     "Groups not reported, because there are more than collect_cgroups.", COL_GAUGE},
    {NULL, NULL, NULL, NULL, COL_GAUGE},
};
enum { CPU, MEMORY, TASKS, MEMORY_LIMIT, OOM_KILLS, THROTTLED, CPU_LIMIT, IO, LEFT_OUT };

/* A group found. */
struct group {
    char *path;      /* "/a/b", owned */
    uint64_t cpu;    /* processor time so far, in the unit of its version; only if they are sorted */
    uint64_t memory; /* bytes; likewise */
    double use;      /* share of both */
};

/* A walk through the tree, and what is said of a group. */
struct walk {
    const struct col_ctx *ctx; /* borrowed */
    struct col_emit *emit;     /* points */
    struct ts_buf *scratch;    /* for files */
    const char *tree;          /* folder of the tree that is walked */
    const char *exclude;       /* patterns of paths */
    bool v2;                   /* one tree */
    unsigned depth;            /* of path */
    char path[PATH_BYTES];     /* of the group, "" = the root, else "/a/b" */
    struct group *groups;      /* found, owned */
    size_t n, cap;             /* entries */
    struct col_tag tags[4];    /* of the group reported; the last place is for type */
    unsigned n_tags;           /* entries without type */
    char container[256];       /* its name */
    uint64_t io[2];            /* of the group reported: read, written */
    struct group *measured;    /* whose use is read */
};

/* --- which groups there are --- */

/* Is it the name of a unit of systemd? */
static bool is_unit(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot && (!strcmp(dot, ".service") || !strcmp(dot, ".slice") || !strcmp(dot, ".scope") ||
                   !strcmp(dot, ".socket") || !strcmp(dot, ".mount"));
}

/* Is it a plain file that the kernel puts into each group? There are many of them, so they are not looked at. */
static bool is_plain(const char *name)
{
    static const char *const controllers[] = {"cgroup.", "cpu.", "cpuacct.", "cpuset.",
                                              "memory.", "io.",  "pids."};
    struct ts_slice file = ts_slice_str(name);
    for (size_t i = 0; i < sizeof(controllers) / sizeof(*controllers); i++)
        if (col_prefix_take(&file, controllers[i]))
            return !is_unit(name);
    return false;
}

static int units_walk(void *arg, const char *name)
{
    struct walk *w = arg;
    size_t n = strlen(w->path);
    char folder[PATH_BYTES + 128], word[32];
    if (w->n >= GROUPS_MAX || w->depth >= DEPTH_MAX || n + strlen(name) + 2 > sizeof(w->path))
        return 0;
    (void)snprintf(w->path + n, sizeof(w->path) - n, "/%s", name);
    w->depth++;
    /* every group has a file cgroup.procs; plain files of the folder have nothing below them */
    (void)snprintf(folder, sizeof(folder), "%s%s/cgroup.procs", w->tree, w->path);
    if (!is_plain(name) && col_source_word(w->ctx->root, folder, word, sizeof(word)) &&
        !col_match_any(w->exclude, ts_slice_str(w->path + 1))) {
        TS_ARRAY_GROW(w->groups, w->n, w->cap, 64);
        w->groups[w->n++] = (struct group){.path = ts_xstrdup(w->path)};
        (void)snprintf(folder, sizeof(folder), "%s%s", w->tree, w->path);
        (void)col_source_list(w->ctx->root, folder, units_walk, w, NULL);
    }
    w->depth--;
    w->path[n] = '\0';
    return 0;
}

/* Path of a file of a group: /sys/fs/cgroup[/controller]<path>/<file> */
static void units_path(const struct walk *w, const char *group, const char *controller, const char *file,
                       char out[PATH_BYTES + 128])
{
    (void)snprintf(out, PATH_BYTES + 128, CGROUP "%s%s/%s", w->v2 ? "" : controller, group, file);
}

static bool units_number(const struct walk *w, const char *group, const char *controller, const char *file,
                         int64_t *out)
{
    char path[PATH_BYTES + 128];
    units_path(w, group, controller, file, path);
    return col_source_int(w->ctx->root, path, out);
}

/* --- which are reported --- */

static void use_line(void *arg, struct ts_slice line)
{
    struct walk *w = arg;
    struct ts_slice word;
    uint64_t v;
    if (col_word_next(&line, &word) && col_u64_next(&line, &v) &&
        (w->v2 ? ts_slice_is(word, "usage_usec") : ts_slice_is(word, "user") || ts_slice_is(word, "system")))
        w->measured->cpu += v;
}

static int use_cmp(const void *a, const void *b)
{
    const struct group *x = a, *y = b;
    return x->use != y->use ? (x->use < y->use ? 1 : -1) : strcmp(x->path, y->path);
}

/* Put those with the largest shares of processor time and memory first. */
static void units_sort(struct walk *w)
{
    uint64_t cpu = 1, memory = 1;
    for (size_t i = 0; i < w->n; i++) {
        struct group *g = w->measured = &w->groups[i];
        char path[PATH_BYTES + 128];
        int64_t v = 0;
        units_path(w, g->path, "/cpuacct", w->v2 ? "cpu.stat" : "cpuacct.stat", path);
        (void)col_source_lines(w->ctx->root, path, use_line, w, NULL);
        if (units_number(w, g->path, "/memory", w->v2 ? "memory.current" : "memory.usage_in_bytes", &v) &&
            v > 0)
            g->memory = (uint64_t)v;
        cpu = g->cpu > cpu ? g->cpu : cpu;
        memory = g->memory > memory ? g->memory : memory;
    }
    for (size_t i = 0; i < w->n; i++)
        w->groups[i].use =
            (double)w->groups[i].cpu / (double)cpu + (double)w->groups[i].memory / (double)memory;
    qsort(w->groups, w->n, sizeof(*w->groups), use_cmp);
}

/* --- one group --- */

static void units_tags(struct walk *w, const char *group)
{
    const char *slash = strrchr(group, '/'), *last = slash ? slash + 1 : group;
    w->n_tags = 0;
    w->tags[w->n_tags++] = (struct col_tag){"cgroup", ts_slice_str(group + 1)};
    w->tags[w->n_tags++] = (struct col_tag){"unit", ts_slice_str(is_unit(last) ? last : "none")};
    if (col_container_name(w->ctx->root, group, w->scratch, w->container, sizeof(w->container)))
        w->tags[w->n_tags++] = (struct col_tag){"container", ts_slice_str(w->container)};
}

static void units_typed(struct walk *w, unsigned metric, const char *type, uint64_t v)
{
    w->tags[w->n_tags] = (struct col_tag){"type", ts_slice_str(type)};
    col_emit_u64(w->emit, metrics[metric].name, v, w->tags, w->n_tags + 1);
}

/* "user_usec 5" of cpu.stat, "user 5" (jiffies) of cpuacct.stat */
static void units_cpu_line(void *arg, struct ts_slice line)
{
    struct walk *w = arg;
    struct ts_slice word;
    uint64_t v;
    if (!col_word_next(&line, &word) || !col_u64_next(&line, &v))
        return;
    uint64_t ms = w->v2 ? v / 1000 : v * 1000 / (uint64_t)sysconf(_SC_CLK_TCK);
    if (ts_slice_is(word, w->v2 ? "user_usec" : "user"))
        units_typed(w, CPU, "user", ms);
    else if (ts_slice_is(word, w->v2 ? "system_usec" : "system"))
        units_typed(w, CPU, "system", ms);
    else if (w->v2 && ts_slice_is(word, "throttled_usec"))
        col_emit_u64(w->emit, metrics[THROTTLED].name, ms, w->tags, w->n_tags);
}

/* "oom_kill 3" of memory.events */
static void units_event_line(void *arg, struct ts_slice line)
{
    struct walk *w = arg;
    struct ts_slice word;
    uint64_t v;
    if (col_word_next(&line, &word) && ts_slice_is(word, "oom_kill") && col_u64_next(&line, &v))
        col_emit_u64(w->emit, metrics[OOM_KILLS].name, v, w->tags, w->n_tags);
}

/* "8:0 rbytes=1 wbytes=2 rios=3 ..." of io.stat */
static void units_io_line(void *arg, struct ts_slice line)
{
    struct walk *w = arg;
    struct ts_slice word;
    uint64_t v;
    while (col_word_next(&line, &word)) {
        bool r = col_prefix_take(&word, "rbytes="), wr = !r && col_prefix_take(&word, "wbytes=");
        if ((r || wr) && col_u64_of(word, &v))
            w->io[wr] += v;
    }
}

/* What only version 2 has in this form. */
static void units_limits(struct walk *w, const char *group)
{
    char path[PATH_BYTES + 128], line[64];
    int64_t v;
    uint64_t quota[2];
    if (units_number(w, group, "", "memory.max", &v))
        col_emit_int(w->emit, metrics[MEMORY_LIMIT].name, v, w->tags, w->n_tags);
    units_path(w, group, "", "memory.events", path);
    (void)col_source_lines(w->ctx->root, path, units_event_line, w, NULL);
    units_path(w, group, "", "cpu.max", path);
    if (col_source_word(w->ctx->root, path, line, sizeof(line)) &&
        col_u64_row(ts_slice_str(line), quota, 2) == 2 && quota[1])
        col_emit_num(w->emit, metrics[CPU_LIMIT].name, (double)quota[0] / (double)quota[1], w->tags,
                     w->n_tags);
    units_path(w, group, "", "io.stat", path);
    w->io[0] = w->io[1] = 0;
    if (col_source_lines(w->ctx->root, path, units_io_line, w, NULL) == 0 && (w->io[0] || w->io[1])) {
        units_typed(w, IO, "read", w->io[0]);
        units_typed(w, IO, "write", w->io[1]);
    }
}

static void units_group(struct walk *w, const char *group)
{
    char path[PATH_BYTES + 128];
    int64_t v;
    units_tags(w, group);
    units_path(w, group, "/cpuacct", w->v2 ? "cpu.stat" : "cpuacct.stat", path);
    (void)col_source_lines(w->ctx->root, path, units_cpu_line, w, NULL);
    if (units_number(w, group, "/memory", w->v2 ? "memory.current" : "memory.usage_in_bytes", &v))
        col_emit_int(w->emit, metrics[MEMORY].name, v, w->tags, w->n_tags);
    if (units_number(w, group, "/pids", "pids.current", &v))
        col_emit_int(w->emit, metrics[TASKS].name, v, w->tags, w->n_tags);
    if (w->v2)
        units_limits(w, group);
}

/* --- the collector --- */

static bool units_v2(const char *root)
{
    char word[256];
    return col_source_word(root, CGROUP "/cgroup.controllers", word, sizeof(word));
}

static int units_init(const struct col_ctx *ctx, void **out_state, struct ts_error *err)
{
    char word[32];
    if (!ts_conf_int(ctx->conf, "collect_cgroups"))
        return ts_error_set(err, TS_ENOTFOUND, "collect_cgroups = 0");
    if (!units_v2(ctx->root) &&
        !col_source_word(ctx->root, CGROUP "/cpuacct/cgroup.procs", word, sizeof(word)))
        return ts_error_set(err, TS_ENOTFOUND, "there are no control groups in %s" CGROUP, ctx->root);
    return col_text_init(ctx, out_state, err);
}

static void units_report(struct walk *w, size_t limit)
{
    static struct ts_log_limit log_limit;
    size_t n = w->n < limit ? w->n : limit;
    if (w->n > limit)
        units_sort(w);
    for (size_t i = 0; i < n; i++)
        units_group(w, w->groups[i].path);
    col_emit_u64(w->emit, metrics[LEFT_OUT].name, w->n - n, COL_NO_TAGS);
    if (w->n > n)
        ts_log_limited(&log_limit, TS_LOG_INFO,
                       "units: %zu of %zu control groups use least and are left out, %s among them "
                       "(collect_cgroups = %zu)",
                       w->n - n, w->n, w->groups[n].path + 1, limit);
}

static int units_read(void *state, struct col_emit *emit, struct ts_error *err)
{
    const struct col_ctx *ctx = col_text_ctx(state);
    struct walk w = {.ctx = ctx,
                     .emit = emit,
                     .scratch = col_text_buf(state),
                     .v2 = units_v2(ctx->root),
                     .exclude = ts_conf_str(ctx->conf, "collect_cgroups_exclude")};
    w.tree = w.v2 ? CGROUP : CGROUP "/cpuacct";
    int rc = col_source_list(ctx->root, w.tree, units_walk, &w, err);
    if (rc >= 0)
        units_report(&w, (size_t)ts_conf_int(ctx->conf, "collect_cgroups"));
    for (size_t i = 0; i < w.n; i++)
        ts_free(w.groups[i].path);
    ts_free(w.groups);
    return rc;
}

const struct col_collector col_units = {
    .name = "units",
    .help = "Processor time, memory, tasks, disks and limits of control groups: systemd units, containers.",
    .metrics = metrics,
    .interval_s = 60,
    .init = units_init,
    .read = units_read,
    .release = col_text_release,
};
