/*
 * units.c - processor time, memory and tasks of control groups: systemd's units and slices, containers.
 *
 * Version 2 has one tree (/sys/fs/cgroup); version 1 one for each resource, in which the same paths stand. Groups of a moment (login
 * sessions, transient units) are left out by a key: each would be a series of its own for ever.
 *
 * Threads    the collector's own
 * Source     the kernel's Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/
 */
#include "collectors/fields.h"
#include "collectors/parse.h"
#include "collectors/source.h"

#include <stdio.h>
#include <unistd.h>

#define CGROUP     "/sys/fs/cgroup"
#define DEPTH_MAX  6u  /* folders below the root */
#define PATH_BYTES 512 /* of a group */

static const struct col_metric metrics[] = {
    {"proc.cgroup.cpu", "cgroup type unit", "ms", "Processor time of a control group: type user, system.",
     COL_COUNTER},
    {"proc.cgroup.memory", "cgroup unit", "bytes", "Memory it uses, its share of the page cache included.",
     COL_GAUGE},
    {"proc.cgroup.tasks", "cgroup unit", "tasks", "Processes and threads in it.", COL_GAUGE},
    {NULL, NULL, NULL, NULL, COL_GAUGE},
};

/* A walk through the tree. */
struct walk {
    const struct col_ctx *ctx; /* borrowed */
    struct col_emit *emit;     /* points */
    const char *tree;          /* folder of the tree that is walked */
    const char *exclude;       /* patterns of paths */
    bool v2;                   /* one tree */
    int64_t left;              /* groups that may still be reported */
    unsigned depth;            /* of path */
    char path[PATH_BYTES];     /* of the group, "" = the root, else "/a/b" */
};

static void units_tags(const struct walk *w, struct col_tag tags[2])
{
    const char *slash = strrchr(w->path, '/'), *last = slash ? slash + 1 : w->path;
    const char *dot = strrchr(last, '.');
    bool unit = dot && (!strcmp(dot, ".service") || !strcmp(dot, ".slice") || !strcmp(dot, ".scope") ||
                        !strcmp(dot, ".socket") || !strcmp(dot, ".mount"));
    tags[0] = (struct col_tag){"cgroup", ts_slice_str(w->path + 1)};
    tags[1] = (struct col_tag){"unit", ts_slice_str(unit ? last : "none")};
}

/* A number of the group: /sys/fs/cgroup[/controller]<path>/<file> */
static bool units_number(const struct walk *w, const char *controller, const char *file, int64_t *out)
{
    char path[PATH_BYTES + 128];
    (void)snprintf(path, sizeof(path), CGROUP "%s%s/%s", w->v2 ? "" : controller, w->path, file);
    return col_source_int(w->ctx->root, path, out);
}

/* "user_usec 5" of cpu.stat, "user 5" (jiffies) of cpuacct.stat */
static void units_cpu_line(void *arg, struct ts_slice line)
{
    const struct walk *w = arg;
    struct ts_slice word;
    uint64_t v;
    struct col_tag tags[3];
    if (!col_word_next(&line, &word) || !col_u64_next(&line, &v))
        return;
    const char *type = ts_slice_is(word, w->v2 ? "user_usec" : "user")       ? "user"
                       : ts_slice_is(word, w->v2 ? "system_usec" : "system") ? "system"
                                                                             : NULL;
    if (!type)
        return;
    units_tags(w, tags);
    tags[2] = (struct col_tag){"type", ts_slice_str(type)};
    v = w->v2 ? v / 1000 : v * 1000 / (uint64_t)sysconf(_SC_CLK_TCK);
    col_emit_u64(w->emit, metrics[0].name, v, tags, 3);
}

static void units_group(struct walk *w)
{
    char path[PATH_BYTES + 128];
    struct col_tag tags[2];
    int64_t v;
    (void)snprintf(path, sizeof(path), CGROUP "%s%s/%s", w->v2 ? "" : "/cpuacct", w->path,
                   w->v2 ? "cpu.stat" : "cpuacct.stat");
    (void)col_source_lines(w->ctx->root, path, units_cpu_line, w, NULL);
    units_tags(w, tags);
    if (units_number(w, "/memory", w->v2 ? "memory.current" : "memory.usage_in_bytes", &v))
        col_emit_int(w->emit, metrics[1].name, v, tags, 2);
    if (units_number(w, "/pids", "pids.current", &v))
        col_emit_int(w->emit, metrics[2].name, v, tags, 2);
}

static int units_walk(void *arg, const char *name)
{
    struct walk *w = arg;
    size_t n = strlen(w->path);
    char folder[PATH_BYTES + 128];
    if (w->left <= 0 || w->depth >= DEPTH_MAX || n + strlen(name) + 2 > sizeof(w->path))
        return 0;
    (void)snprintf(w->path + n, sizeof(w->path) - n, "/%s", name);
    w->depth++;
    /* every group has a file cgroup.procs; plain files of the folder have nothing below them */
    (void)snprintf(folder, sizeof(folder), "%s%s/cgroup.procs", w->tree, w->path);
    struct ts_slice file = ts_slice_str(name);
    bool plain = col_prefix_take(&file, "cgroup.") || col_prefix_take(&file, "cpu") ||
                 col_prefix_take(&file, "memory.") || col_prefix_take(&file, "io.") ||
                 col_prefix_take(&file, "pids.");
    char word[32];
    if (!plain && col_source_word(w->ctx->root, folder, word, sizeof(word)) &&
        !col_match_any(w->exclude, ts_slice_str(w->path + 1))) {
        w->left--;
        units_group(w);
        (void)snprintf(folder, sizeof(folder), "%s%s", w->tree, w->path);
        (void)col_source_list(w->ctx->root, folder, units_walk, w, NULL);
    }
    w->depth--;
    w->path[n] = '\0';
    return 0;
}

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

static int units_read(void *state, struct col_emit *emit, struct ts_error *err)
{
    const struct col_ctx *ctx = col_text_ctx(state);
    struct walk w = {.ctx = ctx,
                     .emit = emit,
                     .v2 = units_v2(ctx->root),
                     .exclude = ts_conf_str(ctx->conf, "collect_cgroups_exclude"),
                     .left = ts_conf_int(ctx->conf, "collect_cgroups")};
    w.tree = w.v2 ? CGROUP : CGROUP "/cpuacct";
    return col_source_list(ctx->root, w.tree, units_walk, &w, err);
}

const struct col_collector col_units = {
    .name = "units",
    .help = "Processor time, memory and tasks of control groups: systemd units, containers.",
    .metrics = metrics,
    .interval_s = 60,
    .init = units_init,
    .read = units_read,
    .release = col_text_release,
};
