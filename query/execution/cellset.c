/*
 * cellset.c - pages of states, found by hash.
 *
 * Invariant  at most half of the slots are used; states of a page lie in the order of their bits
 */
#include "query/execution/cellset.h"

#include "base/hash.h"
#include "base/mem.h"
#include "query/sort.h"

#include <string.h>

#define FIRST_SLOTS 16

void qry_cellset_init(struct qry_cellset *s, const struct qry_acc_ops *ops, struct qry_budget *budget)
{
    *s = (struct qry_cellset){.ops = ops, .budget = budget};
}

static size_t page_bytes(const struct qry_cellset *s, uint32_t cap)
{
    return sizeof(struct qry_page) + cap * s->ops->state_bytes;
}

static void page_free(struct qry_cellset *s, struct qry_page *p)
{
    unsigned n = (unsigned)__builtin_popcount(p->used);
    for (unsigned i = 0; s->ops->reset && i < n; i++)
        s->ops->reset(p->states + i * s->ops->state_bytes);
    ts_budget_free(s->budget->memory, p, page_bytes(s, p->cap));
}

void qry_cellset_release(struct qry_cellset *s)
{
    for (size_t i = 0; i < s->n_slots; i++)
        if (s->slots[i])
            page_free(s, s->slots[i]);
    if (s->slots)
        ts_budget_free(s->budget->memory, s->slots, s->n_slots * sizeof(*s->slots));
    s->slots = NULL;
    s->n_slots = s->n = s->last = 0;
}

/* Slot of a page, or the free one where it belongs. */
static size_t find(struct qry_page *const *slots, size_t n_slots, uint32_t group, uint32_t no)
{
    size_t at = (size_t)ts_hash_u64((uint64_t)group << 32 | no) & (n_slots - 1);
    while (slots[at] && (slots[at]->group != group || slots[at]->no != no))
        at = (at + 1) & (n_slots - 1);
    return at;
}

static int more_slots(struct qry_cellset *s, struct ts_error *err)
{
    size_t n = s->n_slots ? s->n_slots * 2 : FIRST_SLOTS;
    struct qry_page **slots = ts_budget_calloc(s->budget->memory, n, sizeof(*slots), err);
    if (!slots)
        return qry_memory_code(err);
    for (size_t i = 0; i < s->n_slots; i++)
        if (s->slots[i])
            slots[find(slots, n, s->slots[i]->group, s->slots[i]->no)] = s->slots[i];
    if (s->slots)
        ts_budget_free(s->budget->memory, s->slots, s->n_slots * sizeof(*s->slots));
    s->slots = slots;
    s->n_slots = n;
    return 0;
}

/* The page in a slot with space for cap states, a new one if there is none; NULL and err. */
static struct qry_page *grow_page(struct qry_cellset *s, size_t at, uint32_t cap, struct ts_error *err)
{
    struct qry_page *old = s->slots[at], *p = ts_budget_alloc(s->budget->memory, page_bytes(s, cap), err);
    if (!p)
        return NULL;
    *p = (struct qry_page){.cap = cap};
    if (old) {
        memcpy(p, old, page_bytes(s, old->cap));
        p->cap = cap;
        ts_budget_free(s->budget->memory, old, page_bytes(s, old->cap));
    }
    s->slots[at] = p;
    return p;
}

/* Is the page that was used last this one? */
static bool is_last(const struct qry_cellset *s, uint32_t group, uint32_t no)
{
    const struct qry_page *last = s->last < s->n_slots ? s->slots[s->last] : NULL;
    return last && last->group == group && last->no == no;
}

/* Slot of the page of a cell, which may be free; SIZE_MAX and err. */
static size_t slot_of(struct qry_cellset *s, uint32_t group, uint32_t no, struct ts_error *err)
{
    if (is_last(s, group, no))
        return s->last;
    if (2 * (s->n + 1) > s->n_slots && more_slots(s, err) < 0)
        return SIZE_MAX;
    return s->last = find(s->slots, s->n_slots, group, no);
}

