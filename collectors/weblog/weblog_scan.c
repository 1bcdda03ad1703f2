/*
 * weblog_scan.c - searches the family of a log: one pass over its names finds the files of places that are
 * not open, and files that were never read.
 *
 *   names of the folders > family of the log > first bytes > place of the log     open it, or nothing to do
 *                                                          > none: a new place    ROTATED, or PAST when the log is new
 *
 * A file for which nothing is to be done is *settled*: it is not opened again while its numbers, size and
 * time are unchanged. A compressed file whose plain file still exists is incomplete, since all compressors
 * remove the plain file when they have finished.
 *
 * Threads    one
 * Invariant  a file is read by at most one place; a place reads at most one file
 */
#include "base/cut.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/array.h"
#include "base/mem.h"
#include "base/unpack.h"
#include "collectors/core/fields.h"
#include "collectors/core/source.h"
#include "collectors/weblog/weblog_family.h"
#include "collectors/weblog/weblog_follow_int.h"

#include <stdlib.h>
#include <string.h>

#define PACKED_MAX 4u /* compressed files open at the same time; each takes more than a mebibyte */

#define RANK_PACKED 1u
#define RANK_PLAIN  2u
#define RANK_INODE  3u /* a plain file with the inode of the place */

/* A settled file. */
struct col_web_settled {
    uint64_t name;           /* hash of its path */
    struct col_web_id id;    /* it had */
    struct col_web_place *p; /* its place; NULL = none of ours */
};

/* Names of a folder, sorted. */
struct list {
    char *dir;     /* with its slash; owned */
    char **names;  /* owned */
    size_t n, cap; /* of them */
};

/* All folders that were listed in this turn. */
struct col_web_lists {
    struct list *lists; /* owned */
    uint32_t n;         /* of them */
};

/* --- names --- */

static int list_add(void *arg, const char *name)
{
    struct list *l = arg;
    TS_ARRAY_GROW(l->names, l->n, l->cap, 64);
    l->names[l->n++] = ts_xstrdup(name);
    return 0;
}

static const struct list *list_of(struct col_web_follow *f, const char *dir)
{
    struct col_web_lists *all = f->lists;
    if (!all)
        all = f->lists = ts_xcalloc(1, sizeof(*all));
    for (uint32_t i = 0; i < all->n; i++)
        if (!strcmp(all->lists[i].dir, dir))
            return &all->lists[i];
    all->lists = ts_xrealloc(all->lists, (all->n + 1) * sizeof(*all->lists));
    struct list *l = &all->lists[all->n++];
    *l = (struct list){.dir = ts_xstrdup(dir)};
    (void)col_source_list("", dir, list_add, l, NULL); /* in byte order */
    return l;
}

