/*
 * faultctl.c - the tests' side of the file system in memory: plans, power, kills, looking at files and changing
 * them.
 *
 * Threads    plans and power from any thread; what looks at files while nobody works on them
 * Not here   calls (faultfs.c), what is on the disk (faultdisk.c)
 */
#include "tests/faults/faultfs.h"

#include <string.h>

#include "base/mem.h"
#include "tests/faults/faultfs_int.h"

const struct ts_fs *t_faultfs_fs(struct t_faultfs *f)
{
    return &f->fs;
}

void t_faultfs_plan(struct t_faultfs *f, struct t_fault_plan plan)
{
    pthread_mutex_lock(&f->mu);
    f->plan = plan;
    f->n_planned = 0;
    f->fired = false;
    pthread_mutex_unlock(&f->mu);
}

void t_faultfs_set_unreadable(struct t_faultfs *f, const char *path, uint64_t off)
{
    t_faultfs_set_unreadable_part(f, path, off, 1);
}

void t_faultfs_set_unreadable_part(struct t_faultfs *f, const char *path, uint64_t off, uint64_t n)
{
    pthread_mutex_lock(&f->mu);
    struct t_entry *e = t_table_find(&f->now, path);
    if (!e || e->ino->n_bad == T_N_BAD)
        TS_BUG("no such file, or too many unreadable places");
    e->ino->bad[e->ino->n_bad].off = off;
    e->ino->bad[e->ino->n_bad++].n = n;
    pthread_mutex_unlock(&f->mu);
}

bool t_faultfs_is_off(const struct t_faultfs *f)
{
    return f->off;
}

bool t_faultfs_fired(const struct t_faultfs *f)
{
    return f->fired;
}

uint64_t t_faultfs_n_synced_again(const struct t_faultfs *f)
{
    return f->n_synced_again;
}

uint64_t t_faultfs_calls(const struct t_faultfs *f, unsigned ops)
{
    uint64_t n = 0;
    for (unsigned i = 0; i < T_N_OPS; i++)
        n += ops >> i & 1 ? f->n_calls[i] : 0;
    return n;
}

void t_faultfs_set_capacity(struct t_faultfs *f, uint64_t n_bytes)
{
    pthread_mutex_lock(&f->mu);
    f->capacity = n_bytes;
    pthread_mutex_unlock(&f->mu);
}

void t_faultfs_set_page(struct t_faultfs *f, size_t n_bytes)
{
    if (f->now.n || !n_bytes)
        TS_BUG("pages have one size from the beginning");
    f->page = n_bytes;
}

void t_faultfs_power_cut(struct t_faultfs *f)
{
    pthread_mutex_lock(&f->mu);
    f->off = true;
    pthread_mutex_unlock(&f->mu);
}

void t_faultfs_kill(struct t_faultfs *f)
{
    pthread_mutex_lock(&f->mu);
    for (size_t i = 0; i < f->now.n; i++)
        f->now.v[i].ino->owner = NULL;
    f->epoch++;
    f->off = false;
    f->plan = (struct t_fault_plan){0};
    f->fired = false;
    pthread_mutex_unlock(&f->mu);
}

void t_faultfs_set_writeback(struct t_faultfs *f, unsigned per_mille)
{
    f->writeback_pm = per_mille;
}

void t_faultfs_set_hook(struct t_faultfs *f, t_hook_fn hook, void *arg)
{
    f->hook = hook;
    f->hook_arg = arg;
}

void t_faultfs_reboot(struct t_faultfs *f, enum t_keep keep)
{
    pthread_mutex_lock(&f->mu);
    t_settle(f, keep);
    f->epoch++;
    f->off = false;
    f->plan = (struct t_fault_plan){0};
    pthread_mutex_unlock(&f->mu);
}

uint8_t *t_faultfs_get(const struct t_faultfs *f, const char *path, size_t *out_n)
{
    struct t_entry *e = t_table_find(&f->now, path);
    *out_n = 0;
    if (!e || e->ino->is_dir)
        return NULL;
    uint8_t *p = ts_xmalloc(e->ino->now_n + 1);
    if (e->ino->now_n)
        memcpy(p, e->ino->now, e->ino->now_n);
    *out_n = e->ino->now_n;
    return p;
}

/* A name in both tables; folders above it too. */
static void put_name(struct t_faultfs *f, const char *path, struct t_inode *ino)
{
    char *dir = t_dir_of(path);
    if (!t_has_dir(f, dir))
        put_name(f, dir, t_inode_new(true));
    ts_free(dir);
    t_table_set(&f->disk, path, ino);
    t_table_set(&f->now, path, ino);
}

void t_faultfs_put(struct t_faultfs *f, const char *path, const void *p, size_t n)
{
    struct t_inode *ino = t_inode_new(false);
    put_name(f, path, ino);
    t_inode_append(f, ino, p, n);
    t_inode_sync(f, ino, false);
}

bool t_faultfs_remove(struct t_faultfs *f, const char *path)
{
    bool there = t_table_find(&f->now, path) != NULL;
    t_table_del(&f->now, path);
    t_table_del(&f->disk, path);
    return there;
}

bool t_faultfs_flip(struct t_faultfs *f, const char *path, uint64_t off, uint8_t mask)
{
    struct t_entry *e = t_table_find(&f->now, path);
    if (!e || off >= e->ino->now_n)
        return false;
    e->ino->now[off] ^= mask;
    e->ino->disk[off] ^= mask;
    return true;
}

const char *t_faultfs_path(const struct t_faultfs *f, size_t i)
{
    for (size_t k = 0; k < f->now.n; k++)
        if (!f->now.v[k].ino->is_dir && i-- == 0)
            return f->now.v[k].path;
    return NULL;
}

size_t t_faultfs_count(const struct t_faultfs *f)
{
    size_t n = 0;
    while (t_faultfs_path(f, n))
        n++;
    return n;
}

size_t t_faultfs_n_open(const struct t_faultfs *f)
{
    size_t n = 0;
    for (const struct ts_file *h = f->open; h; h = h->next)
        n++;
    return n;
}

struct t_faultfs *t_faultfs_clone(const struct t_faultfs *f, uint64_t seed)
{
    struct t_faultfs *c = t_faultfs_new(seed);
    c->page = f->page;
    c->capacity = f->capacity;
    for (size_t i = 0; i < f->now.n; i++) {
        const struct t_inode *ino = f->now.v[i].ino;
        if (ino->is_dir)
            put_name(c, f->now.v[i].path, t_inode_new(true));
        else
            t_faultfs_put(c, f->now.v[i].path, ino->now, ino->now_n);
    }
    return c;
}
