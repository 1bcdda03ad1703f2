/*
 * annotation_out.c - notes as JSON.
 *
 * Threads    see annotation_out.h
 */
#include "tsd/meta/annotation_out.h"
#include "base/array.h"

#include <stdlib.h>

/* A note found, its text in found.text. */
struct found_note {
    int64_t start_ms;
    size_t off, n; /* of its object */
    size_t order;  /* as found: keeps equal times in one order */
};

struct found {
    struct ts_buf text;       /* objects, one after the other */
    struct found_note *notes; /* owned */
    size_t n, cap;            /* used, allocated */
};

void tsd_note_json(const struct tsd_record *note, struct ts_json *j)
{
    ts_json_obj(j);
    tsd_record_members(note, j);
    ts_json_obj_end(j);
}

static bool found_add(void *arg, const struct tsd_record *note)
{
    struct found *f = arg;
    struct ts_json j;
    size_t off = f->text.n;
    ts_json_init(&j, &f->text);
    tsd_note_json(note, &j);
    TS_ARRAY_GROW(f->notes, f->n, f->cap, 16);
    f->notes[f->n] = (struct found_note){tsd_note_ms(note->v[TSD_NOTE_START].i), off, f->text.n - off, f->n};
    f->n++;
    return true;
}

static int found_cmp(const void *a, const void *b)
{
    const struct found_note *x = a, *y = b;
    if (x->start_ms != y->start_ms)
        return x->start_ms < y->start_ms ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static void found_write(struct found *f, struct ts_json *j)
{
    if (f->n)
        qsort(f->notes, f->n, sizeof(*f->notes), found_cmp);
    ts_json_arr(j);
    for (size_t i = 0; i < f->n; i++)
        ts_json_raw(j, (struct ts_slice){f->text.p + f->notes[i].off, f->notes[i].n});
    ts_json_arr_end(j);
}

static void found_release(struct found *f)
{
    ts_buf_release(&f->text);
    ts_free(f->notes);
}

void tsd_notes_of_series(struct sto_store *st, const struct qry_series *s, int64_t from_ms, int64_t to_ms,
                         struct ts_json *j)
{
    struct found f = {.n = 0};
    struct ts_buf tsuid;
    ts_buf_init(&f.text, 0);
    ts_buf_init(&tsuid, 0);
    for (size_t i = 0; i < s->n_places; i++) {
        if (!s->data[s->places[i]])
            continue;
        ts_buf_clear(&tsuid);
        qry_tsuid(s->members[s->places[i]], &tsuid);
        tsd_notes_each(st, ts_buf_get(&tsuid), from_ms, to_ms, found_add, &f);
    }
    if (f.n) {
        ts_json_key(j, "annotations");
        found_write(&f, j);
    }
    ts_buf_release(&tsuid);
    found_release(&f);
}

void tsd_notes_global(struct sto_store *st, int64_t from_ms, int64_t to_ms, struct ts_buf *out)
{
    struct found f = {.n = 0};
    struct ts_json j;
    ts_buf_init(&f.text, 0);
    tsd_notes_each(st, (struct ts_slice){"", 0}, from_ms, to_ms, found_add, &f);
    ts_json_init(&j, out);
    if (f.n)
        found_write(&f, &j);
    found_release(&f);
}
