/*
 * staging.c - makes, lists and removes the staging folders of bulk loads.
 *
 * Threads    see staging.h
 */
#include "storage/staging.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/array.h"
#include "base/fs_regular.h"
#include "base/log.h"
#include "base/time.h"
#include "storage/catalog/catalog.h"
#include "storage/engine/handover.h"

#define DEPTH_MAX    4u  /* folders within each other that are removed */
#define NAME_SHOWN   100 /* bytes of a series in an error */
#define REMOVE_TRIES 5u  /* of a folder into which an importer still writes */

/* --- removing --- */

struct names {
    char **v; /* owned */
    size_t n, cap;
};

static int add_name(void *arg, const char *name)
{
    struct names *l = arg;
    TS_ARRAY_GROW(l->v, l->n, l->cap, 64);
    l->v[l->n++] = ts_xstrdup(name);
    return 0;
}

/* Remove what is in a folder, but for files called keep or keep_too, which may be NULL. Symbolic links are removed, not followed. Nothing of it
 * reappears after a crash, or a load that gets the same name would have files of another one. */
static int empty(const struct ts_fs *fs, const char *dir, const char *keep, const char *keep_too,
                 unsigned depth, struct ts_error *err)
{
    struct names l = {0};
    int rc = fs->list(fs, dir, add_name, &l, err);
    for (size_t i = 0; i < l.n; i++) {
        struct ts_error why = {0};
        char *path = ts_fs_join(dir, l.v[i]);
        bool kept = (keep && strcmp(l.v[i], keep) == 0) || (keep_too && strcmp(l.v[i], keep_too) == 0);
        int one = kept || rc < 0 ? 0 : fs->unlink(fs, path, &why);
        if (one < 0 && why.sys_errno == ENOTEMPTY && depth < DEPTH_MAX) {
            one = empty(fs, path, NULL, NULL, depth + 1, &why);
            if (one == 0)
                one = fs->unlink(fs, path, &why);
        }
        if (one < 0 && one != TS_ENOTFOUND && rc == 0) {
            rc = one;
            if (err)
                *err = why;
        }
        ts_free(path);
        ts_free(l.v[i]);
    }
    ts_free(l.v);
    return rc < 0 ? rc : fs->sync_dir(fs, dir, err);
}

static char *folder_path(const struct sto_staging *s, const char *id)
{
    char *bulk = ts_fs_join(s->dir, STO_BULK_DIR), *path = ts_fs_join(bulk, id);
    ts_free(bulk);
    return path;
}

static int remove_folder(const struct sto_staging *s, const char *id, struct ts_error *err)
{
    char *path = folder_path(s, id);
    struct ts_error why = {0};
    int rc = sto_engine_hand_over_settle(s->engine, id, &why);
    for (unsigned i = 0; rc == 0 && i < REMOVE_TRIES; i++) {
        why = (struct ts_error){0};
        rc = empty(s->fs, path, NULL, NULL, 0, &why);
        if (rc == 0)
            rc = s->fs->unlink(s->fs, path, &why);
        if (rc == 0 || rc == TS_ENOTFOUND)
            break;
        if (why.sys_errno == ENOTEMPTY && i + 1 < REMOVE_TRIES)
            rc = 0; /* something was made in it meanwhile */
    }
    ts_free(path);
    if (rc == TS_ENOTFOUND)
        return 0;
    if (rc < 0 && err)
        *err = why;
    return rc;
}

/* --- the list --- */

static bool is_id(struct ts_slice id)
{
    for (size_t i = 0; i < id.n; i++)
        if (!((id.p[i] >= '0' && id.p[i] <= '9') || (id.p[i] >= 'a' && id.p[i] <= 'f')))
            return false;
    return id.n == STO_BULK_ID_CHARS;
}

static int64_t now_ms(void)
{
    return ts_clock_mono_ns() / 1000000;
}

