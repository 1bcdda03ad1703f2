/*
 * weblog_identity.c - first bytes, and the places of a log.
 *
 * Threads    one
 */
#include "collectors/weblog/weblog_identity.h"

#include "base/hash.h"
#include "base/mem.h"
#include "collectors/weblog/weblog_follow_int.h"

#include <string.h>

struct col_web_head col_web_head_of(const char *p, size_t n)
{
    n = n < COL_WEB_HEAD_BYTES ? n : COL_WEB_HEAD_BYTES;
    uint64_t h = n;
    for (size_t i = 0; i < n; i += 8) {
        uint64_t word = 0;
        memcpy(&word, p + i, n - i < 8 ? n - i : 8);
        h = ts_hash_u64(h ^ word) + 0x9e3779b97f4a7c15u;
    }
    return (struct col_web_head){.n_bytes = (uint32_t)n, .hash = h};
}

bool col_web_head_matches(const struct col_web_head *head, struct ts_slice first)
{
    return head->n_bytes && head->n_bytes <= first.n &&
           col_web_head_of(first.p, head->n_bytes).hash == head->hash;
}

/* --- logs --- */

struct col_web_tail *col_web_tail_new(const char *path, const struct col_web_log *log)
{
    struct col_web_tail *t = ts_xcalloc(1, sizeof(*t));
    t->path = ts_xstrdup(path);
    t->log = log;
    t->floor_ms = INT64_MIN;
    t->scan = true;
    return t;
}

void col_web_tail_free(struct col_web_tail *t)
{
    if (!t)
        return;
    while (t->n_places)
        col_web_place_remove(t->places[t->n_places - 1]);
    ts_free(t->places);
    ts_free(t->settled);
    ts_free(t->path);
    ts_free(t);
}

struct col_web_place *col_web_current(const struct col_web_tail *t)
{
    struct col_web_place *last = t->n_places ? t->places[t->n_places - 1] : NULL;
    return last && last->role == COL_WEB_CURRENT ? last : NULL;
}

/* --- places --- */

static void place_link(struct col_web_place *p, struct col_web_tail *t)
{
    uint32_t at = t->n_places - (p->role != COL_WEB_CURRENT && col_web_current(t) != NULL);
    t->places = ts_xrealloc(t->places, (t->n_places + 1) * sizeof(struct col_web_place *));
    memmove(&t->places[at + 1], &t->places[at], (t->n_places - at) * sizeof(struct col_web_place *));
    t->places[at] = p;
    t->n_places++;
    p->tail = t;
}

static void place_unlink(struct col_web_place *p)
{
    struct col_web_tail *t = p->tail;
    uint32_t at = 0;
    while (t->places[at] != p)
        at++;
    t->n_places--;
    memmove(&t->places[at], &t->places[at + 1], (t->n_places - at) * sizeof(struct col_web_place *));
    col_web__settled_forget(t, p);
}

struct col_web_place *col_web_place_add(struct col_web_tail *t, enum col_web_role role)
{
    struct col_web_place *p = ts_xcalloc(1, sizeof(*p));
    p->role = role;
    place_link(p, t);
    return p;
}

void col_web_place_close(struct col_web_place *p)
{
    if (p->file)
        fclose(p->file);
    ts_lines_close(p->lines);
    p->file = NULL;
    p->lines = NULL;
    p->lines_off = 0;
}

void col_web_place_remove(struct col_web_place *p)
{
    place_unlink(p);
    col_web_place_close(p);
    ts_free(p->found);
    ts_free(p);
}

void col_web_place_move(struct col_web_place *p, struct col_web_tail *to)
{
    place_unlink(p);
    p->role = COL_WEB_CURRENT;
    place_link(p, to);
}

struct col_web_place *col_web_place_find(const struct col_web_tail *t, struct ts_slice first, uint64_t dev,
                                         uint64_t ino)
{
    struct col_web_place *best = NULL;
    unsigned best_rank = 0;
    for (uint32_t i = 0; i < t->n_places; i++) {
        struct col_web_place *p = t->places[i];
        if (p->unlinked || !col_web_head_matches(&p->head, first))
            continue;
        unsigned rank = p->head.n_bytes * 4 + (p->role == COL_WEB_CURRENT ? 2u : 0) +
                        (p->ino == ino && p->dev == dev ? 1u : 0);
        if (rank > best_rank || (rank == best_rank && best && p->off > best->off)) {
            best = p;
            best_rank = rank;
        }
    }
    return best;
}

/* --- forgetting --- */

static void place_drop(struct col_web_place *p)
{
    if (p->mtime_ms > p->tail->floor_ms)
        p->tail->floor_ms = p->mtime_ms;
    col_web_place_remove(p);
}

static bool place_finished(const struct col_web_place *p)
{
    return p->role >= COL_WEB_DONE && !col_web_place_open(p);
}

uint32_t col_web_tail_trim(struct col_web_tail *t, int64_t before_ms)
{
    uint32_t n_gone = 0;
    for (uint32_t i = t->n_places; i-- > 0;)
        if (place_finished(t->places[i]) && t->places[i]->seen_ms < before_ms) {
            place_drop(t->places[i]);
            n_gone++;
        }
    while (t->n_places > COL_WEB_PLACES_MAX) {
        struct col_web_place *oldest = NULL;
        for (uint32_t i = 0; i < t->n_places; i++) {
            struct col_web_place *p = t->places[i];
            if (place_finished(p) && (!oldest || p->seen_ms < oldest->seen_ms ||
                                      (p->seen_ms == oldest->seen_ms && p->mtime_ms < oldest->mtime_ms)))
                oldest = p;
        }
        if (!oldest)
            break;
        place_drop(oldest);
        n_gone++;
    }
    return n_gone;
}
