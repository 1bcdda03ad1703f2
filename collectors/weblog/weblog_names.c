/*
 * weblog_names.c - decides which names get values of their own, and which are replaced.
 *
 * Threads    one
 */
#include "collectors/weblog/weblog_names.h"

#include "base/hash.h"
#include "base/mem.h"

#include <string.h>

#define FIRST_SLOTS 64u

void col_web_names_init(struct col_web_names *t, const struct col_web_name_limits *limits)
{
    *t = (struct col_web_names){.limits = *limits};
}

void col_web_names_release(struct col_web_names *t)
{
    for (uint32_t i = 0; i < t->n; i++)
        ts_free(t->list[i].text);
    ts_free(t->list);
    ts_free(t->slots);
    *t = (struct col_web_names){.n = 0};
}

/* --- the table --- */

static uint32_t *name_slot(const struct col_web_names *t, struct ts_slice text, uint32_t parent)
{
    uint32_t mask = t->n_slots - 1;
    uint32_t i = (uint32_t)ts_hash_u64(ts_hash(text.p, text.n) + parent) & mask;
    for (; t->slots[i]; i = (i + 1) & mask) {
        const struct col_web_name *n = &t->list[t->slots[i] - 1];
        if (n->parent == parent && ts_slice_is(text, n->text))
            break;
    }
    return &t->slots[i];
}

static void names_index(struct col_web_names *t, uint32_t n_slots)
{
    t->n_slots = n_slots;
    ts_free(t->slots);
    t->slots = ts_xcalloc(n_slots, sizeof(*t->slots));
    t->cap = n_slots / 2;
    t->list = ts_xrealloc(t->list, t->cap * sizeof(*t->list));
    for (uint32_t i = 0; i < t->n; i++)
        *name_slot(t, ts_slice_str(t->list[i].text), t->list[i].parent) = i + 1;
}

static uint32_t name_add(struct col_web_names *t, struct ts_slice text, uint32_t parent)
{
    if (t->n == t->cap)
        names_index(t, t->n_slots ? t->n_slots * 2 : FIRST_SLOTS);
    uint32_t *slot = name_slot(t, text, parent);
    if (*slot)
        return *slot - 1;
    struct col_web_name *n = &t->list[t->n];
    *n = (struct col_web_name){.text = ts_xstrndup(text.p, text.n), .parent = parent};
    *slot = ++t->n;
    return t->n - 1;
}

uint32_t col_web_names_fixed(struct col_web_names *t, struct ts_slice text, uint32_t parent)
{
    return name_add(t, text, parent);
}

/* --- values of their own --- */

static uint32_t *n_own(struct col_web_names *t, uint32_t parent)
{
    return parent == COL_WEB_TOP ? &t->n_domains : &t->list[parent].n_subs;
}

static uint32_t *n_at(struct col_web_names *t, uint32_t parent)
{
    return parent == COL_WEB_TOP ? t->n_at : t->list[parent].n_at;
}

static void name_own(struct col_web_names *t, uint32_t at)
{
    struct col_web_name *n = &t->list[at];
    n->own = true;
    ++*n_own(t, n->parent);
    n_at(t, n->parent)[n->standing]++;
}

static void name_give_way(struct col_web_names *t, uint32_t at)
{
    struct col_web_name *n = &t->list[at];
    if (!n->own)
        return;
    n->own = false;
    t->n_gone++;
    --*n_own(t, n->parent);
    n_at(t, n->parent)[n->standing]--;
    for (uint32_t i = at + 1; n->parent == COL_WEB_TOP && i < t->n; i++)
        if (t->list[i].parent == at)
            name_give_way(t, i);
}

/* Is there a name that ranks below? */
static bool any_below(struct col_web_names *t, uint32_t parent, unsigned standing)
{
    while (standing--)
        if (n_at(t, parent)[standing])
            return true;
    return false;
}