/* mu held */
static struct sto_staging_folder *find(struct sto_staging *s, struct ts_slice id)
{
    for (unsigned i = 0; i < s->n; i++)
        if (ts_slice_is(id, s->folders[i].id))
            return &s->folders[i];
    return NULL;
}

static struct sto_staging_folder *add(struct sto_staging *s, struct ts_slice id)
{
    if (s->n == STO_BULK_MAX)
        return NULL;
    struct sto_staging_folder *f = &s->folders[s->n++];
    *f = (struct sto_staging_folder){.used_ms = now_ms()};
    memcpy(f->id, id.p, STO_BULK_ID_CHARS);
    return f;
}

static void take_out(struct sto_staging *s, const char *id)
{
    struct sto_staging_folder *f = find(s, ts_slice_str(id));
    if (f)
        *f = s->folders[--s->n];
}

static int found(void *arg, const char *name)
{
    struct sto_staging *s = arg;
    if (is_id(ts_slice_str(name)))
        (void)add(s, ts_slice_str(name));
    return 0;
}

int sto_staging_open(struct sto_staging *s, const struct ts_fs *fs, const char *dir, int64_t keep_ms,
                     struct ts_error *err)
{
    *s = (struct sto_staging){.fs = fs, .dir = ts_xstrdup(dir), .keep_ms = keep_ms};
    pthread_mutex_init(&s->mu, NULL);
    pthread_cond_init(&s->vacated, NULL);
    char *bulk = ts_fs_join(dir, STO_BULK_DIR);
    struct ts_error why = {0};
    int rc = fs->list(fs, bulk, found, s, &why);
    ts_free(bulk);
    if (rc < 0 && rc != TS_ENOTFOUND && err)
        *err = why;
    return rc == TS_ENOTFOUND ? 0 : rc;
}

void sto_staging_release(struct sto_staging *s)
{
    if (!s->dir)
        return;
    ts_free(s->dir);
    s->dir = NULL;
    pthread_cond_destroy(&s->vacated);
    pthread_mutex_destroy(&s->mu);
}

bool sto_staging_any(struct sto_staging *s)
{
    if (!s->dir) /* the store is read-only */
        return false;
    pthread_mutex_lock(&s->mu);
    bool any = s->n > 0;
    pthread_mutex_unlock(&s->mu);
    return any;
}

/* mu held. The folder of this id, or NULL and an error. */
static struct sto_staging_folder *get(struct sto_staging *s, struct ts_slice id, struct ts_error *err)
{
    struct sto_staging_folder *f = is_id(id) ? find(s, id) : NULL;
    if (!f)
        ts_error_set(err, TS_ENOTFOUND,
                     "there is no bulk load %.*s: it was given up, or its folder has expired",
                     (int)(id.n < 40 ? id.n : 40), id.p);
    return f;
}

static int refuse_busy(const struct sto_staging_folder *f, struct ts_error *err)
{
    return ts_error_set(err, TS_EBUSY, "the bulk load %s is being handed over or removed: try again", f->id);
}

/* Mark a folder as busy with a hand-over, which *cancel ends. 0; TS_ENOTFOUND; TS_EBUSY. */
static int occupy(struct sto_staging *s, struct ts_slice id, _Atomic bool *cancel,
                  char out_id[STO_BULK_ID_CHARS + 1], struct ts_error *err)
{
    pthread_mutex_lock(&s->mu);
    struct sto_staging_folder *f = get(s, id, err);
    int rc = !f ? TS_ENOTFOUND : f->busy ? refuse_busy(f, err) : 0;
    if (rc == 0) {
        f->busy = true;
        f->cancel = cancel;
        memcpy(out_id, f->id, sizeof f->id);
    }
    pthread_mutex_unlock(&s->mu);
    return rc;
}

/* End a hand-over that is at work with the folder, wait for it, and mark the folder as busy. *out_found: there was one. Returns whether there
 * still is. */