void col_web__lists_forget(struct col_web_follow *f)
{
    for (uint32_t i = 0; f->lists && i < f->lists->n; i++) {
        struct list *l = &f->lists->lists[i];
        for (size_t k = 0; k < l->n; k++)
            ts_free(l->names[k]);
        ts_free(l->names);
        ts_free(l->dir);
    }
    if (f->lists)
        ts_free(f->lists->lists);
    ts_free(f->lists);
    f->lists = NULL;
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

/* Is this the folder of a path that has no links? dir ends with a slash. */
static bool in_folder(const char *dir, const char *path)
{
    char real[PATH_MAX];
    const char *slash = strrchr(path, '/');
    size_t n = slash ? (size_t)(slash - path) : 0;
    if (!realpath(dir, real))
        return false;
    return strlen(real) == (n ? n : 1) && !memcmp(real, path, n ? n : 1);
}

bool col_web_follow_family(const struct col_web_follow *f, const struct col_web_tail *t, const char *path)
{
    char dir[PATH_MAX];
    const char *slash = strrchr(t->path, '/'), *name = strrchr(path, '/');
    if (realpath(t->path, dir) && !strcmp(dir, path))
        return true;
    if (!name)
        return false;
    name++;
    size_t n_plain = strlen(name) - ts_pack_suffix(name); /* access.log.gz is one too, beside access.log */
    bool own = strlen(slash + 1) == n_plain && !memcmp(slash + 1, name, n_plain);
    if (!own && col_web_family(slash + 1, name) != COL_WEB_STRICT)
        return false;
    int n = snprintf(dir, sizeof(dir), "%.*s", (int)(slash + 1 - t->path), t->path);
    if (n > 0 && (size_t)n < sizeof(dir) && in_folder(dir, path))
        return true;
    for (unsigned i = 0; col_web__olddir(f, t->path, i, dir); i++)
        if (in_folder(dir, path))
            return true;
    return false;
}

/* A name of the current family. False ends the walk. */
typedef bool (*family_fn)(void *arg, const char *path, enum col_web_family how, const struct col_web_id *id);

static bool family_dir(struct col_web_follow *f, const struct col_web_tail *t, const char *dir,
                       family_fn each, void *arg)
{
    const char *base = strrchr(t->path, '/') + 1;
    const struct list *l = list_of(f, dir);
    size_t n_prefix = col_web_family_prefix(base), low = 0, high = l->n;
    char path[PATH_MAX];
    while (low < high) { /* the first name that is not before the prefix */
        size_t mid = low + (high - low) / 2;
        if (strncmp(l->names[mid], base, n_prefix) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    for (; low < l->n && !strncmp(l->names[low], base, n_prefix); low++) {
        struct col_web_id id;
        enum col_web_family how = col_web_family(base, l->names[low]);
        int n = snprintf(path, sizeof(path), "%s%s", dir, l->names[low]);
        if (how == COL_WEB_STRANGER || n < 0 || (size_t)n >= sizeof(path) || !strcmp(path, t->path) ||
            !col_web__id_of_path(path, &id))
            continue;
        if (!each(arg, path, how, &id))
            return false;
    }
    return true;
}

/* Visit all files of a log's family except the one at its path. */
static void family_walk(struct col_web_follow *f, const struct col_web_tail *t, family_fn each, void *arg)
{
    char dir[PATH_MAX];
    const char *slash = strrchr(t->path, '/');
    int n = snprintf(dir, sizeof(dir), "%.*s", (int)(slash + 1 - t->path), t->path);
    if (n > 0 && (size_t)n < sizeof(dir) && !family_dir(f, t, dir, each, arg))
        return;
    for (unsigned i = 0; col_web__olddir(f, t->path, i, dir); i++)
        if (!family_dir(f, t, dir, each, arg))
            return;
}

/* --- settled files --- */

void col_web__settled_forget(struct col_web_tail *t, const struct col_web_place *p)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->n_settled; i++)
        if (t->settled[i].p != p)
            t->settled[n++] = t->settled[i];
    t->n_settled = n;
}

static bool id_equal(const struct col_web_id *a, const struct col_web_id *b)
{
    return a->dev == b->dev && a->ino == b->ino && a->size_bytes == b->size_bytes &&
           a->mtime_ms == b->mtime_ms;
}

static struct col_web_settled *settled_find(struct col_web_tail *t, uint64_t name)
{
    for (uint32_t i = 0; i < t->n_settled; i++)
        if (t->settled[i].name == name)
            return &t->settled[i];
    return NULL;
}

static void settle(struct col_web_tail *t, uint64_t name, const struct col_web_id *id,
                   struct col_web_place *p)
{
    struct col_web_settled *s = settled_find(t, name);
    if (!s) {
        TS_ARRAY_GROW(t->settled, t->n_settled, t->cap_settled, 16);
        s = &t->settled[t->n_settled++];
    }
    *s = (struct col_web_settled){.name = name, .id = *id, .p = p};
}

/* --- one file of the family --- */

/* A running search. */
struct scan {
    struct col_web_follow *f;      /* all logs */
    struct col_web_tail *t;        /* whose family */
    const struct col_web_now *now; /* clocks */
};

/* A file that is being judged. */
struct file {
    const char *path;        /* its path */
    struct col_web_id id;    /* its numbers */
    enum col_web_family how; /* what its name says */
    uint64_t name;           /* hash of its path */
    char first[COL_WEB_HEAD_BYTES];
    size_t n_first;             /* bytes of first */
    const struct ts_pack *pack; /* NULL = it is plain */
};

/* Does the plain file from which a compressed one is made still exist? */
static bool being_packed(const char *path)
{
    char plain[PATH_MAX];
    struct col_web_id id;
    size_t n_suffix = ts_pack_suffix(path), n = strlen(path) - n_suffix;
    if (!n_suffix || n >= sizeof(plain))
        return false;
    memcpy(plain, path, n);
    plain[n] = 0;
    return col_web__id_of_path(plain, &id);
}

/* The file of a place was found: add all of its first bytes to the hash of the place. */
static void found_set(struct col_web_place *p, const struct file *file, unsigned rank)
{
    if (rank <= p->rank)
        return;
    ts_free(p->found);
    p->found = ts_xstrdup(file->path);
    p->rank = rank;
    if (file->n_first > p->head.n_bytes)
        p->head = col_web_head_of(file->first, file->n_first);
}

/* The file of a place that is known: does the place need it? */
static void known_file(const struct scan *s, const struct file *file, struct col_web_place *p)
{
    p->seen_ms = s->now->wall_ms;
    if (col_web_place_open(p))
        return; /* it is a copy of the file that is being read */
    if (p->role == COL_WEB_PAST || p->off == COL_WEB_OFF_ALL)
        settle(s->t, file->name, &file->id, p);
    else if (file->pack && p->role == COL_WEB_DONE && p->whole)
        settle(s->t, file->name, &file->id, p);
    else if (file->pack && !being_packed(file->path))
        found_set(p, file, RANK_PACKED);
    else if (!file->pack && p->role == COL_WEB_DONE && file->id.size_bytes <= p->off)
        settle(s->t, file->name, &file->id, p);
    else if (!file->pack && file->id.size_bytes >= p->off)
        found_set(p, file, file->id.ino == p->ino && file->id.dev == p->dev ? RANK_INODE : RANK_PLAIN);
}

/* Was it in the list of an older checkpoint, which did not state the log of a file? */
static const bool *inherited(const struct col_web_follow *f, const struct file *file)
{
    for (uint32_t i = 0; i < f->n_inherited; i++)
        if (col_web_head_matches(&f->inherited[i], (struct ts_slice){file->first, file->n_first}))
            return &f->inherited_past[i];
    return NULL;
}

/* A file that was never seen. */
static void new_file(const struct scan *s, const struct file *file)
{
    struct col_web_tail *t = s->t;
    const bool *past = inherited(s->f, file);
    bool empty = !file->n_first && !file->pack; /* the server may still have it open and write to it */
    uint64_t imported = 0;
    if (file->how == COL_WEB_STRICT && !past)
        imported =
            col_web__imported(s->f, t, (struct ts_slice){file->first, file->n_first}, file->pack != NULL);
    bool part = imported && imported != COL_WEB_OFF_ALL; /* of a file that was rotated since */
    bool wanted = file->how == COL_WEB_STRICT && !past && imported != COL_WEB_OFF_ALL &&
                  (empty || (part && t->fresh) || (!t->fresh && file->id.mtime_ms >= t->floor_ms));
    if (file->pack && (!file->n_first || (wanted && being_packed(file->path))))
        return;
    if (empty && ts_pack_suffix(file->path)) /* it is being compressed, so no server writes to it */
        return;
    if (file->how != COL_WEB_STRICT || (!wanted && !t->fresh && !past && !imported)) {
        settle(t, file->name, &file->id, NULL);
        return;
    }
    struct col_web_place *p = col_web_place_add(t, wanted           ? COL_WEB_ROTATED
                                                   : past && !*past ? COL_WEB_DONE
                                                                    : COL_WEB_PAST);
    p->head = col_web_head_of(file->first, file->n_first);
    p->off = wanted ? 0 : COL_WEB_OFF_ALL;
    p->imported = imported;
    p->mtime_ms = file->id.mtime_ms;
    p->quiet_ms = s->now->steady_ms;
    s->f->n_changes++;
    known_file(s, file, p);
    if (wanted && !empty && !part)
        ts_log(TS_LOG_INFO, "weblog: %s was not read yet", file->path);
}

/* Log once that a file has an unsupported compression, if its lines would have been counted. */
static void unreadable_file(const struct scan *s, const struct file *file)
{
    if (file->how == COL_WEB_STRICT && !s->t->fresh && file->id.mtime_ms >= s->t->floor_ms) {
        ts_log(TS_LOG_WARN,
               "weblog: %s is packed by %s, which is not read here: if it has lines that were not read, they "
               "do not "
               "count; let logrotate pack by gzip, zstd, xz or bzip2",
               file->path, file->pack->name);
        s->f->n_reported++;
    }
    settle(s->t, file->name, &file->id, NULL);
}

/* Does it belong to this log, and not to one with a longer name? A file in another folder is judged as if it
 * were in the folder of the log. */
static bool owned(const struct scan *s, const char *path)
{
    char beside[PATH_MAX], owner[PATH_MAX];
    const char *slash = strrchr(s->t->path, '/');
    int n =
        snprintf(beside, sizeof(beside), "%.*s%s", (int)(slash - s->t->path), s->t->path, strrchr(path, '/'));
    if (n < 0 || (size_t)n >= sizeof(beside) || !strcmp(beside, s->t->path))
        return n > 0;
    return !col_web_owner(beside, col_web__log_there, s->f, owner, sizeof(owner)) ||
           !strcmp(owner, s->t->path);
}

/* Is it read right now? By its numbers as they are at this moment, since it may have been empty when it was opened. */
static bool being_read(const struct scan *s, const struct col_web_id *id)
{
    struct col_web_id own;
    for (uint32_t i = 0; i < s->t->n_places; i++) {
        struct col_web_place *p = s->t->places[i];
        if (p->file && col_web__id_of_file(p->file, &own) && own.ino == id->ino && own.dev == id->dev) {
            p->seen_ms = s->now->wall_ms;
            return true;
        }
    }
    return false;
}

/* Read its first bytes and find its place. False: it can't be read. */
static bool file_look(const struct scan *s, struct file *file, struct col_web_place **out_place)
{
    if (ts_unpack_first(file->path, file->first, sizeof(file->first), &file->n_first, &file->pack) < 0)
        return false;
    *out_place =
        col_web_place_find(s->t, (struct ts_slice){file->first, file->n_first}, file->id.dev, file->id.ino);
    return true;
}

static bool scan_file(void *arg, const char *path, enum col_web_family how, const struct col_web_id *id)
{
    const struct scan *s = arg;
    struct col_web_tail *other = col_web__tail_at(s->f, path);
    struct file file = {.path = path, .id = *id, .how = how, .name = ts_hash(path, strlen(path))};
    if (other || being_read(s, id))
        return true; /* it is a log of its own, or there is nothing to search for */
    const struct col_web_settled *settled = settled_find(s->t, file.name);
    if (settled && id_equal(&settled->id, id)) {
        if (settled->p)
            settled->p->seen_ms = s->now->wall_ms;
        return true;
    }
    if (!owned(s, path)) {
        settle(s->t, file.name, id, NULL);
        return true;
    }
    struct col_web_place *p;
    if (!file_look(s, &file, &p))
        return true;
    if (file.pack && !file.pack->readable) {
        unreadable_file(s, &file);
        return true;
    }
    if (!p && how == COL_WEB_STRICT && !inherited(s->f, &file)) { /* it was never seen */
        if (!col_web__hold(s->f, s->t)) {
            s->t->scan_again = true;
            return true;
        }
        if (!col_web__id_of_path(path, &file.id) || !file_look(s, &file, &p)) /* it may have grown before */
            return true;
    }
    if (p)
        known_file(s, &file, p);
    else
        new_file(s, &file);
    return true;
}

/* --- all of it --- */

/* Open what was found for a place. */
static void found_open(struct col_web_follow *f, struct col_web_place *p, const struct col_web_now *now)
{
    struct col_web_id id;
    if (p->rank == RANK_PACKED && f->n_packed >= PACKED_MAX) {
        p->quiet_ms = now->steady_ms; /* it waits for its turn */
        p->tail->scan_again = true;
    } else if (p->rank == RANK_PACKED) {
        if (ts_lines_open(p->found, &p->lines, NULL) < 0)
            p->lines = NULL;
        f->n_packed += p->lines != NULL;
    } else if ((p->file = fopen(p->found, "rbe")) != NULL && col_web__id_of_file(p->file, &id)) {
        p->dev = id.dev;
        p->ino = id.ino;
    }
    if (col_web_place_open(p)) {
        if (p->role == COL_WEB_DONE) { /* there may be more of it */
            p->role = COL_WEB_ROTATED;
            p->quiet_ms = now->steady_ms;
        } else if (p->off)
            ts_log(TS_LOG_INFO, "weblog: %s goes on in %s from=%llu", p->tail->path, p->found,
                   (unsigned long long)p->off);
        col_web__settled_forget(p->tail, p);
        f->n_changes++;
    }
    ts_free(p->found);
    p->found = NULL;
    p->rank = 0;
}

static int by_age(const void *a, const void *b)
{
    const struct col_web_place *x = *(struct col_web_place *const *)a, *y = *(struct col_web_place *const *)b;
    if ((x->role == COL_WEB_CURRENT) != (y->role == COL_WEB_CURRENT))
        return x->role == COL_WEB_CURRENT ? 1 : -1;
    return x->mtime_ms < y->mtime_ms ? -1 : x->mtime_ms > y->mtime_ms;
}

/* Update the first bytes of open files, which may have grown since they were read last, and may have got a
 * compressed copy. */
static void heads_refresh(struct col_web_follow *f, struct col_web_tail *t)
{
    char first[COL_WEB_HEAD_BYTES];
    for (uint32_t i = 0; i < t->n_places; i++) {
        struct col_web_place *p = t->places[i];
        size_t n = p->file && p->head.n_bytes < COL_WEB_HEAD_BYTES ? col_web__first_read(p->file, first) : 0;
        if (n > p->head.n_bytes && !col_web__packed_text(p, (struct ts_slice){first, n}) &&
            (!p->head.n_bytes || col_web_head_matches(&p->head, (struct ts_slice){first, n})))
            (void)col_web__head_learn(f, p, (struct ts_slice){first, n});
    }
}

void col_web__scan(struct col_web_follow *f, struct col_web_tail *t, const struct col_web_now *now)
{
    struct scan s = {.f = f, .t = t, .now = now};
    heads_refresh(f, t);
    family_walk(f, t, scan_file, &s);
    t->fresh &= t->scan_again; /* files that had to wait are judged like the others */
    for (uint32_t i = 0; i < t->n_places; i++)
        if (t->places[i]->found)
            found_open(f, t->places[i], now);
    if (t->n_places)
        qsort(t->places, t->n_places, sizeof(struct col_web_place *), by_age);
    t->scan = t->scan_again;
    t->scanned_ms = now->steady_ms;
    t->scan_again = false;
    if (f->opts.keep_ms) /* existing files count as seen now, whatever the clock was before */
        f->n_changes += col_web_tail_trim(t, now->wall_ms - f->opts.keep_ms);
}

/* --- another name of one file --- */

struct link {
    const struct col_web_id *want; /* numbers looked for */
    bool found;                    /* there is a name with them */
};

static bool link_file(void *arg, const char *path, enum col_web_family how, const struct col_web_id *id)
{
    struct link *l = arg;
    (void)path;
    (void)how;
    l->found = id->dev == l->want->dev && id->ino == l->want->ino;
    return !l->found;
}

bool col_web__linked(struct col_web_follow *f, const struct col_web_tail *t, const struct col_web_id *id)
{
    struct link l = {.want = id};
    family_walk(f, t, link_file, &l);
    return l.found;
}
