/*
 * copy_notes.c - annotations of series and global ones, both ways, and compared.
 *
 * Those of series come from HBase with the rows that are read for points anyway. In the folder they are small cells, whose numbers of series mean
 * nothing elsewhere: they are copied and compared by the keys that they have in a remote store, which are made of names. Global annotations
 * belong to no metric, and are copied unless --metric chooses some.
 *
 * Threads    the main thread; notes from HBase come from threads of it, one at a time
 */
#include "base/hash.h"
#include "query/tsuid.h"
#include "storage/remote_cell.h"
#include "tsd/commands/copy.h"
#include "tsd/meta/annotation.h"
#include "tsd/meta/shared.h"

#define TRIES      8                  /* of a change that other writers come before */
#define NOTE_BYTES ((size_t)16 << 20) /* of a small cell, at most */
#define FNV_BASE   0xcbf29ce484222325ull

/* --- sums --- */

static uint64_t hash_bytes(struct ts_slice s)
{
    uint64_t h = FNV_BASE;
    for (size_t i = 0; i < s.n; i++)
        h = (h ^ (uint8_t)s.p[i]) * 0x100000001b3ull;
    return ts_hash_u64(h + s.n);
}

static int on_text(const char *p, size_t n, void *arg)
{
    return ts_buf_append(arg, p, n);
}

/* Members that are missing have their defaults, and their order means nothing; the TSUID is one of ids. */
static uint64_t hash_record(struct ts_slice record)
{
    json_t *root;
    const char *name;
    json_t *value;
    void *next;
    if (record.n == 0 || ts_json_load((struct ts_slice){record.p + 1, record.n - 1}, &root, NULL) < 0)
        return hash_bytes(record);
    json_object_foreach_safe(root, next, name, value)
    {
        bool is_default = json_is_null(value) || (json_is_string(value) && !*json_string_value(value)) ||
                          (json_is_integer(value) && json_integer_value(value) == 0) ||
                          (json_is_object(value) && json_object_size(value) == 0);
        if (is_default || strcmp(name, "tsuid") == 0)
            (void)json_object_del(root, name);
    }
    struct ts_buf text;
    ts_buf_init(&text, 0);
    (void)json_dump_callback(root, on_text, &text, JSON_COMPACT | JSON_SORT_KEYS);
    uint64_t h = hash_bytes(ts_buf_get(&text));
    ts_buf_release(&text);
    json_decref(root);
    return h;
}

static void add(struct tsd_copy_notes *sum, struct ts_slice remote_key, struct ts_slice record)
{
    sum->n++;
    sum->check += ts_hash_u64(hash_bytes(remote_key) + 3 * hash_record(record));
}

int tsd_copy_notes_add(struct tsd_copy_notes *sum, const struct sto_remote_note *note, struct ts_error *err)
{
    struct sto_remote_cell cell = {.kind = STO_REMOTE_ANNOTATION, .start_ms = note->start_ms};
    struct ts_buf key;
    ts_buf_init(&key, 0);
    if (note->series)
        cell.series = *note->series;
    int rc = sto_remote_cell_key(&cell, &key);
    if (rc == 0)
        add(sum, ts_buf_get(&key), note->record);
    ts_buf_release(&key);
    return rc < 0 ? ts_error_set(err, rc, "there is no memory for the key of an annotation") : 0;
}

/* --- the folder --- */

/* A visit of the annotations of the folder. */
struct visit {
    struct tsd_copy *c;
    int (*each)(struct tsd_copy *c, struct ts_slice remote_key, struct ts_slice record, void *arg,
                struct ts_error *err);
    void *arg;
    uint64_t *n_unnamed; /* annotations of names that are not known */
    int rc;
    struct ts_error *err;
};

/* Does an annotation belong to what is copied? */
static bool is_chosen(const struct tsd_copy *c, struct ts_slice remote_key)
{
    struct sto_remote_tag tags[STO_REMOTE_CELL_MAX_TAGS];
    struct sto_remote_cell cell;
    if (sto_remote_cell_parse(remote_key, tags, &cell) < 0)
        return false;
    if (cell.start_ms < c->from_ms || cell.start_ms > c->to_ms)
        return false;
    if (cell.series.metric.n == 0)
        return !tsd_args_has(c->args, "metric");
    return tsd_copy_has(c, cell.series.metric);
}

