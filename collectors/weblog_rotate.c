/*
 * weblog_rotate.c - finds files that were rotated: by inode, by first bytes, packed or not, beside the path where they stood and in the folders
 * of collect_weblog_olddir.
 *
 * A packed file beside its plain one is not whole yet: gzip and zstd remove the plain one when they are done.
 *
 * Threads    one
 */
#include "base/cut.h"
#include "base/log.h"
#include "base/mem.h"
#include "collectors/fields.h"
#include "collectors/source.h"
#include "collectors/weblog_follow.h"

#include <limits.h>
#include <string.h>
#include <sys/stat.h>

/* A file nobody has read. */
struct unread {
    char *path;               /* owned */
    int64_t mtime_ms;         /* last change */
    struct col_web_head head; /* its first bytes */
};

/* One search. */
struct search {
    struct col_web_follow *follow;   /* whose files are known */
    const struct col_web_file *want; /* looked for; with unread: what they came after */
    bool unread;                     /* look for files nobody has read */
    bool moved;                      /* dir is not the log's own folder */
    char dir[PATH_MAX];              /* folder, with a slash at its end */
    char base[NAME_MAX + 1];         /* name of the log in it */
    size_t n_stem;                   /* bytes of base without its ending */
    char found[PATH_MAX];            /* best one so far; "" = none */
    unsigned rank;                   /* of it: 3 inode, 2 plain by first bytes, 1 packed by first bytes */
    struct unread *files;            /* unread ones, oldest first; owned */
    uint32_t n_files;                /* entries */
};

static size_t packed_suffix(const char *name)
{
    size_t n = strlen(name);
    if (n > 3 && !strcmp(name + n - 3, ".gz"))
        return 3;
    return n > 4 && !strcmp(name + n - 4, ".zst") ? 4 : 0;
}

/* Bytes of a log's name without its ending. */
static size_t stem_bytes(const char *base)
{
    const char *dot = strrchr(base, '.');
    return dot && dot > base ? (size_t)(dot - base) : strlen(base);
}

/* Folder, name and stem of a path; false if it is too long. */
static bool search_begin(struct search *s, const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t n = (size_t)(slash - path);
    if (n + 1 >= sizeof(s->dir) || strlen(slash + 1) >= sizeof(s->base))
        return false;
    (void)snprintf(s->dir, sizeof(s->dir), "%.*s/", (int)n, path);
    (void)snprintf(s->base, sizeof(s->base), "%s", slash + 1);
    s->n_stem = stem_bytes(s->base);
    return true;
}

size_t col_web__text_first(const char *path, char out[COL_WEB_HEAD_BYTES])
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

bool col_web__first_matches(const char *first, size_t n, const struct col_web_head *want)
{
    return want->n_bytes && want->n_bytes <= n && col_web__head_of(first, want->n_bytes).hash == want->hash;
}

static bool head_matches(const char *path, const struct col_web_head *want)
{
    char first[COL_WEB_HEAD_BYTES];
    return want->n_bytes && col_web__first_matches(first, col_web__text_first(path, first), want);
}

