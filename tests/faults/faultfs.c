/*
 * faultfs.c - a file system in memory that forgets and fails on command: calls, faults.
 *
 * Threads    one mutex over everything
 * Not here   what is on the disk (faultdisk.c), the tests' side (faultctl.c)
 */
#include "tests/faults/faultfs.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "tests/faults/faultfs_int.h"

#define NEEDS_DESCRIPTOR (T_OP_OPEN | T_OP_SYNC_DIR | T_OP_LIST)
#define NEEDS_SPACE      (T_OP_OPEN | T_OP_APPEND | T_OP_SYNC | T_OP_RENAME | T_OP_MKDIR)

/* What is to become of a call. */
enum verdict {
    GO,           /* carry it out */
    FAIL,         /* answer the code, having done nothing or a part */
    CUT_AFTER,    /* carry it out, then the power goes */
    CUT_AMID,     /* append only: carry out a part, then the power goes */
    SHORT_ANSWER, /* pread only */
};

static struct t_faultfs *of(const struct ts_fs *fs)
{
    return (struct t_faultfs *)(uintptr_t)fs;
}

static int no_power(const char *path, struct ts_error *err)
{
    return ts_error_set(err, TS_EIO, "%s: the power is off", path);
}

/* Tell the hook, while there is power. Without the mutex: it may call us. */
static void call_hook(struct t_faultfs *f, enum t_op op, const char *path, bool after)
{
    if (!f->hook)
        return;
    pthread_mutex_lock(&f->mu);
    bool off = f->off;
    pthread_mutex_unlock(&f->mu);
    if (!off)
        f->hook(f->hook_arg, op, path, after);
}

/* Count the call and ask the plan. Takes the mutex; *code is set unless GO or SHORT_ANSWER. */
static enum verdict enter(struct t_faultfs *f, enum t_op op, const char *path, int *code,
                          struct ts_error *err)
{
    call_hook(f, op, path, false);
    pthread_mutex_lock(&f->mu);
    f->n_calls[__builtin_ctz(op)]++;
    if (f->off) {
        *code = no_power(path, err);
        return FAIL;
    }
    unsigned mask = f->plan.ops ? f->plan.ops : T_OP_ALL;
    if (!f->plan.at || !(mask & op))
        return GO;
    if (f->plan.fault == T_FAULT_EMFILE && !(op & NEEDS_DESCRIPTOR))
        return GO;
    f->n_planned++;
    if (f->n_planned != f->plan.at && !(f->plan.for_good && f->n_planned > f->plan.at))
        return GO;
    f->fired = true;
    enum t_fault fault = f->plan.fault;
    if (fault == T_FAULT_POWER) {
        uint64_t when = t_rand(&f->rand);
        f->off = true;
        *code = no_power(path, err);
        return op == T_OP_APPEND && when & 2 ? CUT_AMID : when & 1 ? CUT_AFTER : FAIL;
    }
    if (fault == T_FAULT_SHORT && op == T_OP_PREAD)
        return SHORT_ANSWER;
    if (fault == T_FAULT_EMFILE) {
        *code = ts_error_sys(err, TS_EMFILE, EMFILE, "cannot open %s", path);
        return FAIL;
    }
    bool full = (fault == T_FAULT_ENOSPC || fault == T_FAULT_EDQUOT) && (op & NEEDS_SPACE);
    int sys = full && fault == T_FAULT_ENOSPC ? ENOSPC : full ? EDQUOT : fault == T_FAULT_EINTR ? EINTR : EIO;
    *code = ts_error_sys(err, TS_EIO, sys, "cannot use %s", path);
    return FAIL;
}

static int leave(struct t_faultfs *f, int code)
{
    pthread_mutex_unlock(&f->mu);
    return code;
}

/* As leave, after a change (of ino's bytes, or of names if it is NULL). */
static int leave_changed(struct t_faultfs *f, struct t_inode *ino, int code)
{
    if (f->writeback_pm && !f->off && t_rand(&f->rand) % 1000 < f->writeback_pm)
        t_writeback(f, ino);
    return leave(f, code);
}