static bool occupy_to_remove(struct sto_staging *s, struct ts_slice id, bool *out_found,
                             char out_id[STO_BULK_ID_CHARS + 1])
{
    struct sto_staging_folder *f;
    pthread_mutex_lock(&s->mu);
    *out_found = find(s, id) != NULL;
    while ((f = find(s, id)) && f->busy) {
        if (f->cancel)
            atomic_store_explicit(f->cancel, true, memory_order_relaxed);
        pthread_cond_wait(&s->vacated, &s->mu);
    }
    if (f) {
        f->busy = true;
        memcpy(out_id, f->id, sizeof f->id);
    }
    pthread_mutex_unlock(&s->mu);
    return f != NULL;
}

/* gone: the folder does not exist any more. */
static void vacate(struct sto_staging *s, const char *id, bool gone)
{
    pthread_mutex_lock(&s->mu);
    struct sto_staging_folder *f = find(s, ts_slice_str(id));
    if (f) {
        f->busy = false;
        f->cancel = NULL;
        f->used_ms = now_ms();
    }
    if (gone)
        take_out(s, id);
    pthread_cond_broadcast(&s->vacated);
    pthread_mutex_unlock(&s->mu);
}

/* A folder that expired and is not busy, which is busy from now on. */
static bool next_expired(struct sto_staging *s, char out_id[STO_BULK_ID_CHARS + 1])
{
    bool any = false;
    int64_t before = now_ms() - s->keep_ms;
    pthread_mutex_lock(&s->mu);
    for (unsigned i = 0; i < s->n && !any; i++)
        if (!s->folders[i].busy && s->folders[i].used_ms < before) {
            any = s->folders[i].busy = true;
            memcpy(out_id, s->folders[i].id, sizeof s->folders[i].id);
        }
    pthread_mutex_unlock(&s->mu);
    return any;
}

void sto_staging_tick(struct sto_staging *s)
{
    static struct ts_log_limit limit;
    char id[STO_BULK_ID_CHARS + 1];
    while (s->keep_ms && next_expired(s, id)) {
        struct ts_error err = {0};
        int rc = remove_folder(s, id, &err);
        if (rc < 0)
            ts_log_limited(&limit, TS_LOG_WARN,
                           "the folder of a bulk load that was given up cannot be removed: %s", err.text);
        else
            ts_log(TS_LOG_INFO, "removed the folder of a bulk load that was given up id=%s", id);
        vacate(s, id, rc == 0);
        if (rc < 0)
            return;
    }
}

/* --- one folder --- */

static int make_token(const struct sto_staging *s, const char *path, struct ts_error *err)
{
    uint8_t bytes[16];
    char text[sizeof bytes * 2 + 1];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return ts_error_sys(err, TS_EIO, errno, "cannot get random numbers");
    for (size_t i = 0; i < sizeof bytes; i++)
        (void)snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    return ts_fs_write_atomic(s->fs, path, text, strlen(text), err);
}

static int read_token(const struct sto_staging *s, const char *dir, char out[STO_BULK_TOKEN_BYTES],
                      struct ts_error *err)
{
    char *path = ts_fs_join(dir, "TOKEN"), *text = NULL;
    struct ts_error why = {0};
    size_t n = 0;
    int rc = ts_fs_read_regular(s->fs, path, STO_BULK_TOKEN_BYTES - 1, &text, &n, &why);
    if (rc == TS_ENOTFOUND && (rc = make_token(s, path, &why)) == 0)
        rc = ts_fs_read_regular(s->fs, path, STO_BULK_TOKEN_BYTES - 1, &text, &n, &why);
    if (rc == 0)
        memcpy(out, text, n + 1);
    else if (err)
        *err = why;
    ts_free(text);
    ts_free(path);
    return rc;
}