/* Can parent have one more value, or can a value be replaced by it? */
static bool room_made(struct col_web_names *t, uint32_t parent, unsigned standing, int64_t now_ms)
{
    uint32_t max = parent == COL_WEB_TOP ? t->limits.max_domains : t->limits.max_paths;
    int64_t *full_ms = parent == COL_WEB_TOP ? &t->full_ms : &t->list[parent].full_ms;
    if (*n_own(t, parent) < max)
        return true;
    if (!any_below(t, parent, standing) && now_ms < *full_ms)
        return false;
    uint32_t low = UINT32_MAX, oldest = UINT32_MAX;
    for (uint32_t i = 0; i < t->n; i++) {
        const struct col_web_name *n = &t->list[i];
        if (n->parent != parent || !n->own)
            continue;
        if (oldest == UINT32_MAX || n->last_ms < t->list[oldest].last_ms)
            oldest = i;
        if (n->standing < standing &&
            (low == UINT32_MAX || n->standing < t->list[low].standing ||
             (n->standing == t->list[low].standing && n->last_ms < t->list[low].last_ms)))
            low = i;
    }
    if (oldest == UINT32_MAX)
        return false; /* the limit is 0 */
    *full_ms = t->list[oldest].last_ms + t->limits.forget_ms;
    uint32_t victim = low != UINT32_MAX ? low : now_ms >= *full_ms ? oldest : UINT32_MAX;
    if (victim != UINT32_MAX)
        name_give_way(t, victim);
    return victim != UINT32_MAX;
}

uint32_t col_web_names_of(struct col_web_names *t, struct ts_slice text, uint32_t parent, uint32_t status,
                          int64_t now_ms)
{
    uint32_t *slot = t->n_slots ? name_slot(t, text, parent) : NULL;
    uint32_t at = slot && *slot ? *slot - 1 : UINT32_MAX;
    uint8_t standing = status >= 200 && status < 300 ? 2 : status >= 400 && status < 500 ? 0 : 1;
    bool invented = standing == 0 && parent != COL_WEB_TOP;
    if (!ts_slice_is(text, "other") && (at == UINT32_MAX || !t->list[at].own)) {
        if (invented || !room_made(t, parent, standing, now_ms)) {
            ++*(parent == COL_WEB_TOP ? &t->n_other_domains : &t->n_other_paths);
            return name_add(t, TS_SLICE_LIT("other"), parent);
        }
        t->n_gone -= at != UINT32_MAX;
        at = name_add(t, text, parent);
        t->list[at].standing = standing;
        name_own(t, at);
    } else if (at == UINT32_MAX) {
        at = name_add(t, text, parent);
    }
    struct col_web_name *n = &t->list[at];
    n->last_ms = now_ms;
    if (n->own && standing > n->standing) {
        n_at(t, parent)[n->standing]--;
        n_at(t, parent)[standing]++;
        n->standing = standing;
    }
    return at;
}

/* --- keeping and forgetting --- */

struct col_web_name *col_web_names_restore(struct col_web_names *t, struct ts_slice text, uint32_t parent,
                                           bool own, uint8_t standing)
{
    uint32_t n = t->n;
    if (parent != COL_WEB_TOP && (parent >= n || t->list[parent].parent != COL_WEB_TOP))
        return NULL;
    if (text.n > COL_WEB_NAME_BYTES || memchr(text.p, '\0', text.n) || name_add(t, text, parent) != n)
        return NULL;
    t->list[n].standing = standing;
    if (own)
        name_own(t, n);
    else
        t->n_gone += text.n && !ts_slice_is(text, "other");
    return &t->list[n];
}

void col_web_names_pack(struct col_web_names *t, bool *keep, uint32_t *out_map)
{
    uint32_t n = 0;
    for (uint32_t i = t->n; i-- > 0;) { /* a domain after its paths */
        const struct col_web_name *name = &t->list[i];
        bool fixed = !*name->text || !strcmp(name->text, "other");
        if ((keep[i] || (name->own && !fixed)) && name->parent != COL_WEB_TOP)
            keep[name->parent] = true;
        keep[i] |= name->own || fixed;
    }
    t->n_gone = 0;
    for (uint32_t i = 0; i < t->n; i++) {
        struct col_web_name *name = &t->list[i];
        if (name->parent != COL_WEB_TOP && !keep[name->parent])
            keep[i] = false;
        if (!keep[i]) {
            ts_free(name->text);
            continue;
        }
        t->n_gone += !name->own && *name->text && strcmp(name->text, "other") != 0;
        if (name->parent != COL_WEB_TOP)
            name->parent = out_map[name->parent];
        out_map[i] = n;
        t->list[n++] = *name;
    }
    t->n = n;
    names_index(t, t->n_slots ? t->n_slots : FIRST_SLOTS);
}