static bool is_top(const char *dir)
{
    return strcmp(dir, ".") == 0 || strcmp(dir, "/") == 0;
}

/* --- names --- */

bool t_has_dir(const struct t_faultfs *f, const char *dir)
{
    struct t_entry *e = t_table_find(&f->now, dir);
    return is_top(dir) || (e && e->ino->is_dir);
}

static bool has_parent(const struct t_faultfs *f, const char *path)
{
    char *dir = t_dir_of(path);
    bool there = t_has_dir(f, dir);
    ts_free(dir);
    return there;
}

static struct ts_file *handle_new(struct t_faultfs *f, struct t_inode *ino, const char *path, bool can_write)
{
    struct ts_file *h = ts_xcalloc(1, sizeof(*h));
    *h = (struct ts_file){.f = f,
                          .ino = t_inode_ref(ino),
                          .path = ts_xstrdup(path),
                          .can_write = can_write,
                          .epoch = f->epoch,
                          .next = f->open};
    if (f->open)
        f->open->prev = h;
    f->open = h;
    return h;
}

static void handle_free(struct ts_file *h)
{
    if (h->prev)
        h->prev->next = h->next;
    else
        h->f->open = h->next;
    if (h->next)
        h->next->prev = h->prev;
    if (h->ino->owner == h)
        h->ino->owner = NULL;
    t_inode_unref(h->ino);
    ts_free(h->path);
    ts_free(h);
}

static bool only_reads(enum ts_open how)
{
    return how == TS_OPEN_READ || how == TS_OPEN_REOPEN;
}

static int open_now(struct t_faultfs *f, const char *path, enum ts_open how, struct ts_file **out,
                    struct ts_error *err)
{
    struct t_entry *e = t_table_find(&f->now, path);
    if (e && how == TS_OPEN_CREATE)
        return ts_error_sys(err, TS_EEXIST, EEXIST, "cannot create %s", path);
    if (e && e->ino->is_dir)
        return ts_error_sys(err, TS_EIO, EISDIR, "cannot open %s", path);
    if (!e && (only_reads(how) || !has_parent(f, path)))
        return ts_error_sys(err, TS_ENOTFOUND, ENOENT, "cannot open %s", path);
    struct t_inode *ino = e ? e->ino : t_inode_new(false);
    if (!e)
        t_change(f, NULL, path, ino);
    if (out)
        *out = handle_new(f, ino, path, !only_reads(how));
    return 0;
}

static int f_open(const struct ts_fs *fs, const char *path, enum ts_open how, struct ts_file **out_file,
                  struct ts_error *err)
{
    struct t_faultfs *f = of(fs);
    int code = 0;
    *out_file = NULL;
    enum verdict v = enter(f, T_OP_OPEN, path, &code, err);
    if (v == FAIL && only_reads(how) && code == TS_ENOSPC)
        code = ts_error_sys(err, TS_EIO, EIO, "cannot open %s", path); /* takes no space */
    if (v == CUT_AFTER)
        open_now(f, path, how, NULL, NULL);
    if (v == GO)
        code = open_now(f, path, how, out_file, err);
    return leave_changed(f, NULL, code);
}

static int rename_now(struct t_faultfs *f, const char *from, const char *to, struct ts_error *err)
{
    struct t_entry *e = t_table_find(&f->now, from);
    if (!e || !has_parent(f, to))
        return ts_error_sys(err, TS_ENOTFOUND, ENOENT, "cannot rename %s to %s", from, to);
    if (strcmp(from, to) != 0) {
        struct t_inode *ino = t_inode_ref(e->ino);
        t_change(f, from, to, ino);
        t_inode_unref(ino);
    }
    return 0;
}