static int make_folder(struct sto_staging *s, const char *path, struct ts_error *err)
{
    char *bulk = ts_fs_join(s->dir, STO_BULK_DIR);
    int rc = s->fs->mkdir(s->fs, bulk, err);
    if (rc == 0)
        rc = s->fs->mkdir(s->fs, path, err);
    if (rc == 0)
        rc = s->fs->sync_dir(s->fs, bulk, err);
    if (rc == 0)
        rc = s->fs->sync_dir(s->fs, s->dir, err);
    ts_free(bulk);
    return rc;
}

int sto_staging_begin(struct sto_staging *s, struct ts_slice id, struct sto_bulk_place *out,
                      struct ts_error *err)
{
    *out = (struct sto_bulk_place){0};
    if (!is_id(id))
        return ts_error_set(err, TS_EINVAL, "the id of a bulk load is %u hexadecimal digits, lower case",
                            STO_BULK_ID_CHARS);
    pthread_mutex_lock(&s->mu);
    struct sto_staging_folder *f = find(s, id);
    bool is_new = !f;
    int rc = 0;
    if (!f)
        f = add(s, id);
    if (f && !f->busy)
        f->used_ms = now_ms();
    else
        rc = f ? refuse_busy(f, err)
               : ts_error_set(err, TS_ELIMIT, "there are %u bulk loads already: finish or remove one of them",
                              STO_BULK_MAX);
    if (rc == 0) {
        out->dir = folder_path(s, f->id);
        rc = make_folder(s, out->dir, err);
        if (rc < 0 &&
            is_new) /* one that was listed before has files, which keep series from being forgotten */
            take_out(s, f->id);
    }
    if (rc == 0) /* under the lock: of two calls for one new folder, both get the same token */
        rc = read_token(s, out->dir, out->token, err);
    pthread_mutex_unlock(&s->mu);
    if (rc == 0)
        rc = sto_handover_done_read(s->fs, out->dir, &out->sum, err);
    if (rc < 0) {
        ts_free(out->dir);
        out->dir = NULL;
        return rc;
    }
    out->done = rc == 1;
    return 0;
}

int sto_staging_touch(struct sto_staging *s, struct ts_slice id, struct ts_error *err)
{
    pthread_mutex_lock(&s->mu);
    struct sto_staging_folder *f = get(s, id, err);
    if (f)
        f->used_ms = now_ms();
    pthread_mutex_unlock(&s->mu);
    return f ? 0 : TS_ENOTFOUND;
}

static bool known(void *arg, uint32_t metric, uint32_t series)
{
    const struct sto_staging *s = arg;
    unsigned reading = sto_catalog_read_begin(s->catalog);
    const struct sto_series *found_series = sto_series_get(s->catalog, series);
    bool is = found_series && found_series->metric == metric;
    sto_catalog_read_end(s->catalog, reading);
    return is;
}

static struct sto_floors *marks(void *arg)
{
    const struct sto_staging *s = arg;
    return s->marks(s->marks_arg);
}

static void name_of(void *arg, uint32_t series, struct ts_buf *out)
{
    const struct sto_staging *s = arg;
    unsigned reading = sto_catalog_read_begin(s->catalog);
    const struct sto_series *found_series = sto_series_get(s->catalog, series);
    if (found_series)
        ts_buf_slice(out, ts_utf8_cut(sto_series_text(found_series), NAME_SHOWN));
    sto_catalog_read_end(s->catalog, reading);
}

