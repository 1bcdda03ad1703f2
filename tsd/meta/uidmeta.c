/*
 * uidmeta.c - records of names in cells.
 *
 *   key    "uidmeta/" · kind 0 metric, 1 tag key, 2 tag value · id, u32 big-endian
 *
 * Threads    see uidmeta.h
 */
#include "tsd/meta/uidmeta.h"

#include "base/num.h"
#include "base/text.h"

#define UIDMETA_PREFIX "uidmeta/"

const struct tsd_field tsd_uidmeta_fields[] = {
    [TSD_UIDMETA_UID] = {"uid", NULL, TSD_FIELD_TEXT, TSD_FIELD_COMPUTED},
    [TSD_UIDMETA_TYPE] = {"type", NULL, TSD_FIELD_TEXT, TSD_FIELD_COMPUTED},
    [TSD_UIDMETA_NAME] = {"name", NULL, TSD_FIELD_TEXT, TSD_FIELD_COMPUTED},
    [TSD_UIDMETA_DESCRIPTION] = {"description", "description", TSD_FIELD_TEXT, 0},
    [TSD_UIDMETA_NOTES] = {"notes", "notes", TSD_FIELD_TEXT, 0},
    [TSD_UIDMETA_CREATED] = {"created", NULL, TSD_FIELD_INT, TSD_FIELD_OURS},
    [TSD_UIDMETA_CUSTOM] = {"custom", NULL, TSD_FIELD_MAP, 0},
    [TSD_UIDMETA_DISPLAY_NAME] = {"displayName", "display_name", TSD_FIELD_TEXT, 0},
    {NULL, NULL, TSD_FIELD_TEXT, 0},
};

/* --- ids --- */

bool tsd_uid_kind(struct ts_slice name, enum sto_uid_kind *out)
{
    static const struct {
        const char *name;
        enum sto_uid_kind kind;
    } kinds[] = {{"metric", STO_UID_METRIC},
                 {"metrics", STO_UID_METRIC},
                 {"tagk", STO_UID_TAGK},
                 {"tagv", STO_UID_TAGV}};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (ts_slice_is_nocase(name, kinds[i].name)) {
            *out = kinds[i].kind;
            return true;
        }
    }
    return false;
}

const char *tsd_uid_kind_name(enum sto_uid_kind kind)
{
    static const char *const names[STO_UID_KINDS] = {"metric", "tagk", "tagv"};
    return names[kind];
}

void tsd_uid_hex(uint32_t id, struct ts_buf *out)
{
    ts_buf_printf(out, "%0*X", id >> 24 ? 8 : 6, id);
}

void tsd_uid_bytes(uint32_t id, struct ts_buf *out)
{
    const char *before = "[";
    for (int shift = id >> 24 ? 24 : 16; shift >= 0; shift -= 8) {
        ts_buf_printf(out, "%s%d", before, (int8_t)(id >> shift & 255));
        before = ", ";
    }
    ts_buf_char(out, ']');
}

bool tsd_uid_parse(struct ts_slice hex, uint32_t *out_id)
{
    return (hex.n == 6 || hex.n == 8) && ts_num_parse_hex(hex, out_id);
}

/* --- records --- */

static void uidmeta_key(enum sto_uid_kind kind, uint32_t id, struct ts_buf *key)
{
    ts_buf_init(key, 0);
    ts_buf_str(key, UIDMETA_PREFIX);
    ts_buf_char(key, (char)kind);
    for (int shift = 24; shift >= 0; shift -= 8)
        ts_buf_char(key, (char)(id >> shift & 255));
}

/* A visit of the ids of records. */
struct uidmeta_ids {
    void (*each)(void *arg, enum sto_uid_kind kind, uint32_t id); /* called for each of them */
    void *arg;                                                    /* for each */
};