static int f_rename(const struct ts_fs *fs, const char *from, const char *to, struct ts_error *err)
{
    struct t_faultfs *f = of(fs);
    int code = 0;
    enum verdict v = enter(f, T_OP_RENAME, from, &code, err);
    if (v == CUT_AFTER)
        rename_now(f, from, to, NULL);
    return leave_changed(f, NULL, v == GO ? rename_now(f, from, to, err) : code);
}

/* Is there anything in a folder? */
static bool has_children(const struct t_faultfs *f, const char *dir)
{
    size_t n = strlen(dir);
    for (size_t i = 0; i < f->now.n; i++)
        if (strncmp(f->now.v[i].path, dir, n) == 0 && f->now.v[i].path[n] == '/')
            return true;
    return false;
}

static int unlink_now(struct t_faultfs *f, const char *path, struct ts_error *err)
{
    struct t_entry *e = t_table_find(&f->now, path);
    if (!e)
        return ts_error_sys(err, TS_ENOTFOUND, ENOENT, "cannot remove %s", path);
    if (e->ino->is_dir && has_children(f, path))
        return ts_error_sys(err, TS_EIO, ENOTEMPTY, "cannot remove %s", path);
    t_change(f, path, NULL, NULL);
    return 0;
}

static int f_unlink(const struct ts_fs *fs, const char *path, struct ts_error *err)
{
    struct t_faultfs *f = of(fs);
    int code = 0;
    enum verdict v = enter(f, T_OP_UNLINK, path, &code, err);
    if (v == CUT_AFTER)
        unlink_now(f, path, NULL);
    return leave(f, v == GO ? unlink_now(f, path, err) : code);
}

static int mkdir_now(struct t_faultfs *f, const char *path, struct ts_error *err)
{
    struct t_entry *e = t_table_find(&f->now, path);
    if (e)
        return e->ino->is_dir ? 0 : ts_error_sys(err, TS_EEXIST, EEXIST, "cannot make folder %s", path);
    if (!has_parent(f, path))
        return ts_error_sys(err, TS_ENOTFOUND, ENOENT, "cannot make folder %s", path);
    t_change(f, NULL, path, t_inode_new(true));
    return 0;
}

static int f_mkdir(const struct ts_fs *fs, const char *path, struct ts_error *err)
{
    struct t_faultfs *f = of(fs);
    int code = 0;
    enum verdict v = enter(f, T_OP_MKDIR, path, &code, err);
    if (v == CUT_AFTER)
        mkdir_now(f, path, NULL);
    return leave(f, v == GO ? mkdir_now(f, path, err) : code);
}

static int f_sync_dir(const struct ts_fs *fs, const char *path, struct ts_error *err)
{
    struct t_faultfs *f = of(fs);
    int code = 0;
    enum verdict v = enter(f, T_OP_SYNC_DIR, path, &code, err);
    if (v == GO && !t_has_dir(f, path))
        return leave(f, ts_error_sys(err, TS_ENOTFOUND, ENOENT, "cannot open folder %s", path));
    if (v != FAIL)
        t_sync_dir(f, path);
    return leave(f, code);
}

/* Names directly in a folder, copied: the callback may change it. */
static size_t names_of(struct t_faultfs *f, const char *path, char ***out)
{
    size_t n = 0;
    char **v = ts_xcalloc(f->now.n + 1, sizeof(*v));
    for (size_t i = 0; i < f->now.n; i++) {
        char *dir = t_dir_of(f->now.v[i].path);
        const char *slash = strrchr(f->now.v[i].path, '/');
        if (strcmp(dir, path) == 0)
            v[n++] = ts_xstrdup(slash ? slash + 1 : f->now.v[i].path);
        ts_free(dir);
    }
    *out = v;
    return n;
}

