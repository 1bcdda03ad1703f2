/*
 * faultdisk.c - what the file system in memory has on its disk, and what a power cut leaves of the rest.
 *
 * Threads    all with the file system's mutex held
 * Not here   calls and faults (faultfs.c)
 */
#include "tests/faults/faultfs_int.h"

#include <stdatomic.h>

#include <string.h>

#include "base/mem.h"

uint64_t t_rand(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

/* A number below n (n >= 1). */
static size_t below(struct t_faultfs *f, size_t n)
{
    return (size_t)(t_rand(&f->rand) % n);
}

/* --- bytes --- */

struct t_inode *t_inode_new(bool is_dir)
{
    static _Atomic uint64_t n_made;
    struct t_inode *ino = ts_xcalloc(1, sizeof(*ino));
    ino->serial = atomic_fetch_add_explicit(&n_made, 1, memory_order_relaxed) + 1;
    ino->is_dir = is_dir;
    return ino;
}

struct t_inode *t_inode_ref(struct t_inode *ino)
{
    ino->refs++;
    return ino;
}

void t_inode_unref(struct t_inode *ino)
{
    if (!ino || --ino->refs > 0)
        return;
    ts_free(ino->now);
    ts_free(ino->disk);
    ts_free(ino->dirty);
    ts_free(ino);
}

static uint8_t *grow(uint8_t *p, size_t from, size_t to)
{
    p = ts_xrealloc(p, to);
    memset(p + from, 0, to - from);
    return p;
}

static void reserve(struct t_faultfs *f, struct t_inode *ino, size_t n)
{
    if (n <= ino->cap)
        return;
    size_t cap = ino->cap ? ino->cap : 2 * f->page;
    while (cap < n)
        cap *= 2;
    ino->now = grow(ino->now, ino->cap, cap);
    ino->disk = grow(ino->disk, ino->cap, cap);
    ino->dirty = grow(ino->dirty, ino->cap / f->page, cap / f->page);
    ino->cap = cap;
}

static void mark_dirty(struct t_faultfs *f, struct t_inode *ino, size_t from, size_t to)
{
    for (size_t i = from / f->page; i * f->page < to; i++)
        ino->dirty[i] = 1;
}

void t_inode_resize(struct t_faultfs *f, struct t_inode *ino, size_t n)
{
    reserve(f, ino, n);
    if (n < ino->now_n) {
        memset(ino->now + n, 0, ino->now_n - n);
        mark_dirty(f, ino, n, ino->now_n);
    }
    ino->now_n = n;
}

void t_inode_append(struct t_faultfs *f, struct t_inode *ino, const void *p, size_t n)
{
    if (n == 0)
        return;
    reserve(f, ino, ino->now_n + n);
    memcpy(ino->now + ino->now_n, p, n);
    mark_dirty(f, ino, ino->now_n, ino->now_n + n);
    ino->now_n += n;
}

static void write_page(struct t_faultfs *f, struct t_inode *ino, size_t i, size_t from, size_t to)
{
    memcpy(ino->disk + i * f->page + from, ino->now + i * f->page + from, to - from);
}

void t_inode_sync(struct t_faultfs *f, struct t_inode *ino, bool fails)
{
    for (size_t i = 0; i < ino->cap / f->page; i++) {
        if (ino->dirty[i] && !(fails && below(f, 2)))
            write_page(f, ino, i, 0, f->page);
        ino->dirty[i] = 0;
    }
    if (!fails)
        ino->disk_n = ino->now_n;
}

/* Keep, lose or tear each dirty page; any length between the two. */
static void settle_inode(struct t_faultfs *f, struct t_inode *ino, enum t_keep keep)
{
    if (ino->is_dir)
        return;
    for (size_t i = 0; i < ino->cap / f->page; i++) {
        if (keep == T_KEEP_ALL) /* also pages that a failed sync forgot: they are still in memory */
            write_page(f, ino, i, 0, f->page);
        if (!ino->dirty[i])
            continue;
        size_t how = keep == T_KEEP_ALL ? 0 : keep == T_KEEP_NONE ? 1 : below(f, 4);
        size_t cut = below(f, f->page);
        if (how == 0)
            write_page(f, ino, i, 0, f->page);
        else if (how == 2)
            write_page(f, ino, i, 0, cut);
        else if (how == 3)
            write_page(f, ino, i, cut, f->page);
        ino->dirty[i] = 0;
    }
    size_t lo = ino->disk_n < ino->now_n ? ino->disk_n : ino->now_n;
    size_t hi = ino->disk_n < ino->now_n ? ino->now_n : ino->disk_n;
    size_t how = keep == T_KEEP_ALL ? 0 : keep == T_KEEP_NONE ? 1 : below(f, 3);
    size_t n = how == 0 ? ino->now_n : how == 1 ? ino->disk_n : lo + below(f, hi - lo + 1);
    if (ino->cap)
        memset(ino->disk + n, 0, ino->cap - n);
    ino->disk_n = n;
    ino->now_n = n;
    if (ino->cap)
        memcpy(ino->now, ino->disk, ino->cap);
    ino->owner = NULL;
}

/* --- names --- */

char *t_dir_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *dir = ts_xstrdup(slash ? path : ".");
    if (slash)
        dir[slash == path ? 1 : slash - path] = '\0';
    return dir;
}

static size_t lower_bound(const struct t_table *t, const char *path)
{
    size_t i = 0;
    while (i < t->n && strcmp(t->v[i].path, path) < 0)
        i++;
    return i;
}

