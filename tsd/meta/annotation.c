/*
 * annotation.c - stores annotations (notes in names of functions) in small cells.
 *
 *   key    "ann/" · length of the TSUID's text, u16 big-endian · TSUID's text · start in ms, u64 big-endian
 *
 * The length in front keeps a series apart from those whose tags continue where its own end. Big-endian
 * numbers are in the order of keys, so the annotations of a series in a range of times are a range of cells.
 *
 * Threads    see annotation.h
 */
#include "tsd/meta/annotation.h"

#include "base/array.h"
#include "base/time.h"
#include "query/tsuid.h"
#include "query/view.h"
#include "tsd/meta/annotation_remote.h"
#include "tsd/meta/keep.h"

#include <stdlib.h>

#define NOTE_PREFIX   "ann/"
#define NOTE_HEAD     (sizeof(NOTE_PREFIX) - 1 + 2) /* bytes before the TSUID */
#define NOTE_MS_FROM  4294967296ll                  /* larger times are milliseconds */
#define NOTE_MS_LIMIT 9999999999999ll               /* last time of a point, and of an annotation */

const struct tsd_field tsd_note_fields[] = {
    [TSD_NOTE_TSUID] = {"tsuid", "tsuid", TSD_FIELD_TEXT, TSD_FIELD_COMPUTED},
    [TSD_NOTE_DESCRIPTION] = {"description", "description", TSD_FIELD_TEXT, 0},
    [TSD_NOTE_NOTES] = {"notes", "notes", TSD_FIELD_TEXT, 0},
    [TSD_NOTE_CUSTOM] = {"custom", NULL, TSD_FIELD_MAP, TSD_FIELD_OMIT},
    [TSD_NOTE_START] = {"startTime", NULL, TSD_FIELD_INT, 0},
    [TSD_NOTE_END] = {"endTime", NULL, TSD_FIELD_INT, 0},
    {NULL, NULL, TSD_FIELD_TEXT, 0},
};

int64_t tsd_note_ms(int64_t t)
{
    return t < NOTE_MS_FROM ? t * 1000 : t;
}

/* --- keys --- */

/* Key of a series and a time, or without the time what all of its keys begin with. */
static void note_key(struct ts_buf *key, struct ts_slice tsuid)
{
    ts_buf_clear(key);
    ts_buf_str(key, NOTE_PREFIX);
    ts_buf_char(key, (char)(tsuid.n >> 8));
    ts_buf_char(key, (char)(tsuid.n & 255));
    ts_buf_slice(key, tsuid);
}

static void note_key_time(struct ts_buf *key, int64_t ms)
{
    uint64_t t = ms < 0 ? 0 : (uint64_t)ms;
    for (int shift = 56; shift >= 0; shift -= 8)
        ts_buf_char(key, (char)(t >> shift & 255));
}

void tsd_note_key(struct ts_slice tsuid, int64_t start_ms, struct ts_buf *key)
{
    note_key(key, tsuid);
    note_key_time(key, start_ms);
}

static void note_key_of(struct ts_buf *key, const struct tsd_record *note)
{
    tsd_note_key(note->v[TSD_NOTE_TSUID].text, tsd_note_ms(note->v[TSD_NOTE_START].i), key);
}

/* The series in a key. */
static struct ts_slice note_tsuid(struct ts_slice key)
{
    return key.n < NOTE_HEAD + 8 ? (struct ts_slice){"", 0}
                                 : (struct ts_slice){key.p + NOTE_HEAD, key.n - NOTE_HEAD - 8};
}

bool tsd_note_key_parse(struct ts_slice key, struct ts_slice *out_tsuid, int64_t *out_start_ms)
{
    uint64_t t = 0;
    if (key.n < NOTE_HEAD + 8 || memcmp(key.p, NOTE_PREFIX, sizeof(NOTE_PREFIX) - 1) != 0)
        return false;
    for (size_t i = key.n - 8; i < key.n; i++)
        t = t << 8 | (uint8_t)key.p[i];
    *out_tsuid = note_tsuid(key);
    *out_start_ms = (int64_t)t;
    return *out_start_ms >= 0;
}

/* --- what clients give --- */

