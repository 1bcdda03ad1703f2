/*
 * rests.c - see rests.h.
 */
#include "storage/engine/rests.h"

#include "base/log.h"
#include "base/time.h"

#include <stdio.h>

#define REST_FIRST_MS (10 * 60000ll) /* a window whose merge failed is left alone this long, */
#define REST_MAX_MS   TS_DAY_MS      /* then twice as long and so on up to this */
#define REST_FILES_MS 60000ll        /* for lack of a descriptor, which says nothing about the window */

static struct sto_rest *rest_of(struct sto_engine *e, struct sto_window w)
{
    for (size_t i = 0; i < e->n_rests; i++)
        if (e->rests[i].window.level == w.level && e->rests[i].window.index == w.index)
            return &e->rests[i];
    e->rests = ts_xrealloc(e->rests, (e->n_rests + 1) * sizeof *e->rests);
    e->rests[e->n_rests] = (struct sto_rest){.window = w};
    return &e->rests[e->n_rests++];
}

void sto_rests__leave(struct sto_engine *e, const struct sto_pick *pick, const struct ts_error *why)
{
    static const char *const names[] = {"day", "8 days", "64 days", "all time"};
    struct sto_rest *r = rest_of(e, pick->window);
    int64_t lo, end;
    char from[64] = "";
    int64_t pause_ms = REST_FILES_MS;
    if (why->code != TS_EMFILE) {
        r->pause_ms = r->pause_ms ? r->pause_ms * 2 : REST_FIRST_MS;
        pause_ms = r->pause_ms = r->pause_ms > REST_MAX_MS ? REST_MAX_MS : r->pause_ms;
    }
    r->until_ms = ts_clock_mono_ns() / 1000000 + pause_ms;
    sto_window_span(r->window, &lo, &end);
    if (r->window.level < STO_WINDOW_ALL) {
        struct ts_civil c = ts_civil_from_ms(NULL, lo);
        snprintf(from, sizeof from, " from %04lld-%02d-%02d", (long long)c.year, c.month, c.day);
    }
    ts_log(TS_LOG_ERROR,
           "merging files of a window (%s%s) failed; it is left alone for s=%lld, other windows are merged "
           "as usual: %s",
           names[r->window.level], from, (long long)(pause_ms / 1000), why->text);
}

void sto_rests__forgive(struct sto_engine *e, struct sto_window w)
{
    for (size_t i = 0; i < e->n_rests; i++)
        if (e->rests[i].window.level == w.level && e->rests[i].window.index == w.index) {
            e->rests[i] = e->rests[--e->n_rests];
            return;
        }
}

struct sto_window *sto_rests__now(struct sto_engine *e, size_t *out_n)
{
    struct sto_window *list = ts_xcalloc(e->n_rests + 1, sizeof *list);
    int64_t now = ts_clock_mono_ns() / 1000000;
    size_t n = 0;
    for (size_t i = 0; i < e->n_rests; i++)
        if (e->rests[i].until_ms > now)
            list[n++] = e->rests[i].window;
    atomic_store_explicit(&e->n_resting, n, memory_order_relaxed);
    *out_n = n;
    return list;
}

void sto_rests__end(struct sto_engine *e)
{
    for (size_t i = 0; i < e->n_rests; i++)
        e->rests[i].until_ms = INT64_MIN;
}
