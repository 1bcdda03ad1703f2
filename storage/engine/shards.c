/*
 * shards.c - see shards.h.
 */
#include "storage/engine/shards.h"

#include "base/log.h"
#include "storage/engine/engine_int.h"
#include "storage/engine/once_engine.h"
#include "storage/readonly.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_BYTES 32 /* longest DIR/SHARDS */

static bool is_number_of_shards(unsigned long n)
{
    return n >= 1 && n <= STO_SHARDS_MOST && (n & (n - 1)) == 0;
}

int sto_shards_read(const struct ts_fs *fs, const char *dir, uint32_t *out_n, struct ts_error *err)
{
    char *path = ts_fs_join(dir, STO_SHARDS_NAME), *p = NULL, text[FILE_BYTES + 1] = "";
    size_t n = 0;
    int rc = ts_fs_read_small(fs, path, FILE_BYTES, &p, &n, err);
    if (rc == 1) {
        memcpy(text, p, n);
        size_t digits = strspn(text, "0123456789");
        unsigned long wanted = digits && digits < 5 ? strtoul(text, NULL, 10) : 0;
        if (!is_number_of_shards(wanted) || strcmp(text + digits, "\n") != 0)
            rc = ts_error_set(err, TS_ECORRUPT, "%s is damaged: it must be a power of two up to %u", path,
                              STO_SHARDS_MOST);
        else
            *out_n = (uint32_t)wanted;
    }
    ts_free(p);
    ts_free(path);
    return rc;
}

void sto_shards__open(struct sto_engine *e)
{
    struct ts_error why = {0};
    uint32_t n = e->n_shards;
    if (sto_shards_read(e->fs, e->dir, &n, &why) < 0)
        ts_log(TS_LOG_WARN, "the number of shards stays as it is: %s", why.text);
    atomic_store_explicit(&e->n_shards_wanted, n, memory_order_relaxed);
}

struct sto_shards sto_engine_shards(const struct sto_engine *e)
{
    return (struct sto_shards){e->n_shards, atomic_load_explicit(&e->n_shards_wanted, memory_order_relaxed)};
}

int sto_engine_set_shards(struct sto_engine *e, unsigned n_shards, struct ts_error *err)
{
    char text[FILE_BYTES];
    if (e->opts.read_only)
        return sto_read_only_refuse(&e->owner.read_only_why, err);
    if (!is_number_of_shards(n_shards))
        return ts_error_set(err, TS_EINVAL, "%u shards: a power of two up to %u is needed", n_shards,
                            STO_SHARDS_MOST);
    char *path = ts_fs_join(e->dir, STO_SHARDS_NAME);
    int n = snprintf(text, sizeof text, "%u\n", n_shards);
    pthread_mutex_lock(&e->files_mu);
    int rc = ts_fs_write_atomic(e->fs, path, text, (size_t)n, err);
    if (rc == 0)
        atomic_store_explicit(&e->n_shards_wanted, n_shards, memory_order_relaxed);
    pthread_mutex_unlock(&e->files_mu);
    ts_free(path);
    return rc;
}

/* --- ids of clients --- */

/* Append tables for `wanted` shards; NULL, or the reason why that cannot be exact now. */
static const char *divide(struct sto_engine *e, uint32_t wanted, struct ts_buf *out)
{
    struct sto_once_time now = sto_once__now(&e->owners[0]);
    size_t fit = sto_once_fit(e->once_budget.limit_bytes / wanted);
    for (uint32_t i = 0; i < e->n_shards; i++)
        if (wanted > e->n_shards && sto_once_n(e->once[i]) > fit)
            return "counter_ids_bytes is too low for that many copies of the ids of clients";
    if (wanted < e->n_shards && !sto_once_all_join(e->once, e->n_shards, wanted))
        return "clients that number their increments may still repeat some, which fewer shards could not "
               "tell apart";
    return sto_once_all_divide(e->once, e->n_shards, wanted, &now, out) < 0
               ? "no memory for the ids of clients"
               : NULL;
}

int sto_shards__close(struct sto_engine *e, struct ts_error *err)
{
    uint32_t wanted = atomic_load_explicit(&e->n_shards_wanted, memory_order_relaxed);
    if (wanted == e->n_shards || !e->once)
        return 0;
    struct ts_buf ids;
    ts_buf_init(&ids, 0);
    const char *why = divide(e, wanted, &ids);
    int rc = why ? 0 : sto_manifest_set_shards(e->manifest, wanted, ts_buf_get(&ids), err);
    if (why)
        ts_log(TS_LOG_WARN, "the store keeps %u shards for now, %u are wanted: %s", e->n_shards, wanted, why);
    else if (rc == 0)
        ts_log(TS_LOG_INFO, "the store has %u shards instead of %u from its next start on", wanted,
               e->n_shards);
    ts_buf_release(&ids);
    if (rc == 0 && !why) {
        char *path = ts_fs_join(e->dir, STO_SHARDS_NAME);
        (void)e->fs->unlink(e->fs, path, NULL); /* if it stays, it says what the manifest says */
        ts_free(path);
    }
    return rc;
}