/* Is a file's name that of a log called base, or made of it? */
static bool named_after(const char *base, const char *name)
{
    size_t n = strlen(base), n_stem = stem_bytes(base);
    if (!strncmp(name, base, n))
        return !name[n] || name[n] == '.' || name[n] == '-';
    return n_stem < n && !strncmp(name, base, n_stem) && name[n_stem] == '-';
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
        if (file->head.n_bytes ? head_matches(path, &file->head)
                               : strcmp(file->path, path) != 0 &&
                                     named_after(strrchr(file->path, '/') + 1, strrchr(path, '/') + 1))
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
static bool first_known(const struct col_web_follow *f, const char *first, size_t n)
{
    uint32_t n_done = col_web__n_done(f);
    for (uint32_t i = 0; i < f->n_files; i++)
        if (col_web__first_matches(first, n, &f->files[i]->head))
            return true;
    for (uint32_t i = 0; i < n_done; i++)
        if (col_web__first_matches(first, n, &f->done[i]))
            return true;
    return !n; /* nothing to read yet */
}

static bool head_known(const struct col_web_follow *f, const char *path)
{
    char first[COL_WEB_HEAD_BYTES];
    return first_known(f, first, col_web__text_first(path, first));
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
    uint32_t n_done = col_web__n_done(f);
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
    char first[COL_WEB_HEAD_BYTES];
    int64_t mtime_ms = col_web__mtime_ms(st);
    if (!col_web_is_rotated_name(path) || !named_after(s->base, path + strlen(s->dir)) || !st->st_size ||
        mtime_ms < s->want->mtime_ms || being_packed(path) ||
        (!packed_suffix(path) && col_web__inode_known(s->follow, path, st)))
        return;
    size_t n = col_web__text_first(path, first);
    if (first_known(s->follow, first, n))
        return;
    struct col_web_head head = col_web__head_of(first, n);
    for (uint32_t i = 0; i < s->n_files; i++) /* a copy, or the same folder by another name */
        if (s->files[i].head.n_bytes == head.n_bytes && s->files[i].head.hash == head.hash)
            return;
    uint32_t at = s->n_files++;
    s->files = ts_xrealloc(s->files, s->n_files * sizeof(*s->files));
    for (; at && s->files[at - 1].mtime_ms > mtime_ms; at--) /* oldest first */
        s->files[at] = s->files[at - 1];
    s->files[at] = (struct unread){.path = ts_xstrdup(path), .mtime_ms = mtime_ms, .head = head};
}

/* --- walking --- */

static int try_name(void *arg, const char *name)
{
    struct search *s = arg;
    char path[PATH_MAX];
    struct stat st;
    if (strncmp(name, s->base, s->n_stem) != 0 || (!s->moved && !strcmp(name, s->base)))
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

bool col_web__olddir(const struct col_web_follow *f, const char *path, unsigned i, char out[PATH_MAX])
{
    struct ts_slice list = ts_slice_str(f->opts.olddirs ? f->opts.olddirs : "");
    const char *slash = strrchr(path, '/');
    while (list.n) {
        struct ts_slice dir = col_trim(ts_slice_cut(&list, ','));
        if (!dir.n || i--)
            continue;
        int len = snprintf(out, PATH_MAX, "%.*s%.*s/", dir.p[0] == '/' ? 0 : (int)(slash + 1 - path), path,
                           (int)dir.n, dir.p);
        return len > 0 && len < PATH_MAX;
    }
    return false;
}

/* Look at all names that may be of the log at path. */
static void search_run(struct search *s, const char *path)
{
    if (!search_begin(s, path))
        return;
    (void)col_source_list("", s->dir, try_name, s, NULL);
    s->moved = true;
    for (unsigned i = 0; col_web__olddir(s->follow, path, i, s->dir); i++)
        (void)col_source_list("", s->dir, try_name, s, NULL);
}

static void search_free(struct search *s)
{
    for (uint32_t i = 0; i < s->n_files; i++)
        ts_free(s->files[i].path);
    ts_free(s->files);
    ts_free(s);
}

bool col_web__rotated_find(struct col_web_follow *f, struct col_web_file *file)
{
    struct search *s = ts_xcalloc(1, sizeof(*s));
    struct ts_error err = {0};
    struct stat st;
    s->follow = f;
    s->want = file;
    search_run(s, file->path);
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
    search_free(s);
    return found;
}

uint32_t col_web__rotated_add(struct col_web_follow *f, const struct col_web_file *after, uint32_t at,
                              int64_t now_ms)
{
    struct search *s = ts_xcalloc(1, sizeof(*s));
    s->follow = f;
    s->want = after;
    s->unread = true;
    search_run(s, after->path);
    for (uint32_t i = 0; i < s->n_files; i++) {
        const struct unread *found = &s->files[i];
        struct col_web_file *file = col_web__file_add(f, after->path, after->log, at + i);
        file->rotated = true;
        file->quiet_ms = now_ms;
        if (packed_suffix(found->path))
            (void)ts_lines_open(found->path, &file->lines, NULL);
        else
            file->file = fopen(found->path, "rbe");
        file->head = found->head;
        ts_log(TS_LOG_INFO, "weblog: %s was not read yet", found->path);
    }
    uint32_t n = s->n_files;
    search_free(s);
    return n;
}

void col_web__rotated_skip(struct col_web_follow *f, const struct col_web_file *file, int64_t since_ms)
{
    struct search *s = ts_xcalloc(1, sizeof(*s));
    struct col_web_file after = {.mtime_ms = since_ms};
    s->follow = f;
    s->want = &after;
    s->unread = true;
    search_run(s, file->path);
    for (uint32_t i = 0; i < s->n_files; i++) {
        s->files[i].head.unread = true;
        f->done[f->n_done++ % COL_WEB_DONE_MAX] = s->files[i].head;
    }
    search_free(s);
}
