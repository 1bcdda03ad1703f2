/*
 * fields.c - records in, merged, out.
 *
 * Threads    see fields.h
 */
#include "tsd/meta/fields.h"

#include "base/num.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>

#define FIELDS_HEAD_BYTES 512  /* of a cell: names of fields, numbers */
#define STORE_TRIES       1000 /* somebody else changed the record between reading and writing */

static struct ts_slice fields_copy(struct ts_arena *arena, const char *p, size_t n)
{
    return (struct ts_slice){ts_arena_strndup(arena, p, n), n};
}

void tsd_record_init(struct tsd_record *r, const struct tsd_field *fields)
{
    *r = (struct tsd_record){.fields = fields};
    for (size_t i = 0; fields[i].name; i++) {
        if (i == TSD_FIELDS_MAX)
            TS_BUG("a record of more than %d fields", TSD_FIELDS_MAX);
        r->v[i].d = (double)NAN;
        if (fields[i].kind == TSD_FIELD_TEXT)
            r->v[i].text = (struct ts_slice){"", 0};
    }
}

/* --- in --- */

static int fields_bad(const struct tsd_field *f, const char *want, struct ts_error *err)
{
    return ts_error_set(err, TS_EINVAL, "Field '%s' must be %s", f->name, want);
}

static int fields_double(const struct tsd_field *f, struct ts_slice text, double *out, struct ts_error *err)
{
    struct ts_num num;
    if (ts_slice_is(text, "NaN")) {
        *out = (double)NAN;
        return 0;
    }
    if (ts_num_parse(text, &num, NULL) < 0)
        return fields_bad(f, "a number", err);
    *out = ts_num_double(num);
    return 0;
}

static int fields_bool(const struct tsd_field *f, struct ts_slice text, int64_t *out, struct ts_error *err)
{
    static const char *const words[] = {"false", "true", "0", "1", "no", "yes"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (ts_slice_is_nocase(text, words[i])) {
            *out = i & 1;
            return 0;
        }
    }
    return fields_bad(f, "true or false", err);
}

int tsd_record_set(struct tsd_record *r, size_t field, struct ts_slice text, struct ts_arena *arena,
                   struct ts_error *err)
{
    const struct tsd_field *f = &r->fields[field];
    struct tsd_field_value *v = &r->v[field];
    if (f->kind == TSD_FIELD_MAP)
        return fields_bad(f, "an object", err);
    if (f->kind == TSD_FIELD_INT && ts_num_parse_int(text, &v->i, NULL) < 0)
        return fields_bad(f, "a whole number", err);
    if (f->kind == TSD_FIELD_DOUBLE)
        TS_TRY(fields_double(f, text, &v->d, err));
    if (f->kind == TSD_FIELD_BOOL)
        TS_TRY(fields_bool(f, text, &v->i, err));
    if (f->kind == TSD_FIELD_TEXT)
        v->text = fields_copy(arena, text.p, text.n);
    v->given = true;
    return 0;
}

/* Text of a JSON value that is a text, a number or a truth; false for others. */
static bool fields_scalar(const json_t *v, struct ts_arena *arena, struct ts_slice *out)
{
    char number[TS_NUM_TEXT_BYTES];
    if (json_is_string(v))
        *out = fields_copy(arena, json_string_value(v), json_string_length(v));
    else if (json_is_integer(v))
        *out = fields_copy(arena, number, ts_num_print_int(json_integer_value(v), number));
    else if (json_is_real(v))
        *out = fields_copy(arena, number, ts_num_print_java(json_real_value(v), number));
    else if (json_is_boolean(v))
        *out = json_is_true(v) ? TS_SLICE_LIT("true") : TS_SLICE_LIT("false");
    else
        return false;
    return true;
}

