/*
 * weblog_rotate.c - finds files that were rotated: by inode, by first bytes, packed or not, beside the path where they stood.
 *
 * A packed file beside its plain one is not whole yet: gzip and zstd remove the plain one when they are done.
 *
 * Threads    one
 */
#include "base/log.h"
#include "base/mem.h"
#include "collectors/source.h"
#include "collectors/weblog_follow.h"

#include <limits.h>
#include <string.h>
#include <sys/stat.h>

/* One search. */
struct search {
    struct col_web_follow *follow;   /* whose files are known */
    const struct col_web_file *want; /* looked for; with unread: what they came after */
    bool unread;                     /* look for files nobody has read */
    char dir[PATH_MAX];              /* folder */
    char base[NAME_MAX + 1];         /* name of the log in it */
    size_t n_stem;                   /* bytes of base without its ending */
    char found[PATH_MAX];            /* best one so far; "" = none */
    unsigned rank;                   /* of it: 3 inode, 2 plain by first bytes, 1 packed by first bytes */
    char **paths;                    /* unread ones, owned */
    int64_t *mtimes_ms;              /* of them; owned */
    uint32_t n_paths;                /* entries of both */
};

static size_t packed_suffix(const char *name)
{
    size_t n = strlen(name);
    if (n > 3 && !strcmp(name + n - 3, ".gz"))
        return 3;
    return n > 4 && !strcmp(name + n - 4, ".zst") ? 4 : 0;
}

/* Folder, name and stem of a path; false if it is too long. */
static bool search_begin(struct search *s, const char *path)
{
    const char *slash = strrchr(path, '/'), *dot;
    size_t n = (size_t)(slash - path);
    if (n + 1 >= sizeof(s->dir) || strlen(slash + 1) >= sizeof(s->base))
        return false;
    (void)snprintf(s->dir, sizeof(s->dir), "%.*s/", (int)n, path);
    (void)snprintf(s->base, sizeof(s->base), "%s", slash + 1);
    dot = strrchr(s->base, '.');
    s->n_stem = dot && dot > s->base ? (size_t)(dot - s->base) : strlen(s->base);
    return true;
}

/* The first bytes of a file's text, at most COL_WEB_HEAD_BYTES; 0 if it can't be read. */
static size_t text_first(const char *path, char out[COL_WEB_HEAD_BYTES])
{
    size_t n = 0;
    if (!packed_suffix(path)) {
        FILE *file = fopen(path, "rbe");
        n = file ? fread(out, 1, COL_WEB_HEAD_BYTES, file) : 0;
        if (file)
            fclose(file);
        return n;
    }
    struct ts_lines *lines;
    struct ts_slice piece;
    if (ts_lines_open(path, &lines, NULL) < 0)
        return 0;
    int rc;
    while ((rc = ts_lines_next(lines, &piece, NULL)) > 0 && n < COL_WEB_HEAD_BYTES) {
        size_t k = piece.n < COL_WEB_HEAD_BYTES - n ? piece.n : COL_WEB_HEAD_BYTES - n;
        memcpy(out + n, piece.p, k);
        n += k;
    }
    n = rc < 0 && n < COL_WEB_HEAD_BYTES ? 0 : n; /* cut: it can't be told what it is */
    ts_lines_close(lines);
    return n;
}

static bool first_matches(const char *first, size_t n, const struct col_web_head *want)
{
    return want->n_bytes && want->n_bytes <= n && col_web__head_of(first, want->n_bytes).hash == want->hash;
}

static bool head_matches(const char *path, const struct col_web_head *want)
{
    char first[COL_WEB_HEAD_BYTES];
    return want->n_bytes && first_matches(first, text_first(path, first), want);
}

bool col_web__inode_known(const struct col_web_follow *f, const char *path, const struct stat *st)
{
    for (uint32_t i = 0; i < f->n_files; i++) {
        const struct col_web_file *file = f->files[i];
        if (!file->ino || file->ino != st->st_ino || file->dev != st->st_dev)
            continue;
        if (file->file)
            return true;
        /* its number may have been given to a new file while it was not open */
        if (file->head.n_bytes ? head_matches(path, &file->head) : strcmp(file->path, path) != 0)
            return true;
    }
    return false;
}