struct t_entry *t_table_find(const struct t_table *t, const char *path)
{
    size_t i = lower_bound(t, path);
    return i < t->n && strcmp(t->v[i].path, path) == 0 ? &t->v[i] : NULL;
}

void t_table_set(struct t_table *t, const char *path, struct t_inode *ino)
{
    struct t_entry *e = t_table_find(t, path);
    t_inode_ref(ino);
    if (e) {
        t_inode_unref(e->ino);
        e->ino = ino;
        return;
    }
    if (t->n == t->cap) {
        t->cap = t->cap ? 2 * t->cap : 16;
        t->v = ts_xrealloc(t->v, t->cap * sizeof(*t->v));
    }
    size_t i = lower_bound(t, path);
    memmove(&t->v[i + 1], &t->v[i], (t->n - i) * sizeof(*t->v));
    t->v[i] = (struct t_entry){ts_xstrdup(path), ino};
    t->n++;
}

void t_table_del(struct t_table *t, const char *path)
{
    struct t_entry *e = t_table_find(t, path);
    if (!e)
        return;
    t_inode_unref(e->ino);
    ts_free(e->path);
    size_t i = (size_t)(e - t->v);
    memmove(e, e + 1, (t->n - i - 1) * sizeof(*e));
    t->n--;
}

void t_table_clear(struct t_table *t)
{
    for (size_t i = 0; i < t->n; i++) {
        t_inode_unref(t->v[i].ino);
        ts_free(t->v[i].path);
    }
    ts_free(t->v);
    *t = (struct t_table){0};
}

static void apply(struct t_table *t, const struct t_pending *p)
{
    if (p->del_path)
        t_table_del(t, p->del_path);
    if (p->set_path)
        t_table_set(t, p->set_path, p->ino);
}

static void pending_release(struct t_pending *p)
{
    ts_free(p->dir);
    ts_free(p->del_path);
    ts_free(p->set_path);
    t_inode_unref(p->ino);
}

void t_pending_clear(struct t_faultfs *f)
{
    for (size_t i = 0; i < f->n_pending; i++)
        pending_release(&f->pending[i]);
    f->n_pending = 0;
}

void t_writeback(struct t_faultfs *f, struct t_inode *ino)
{
    size_t n_names = f->n_pending ? below(f, f->n_pending + 1) : 0, n = 0;
    for (size_t i = 0; i < f->n_pending; i++) {
        struct t_pending p = f->pending[i];
        if (i < n_names) { /* in order: a journal */
            apply(&f->disk, &p);
            pending_release(&p);
        } else {
            f->pending[n++] = p;
        }
    }
    f->n_pending = n;
    if (!ino || ino->is_dir)
        return;
    bool all = true;
    for (size_t i = 0; i < ino->cap / f->page; i++) {
        if (!ino->dirty[i])
            continue;
        if (below(f, 2)) {
            write_page(f, ino, i, 0, f->page);
            ino->dirty[i] = 0;
        } else {
            all = false;
        }
    }
    if (all || below(f, 2))
        ino->disk_n = ino->now_n;
}

void t_change(struct t_faultfs *f, const char *del_path, const char *set_path, struct t_inode *ino)
{
    struct t_pending p = {.dir = t_dir_of(set_path ? set_path : del_path),
                          .del_path = del_path ? ts_xstrdup(del_path) : NULL,
                          .set_path = set_path ? ts_xstrdup(set_path) : NULL,
                          .ino = ino ? t_inode_ref(ino) : NULL};
    apply(&f->now, &p);
    if (f->n_pending == f->pending_cap) {
        f->pending_cap = f->pending_cap ? 2 * f->pending_cap : 16;
        f->pending = ts_xrealloc(f->pending, f->pending_cap * sizeof(*f->pending));
    }
    f->pending[f->n_pending++] = p;
}

void t_sync_dir(struct t_faultfs *f, const char *dir)
{
    size_t n = 0;
    for (size_t i = 0; i < f->n_pending; i++) {
        struct t_pending p = f->pending[i];
        if (strcmp(p.dir, dir) == 0) {
            apply(&f->disk, &p);
            pending_release(&p);
        } else {
            f->pending[n++] = p;
        }
    }
    f->n_pending = n;
}

/* Names in folders that are not there any more. Byte order has a folder before its contents. */
static void drop_orphans(struct t_table *t)
{
    for (size_t i = 0; i < t->n;) {
        char *dir = t_dir_of(t->v[i].path);
        bool orphan = strcmp(dir, ".") != 0 && strcmp(dir, "/") != 0 && !t_table_find(t, dir);
        ts_free(dir);
        if (orphan)
            t_table_del(t, t->v[i].path);
        else
            i++;
    }
}

void t_settle(struct t_faultfs *f, enum t_keep keep)
{
    for (size_t i = 0; i < f->n_pending; i++)
        if (keep == T_KEEP_ALL || (keep == T_KEEP_RANDOM && below(f, 2)))
            apply(&f->disk, &f->pending[i]);
    t_pending_clear(f);
    drop_orphans(&f->disk);
    t_table_clear(&f->now);
    for (size_t i = 0; i < f->disk.n; i++) {
        settle_inode(f, f->disk.v[i].ino, keep);
        t_table_set(&f->now, f->disk.v[i].path, f->disk.v[i].ino);
    }
}

uint64_t t_used_bytes(const struct t_faultfs *f)
{
    uint64_t n = 0;
    for (size_t i = 0; i < f->now.n; i++)
        n += f->now.v[i].ino->now_n;
    return n;
}