static int fields_cmp(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* An object of texts, members in byte order, so that equal maps have equal bytes. */
static int fields_map(const struct tsd_field *f, const json_t *obj, struct ts_arena *arena,
                      struct ts_slice *out, struct ts_error *err)
{
    size_t n = 0;
    const char **keys = ts_arena_alloc(arena, (json_object_size(obj) + 1) * sizeof(*keys)), *k;
    json_t *v;
    struct ts_buf text;
    struct ts_json j;
    bool ok = json_is_object(obj);
    json_object_foreach((json_t *)(uintptr_t)obj, k, v) keys[n++] = k;
    qsort(keys, n, sizeof(*keys), fields_cmp);
    ts_buf_init(&text, 0);
    ts_json_init(&j, &text);
    ts_json_obj(&j);
    for (size_t i = 0; i < n && ok; i++) {
        struct ts_slice value = {"", 0};
        v = json_object_get(obj, keys[i]);
        ok = json_is_null(v) || fields_scalar(v, arena, &value);
        ts_json_member_slice(&j, keys[i], value);
    }
    ts_json_obj_end(&j);
    if (ok)
        *out = fields_copy(arena, text.p, text.n);
    ts_buf_release(&text);
    return ok ? 0 : fields_bad(f, "an object of texts", err);
}

static int fields_read(struct tsd_record *r, size_t i, const json_t *v, struct ts_arena *arena,
                       struct ts_error *err)
{
    struct ts_slice text;
    if (r->fields[i].kind == TSD_FIELD_MAP) {
        TS_TRY(fields_map(&r->fields[i], v, arena, &r->v[i].text, err));
        r->v[i].given = true;
        return 0;
    }
    if (!fields_scalar(v, arena, &text))
        return fields_bad(&r->fields[i], "a text or a number", err);
    return tsd_record_set(r, i, text, arena, err);
}

static int fields_object(struct tsd_record *r, const json_t *obj, unsigned skip, struct ts_arena *arena,
                         struct ts_error *err)
{
    for (size_t i = 0; r->fields[i].name; i++) {
        const json_t *v = json_object_get(obj, r->fields[i].name);
        if (v && !json_is_null(v) && !(r->fields[i].flags & skip))
            TS_TRY(fields_read(r, i, v, arena, err));
    }
    return 0;
}

static size_t fields_max_bytes = (size_t)64 << 10; /* of the texts of a record */

void tsd_record_set_max_bytes(size_t max_bytes)
{
    fields_max_bytes = max_bytes;
}

/* What is given may not be longer than a record may be. */
static int fields_fit(const struct tsd_record *r, struct ts_error *err)
{
    size_t n = 0;
    for (size_t i = 0; r->fields[i].name; i++)
        n += r->v[i].given ? r->v[i].text.n : 0;
    return n <= fields_max_bytes
               ? 0
               : ts_error_set(err, TS_ELIMIT,
                              "%zu bytes of text are more than annotation_max_bytes = %zu allows", n,
                              fields_max_bytes);
}

/* The same of a whole record, as its cell. */
static int fields_cell_fits(const struct ts_buf *cell, struct ts_error *err)
{
    return cell->n <= fields_max_bytes + FIELDS_HEAD_BYTES
               ? 0
               : ts_error_set(err, TS_ELIMIT, "it would have %zu bytes, annotation_max_bytes allows %zu",
                              cell->n, fields_max_bytes);
}

int tsd_record_from_json(struct tsd_record *r, const json_t *obj, struct ts_arena *arena,
                         struct ts_error *err)
{
    if (!json_is_object(obj))
        return ts_error_set(err, TS_EPARSE, "Expected a JSON object");
    TS_TRY(fields_object(r, obj, TSD_FIELD_OURS | TSD_FIELD_COMPUTED, arena, err));
    return fields_fit(r, err);
}

int tsd_record_from_params(struct tsd_record *r, const struct qry_param *params, size_t n,
                           struct ts_arena *arena, struct ts_error *err)
{
    for (size_t i = 0; r->fields[i].name; i++)
        for (size_t k = 0; r->fields[i].param && k < n; k++)
            if (ts_slice_is(params[k].name, r->fields[i].param))
                TS_TRY(tsd_record_set(r, i, params[k].value, arena, err));
    return fields_fit(r, err);
}

/* --- out --- */

static void fields_write(const struct tsd_record *r, unsigned skip, bool brief, struct ts_json *j)
{
    for (size_t i = 0; r->fields[i].name; i++) {
        const struct tsd_field *f = &r->fields[i];
        const struct tsd_field_value *v = &r->v[i];
        bool null = f->kind == TSD_FIELD_MAP && !v->text.p;
        if ((f->flags & skip) || (null && (brief || (f->flags & TSD_FIELD_OMIT))))
            continue;
        ts_json_key(j, f->name);
        if (f->kind == TSD_FIELD_TEXT)
            ts_json_slice(j, v->text);
        else if (f->kind == TSD_FIELD_INT)
            ts_json_int(j, v->i);
        else if (f->kind == TSD_FIELD_BOOL)
            ts_json_bool(j, v->i);
        else if (f->kind == TSD_FIELD_DOUBLE)
            ts_json_double(j, v->d);
        else if (null)
            ts_json_null(j);
        else
            ts_json_raw(j, v->text);
    }
}

void tsd_record_members(const struct tsd_record *r, struct ts_json *j)
{
    fields_write(r, 0, false, j);
}

void tsd_record_members_but(const struct tsd_record *r, unsigned skip, struct ts_json *j)
{
    fields_write(r, skip, false, j);
}

/* --- cells --- */

void tsd_record_store_members(const struct tsd_record *r, struct ts_json *j)
{
    fields_write(r, TSD_FIELD_COMPUTED, true, j);
}

static void fields_encode(const struct tsd_record *r, struct ts_buf *out)
{
    struct ts_json j;
    ts_buf_char(out, TSD_FIELDS_FORMAT);
    ts_json_init(&j, out);
    ts_json_obj(&j);
    tsd_record_store_members(r, &j);
    ts_json_obj_end(&j);
}

int tsd_record_load_members(const json_t *obj, const struct tsd_field *fields, struct ts_arena *arena,
                            struct tsd_record *out, struct ts_error *err)
{
    tsd_record_init(out, fields);
    int rc = fields_object(out, obj, TSD_FIELD_COMPUTED, arena, err);
    return rc < 0 ? ts_error_set(err, TS_ECORRUPT, "a record of metadata makes no sense") : 0;
}

int tsd_record_decode(struct ts_slice cell, const struct tsd_field *fields, struct ts_arena *arena,
                      struct tsd_record *out, struct ts_error *err)
{
    json_t *root;
    tsd_record_init(out, fields);
    if (cell.n == 0 || *cell.p != TSD_FIELDS_FORMAT)
        return ts_error_set(err, TS_EVERSION, "a record of metadata was written by a newer program");
    int loaded = ts_json_load((struct ts_slice){cell.p + 1, cell.n - 1}, &root, err);
    if (ts_json_may_be_whole(loaded))
        return loaded;
    if (loaded < 0)
        return ts_error_set(err, TS_ECORRUPT, "a record of metadata can't be read");
    int rc = tsd_record_load_members(root, fields, arena, out, err);
    json_decref(root);
    return rc;
}

int tsd_record_load(struct sto_store *st, struct ts_slice key, const struct tsd_field *fields,
                    struct ts_arena *arena, struct tsd_record *out, struct ts_error *err)
{
    struct ts_buf cell;
    ts_buf_init(&cell, 0);
    tsd_record_init(out, fields);
    int rc = sto_cell_get(st, key, &cell);
    if (rc == 0)
        rc = tsd_record_decode(ts_buf_get(&cell), fields, arena, out, err);
    ts_buf_release(&cell);
    return rc;
}

void tsd_record_merge(struct tsd_record *io, const struct tsd_record *given, bool replace)
{
    struct tsd_record fresh;
    tsd_record_init(&fresh, io->fields);
    for (size_t i = 0; io->fields[i].name; i++) {
        if (given->v[i].given)
            io->v[i] = given->v[i];
        else if (replace && !(io->fields[i].flags & (TSD_FIELD_OURS | TSD_FIELD_COMPUTED)))
            io->v[i] = fresh.v[i];
    }
}

static int fields_swap(struct sto_store *st, struct ts_slice key, const struct tsd_record *given,
                       unsigned how, struct ts_buf *before, struct ts_buf *after, struct ts_arena *arena,
                       struct tsd_record *out, bool *out_changed, struct ts_error *err)
{
    ts_buf_clear(before);
    ts_buf_clear(after);
    tsd_record_init(out, given->fields);
    bool there = sto_cell_get(st, key, before) == 0;
    if (there)
        TS_TRY(tsd_record_decode(ts_buf_get(before), given->fields, arena, out, err));
    else
        fields_encode(out, before); /* all defaults are as good as nothing */
    tsd_record_merge(out, given, how & TSD_STORE_REPLACE);
    fields_encode(out, after);
    if (after->failed || before->failed)
        return ts_error_set(err, TS_ENOMEM, "no memory for a record of metadata");
    *out_changed = !ts_slice_eq(ts_buf_get(before), ts_buf_get(after));
    if (!there)
        ts_buf_clear(before);
    if (!*out_changed)
        return 0;
    TS_TRY(fields_cell_fits(after, err));
    return how & TSD_STORE_LATER ? sto_cell_cas_later(st, key, ts_buf_get(before), ts_buf_get(after), err)
                                 : sto_cell_cas(st, key, ts_buf_get(before), ts_buf_get(after), err);
}

int tsd_record_store(struct sto_store *st, struct ts_slice key, const struct tsd_record *given, unsigned how,
                     struct ts_arena *arena, struct tsd_record *out, bool *out_changed, struct ts_error *err)
{
    struct ts_buf before, after;
    ts_buf_init(&before, 0);
    ts_buf_init(&after, 0);
    int rc = sto_cell_refresh(st, key, true, err); /* whether anything changes depends on what others wrote */
    rc = rc < 0 ? rc : TS_EEXIST;
    for (int i = 0; i < STORE_TRIES && rc == TS_EEXIST; i++)
        rc = fields_swap(st, key, given, how, &before, &after, arena, out, out_changed, err);
    ts_buf_release(&before);
    ts_buf_release(&after);
    return rc;
}

/* The map with one member changed. */
static int fields_change_map(const struct tsd_field *f, struct tsd_field_value *v, const char *name,
                             struct ts_slice value, struct ts_arena *arena, struct ts_error *err)
{
    json_t *map = NULL;
    if (v->text.n)
        TS_TRY(ts_json_load(v->text, &map, err));
    else
        map = json_object();
    if (value.n)
        json_object_set_new(map, name, json_stringn(value.p, value.n));
    else
        json_object_del(map, name);
    bool whole = !value.n || json_object_get(map, name); /* jansson takes valid UTF-8 alone */
    int rc = whole ? 0 : ts_error_set(err, TS_EINVAL, "Field '%s' must be UTF-8", name);
    if (rc == 0 && json_object_size(map) == 0)
        v->text = (struct ts_slice){NULL, 0};
    else if (rc == 0)
        rc = fields_map(f, map, arena, &v->text, err);
    json_decref(map);
    return rc;
}

static int fields_try_member(struct sto_store *st, struct ts_slice key, struct tsd_record *r, size_t field,
                             const char *name, struct ts_slice value, struct ts_arena *arena,
                             struct ts_error *err)
{
    struct ts_buf before, after;
    ts_buf_init(&before, 0);
    ts_buf_init(&after, 0);
    int rc = 0;
    if (sto_cell_get(st, key, &before) == 0)
        rc = tsd_record_decode(ts_buf_get(&before), r->fields, arena, r, err);
    if (rc == 0)
        rc = fields_change_map(&r->fields[field], &r->v[field], name, value, arena, err);
    fields_encode(r, &after);
    if (rc == 0)
        rc = fields_cell_fits(&after, err);
    if (rc == 0)
        rc = sto_cell_cas(st, key, ts_buf_get(&before), ts_buf_get(&after), err);
    ts_buf_release(&before);
    ts_buf_release(&after);
    return rc;
}

int tsd_record_set_member(struct sto_store *st, struct ts_slice key, const struct tsd_field *fields,
                          size_t field, struct ts_slice name, struct ts_slice value, struct ts_error *err)
{
    int rc = sto_cell_refresh(st, key, true, err);
    rc = rc < 0 ? rc : TS_EEXIST;
    for (int i = 0; i < STORE_TRIES && rc == TS_EEXIST; i++) {
        struct ts_arena arena;
        struct tsd_record r;
        ts_arena_init(&arena, 0);
        tsd_record_init(&r, fields);
        rc = fields_try_member(st, key, &r, field, ts_arena_strndup(&arena, name.p, name.n), value, &arena,
                               err);
        ts_arena_release(&arena);
    }
    return rc;
}

static bool fields_stop(void *arg, struct ts_slice key, struct ts_slice value)
{
    (void)key;
    (void)value;
    *(bool *)arg = true;
    return false;
}

bool tsd_record_any(struct sto_store *st, struct ts_slice from, struct ts_slice to)
{
    bool any = false;
    sto_cell_range(st, from, to, fields_stop, &any);
    return any;
}
