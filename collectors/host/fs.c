/*
 * fs.c - space in file systems, from /proc/mounts and statvfs.
 *
 * Remote file systems are left out unless keys say otherwise. One whose server is unreachable does not
 * answer: it is skipped until it does.
 *
 * Threads    the collector's own
 * Source     docs/OPENTSDB.md, section 12.5, dfstat
 */
#include "collectors/host/fs.h"

#include "base/array.h"
#include "base/mem.h"
#include "collectors/core/fields.h"
#include "collectors/core/source.h"

#include <limits.h>
#include <stdio.h>

#define MOUNTS_BYTES ((size_t)16 << 20) /* of /proc/mounts */

static const struct col_metric metrics[] = {
    {"df.bytes.total", "fstype mount", "bytes", "Size.", COL_GAUGE},
    {"df.bytes.used", "fstype mount", "bytes", "In use.", COL_GAUGE},
    {"df.bytes.free", "fstype mount", "bytes", "Free for users other than root.", COL_GAUGE},
    {"df.bytes.percentused", "fstype mount", "percent", "Used of used and free.", COL_GAUGE},
    {"df.inodes.total", "fstype mount", "inodes", "Files there can be.", COL_GAUGE},
    {"df.inodes.used", "fstype mount", "inodes", "Files there are.", COL_GAUGE},
    {"df.inodes.free", "fstype mount", "inodes", "Files there can still be.", COL_GAUGE},
    {"df.inodes.percentused", "fstype mount", "percent", "Used of used and free.", COL_GAUGE},
    {"df.error", "fstype mount", "1",
     "1 if it could not be read, or does not answer (a server that is away), else 0.", COL_GAUGE},
    {NULL, NULL, NULL, NULL, COL_GAUGE},
};

/* A word of /proc/mounts with \040 and the like undone. */
static char *mount_word(struct ts_slice s)
{
    char *out = ts_xcalloc(1, s.n + 1);
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) {
        bool octal = s.p[i] == '\\' && i + 3 < s.n;
        for (size_t k = 1; octal && k <= 3; k++)
            octal = s.p[i + k] >= '0' && s.p[i + k] <= '7';
        if (octal) {
            out[n++] = (char)((s.p[i + 1] - '0') * 64 + (s.p[i + 2] - '0') * 8 + (s.p[i + 3] - '0'));
            i += 3;
        } else {
            out[n++] = s.p[i];
        }
    }
    return out;
}

static void mount_release(struct col_mount *m)
{
    ts_free(m->device);
    ts_free(m->path);
    ts_free(m->type);
}

/* Put m in; what it hides or what is shorter decides. */
static void mounts_add(struct col_mounts *l, struct col_mount m)
{
    for (unsigned i = 0; i < l->n; i++) {
        struct col_mount *old = &l->p[i];
        bool same_path = strcmp(old->path, m.path) == 0;
        bool same_device = m.device[0] == '/' && strcmp(old->device, m.device) == 0;
        if (!same_path && !same_device)
            continue;
        if (same_path || strlen(m.path) < strlen(old->path)) {
            mount_release(old);
            *old = m;
        } else {
            mount_release(&m);
        }
        return;
    }
    TS_ARRAY_GROW(l->p, l->n, l->cap, 16);
    l->p[l->n++] = m;
}

void col_mounts_parse(struct ts_slice text, const char *exclude_types, const char *exclude_paths,
                      struct col_mounts *out)
{
    struct ts_slice line, device, path, type;
    while (col_line_next(&text, &line)) {
        if (!col_word_next(&line, &device) || !col_word_next(&line, &path) || !col_word_next(&line, &type))
            continue;
        struct col_mount m = {mount_word(device), mount_word(path), mount_word(type)};
        if (ts_slice_is(device, "none") || col_match_any(exclude_types, ts_slice_str(m.type)) ||
            col_match_any(exclude_paths, ts_slice_str(m.path)))
            mount_release(&m);
        else
            mounts_add(out, m);
    }
}

void col_mounts_release(struct col_mounts *m)
{
    for (unsigned i = 0; i < m->n; i++)
        mount_release(&m->p[i]);
    ts_free(m->p);
    *m = (struct col_mounts){0};
}

static double percent(uint64_t used, uint64_t free)
{
    return used + free ? 100.0 * (double)used / (double)(used + free) : 100.0;
}