int sto_staging_hand_over(struct sto_staging *s, struct ts_slice id, const struct sto_bulk_sum *expect,
                          const struct sto_bulk_replace *replace, struct sto_bulk_sum *out,
                          struct ts_error *err)
{
    char name[STO_BULK_ID_CHARS + 1];
    struct ts_error after = {0};
    _Atomic bool cancel = false;
    TS_TRY(occupy(s, id, &cancel, name, err));
    char *dir = folder_path(s, name);
    int rc = sto_handover_done_read(s->fs, dir, out, err);
    if (rc == 0) {
        struct sto_handover h = {.dir = dir,
                                 .id = name,
                                 .sum = expect,
                                 .replace = replace,
                                 .known = known,
                                 .marks = marks,
                                 .marks_mu = s->marks_mu,
                                 .name = name_of,
                                 .arg = s,
                                 .cancel = &cancel};
        rc = sto_engine_hand_over(s->engine, &h, out, err);
    }
    struct sto_bulk_sum noted;
    /* without DONE the files stay: if the manifest is lost now, a repair leaves the copies out */
    if (rc >= 0 && sto_handover_done_read(s->fs, dir, &noted, NULL) == 1 &&
        empty(s->fs, dir, "TOKEN", STO_HANDOVER_DONE, 0, &after) < 0)
        ts_log(TS_LOG_WARN, "the files of a bulk load cannot be removed, but they are part of the store: %s",
               after.text);
    ts_free(dir);
    vacate(s, name, false);
    return rc < 0 ? rc : 0;
}

int sto_staging_end(struct sto_staging *s, struct ts_slice id, struct sto_bulk_ended *out,
                    struct ts_error *err)
{
    char name[STO_BULK_ID_CHARS + 1];
    struct sto_bulk_sum sum;
    *out = (struct sto_bulk_ended){0};
    if (!is_id(id))
        return ts_error_set(err, TS_EINVAL, "the id of a bulk load is %u hexadecimal digits, lower case",
                            STO_BULK_ID_CHARS);
    if (!occupy_to_remove(s, id, &out->found, name))
        return 0;
    char *dir = folder_path(s, name);
    out->done = sto_handover_done_read(s->fs, dir, &sum, NULL) == 1;
    ts_free(dir);
    int rc = remove_folder(s, name, err);
    vacate(s, name, rc == 0);
    return rc;
}

/* --- the list of them --- */

/* Bytes of the files in a folder and in its folders, as far as they can be read. */
static uint64_t count_bytes(const struct ts_fs *fs, const char *dir, unsigned depth)
{
    struct names l = {0};
    uint64_t sum = 0;
    (void)fs->list(fs, dir, add_name, &l, NULL);
    for (size_t i = 0; i < l.n; i++) {
        char *path = ts_fs_join(dir, l.v[i]);
        struct ts_file *file = NULL;
        uint64_t n = 0;
        if (ts_fs_open_regular(fs, path, &file, NULL) == 0) {
            sum += fs->size(file, &n, NULL) == 0 ? n : 0;
            (void)fs->close(file, NULL);
        } else if (depth + 1 < DEPTH_MAX) {
            sum += count_bytes(fs, path, depth + 1);
        }
        ts_free(path);
        ts_free(l.v[i]);
    }
    ts_free(l.v);
    return sum;
}

int sto_staging_list(struct sto_staging *s, struct sto_bulk_load out[STO_BULK_MAX], size_t *out_n,
                     struct ts_error *err)
{
    *out_n = 0;
    if (!s->dir) /* the store is read-only */
        return ts_error_set(err, TS_EINVAL, "the store is open for reading only: it has no bulk loads");
    pthread_mutex_lock(&s->mu);
    for (; *out_n < s->n; ++*out_n) {
        const struct sto_staging_folder *f = &s->folders[*out_n];
        struct sto_bulk_load *b = &out[*out_n];
        *b = (struct sto_bulk_load){.idle_ms = now_ms() - f->used_ms, .busy = f->busy};
        b->given_up = f->cancel && atomic_load_explicit(f->cancel, memory_order_relaxed);
        memcpy(b->id, f->id, sizeof b->id);
    }
    pthread_mutex_unlock(&s->mu);
    for (size_t i = 0; i < *out_n; i++) { /* one that is removed meanwhile has no bytes */
        char *dir = folder_path(s, out[i].id);
        struct sto_bulk_sum sum;
        out[i].done = sto_handover_done_read(s->fs, dir, &sum, NULL) == 1;
        out[i].n_bytes = count_bytes(s->fs, dir, 0);
        ts_free(dir);
    }
    return 0;
}