/* Is the plain file a packed one was made of still there? */
static bool being_packed(const char *path)
{
    char plain[PATH_MAX];
    struct stat st;
    size_t n = packed_suffix(path);
    (void)snprintf(plain, sizeof(plain), "%.*s", (int)(strlen(path) - n), path);
    return n && stat(plain, &st) == 0;
}

static bool current_inode(const struct col_web_follow *f, const struct stat *st)
{
    for (uint32_t i = 0; i < f->n_files; i++)
        if (!f->files[i]->rotated && f->files[i]->ino == st->st_ino && f->files[i]->dev == st->st_dev)
            return true;
    return false;
}

/* Is it one that is read, or was? Also if there is nothing in it yet. */
static bool head_known(const struct col_web_follow *f, const char *path)
{
    char first[COL_WEB_HEAD_BYTES];
    size_t n = text_first(path, first);
    uint32_t n_done = f->n_done < COL_WEB_DONE_MAX ? f->n_done : COL_WEB_DONE_MAX;
    for (uint32_t i = 0; i < f->n_files; i++)
        if (first_matches(first, n, &f->files[i]->head))
            return true;
    for (uint32_t i = 0; i < n_done; i++)
        if (first_matches(first, n, &f->done[i]))
            return true;
    return !n; /* nothing to read yet */
}

/* --- the one we know --- */

static void try_wanted(struct search *s, const char *path, const struct stat *st)
{
    const struct col_web_file *w = s->want;
    unsigned rank = 0;
    if (packed_suffix(path))
        rank = !being_packed(path) && head_matches(path, &w->head) ? 1 : 0;
    else if (current_inode(s->follow, st) || (uint64_t)st->st_size < w->off)
        rank = 0;
    else if (w->ino == st->st_ino && w->dev == st->st_dev)
        rank = (w->head.n_bytes ? head_matches(path, &w->head) : !head_known(s->follow, path)) ? 3 : 0;
    else
        rank = head_matches(path, &w->head) ? 2 : 0;
    if (rank <= s->rank)
        return;
    s->rank = rank;
    (void)snprintf(s->found, sizeof(s->found), "%s", path);
}

/* --- those nobody has read --- */

bool col_web__head_known(const struct col_web_follow *f, const struct col_web_head *head)
{
    uint32_t n_done = f->n_done < COL_WEB_DONE_MAX ? f->n_done : COL_WEB_DONE_MAX;
    bool known = false;
    for (uint32_t i = 0; i < f->n_files && !known; i++)
        known = f->files[i]->rotated && f->files[i]->head.n_bytes == head->n_bytes &&
                f->files[i]->head.hash == head->hash;
    for (uint32_t i = 0; i < n_done && !known; i++)
        known = f->done[i].n_bytes == head->n_bytes && f->done[i].hash == head->hash;
    return known && head->n_bytes == COL_WEB_HEAD_BYTES;
}

static void try_unread(struct search *s, const char *path, const struct stat *st)
{
    const char *name = path + strlen(s->dir);
    int64_t mtime_ms = (int64_t)st->st_mtim.tv_sec * 1000 + st->st_mtim.tv_nsec / 1000000;
    size_t n = strlen(s->base);
    bool named = col_web_is_rotated_name(path) && ((!strncmp(name, s->base, n) && strchr(".-", name[n])) ||
                                                   (s->n_stem < n && name[s->n_stem] == '-'));
    if (!named || !st->st_size || mtime_ms < s->want->mtime_ms || being_packed(path) ||
        (!packed_suffix(path) && col_web__inode_known(s->follow, path, st)) || head_known(s->follow, path))
        return;
    uint32_t at = s->n_paths++;
    s->paths = ts_xrealloc(s->paths, s->n_paths * sizeof(char *));
    s->mtimes_ms = ts_xrealloc(s->mtimes_ms, s->n_paths * sizeof(int64_t));
    for (; at && s->mtimes_ms[at - 1] > mtime_ms; at--) { /* oldest first */
        s->paths[at] = s->paths[at - 1];
        s->mtimes_ms[at] = s->mtimes_ms[at - 1];
    }
    s->paths[at] = ts_xstrdup(path);
    s->mtimes_ms[at] = mtime_ms;
}