static int f_list(const struct ts_fs *fs, const char *path, int (*each)(void *arg, const char *name),
                  void *arg, struct ts_error *err)
{
    struct t_faultfs *f = of(fs);
    int code = 0;
    char **names = NULL;
    size_t n = 0;
    enum verdict v = enter(f, T_OP_LIST, path, &code, err);
    if (v == GO && !t_has_dir(f, path))
        code = ts_error_sys(err, TS_ENOTFOUND, ENOENT, "cannot open folder %s", path);
    else if (v == GO)
        n = names_of(f, path, &names);
    leave(f, 0);
    for (size_t i = 0; i < n; i++) {
        if (code >= 0)
            code = each(arg, names[i]);
        ts_free(names[i]);
    }
    ts_free(names);
    return code < 0 ? code : 0;
}

static int f_free_bytes(const struct ts_fs *fs, const char *path, uint64_t *out_bytes, struct ts_error *err)
{
    struct t_faultfs *f = of(fs);
    int code = 0;
    *out_bytes = 0;
    if (enter(f, T_OP_FREE_BYTES, path, &code, err) == GO) {
        uint64_t used = t_used_bytes(f);
        *out_bytes = !f->capacity ? UINT64_MAX : used < f->capacity ? f->capacity - used : 0;
    }
    return leave(f, code);
}

static int f_identity(const struct ts_fs *fs, const char *path, uint64_t *out_id, struct ts_error *err)
{
    struct t_faultfs *f = of(fs);
    int code = 0;
    *out_id = 0;
    if (enter(f, T_OP_SIZE, path, &code, err) == GO) {
        struct t_entry *e = t_table_find(&f->now, path);
        if (e)
            *out_id = e->ino->serial;
        else
            code = ts_error_sys(err, TS_ENOTFOUND, ENOENT, "cannot look up %s", path);
    }
    return leave(f, code);
}

/* --- open files --- */

/* As enter, for a handle: one from before a reboot is dead. */
static enum verdict enter_file(struct ts_file *h, enum t_op op, int *code, struct ts_error *err)
{
    enum verdict v = enter(h->f, op, h->path, code, err);
    if (v != FAIL && h->epoch != h->f->epoch) {
        *code = ts_error_sys(err, TS_EIO, EBADF, "%s was opened before the power went", h->path);
        return FAIL;
    }
    return v;
}

static int f_close(struct ts_file *h, struct ts_error *err)
{
    if (!h)
        return 0;
    struct t_faultfs *f = h->f;
    int code = 0;
    enter_file(h, T_OP_CLOSE, &code, err);
    handle_free(h);
    return leave(f, code);
}

static int f_append(struct ts_file *h, const void *p, size_t n, struct ts_error *err)
{
    struct t_faultfs *f = h->f;
    int code = 0;
    enum verdict v = enter_file(h, T_OP_APPEND, &code, err);
    if (v == GO && !h->can_write) {
        code = ts_error_sys(err, TS_EIO, EBADF, "cannot write to %s", h->path);
        return leave(f, code);
    }
    if (v == CUT_AMID) {
        t_inode_append(f, h->ino, p, n ? (size_t)(t_rand(&f->rand) % (n + 1)) : 0);
        return leave(f, code);
    }
    uint64_t used = f->capacity ? t_used_bytes(f) : 0;
    if (v == GO && f->capacity && used + n > f->capacity) {
        n = used < f->capacity ? (size_t)(f->capacity - used) : 0;
        code = ts_error_sys(err, TS_EIO, ENOSPC, "cannot write to %s", h->path);
    } else if (v == FAIL && h->can_write && !f->off && h->epoch == f->epoch) {
        n = n ? (size_t)(t_rand(&f->rand) % n) : 0;
    } else if (v == FAIL) {
        n = 0;
    }
    t_inode_append(f, h->ino, p, n);
    return leave_changed(f, h->ino, code);
}

static bool is_unreadable(const struct t_inode *ino, uint64_t off, size_t n)
{
    for (unsigned i = 0; i < ino->n_bad; i++)
        if (ino->bad[i].off < off + n && off < ino->bad[i].off + ino->bad[i].n)
            return true;
    return false;
}