void col_mount_points(const struct col_mount *m, const struct statvfs *st, struct col_emit *emit)
{
    const struct col_tag tags[] = {{"fstype", ts_slice_str(m->type)}, {"mount", ts_slice_str(m->path)}};
    uint64_t unit = st->f_frsize ? st->f_frsize : st->f_bsize;
    if (!st->f_blocks)
        return;
    uint64_t used = st->f_blocks >= st->f_bfree ? st->f_blocks - st->f_bfree : 0;
    col_emit_u64(emit, "df.bytes.total", st->f_blocks * unit, tags, 2);
    col_emit_u64(emit, "df.bytes.used", used * unit, tags, 2);
    col_emit_u64(emit, "df.bytes.free", st->f_bavail * unit, tags, 2);
    col_emit_num(emit, "df.bytes.percentused", percent(used, st->f_bavail), tags, 2);
    if (!st->f_files)
        return;
    used = st->f_files >= st->f_ffree ? st->f_files - st->f_ffree : 0;
    col_emit_u64(emit, "df.inodes.total", st->f_files, tags, 2);
    col_emit_u64(emit, "df.inodes.used", used, tags, 2);
    col_emit_u64(emit, "df.inodes.free", st->f_favail, tags, 2);
    col_emit_num(emit, "df.inodes.percentused", percent(used, st->f_favail), tags, 2);
}

void col_mounts_read(const struct col_mounts *l, const char *root, struct col_fs_probe *probe,
                     struct col_emit *emit, struct ts_log_limit *limit)
{
    for (unsigned i = 0; i < l->n; i++) {
        const struct col_mount *m = &l->p[i];
        const struct col_tag tags[] = {{"fstype", ts_slice_str(m->type)}, {"mount", ts_slice_str(m->path)}};
        char path[2 * PATH_MAX];
        struct statvfs st;
        struct ts_error err = {0};
        (void)snprintf(path, sizeof(path), "%s%s", root, m->path);
        int rc = col_fs_probe_stat(probe, path, &st, &err);
        if (rc == 0)
            col_mount_points(m, &st, emit);
        else
            ts_log_limited(limit, TS_LOG_WARN, "fs: %s", err.text);
        if (rc < 0 || st.f_blocks) /* sysfs and similar ones have no space to report */
            col_emit_int(emit, "df.error", rc < 0, tags, 2);
    }
}

/* The collector's state. */
struct fs {
    const struct col_ctx *ctx;  /* borrowed */
    struct ts_buf text;         /* of /proc/mounts */
    struct col_fs_probe *probe; /* owned */
    struct ts_log_limit limit;  /* of complaints */
};

static int fs_init(const struct col_ctx *ctx, void **out_state, struct ts_error *err)
{
    struct fs *s = ts_xcalloc(1, sizeof(*s));
    (void)err;
    s->ctx = ctx;
    ts_buf_init(&s->text, MOUNTS_BYTES);
    s->probe = col_fs_probe_new(statvfs, ts_conf_int(ctx->conf, "collect_fs_timeout_ms"));
    *out_state = s;
    return 0;
}

static void fs_release(void *state)
{
    struct fs *s = state;
    if (!s)
        return;
    col_fs_probe_free(s->probe);
    ts_buf_release(&s->text);
    ts_free(s);
}

static int fs_read(void *state, struct col_emit *emit, struct ts_error *err)
{
    struct fs *s = state;
    const struct col_ctx *ctx = s->ctx;
    struct col_mounts l = {0};
    /* below another root the mounts are those of its first process, not ours */
    if (!*ctx->root || col_source_read(ctx->root, "/proc/1/mounts", &s->text, NULL) < 0)
        TS_TRY(col_source_read(ctx->root, "/proc/mounts", &s->text, err));
    col_mounts_parse(ts_buf_get(&s->text), ts_conf_str(ctx->conf, "collect_fs_exclude_types"),
                     ts_conf_str(ctx->conf, "collect_fs_exclude_mounts"), &l);
    col_mounts_read(&l, ctx->root, s->probe, emit, &s->limit);
    col_mounts_release(&l);
    return 0;
}

const struct col_collector col_fs = {
    .name = "fs",
    .help = "Room in file systems.",
    .metrics = metrics,
    .interval_s = 60,
    .init = fs_init,
    .read = fs_read,
    .release = fs_release,
};