static int note_check(struct tsd_record *note, struct qry_view *view, struct ts_arena *arena,
                      struct ts_error *err)
{
    struct tsd_field_value *tsuid = &note->v[TSD_NOTE_TSUID];
    int64_t start = note->v[TSD_NOTE_START].i;
    if (start == 0)
        return ts_error_set(err, TS_EINVAL, "Missing start time");
    if (start < 0 || start > NOTE_MS_LIMIT || note->v[TSD_NOTE_END].i < 0 ||
        note->v[TSD_NOTE_END].i > NOTE_MS_LIMIT)
        return ts_error_set(err, TS_EINVAL, "Times of an annotation are from 1 to %lld", NOTE_MS_LIMIT);
    if (tsuid->text.n == 0)
        return 0;
    struct ts_buf plain;
    ts_buf_init(&plain, 0);
    int rc = qry_ids_local(view, tsuid->text, &plain, err);
    if (rc == 0)
        tsuid->text = (struct ts_slice){ts_arena_strndup(arena, plain.p, plain.n), plain.n};
    ts_buf_release(&plain);
    return rc;
}

int tsd_note_from_json(const json_t *obj, struct qry_view *view, struct ts_arena *arena,
                       struct tsd_record *out, struct ts_error *err)
{
    tsd_record_init(out, tsd_note_fields);
    TS_TRY(tsd_record_from_json(out, obj, arena, err));
    const json_t *tsuid = json_object_get(obj, "tsuid");
    if (json_is_string(tsuid))
        TS_TRY(tsd_record_set(out, TSD_NOTE_TSUID, ts_slice_str(json_string_value(tsuid)), arena, err));
    else if (tsuid && !json_is_null(tsuid))
        return ts_error_set(err, TS_EINVAL, "Field 'tsuid' must be a text");
    return note_check(out, view, arena, err);
}

int tsd_note_from_params(const struct qry_param *params, size_t n, int64_t now_ms, bool strict,
                         struct qry_view *view, struct ts_arena *arena, struct tsd_record *out,
                         struct ts_error *err)
{
    tsd_record_init(out, tsd_note_fields);
    TS_TRY(tsd_record_from_params(out, params, n, arena, err));
    for (size_t i = 0; i < n; i++) {
        bool start = ts_slice_is(params[i].name, "start_time"), end = ts_slice_is(params[i].name, "end_time");
        int64_t ms;
        if ((!start && !end) || params[i].value.n == 0)
            continue;
        TS_TRY(ts_time_parse(params[i].value, NULL, now_ms, strict, &ms, NULL, err));
        struct tsd_field_value *v = &out->v[start ? TSD_NOTE_START : TSD_NOTE_END];
        v->i = ts_floor_div(ms, 1000);
        v->given = true;
    }
    return note_check(out, view, arena, err);
}

/* --- stored --- */

static struct tsd_field_value note_copy_tsuid(struct ts_slice tsuid, struct ts_arena *arena)
{
    return (struct tsd_field_value){.text = {ts_arena_strndup(arena, tsuid.p, tsuid.n), tsuid.n},
                                    .given = true};
}

int tsd_note_load(struct sto_store *st, const struct tsd_record *which, struct ts_arena *arena,
                  struct tsd_record *out, struct ts_error *err)
{
    struct ts_buf key;
    ts_buf_init(&key, 0);
    note_key_of(&key, which);
    (void)sto_cell_refresh(st, ts_buf_get(&key), false, NULL); /* otherwise the copy answers */
    int rc = tsd_record_load(st, ts_buf_get(&key), tsd_note_fields, arena, out, err);
    ts_buf_release(&key);
    if (rc == TS_ENOTFOUND)
        return ts_error_set(err, rc, "Unable to locate annotation in storage");
    out->v[TSD_NOTE_TSUID] = note_copy_tsuid(which->v[TSD_NOTE_TSUID].text, arena);
    return rc;
}

int tsd_note_store(struct sto_store *st, const struct tsd_record *given, unsigned how, struct ts_arena *arena,
                   struct tsd_record *out, bool *out_changed, struct ts_error *err)
{
    struct ts_buf key;
    ts_buf_init(&key, 0);
    note_key_of(&key, given);
    int rc = tsd_record_store(st, ts_buf_get(&key), given, how, arena, out, out_changed, err);
    ts_buf_release(&key);
    if (rc == 0) /* the series of an annotation need not exist: nobody has sent it yet, or it is forgotten */
        (void)tsd_meta_mentioned(st, given->v[TSD_NOTE_TSUID].text);
    out->v[TSD_NOTE_TSUID] = note_copy_tsuid(given->v[TSD_NOTE_TSUID].text, arena);
    return rc;
}