bool tsd_uidmeta_key_parse(struct ts_slice key, enum sto_uid_kind *out_kind, uint32_t *out_id)
{
    const size_t n = sizeof(UIDMETA_PREFIX) - 1;
    if (key.n != n + 5 || memcmp(key.p, UIDMETA_PREFIX, n) != 0)
        return false;
    const unsigned char *p = (const unsigned char *)key.p + n;
    *out_kind = (enum sto_uid_kind)p[0];
    *out_id = (uint32_t)p[1] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 8 | p[4];
    return p[0] < STO_UID_KINDS;
}

static bool uidmeta_id_each(void *arg, struct ts_slice key, struct ts_slice value)
{
    const struct uidmeta_ids *w = arg;
    enum sto_uid_kind kind;
    uint32_t id;
    (void)value;
    if (tsd_uidmeta_key_parse(key, &kind, &id))
        w->each(w->arg, kind, id);
    return true;
}

void tsd_uidmeta_ids(struct sto_store *st, void (*each)(void *arg, enum sto_uid_kind kind, uint32_t id),
                     void *arg)
{
    struct uidmeta_ids w = {each, arg};
    sto_cell_each(st, TS_SLICE_LIT(UIDMETA_PREFIX), uidmeta_id_each, &w);
}

/* After a record was written: keep the name. If it was forgotten before, the record is deleted, since its id will
 * never mean anything again. */
static int uidmeta_mentioned(struct sto_store *st, enum sto_uid_kind kind, uint32_t id, struct ts_slice key,
                             struct ts_error *err)
{
    int rc = sto_uid_keep(sto_store_catalog(st), kind, id, err);
    if (rc < 0)
        (void)sto_cell_put(st, key, (struct ts_slice){NULL, 0}, NULL);
    return rc;
}

/* The fields that the catalog knows. */
static const char *const types[STO_UID_KINDS] = {"METRIC", "TAGK", "TAGV"};

int tsd_uidmeta_foreign(const struct qry_view *view, enum sto_uid_kind kind, uint32_t id,
                        struct tsd_record *out)
{
    tsd_record_init(out, tsd_uidmeta_fields);
    out->v[TSD_UIDMETA_TYPE].text = ts_slice_str(types[kind]);
    out->v[TSD_UIDMETA_NAME].text = qry_view_name(view, kind, id); /* valid while the request runs */
    return 0;
}

static int uidmeta_name(struct sto_store *st, enum sto_uid_kind kind, uint32_t id, struct ts_arena *arena,
                        struct tsd_record *r, struct ts_error *err)
{
    struct ts_slice name = sto_uid_name(sto_store_catalog(st), kind, id);
    struct ts_buf text;
    ts_buf_init(&text, 0);
    int rc = 0;
    if (!name.p) {
        tsd_uid_bytes(id, &text);
        rc = ts_error_set(err, TS_ENOTFOUND, "No such unique ID for '%s': %.*s",
                          kind == STO_UID_METRIC ? "metrics" : tsd_uid_kind_name(kind), (int)text.n, text.p);
    } else {
        tsd_uid_hex(id, &text);
        r->v[TSD_UIDMETA_UID].text = (struct ts_slice){ts_arena_strndup(arena, text.p, text.n), text.n};
        r->v[TSD_UIDMETA_TYPE].text = ts_slice_str(types[kind]);
        r->v[TSD_UIDMETA_NAME].text = name; /* valid while the request runs */
    }
    ts_buf_release(&text);
    return rc;
}

int tsd_uidmeta_show(struct qry_view *view, enum sto_uid_kind kind, uint32_t id, struct ts_arena *arena,
                     struct tsd_record *r, struct ts_error *err)
{
    struct ts_buf text;
    if (!qry_ids_remote(view))
        return 0; /* it is there */
    ts_buf_init(&text, 0);
    int rc = qry_ids_hex(view, kind, id, &text, err);
    r->v[TSD_UIDMETA_UID].text = (struct ts_slice){ts_arena_strndup(arena, text.p, text.n), text.n};
    ts_buf_release(&text);
    return rc == TS_ENOTFOUND ? 0 : rc;
}