void *qry_cellset_state(struct qry_cellset *s, uint32_t group, size_t cell, struct ts_error *err)
{
    uint32_t no = (uint32_t)(cell / QRY_PAGE_CELLS);
    unsigned k = cell % QRY_PAGE_CELLS;
    size_t bytes = s->ops->state_bytes, at = slot_of(s, group, no, err);
    if (at == SIZE_MAX)
        return NULL;
    struct qry_page *p = s->slots[at];
    if (!p) {
        p = grow_page(s, at, 1, err);
        if (!p)
            return NULL;
        p->group = group;
        p->no = no;
        s->n++;
    }
    uint32_t below = (1u << k) - 1;
    if ((p->used & below) == below && p->used >> k & 1) /* the usual case, without counting bits */
        return p->states + k * bytes;
    unsigned n = (unsigned)__builtin_popcount(p->used), i = (unsigned)__builtin_popcount(p->used & below);
    unsigned char *st = p->states + i * bytes;
    if (p->used >> k & 1)
        return st;
    if (n == p->cap) {
        p = grow_page(s, at, 2 * p->cap, err);
        if (!p)
            return NULL;
        st = p->states + i * bytes;
    }
    memmove(st + bytes, st, (n - i) * bytes);
    memset(st, 0, bytes);
    p->used |= 1u << k;
    return st;
}

size_t qry_cellset_row(struct qry_cellset *s, uint32_t group, size_t cell, void **out_first)
{
    uint32_t no = (uint32_t)(cell / QRY_PAGE_CELLS);
    unsigned k = cell % QRY_PAGE_CELLS;
    if (!s->n_slots)
        return 0;
    if (!is_last(s, group, no))
        s->last = find(s->slots, s->n_slots, group, no);
    struct qry_page *p = s->slots[s->last];
    if (!p || !(p->used >> k & 1))
        return 0;
    uint32_t below = p->used & ((1u << k) - 1);
    if (below == (1u << k) - 1) /* the usual case, without counting bits */
        *out_first = p->states + k * s->ops->state_bytes;
    else
        *out_first = p->states + (size_t)__builtin_popcount(below) * s->ops->state_bytes;
    uint32_t gaps = ~(p->used >> k); /* the bits above those of the page are gaps but for k = 0 */
    return gaps ? (size_t)__builtin_ctz(gaps) : QRY_PAGE_CELLS;
}

/* Join the states of a page with those of s: a state that s does not have yet is moved, others are merged. */
static int join_page(struct qry_cellset *s, struct qry_page *from, struct ts_error *err)
{
    const struct qry_acc_ops *ops = s->ops;
    for (unsigned i = 0; from->used; i++) {
        unsigned k = (unsigned)__builtin_ctz(from->used);
        const struct qry_page *into;
        size_t at = slot_of(s, from->group, from->no, err);
        if (at == SIZE_MAX)
            return qry_memory_code(err);
        into = s->slots[at];
        bool is_new = !into || !(into->used >> k & 1);
        unsigned char *b = from->states,
                      *a = qry_cellset_state(s, from->group, (size_t)from->no * QRY_PAGE_CELLS + k, err);
        if (!a)
            return qry_memory_code(err);
        if (is_new) {
            memcpy(a, b, ops->state_bytes);
        } else {
            if (ops->reserve)
                TS_TRY(ops->reserve(a, 0, b, s->budget->memory, err));
            ops->merge(a, b);
            if (ops->reset)
                ops->reset(b);
        }
        from->used &= from->used - 1;
        memmove(b, b + ops->state_bytes, (size_t)__builtin_popcount(from->used) * ops->state_bytes);
    }
    return 0;
}

int qry_cellset_join(struct qry_cellset *s, struct qry_cellset *from, struct ts_error *err)
{
    for (size_t i = 0; i < from->n_slots; i++) {
        struct qry_page *p = from->slots[i];
        if (i % QRY_LOOK_STEPS == 0)
            TS_TRY(qry_budget_look(s->budget, err));
        if (!p)
            continue;
        size_t at = slot_of(s, p->group, p->no, err);
        if (at == SIZE_MAX)
            return qry_memory_code(err);
        from->slots[i] = NULL;
        if (!s->slots[at]) {
            s->slots[at] = p;
            s->n++;
            continue;
        }
        int rc = join_page(s, p, err);
        page_free(s, p);
        TS_TRY(rc);
    }
    qry_cellset_release(from);
    return 0;
}

static int cmp_pages(const void *a, const void *b, void *arg)
{
    const struct qry_page *x = *(const struct qry_page *const *)a, *y = *(const struct qry_page *const *)b;
    const uint32_t *place = arg;
    if (x->no != y->no)
        return x->no < y->no ? -1 : 1;
    return place[x->group] < place[y->group] ? -1 : place[x->group] > place[y->group];
}

int qry_cellset_sort(struct qry_cellset *s, const uint32_t *place, struct ts_error *err)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n_slots; i++)
        if (s->slots[i])
            s->slots[n++] = s->slots[i];
    for (size_t i = n; i < s->n_slots; i++)
        s->slots[i] = NULL;
    return qry_sort(s->slots, n, sizeof(*s->slots), cmp_pages, (void *)(uintptr_t)place, s->budget, err);
}
