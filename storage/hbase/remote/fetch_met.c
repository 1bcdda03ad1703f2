/*
 * fetch_met.c - series by their TSUIDs.
 */
#include "storage/hbase/remote/fetch_int.h"

#include "base/hash.h"
#include "base/mem.h"

#define FIRST_SLOTS 64

static size_t slot_of(const struct sto_hbase__table *t, struct ts_slice tsuid)
{
    size_t at = ts_hash(tsuid.p, tsuid.n) & (t->cap - 1);
    for (; t->slots[at]; at = (at + 1) & (t->cap - 1)) {
        const struct sto_hbase__met *m = t->slots[at];
        if (m->n_tsuid == tsuid.n && memcmp(m->tsuid, tsuid.p, tsuid.n) == 0)
            break;
    }
    return at;
}

struct sto_hbase__met *sto_hbase__table_find(const struct sto_hbase__table *t, struct ts_slice tsuid)
{
    return t->cap ? t->slots[slot_of(t, tsuid)] : NULL;
}

/* Three quarters of the slots are used at most. */
static int grow(struct sto_hbase__table *t, struct ts_error *err)
{
    if ((t->n + 1) * 4 <= t->cap * 3)
        return 0;
    struct sto_hbase__table bigger = {.cap = t->cap ? t->cap * 2 : FIRST_SLOTS, .memory = t->memory};
    bigger.slots = ts_budget_calloc(t->memory, bigger.cap, sizeof *bigger.slots, err);
    if (!bigger.slots)
        return TS_ELIMIT;
    for (size_t i = 0; i < t->cap; i++)
        if (t->slots[i])
            bigger.slots[slot_of(&bigger, (struct ts_slice){(const char *)t->slots[i]->tsuid,
                                                            t->slots[i]->n_tsuid})] = t->slots[i];
    ts_budget_free(t->memory, t->slots, t->cap * sizeof *t->slots);
    t->slots = bigger.slots;
    t->cap = bigger.cap;
    return 0;
}

int sto_hbase__table_add(struct sto_hbase__table *t, struct ts_slice tsuid, struct sto_hbase__met **out,
                         struct ts_error *err)
{
    TS_TRY(grow(t, err));
    struct sto_hbase__met *m = ts_budget_calloc(t->memory, 1, sizeof *m + tsuid.n, err);
    if (!m)
        return TS_ELIMIT;
    struct sto_hbase__met **slot = &t->slots[slot_of(t, tsuid)];
    m->pos = SIZE_MAX;
    m->n_tsuid = (uint8_t)tsuid.n;
    memcpy(m->tsuid, tsuid.p, tsuid.n);
    t->n += *slot == NULL;
    m->same = *slot;
    *out = *slot = m;
    return 0;
}

int sto_hbase__met_name(struct sto_hbase__table *t, struct sto_hbase__met *m,
                        const struct sto_remote_series *series, struct ts_error *err)
{
    size_t n = series->n_tags * sizeof *series->tags + series->metric.n;
    for (size_t i = 0; i < series->n_tags; i++)
        n += series->tags[i].k.n + series->tags[i].v.n;
    struct sto_remote_tag *tags = ts_budget_alloc(t->memory, n, err);
    if (!tags)
        return TS_ELIMIT;
    char *text = (char *)(tags + series->n_tags);
    struct ts_slice *to[2 * STO_HBASE_MAX_TAGS + 1], from;
    size_t n_to = 0;
    m->series = (struct sto_remote_series){
        .key = STO_REMOTE_NO_KEY, .metric = series->metric, .tags = tags, .n_tags = series->n_tags};
    to[n_to++] = &m->series.metric;
    for (size_t i = 0; i < series->n_tags; i++) {
        tags[i] = series->tags[i];
        to[n_to++] = &tags[i].k;
        to[n_to++] = &tags[i].v;
    }
    for (size_t i = 0; i < n_to; i++) {
        from = *to[i];
        memcpy(text, from.p, from.n);
        to[i]->p = text;
        text += from.n;
    }
    m->names = tags;
    m->names_bytes = n;
    m->naming = STO_HBASE__NAMED;
    return 0;
}

void sto_hbase__table_clear(struct sto_hbase__table *t)
{
    for (size_t i = 0; i < t->cap; i++)
        for (struct sto_hbase__met *m = t->slots[i], *same; m; m = same) {
            same = m->same;
            ts_budget_free(t->memory, m->names, m->names_bytes);
            ts_budget_free(t->memory, m->buckets, m->cap_buckets * sizeof *m->buckets);
            ts_budget_free(t->memory, m, sizeof *m + m->n_tsuid);
        }
    ts_budget_free(t->memory, t->slots, t->cap * sizeof *t->slots);
    *t = (struct sto_hbase__table){.memory = t->memory};
}