static int f_pread(struct ts_file *h, void *p, size_t n, uint64_t off, size_t *out_n, struct ts_error *err)
{
    struct t_faultfs *f = h->f;
    int code = 0;
    *out_n = 0;
    enum verdict v = enter_file(h, T_OP_PREAD, &code, err);
    if ((v == GO || v == SHORT_ANSWER) && is_unreadable(h->ino, off, n))
        return leave(f, ts_error_sys(err, TS_EIO, EIO, "cannot read %s", h->path));
    if ((v == GO || v == SHORT_ANSWER) && off < h->ino->now_n) {
        size_t left = h->ino->now_n - (size_t)off;
        n = n < left ? n : left;
        if (v == SHORT_ANSWER && n)
            n = (size_t)(t_rand(&f->rand) % n);
        if (n)
            memcpy(p, h->ino->now + off, n);
        *out_n = n;
    }
    return leave(f, code);
}

static int f_sync(struct ts_file *h, struct ts_error *err)
{
    struct t_faultfs *f = h->f;
    int code = 0;
    enum verdict v = enter_file(h, T_OP_SYNC, &code, err);
    f->n_synced_again += h->sync_failed;
    h->sync_failed |= v == FAIL;
    bool dead = h->epoch != f->epoch || (f->off && v == FAIL);
    if (!dead)
        t_inode_sync(f, h->ino, v == FAIL);
    leave(f, code);
    call_hook(f, T_OP_SYNC, h->path, true);
    return code;
}

static int f_truncate(struct ts_file *h, uint64_t size_bytes, struct ts_error *err)
{
    struct t_faultfs *f = h->f;
    int code = 0;
    enum verdict v = enter_file(h, T_OP_TRUNCATE, &code, err);
    if (v == GO && !h->can_write)
        code = ts_error_sys(err, TS_EIO, EINVAL, "cannot truncate %s", h->path);
    else if (v != FAIL)
        t_inode_resize(f, h->ino, (size_t)size_bytes);
    return leave_changed(f, h->ino, code);
}

static int f_size(struct ts_file *h, uint64_t *out_bytes, struct ts_error *err)
{
    int code = 0;
    *out_bytes = 0;
    if (enter_file(h, T_OP_SIZE, &code, err) == GO)
        *out_bytes = h->ino->now_n;
    return leave(h->f, code);
}

static int f_lock(struct ts_file *h, struct ts_error *err)
{
    int code = 0;
    if (enter_file(h, T_OP_LOCK, &code, err) == GO) {
        if (h->ino->owner && h->ino->owner != h)
            code = ts_error_set(err, TS_EBUSY, "%s is locked by another process", h->path);
        else
            h->ino->owner = h;
    }
    return leave(h->f, code);
}

struct t_faultfs *t_faultfs_new(uint64_t seed)
{
    struct t_faultfs *f = ts_xcalloc(1, sizeof(*f));
    f->fs = (struct ts_fs){.open = f_open,
                           .close = f_close,
                           .append = f_append,
                           .pread = f_pread,
                           .sync = f_sync,
                           .truncate = f_truncate,
                           .size = f_size,
                           .lock = f_lock,
                           .rename = f_rename,
                           .unlink = f_unlink,
                           .mkdir = f_mkdir,
                           .sync_dir = f_sync_dir,
                           .list = f_list,
                           .free_bytes = f_free_bytes,
                           .identity = f_identity};
    f->rand = seed;
    f->page = 4096;
    pthread_mutex_init(&f->mu, NULL);
    return f;
}

void t_faultfs_free(struct t_faultfs *f)
{
    if (!f)
        return;
    while (f->open)
        handle_free(f->open);
    t_pending_clear(f);
    ts_free(f->pending);
    t_table_clear(&f->now);
    t_table_clear(&f->disk);
    pthread_mutex_destroy(&f->mu);
    ts_free(f);
}