static bool on_cell(void *arg, struct ts_slice key, struct ts_slice value)
{
    struct visit *v = arg;
    struct ts_buf remote_key;
    ts_buf_init(&remote_key, 0);
    int rc = tsd_meta_remote_cell(v->c->store, key, &remote_key);
    if (rc == TS_ENOTFOUND) {
        *v->n_unnamed += 1;
        rc = 0;
    } else if (rc < 0) {
        (void)ts_error_set(v->err, rc, "there is no memory for the key of an annotation");
    } else if (is_chosen(v->c, ts_buf_get(&remote_key))) {
        rc = v->each(v->c, ts_buf_get(&remote_key), value, v->arg, v->err);
    }
    ts_buf_release(&remote_key);
    v->rc = rc < 0 ? rc : 0;
    return rc >= 0;
}

static int visit_folder(struct visit *v)
{
    if (v->c->store)
        tsd_notes_all_cells(v->c->store, on_cell, v);
    return v->rc;
}

static int add_folder(struct tsd_copy *c, struct ts_slice remote_key, struct ts_slice record, void *arg,
                      struct ts_error *err)
{
    (void)c, (void)err;
    add(arg, remote_key, record);
    return 0;
}

int tsd_copy_notes_of_folder(struct tsd_copy *c, struct tsd_copy_notes *sum, struct ts_error *err)
{
    struct visit v = {.c = c, .each = add_folder, .arg = sum, .n_unnamed = &sum->n_unnamed, .err = err};
    return visit_folder(&v);
}

/* --- HBase --- */

int tsd_copy_notes_global(struct tsd_copy *c, sto_fetch_note_fn each, void *arg, struct ts_error *err)
{
    struct sto_remote_call call = tsd_copy_call(c);
    struct sto_fetch f = {.from_ms = c->from_ms < 0 ? 0 : c->from_ms,
                          .to_ms = c->to_ms < STO_MAX_TS_MS ? c->to_ms : STO_MAX_TS_MS,
                          .note = each};
    if (tsd_args_has(c->args, "metric") || f.from_ms > f.to_ms)
        return 0;
    return c->remote->ops->fetch(c->remote, &f, &call, NULL, arg, err);
}

/* --- the copy --- */

int tsd_copy_note_in(struct tsd_copy *c, const struct sto_series *series, const struct sto_remote_note *note,
                     struct ts_error *err)
{
    struct ts_buf tsuid, key;
    ts_buf_init(&tsuid, 0);
    ts_buf_init(&key, 0);
    if (series)
        qry_tsuid(series, &tsuid);
    tsd_note_key(ts_buf_get(&tsuid), note->start_ms, &key);
    int rc = key.failed || tsuid.failed
                 ? ts_error_set(err, TS_ENOMEM, "there is no memory for the key of an annotation")
                 : sto_cell_put_later(c->store, ts_buf_get(&key), note->record, err);
    c->n_notes += rc == 0;
    ts_buf_release(&tsuid);
    ts_buf_release(&key);
    return rc;
}

static int put_remote(struct tsd_copy *c, struct ts_slice key, struct ts_slice record, void *arg,
                      struct ts_error *err)
{
    struct sto_remote *r = c->remote;
    struct ts_buf before;
    int rc = TS_EEXIST;
    (void)arg;
    ts_buf_init(&before, NOTE_BYTES);
    for (int i = 0; i < TRIES && rc == TS_EEXIST; i++) {
        struct sto_remote_call call = tsd_copy_call(c);
        ts_buf_clear(&before);
        rc = r->ops->cell_get(r, key, &call, &before, err);
        if (rc == TS_ENOTFOUND || (rc == 0 && !ts_slice_eq(ts_buf_get(&before), record)))
            rc = r->ops->cell_cas(r, key, ts_buf_get(&before), record, &call, err);
    }
    ts_buf_release(&before);
    if (rc == TS_EINVAL || rc == TS_ELIMIT) { /* OpenTSDB's tables cannot hold it */
        c->n_refused_notes++;
        tsd_say("an annotation was not copied: %s", err->text);
        return 0;
    }
    c->n_notes += rc == 0;
    return rc;
}

int tsd_copy_notes_out(struct tsd_copy *c, struct ts_error *err)
{
    struct visit v = {.c = c, .each = put_remote, .n_unnamed = &c->n_refused_notes, .err = err};
    return visit_folder(&v);
}