int tsd_note_delete(struct sto_store *st, const struct tsd_record *which, struct ts_error *err)
{
    struct ts_buf key;
    ts_buf_init(&key, 0);
    note_key_of(&key, which);
    int rc = sto_cell_put(st, ts_buf_get(&key), (struct ts_slice){NULL, 0}, err);
    ts_buf_release(&key);
    return rc;
}

/* --- ranges --- */

/* A visit of annotations. */
struct note_walk {
    tsd_note_fn each;        /* gets them */
    void *arg;               /* for each */
    struct sto_store *store; /* deleting: where */
    struct ts_error *err;    /* deleting: why not */
    uint64_t n;              /* deleting: gone so far */
    int rc;                  /* deleting */
};

bool tsd_note_visit(struct ts_slice tsuid, struct ts_slice record, tsd_note_fn each, void *arg)
{
    struct ts_arena arena;
    struct tsd_record note;
    bool go_on = true;
    ts_arena_init(&arena, 0);
    if (tsd_record_decode(record, tsd_note_fields, &arena, &note, NULL) == 0) {
        note.v[TSD_NOTE_TSUID].text = tsuid;
        go_on = each(arg, &note);
    }
    ts_arena_release(&arena);
    return go_on;
}

static bool note_each(void *arg, struct ts_slice key, struct ts_slice value)
{
    struct note_walk *w = arg;
    return tsd_note_visit(note_tsuid(key), value, w->each, w->arg);
}

static bool note_erase(void *arg, struct ts_slice key, struct ts_slice value)
{
    struct note_walk *w = arg;
    (void)value;
    w->rc = sto_cell_put_later(w->store, key, (struct ts_slice){NULL, 0}, w->err);
    w->n += w->rc == 0;
    return w->rc == 0;
}

void tsd_notes_cells(struct sto_store *st, struct ts_slice tsuid, int64_t from_ms, int64_t to_ms,
                     bool (*each)(void *arg, struct ts_slice key, struct ts_slice value), void *arg)
{
    struct ts_buf from, to;
    if (to_ms < from_ms || to_ms < 0)
        return;
    ts_buf_init(&from, 0);
    ts_buf_init(&to, 0);
    note_key(&from, tsuid);
    note_key_time(&from, from_ms);
    note_key(&to, tsuid);
    note_key_time(&to, to_ms == INT64_MAX ? to_ms : to_ms + 1);
    sto_cell_range(st, ts_buf_get(&from), ts_buf_get(&to), each, arg);
    ts_buf_release(&from);
    ts_buf_release(&to);
}

void tsd_notes_each(struct sto_store *st, struct ts_slice tsuid, int64_t from_ms, int64_t to_ms,
                    tsd_note_fn each, void *arg)
{
    struct note_walk w = {.each = each, .arg = arg};
    tsd_notes_cells(st, tsuid, from_ms, to_ms, note_each, &w);
}

void tsd_notes_all(struct sto_store *st, tsd_note_fn each, void *arg)
{
    struct note_walk w = {.each = each, .arg = arg};
    sto_cell_each(st, TS_SLICE_LIT(NOTE_PREFIX), note_each, &w);
}

void tsd_notes_all_cells(struct sto_store *st,
                         bool (*each)(void *arg, struct ts_slice key, struct ts_slice value), void *arg)
{
    sto_cell_each(st, TS_SLICE_LIT(NOTE_PREFIX), each, arg);
}

/* A visit of the TSUIDs of annotations. */
struct note_tsuids {
    void (*each)(void *arg, struct ts_slice tsuid); /* gets them */
    void *arg;                                      /* for each */
};

static bool note_tsuid_each(void *arg, struct ts_slice key, struct ts_slice value)
{
    const struct note_tsuids *w = arg;
    struct ts_slice tsuid = note_tsuid(key);
    (void)value;
    if (tsuid.n)
        w->each(w->arg, tsuid);
    return true;
}

void tsd_notes_tsuids(struct sto_store *st, void (*each)(void *arg, struct ts_slice tsuid), void *arg)
{
    struct note_tsuids w = {each, arg};
    sto_cell_each(st, TS_SLICE_LIT(NOTE_PREFIX), note_tsuid_each, &w);
}

