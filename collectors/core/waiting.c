/*
 * waiting.c - a hash table with open addressing; places that all have left are freed when it grows.
 *
 * Threads    see waiting.h
 */
#include "collectors/core/waiting.h"

#include "base/hash.h"
#include "base/mem.h"
#include "collectors/core/fields.h"

#define FIRST_PLACES 1024u

/* Hash of a line without its value, which is the fourth word; never 0. */
static uint64_t line_hash(struct ts_slice line)
{
    struct ts_slice rest = line, word;
    for (unsigned i = 0; i < 3; i++)
        (void)col_word_next(&rest, &word);
    size_t n_front = line.n - rest.n;
    (void)col_word_next(&rest, &word);
    uint64_t hash = ts_hash_u64(ts_hash(line.p, n_front)) + ts_hash(rest.p, rest.n);
    return hash ? hash : 1;
}

static struct col_waiting_point *waiting_place(const struct col_waiting *w, uint64_t hash)
{
    size_t mask = w->n_places - 1, i = (size_t)hash & mask;
    while (w->places[i].hash && w->places[i].hash != hash)
        i = (i + 1) & mask;
    return &w->places[i];
}

/* Make space for one more entry; entries that no longer wait are not copied. */
static void waiting_grow(struct col_waiting *w)
{
    struct col_waiting old = *w;
    size_t n_alive = 0;
    for (size_t i = 0; i < old.n_places; i++)
        n_alive += old.places[i].n > 0;
    w->n_places = FIRST_PLACES;
    while (w->n_places < 4 * n_alive)
        w->n_places *= 2;
    w->places = ts_xcalloc(w->n_places, sizeof(*w->places));
    w->n_used = n_alive;
    for (size_t i = 0; i < old.n_places; i++)
        if (old.places[i].n)
            *waiting_place(w, old.places[i].hash) = old.places[i];
    ts_free(old.places);
}

void col_waiting_clear(struct col_waiting *w)
{
    ts_free(w->places);
    *w = (struct col_waiting){.places = NULL};
}

void col_waiting_add(struct col_waiting *w, struct ts_slice lines)
{
    struct ts_slice line;
    while (col_line_next(&lines, &line)) {
        if (2 * w->n_used >= w->n_places)
            waiting_grow(w);
        uint64_t hash = line_hash(line);
        struct col_waiting_point *p = waiting_place(w, hash);
        w->n_used += !p->hash;
        p->hash = hash;
        p->n++;
        w->n_lines++;
    }
}

static void waiting_leave(struct col_waiting *w, struct col_waiting_point *p)
{
    if (!p->n)
        return;
    p->n--;
    w->n_lines--;
}

void col_waiting_remove(struct col_waiting *w, struct ts_slice lines)
{
    struct ts_slice line;
    while (w->n_lines && col_line_next(&lines, &line))
        waiting_leave(w, waiting_place(w, line_hash(line)));
}

uint64_t col_waiting_count(const struct col_waiting *w, struct ts_slice line)
{
    return w->n_lines ? waiting_place(w, line_hash(line))->n : 0;
}

void col_waiting_split(struct col_waiting *w, struct ts_slice lines, uint64_t more_than, bool remove,
                       struct col_lines *yes, struct col_lines *no)
{
    struct ts_slice line;
    ts_buf_clear(&yes->text);
    ts_buf_clear(&no->text);
    yes->n = no->n = 0;
    while (col_line_next(&lines, &line)) {
        struct col_waiting_point *p = w->n_lines ? waiting_place(w, line_hash(line)) : NULL;
        struct col_lines *to = p && p->n > more_than ? yes : no;
        if (to == yes && remove)
            waiting_leave(w, p);
        ts_buf_slice(&to->text, line);
        ts_buf_char(&to->text, '\n');
        to->n++;
    }
}