int tsd_uidmeta_load(struct sto_store *st, enum sto_uid_kind kind, uint32_t id, struct ts_arena *arena,
                     struct tsd_record *out, struct ts_error *err)
{
    struct ts_buf key;
    uidmeta_key(kind, id, &key);
    int rc = tsd_record_load(st, ts_buf_get(&key), tsd_uidmeta_fields, arena, out, err);
    ts_buf_release(&key);
    if (rc < 0 && rc != TS_ENOTFOUND)
        return rc;
    return uidmeta_name(st, kind, id, arena, out, err);
}

void tsd_uidmeta_refresh(struct sto_store *st, enum sto_uid_kind kind, uint32_t id)
{
    struct ts_buf key;
    uidmeta_key(kind, id, &key);
    (void)sto_cell_refresh(st, ts_buf_get(&key), false, NULL);
    ts_buf_release(&key);
}

int tsd_uidmeta_plain(struct sto_store *st, enum sto_uid_kind kind, uint32_t id, struct ts_arena *arena,
                      struct tsd_record *out, struct ts_error *err)
{
    tsd_record_init(out, tsd_uidmeta_fields);
    return uidmeta_name(st, kind, id, arena, out, err);
}

int tsd_uidmeta_store(struct sto_store *st, enum sto_uid_kind kind, uint32_t id,
                      const struct tsd_record *given, bool replace, struct ts_arena *arena,
                      struct tsd_record *out, bool *out_changed, struct ts_error *err)
{
    struct ts_buf key;
    TS_TRY(tsd_uidmeta_plain(st, kind, id, arena, out, err));
    uidmeta_key(kind, id, &key);
    int rc = tsd_record_store(st, ts_buf_get(&key), given, replace, arena, out, out_changed, err);
    if (rc == 0)
        rc = uidmeta_mentioned(st, kind, id, ts_buf_get(&key), err);
    ts_buf_release(&key);
    TS_TRY(rc);
    return uidmeta_name(st, kind, id, arena, out, err);
}

/* Set a field of a name that is there (p != NULL), or forget all of them. */
static int uidmeta_change(struct sto_store *st, enum sto_uid_kind kind, uint32_t id, struct ts_slice field,
                          struct ts_slice value, struct ts_error *err)
{
    struct ts_arena arena;
    struct ts_buf key;
    struct tsd_record r;
    ts_arena_init(&arena, 0);
    int rc = tsd_uidmeta_plain(st, kind, id, &arena, &r, err);
    uidmeta_key(kind, id, &key);
    if (rc == 0)
        rc = field.p ? tsd_record_set_member(st, ts_buf_get(&key), tsd_uidmeta_fields, TSD_UIDMETA_CUSTOM,
                                             field, value, err)
                     : sto_cell_put(st, ts_buf_get(&key), (struct ts_slice){NULL, 0}, err);
    if (rc == 0 && field.p)
        rc = uidmeta_mentioned(st, kind, id, ts_buf_get(&key), err);
    ts_buf_release(&key);
    ts_arena_release(&arena);
    return rc;
}

int tsd_uidmeta_set(struct sto_store *st, enum sto_uid_kind kind, uint32_t id, struct ts_slice field,
                    struct ts_slice value, struct ts_error *err)
{
    return uidmeta_change(st, kind, id, field, value, err);
}

int tsd_uidmeta_delete(struct sto_store *st, enum sto_uid_kind kind, uint32_t id, struct ts_error *err)
{
    return uidmeta_change(st, kind, id, (struct ts_slice){NULL, 0}, (struct ts_slice){NULL, 0}, err);
}

void tsd_uidmeta_json(const struct tsd_record *r, struct ts_json *j)
{
    ts_json_obj(j);
    tsd_record_members(r, j);
    ts_json_obj_end(j);
}

bool tsd_uidmeta_any(struct sto_store *st)
{
    return tsd_record_any(st, TS_SLICE_LIT(UIDMETA_PREFIX), TS_SLICE_LIT("uidmeta0"));
}
