/*
 * refuse.c - refuses puts, from the first error until its cause is gone.
 *
 * Threads    any; refuse_mu protects the texts, refuse_code is read without it
 * Not here   repeated attempts to write waiting batches (writer.c)
 */
#include "base/log.h"
#include "storage/engine/engine_int.h"
#include "storage/engine/reserve.h"
#include "storage/readonly.h"

/* Temporary errors, and the text of refusals meanwhile; the last row is for all other errors. */
static const struct {
    int code;
    const char *words;
} refusals[STO_REFUSALS] = {
    {TS_ENOSPC, STO_DISK_FULL ", points are refused until there is free space"},
    {TS_ENOMEM, "memory is exhausted, points are refused until some is free"},
    {TS_EMFILE, "no file descriptor is free, points are refused until one is (LimitNOFILE, ulimit -n)"},
    {TS_EIO, NULL},
};

static unsigned refusal_of(int code)
{
    unsigned i = 0;
    while (i < STO_REFUSALS - 1 && refusals[i].code != code)
        i++;
    return i;
}

bool sto_engine__may_wait(int code)
{
    return refusals[refusal_of(code)].words != NULL;
}

void sto_engine__refuse(struct sto_engine *e, int code, const struct ts_error *err)
{
    unsigned i = refusal_of(code);
    int want = refusals[i].code;
    struct ts_error *text = &e->refuse_why[i];
    pthread_mutex_lock(&e->refuse_mu);
    int old = atomic_load_explicit(&e->refuse_code, memory_order_relaxed);
    if (!text->code) {
        *text = *err;
        text->code = want;
        if (refusals[i].words)
            ts_error_wrap(text, "%s", refusals[i].words);
    }
    /* after a broken log the code stays; after a full disk the log may still break */
    if (old != TS_EIO && old != want) {
        ts_log(TS_LOG_ERROR, "puts are refused: %s", err->text);
        atomic_store_explicit(&e->refuse_code, want,
                              memory_order_release); /* pairs with sto_engine_refusing */
    }
    pthread_mutex_unlock(&e->refuse_mu);
    if (want == TS_ENOSPC && atomic_load_explicit(&e->unfinished_bytes, memory_order_relaxed))
        sto_compact__wake(e, false); /* an interrupted merge frees its files */
}

const char *sto_engine_refusing(const struct sto_engine *e, int *out_code)
{
    const struct ts_error *why = e->opts.read_only ? sto_read_only_error(&e->owner.read_only_why) : NULL;
    int code = why ? why->code
                   : atomic_load_explicit(&e->refuse_code, memory_order_acquire); /* of sto_engine__refuse */
    if (out_code)
        *out_code = code;
    return why ? why->text : code ? e->refuse_why[refusal_of(code)].text : NULL;
}

void sto_engine__fatal(struct sto_engine *e, int rc, const struct ts_error *err)
{
    if (rc == TS_EIO && e->owner.on_fatal)
        e->owner.on_fatal(e->owner.arg, err);
}

bool sto_engine__memory_full(struct sto_engine *e)
{
    return atomic_load_explicit(&e->active_bytes, memory_order_relaxed) +
               atomic_load_explicit(&e->frozen_bytes, memory_order_relaxed) >
           2 * e->opts.memstore_bytes + e->opts.memstore_bytes / 8;
}

void sto_engine__recovered(struct sto_engine *e)
{
    if (!sto_engine__may_wait(atomic_load_explicit(&e->refuse_code, memory_order_relaxed)))
        return;
    /* an owner first counts itself in n_holding and then refuses; under the mutex, either this thread sees
     * the count or the owner refuses afterwards */
    pthread_mutex_lock(&e->refuse_mu);
    if (sto_engine__may_wait(atomic_load_explicit(&e->refuse_code, memory_order_relaxed)) &&
        !sto_engine__memory_full(e) && sto_reserve__may_write(e) &&
        atomic_load_explicit(&e->n_holding, memory_order_relaxed) == 0) {
        atomic_store_explicit(&e->refuse_code, 0, memory_order_release);
        ts_log(TS_LOG_WARN, "puts are accepted again");
    }
    pthread_mutex_unlock(&e->refuse_mu);
}

void sto_engine__refusal(struct sto_engine *e, int code, struct ts_error *out)
{
    pthread_mutex_lock(&e->refuse_mu);
    *out = e->refuse_why[refusal_of(code)];
    pthread_mutex_unlock(&e->refuse_mu);
}

int sto_writer_error(const struct sto_writer *writer, struct ts_error *err)
{
    int code = 0;
    const char *why = sto_engine_refusing(writer->e, &code);
    if (code)
        return ts_error_set(err, code, "%s", why);
    return ts_error_set(err, TS_EBUSY, "too many points are waiting to be written; send more slowly");
}