/* --- walking --- */

static int try_name(void *arg, const char *name)
{
    struct search *s = arg;
    char path[PATH_MAX];
    struct stat st;
    if (strncmp(name, s->base, s->n_stem) != 0 || !strcmp(name, s->base))
        return 0;
    int n = snprintf(path, sizeof(path), "%s%s", s->dir, name);
    if (n < 0 || (size_t)n >= sizeof(path) || stat(path, &st) < 0 || !S_ISREG(st.st_mode))
        return 0;
    if (s->unread)
        try_unread(s, path, &st);
    else
        try_wanted(s, path, &st);
    return 0;
}

bool col_web__rotated_find(struct col_web_follow *f, struct col_web_file *file)
{
    struct search *s = ts_xcalloc(1, sizeof(*s));
    struct ts_error err = {0};
    struct stat st;
    s->follow = f;
    s->want = file;
    if (search_begin(s, file->path))
        (void)col_source_list("", s->dir, try_name, s, NULL);
    if (s->rank == 1) {
        file->lines_off = 0;
        if (ts_lines_open(s->found, &file->lines, &err) < 0)
            file->lines = NULL;
    } else if (s->rank) {
        file->file = fopen(s->found, "rbe");
        if (file->file && fstat(fileno(file->file), &st) == 0) {
            file->dev = st.st_dev;
            file->ino = st.st_ino;
        }
    }
    bool found = file->file || file->lines;
    if (found)
        ts_log(TS_LOG_INFO, "weblog: %s goes on in %s from=%llu", file->path, s->found,
               (unsigned long long)file->off);
    ts_free(s);
    return found;
}

uint32_t col_web__rotated_add(struct col_web_follow *f, const struct col_web_file *after, uint32_t at,
                              int64_t now_ms)
{
    struct search *s = ts_xcalloc(1, sizeof(*s));
    s->follow = f;
    s->want = after;
    s->unread = true;
    if (search_begin(s, after->path))
        (void)col_source_list("", s->dir, try_name, s, NULL);
    for (uint32_t i = 0; i < s->n_paths; i++) {
        struct col_web_file *file = col_web__file_add(f, after->path, after->log, at + i);
        file->rotated = true;
        file->quiet_ms = now_ms;
        if (packed_suffix(s->paths[i]))
            (void)ts_lines_open(s->paths[i], &file->lines, NULL);
        else
            file->file = fopen(s->paths[i], "rbe");
        char first[COL_WEB_HEAD_BYTES];
        file->head = col_web__head_of(first, text_first(s->paths[i], first));
        ts_log(TS_LOG_INFO, "weblog: %s was not read yet", s->paths[i]);
        ts_free(s->paths[i]);
    }
    uint32_t n = s->n_paths;
    ts_free(s->paths);
    ts_free(s->mtimes_ms);
    ts_free(s);
    return n;
}

void col_web__rotated_skip(struct col_web_follow *f, const struct col_web_file *file, int64_t since_ms)
{
    struct search *s = ts_xcalloc(1, sizeof(*s));
    struct col_web_file after = {.mtime_ms = since_ms};
    s->follow = f;
    s->want = &after;
    s->unread = true;
    if (search_begin(s, file->path))
        (void)col_source_list("", s->dir, try_name, s, NULL);
    for (uint32_t i = 0; i < s->n_paths; i++) {
        char first[COL_WEB_HEAD_BYTES];
        f->done[f->n_done++ % COL_WEB_DONE_MAX] = col_web__head_of(first, text_first(s->paths[i], first));
        ts_free(s->paths[i]);
    }
    ts_free(s->paths);
    ts_free(s->mtimes_ms);
    ts_free(s);
}