int tsd_notes_delete(struct sto_store *st, struct ts_slice tsuid, int64_t from_ms, int64_t to_ms, uint64_t *n,
                     struct ts_error *err)
{
    struct note_walk w = {.store = st, .err = err};
    TS_TRY(tsd_notes_fetch(st, tsuid, from_ms, to_ms, true, NULL, err));
    tsd_notes_cells(st, tsuid, from_ms, to_ms, note_erase, &w);
    *n += w.n;
    return w.rc < 0 || !w.n ? w.rc : sto_cell_sync(st, err);
}

bool tsd_notes_any(struct sto_store *st)
{
    /* behind the globals, whose series has no length */
    return tsd_record_any(st, (struct ts_slice){NOTE_PREFIX "\0\1", NOTE_HEAD}, TS_SLICE_LIT("ann0"));
}

/* --- annotations in answers --- */

/* An annotation found, its text in found.text. */
struct found_note {
    int64_t start_ms;
    size_t off, n; /* of its object */
    size_t order;  /* as found: keeps equal times in one order */
};

struct found {
    struct qry_view *view;       /* for their TSUIDs */
    const struct qry_view *from; /* knows the ids of the series that were read; NULL: view does */
    struct ts_error *err;        /* why the search stopped */
    int rc;                      /* the same */
    struct ts_buf text;          /* objects, one after the other */
    struct found_note *notes;    /* owned */
    size_t n, cap;               /* used, allocated */
};

/* The TSUID of the note is made of the ids of `from`; one that is not known is left out, since an empty one says that the note is global. */
static int note_json(struct qry_view *view, const struct qry_view *from, const struct tsd_record *note,
                     struct ts_json *j, struct ts_error *err)
{
    struct tsd_record shown = *note;
    struct ts_buf tsuid;
    int rc = 0;
    ts_buf_init(&tsuid, 0);
    if (note->v[TSD_NOTE_TSUID].text.n)
        rc = qry_ids_shown_from(view, from, note->v[TSD_NOTE_TSUID].text, &tsuid, err);
    shown.v[TSD_NOTE_TSUID].text = ts_buf_get(&tsuid);
    if (rc == 0 || rc == TS_ENOTFOUND) {
        bool unknown = note->v[TSD_NOTE_TSUID].text.n && !tsuid.n;
        ts_json_obj(j);
        tsd_record_members_but(&shown, unknown ? TSD_FIELD_COMPUTED : 0, j);
        ts_json_obj_end(j);
        rc = 0;
    }
    ts_buf_release(&tsuid);
    return rc;
}

int tsd_note_json(struct qry_view *view, const struct tsd_record *note, struct ts_json *j,
                  struct ts_error *err)
{
    return note_json(view, view, note, j, err);
}

static bool found_add(void *arg, const struct tsd_record *note)
{
    struct found *f = arg;
    struct ts_json j;
    size_t off = f->text.n;
    ts_json_init(&j, &f->text);
    f->rc = note_json(f->view, f->from ? f->from : f->view, note, &j, f->err);
    if (f->rc < 0)
        return false;
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

void tsd_notes_members(struct sto_store *st, struct tsd_notes_fetched *fetched, const struct qry_series *s,
                       int64_t from_ms, int64_t to_ms, tsd_note_fn each, void *arg)
{
    struct ts_buf tsuid;
    ts_buf_init(&tsuid, 0);
    for (size_t i = 0; i < s->n_places; i++) {
        const struct sto_series *member = s->members[s->places[i]];
        if (!s->data[s->places[i]])
            continue;
        if (qry_series_foreign(member)) {
            if (fetched)
                tsd_notes_fetched_each(fetched, member, from_ms, to_ms, each, arg);
            continue;
        }
        ts_buf_clear(&tsuid);
        qry_tsuid(member, &tsuid);
        tsd_notes_each(st, ts_buf_get(&tsuid), from_ms, to_ms, each, arg);
    }
    ts_buf_release(&tsuid);
}

int tsd_notes_of_series(struct sto_store *st, struct tsd_notes_fetched *fetched, const struct qry_series *s,
                        int64_t from_ms, int64_t to_ms, struct qry_limit *limit, struct ts_json *j,
                        struct ts_error *err)
{
    struct qry_view view;
    struct found f = {.view = &view, .from = s->view, .err = err};
    qry_view_open(&view, st, limit);
    ts_buf_init(&f.text, 0);
    tsd_notes_members(st, fetched, s, from_ms, to_ms, found_add, &f);
    if (f.n && f.rc == 0) {
        ts_json_key(j, "annotations");
        found_write(&f, j);
    }
    found_release(&f);
    qry_view_close(&view);
    return f.rc;
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
