/*
 * cells_place.c - small cells in OpenTSDB's tables: rows, qualifiers, documents.
 */
#include "base/text.h"
#include "storage/hbase/metatable.h"
#include "storage/hbase/remote/cells_int.h"
#include "storage/hbase/remote/ship_int.h"
#include "storage/hbase/uidtable.h"

/* --- places --- */

static int place_name(struct sto_hbase *h, struct sto_hbase_session *s, const struct sto_remote_cell *cell,
                      enum sto_remote_lookup what, struct sto_hbase__place *p, struct ts_error *err)
{
    struct sto_remote_name name = {.kind = cell->name_kind, .name = cell->name};
    struct ts_buf names;
    ts_buf_init(&names, 0);
    int rc = sto_hbase_ids_names(h->ids, s, what, &name, 1, &names, err);
    ts_buf_release(&names);
    TS_TRY(rc);
    if (name.rc < 0)
        return ts_error_set(err, name.rc, "table %s has no id for the name \"%.*s\"", h->opts.tables.uid,
                            TS_SHOWN(cell->name, 80));
    int n = sto_hbase_uid_make(&h->opts.schema, cell->name_kind, name.id, p->row, err);
    TS_TRY(n);
    p->n_row = (size_t)n;
    p->table = h->opts.tables.uid;
    p->family = STO_HBASE_UID_REVERSE;
    p->fields = sto_hbase_uid_fields;
    p->type = sto_hbase_uid_type(cell->name_kind);
    p->qualifier[p->n_qualifiers++] = sto_hbase_uid_document(cell->name_kind);
    return 0;
}

/* The TSUID of the series of a cell; without one for a global annotation. */
static int find_series(struct sto_hbase *h, struct sto_hbase_session *s, const struct sto_remote_cell *cell,
                       enum sto_remote_lookup what, struct sto_hbase_series_id *id, struct ts_error *err)
{
    const struct sto_remote_series *series = &cell->series;
    *id = (struct sto_hbase_series_id){.n = 0};
    if (series->metric.n == 0)
        return 0;
    TS_TRY(sto_hbase_ids_series(h->ids, s, what, &series, 1, id, err));
    if (id->rc == TS_EINVAL || id->rc == TS_ELIMIT)
        return ts_error_set(err, id->rc, "%s", id->why.text);
    return id->rc < 0 || id->n == 0
               ? ts_error_set(err, TS_ENOTFOUND, "table %s has no ids for the series", h->opts.tables.uid)
               : 0;
}

static int place_annotation(struct sto_hbase *h, const struct sto_remote_cell *cell, struct ts_slice tsuid,
                            struct sto_hbase__place *p, struct ts_error *err)
{
    const struct sto_hbase_schema *schema = &h->opts.schema;
    bool whole = cell->start_ms % 1000 == 0;
    int64_t start = whole ? cell->start_ms / 1000 : cell->start_ms;
    uint32_t base_s;
    int n = sto_hbase_annotation_place(start, &base_s, p->bytes[0], err);
    TS_TRY(n);
    p->qualifier[p->n_qualifiers++] = (struct ts_slice){(const char *)p->bytes[0], (size_t)n};
    if (whole && start % 1000 == 0 && cell->start_ms > UINT32_MAX) {
        n = sto_hbase_annotation_place(cell->start_ms, &base_s, p->bytes[1], err);
        TS_TRY(n);
        p->qualifier[p->n_qualifiers++] = (struct ts_slice){(const char *)p->bytes[1], (size_t)n};
    }
    p->n_row = tsuid.n ? sto_hbase_rowkey_make(schema, tsuid, base_s, p->row)
                       : sto_hbase_rowkey_global(schema, base_s, p->row);
    p->table = h->opts.tables.data;
    p->family = STO_HBASE_FAMILY;
    p->fields = sto_hbase_annotation_fields;
    return 0;
}

int sto_hbase__place_of(struct sto_hbase *h, struct sto_hbase_session *s, struct ts_slice key,
                        enum sto_remote_lookup what, struct sto_hbase__place *p, struct ts_error *err)
{
    struct sto_remote_tag tags[STO_REMOTE_CELL_MAX_TAGS];
    struct sto_remote_cell cell;
    struct sto_hbase_series_id id;
    *p = (struct sto_hbase__place){.n_row = 0};
    if (sto_remote_cell_parse(key, tags, &cell) < 0)
        return ts_error_set(err, TS_EINVAL, "OpenTSDB's tables have no place for such a cell");
    if (cell.kind == STO_REMOTE_NAME_META)
        return place_name(h, s, &cell, what, p, err);
    TS_TRY(find_series(h, s, &cell, what, &id, err));
    struct ts_slice tsuid = {(const char *)id.tsuid, id.n};
    sto_hbase_hex_print(tsuid, p->tsuid);
    if (cell.kind == STO_REMOTE_ANNOTATION)
        return place_annotation(h, &cell, tsuid, p, err);
    memcpy(p->row, tsuid.p, tsuid.n);
    p->n_row = tsuid.n;
    p->table = h->opts.tables.meta;
    p->family = STO_HBASE_META_FAMILY;
    p->fields = sto_hbase_meta_fields;
    p->qualifier[p->n_qualifiers++] = STO_HBASE_META_DOCUMENT;
    return 0;
}

/* --- documents --- */

int sto_hbase__record_load(struct ts_slice record, json_t **out, struct ts_error *err)
{
    *out = NULL;
    if (record.n == 0 || *record.p != STO_REMOTE_RECORD)
        return ts_error_set(err, TS_EINVAL, "the value of a cell is no record");
    int rc = ts_json_load((struct ts_slice){record.p + 1, record.n - 1}, out, err);
    return rc == TS_EPARSE ? ts_error_set(err, TS_EINVAL, "the value of a cell is no JSON") : rc;
}

int sto_hbase__place_for(const struct sto_hbase__place *p, struct ts_slice record)
{
    json_t *root;
    if (p->n_qualifiers < 2 || record.n == 0)
        return 0;
    TS_TRY(sto_hbase__record_load(record, &root, NULL));
    bool is_ms = json_integer_value(json_object_get(root, "startTime")) > UINT32_MAX;
    json_decref(root);
    return is_ms;
}

static int no_memory(int rc, struct ts_error *err)
{
    return rc == TS_ELIMIT || rc == TS_ENOMEM
               ? ts_error_set(err, TS_ELIMIT, "there is no memory for a document of HBase")
               : rc;
}

/* Write a document with the members that follow from its place. */
static int write_document(const struct sto_hbase__place *p, json_t *root, struct ts_buf *out,
                          struct ts_error *err)
{
    if (p->type)
        json_object_set_new(root, "type", json_string(p->type));
    json_object_set_new(root, "tsuid", json_string(p->tsuid));
    int rc = no_memory(sto_hbase_document_write(p->fields, root, out, err), err);
    json_decref(root);
    return rc;
}

int sto_hbase__document_of_record(const struct sto_hbase__place *p, struct ts_slice record,
                                  struct ts_buf *out, struct ts_error *err)
{
    json_t *root;
    TS_TRY(sto_hbase__record_load(record, &root, err));
    return write_document(p, root, out, err);
}

int sto_hbase__document_again(const struct sto_hbase__place *p, struct ts_slice document, struct ts_buf *out,
                              struct ts_error *err)
{
    json_t *root;
    TS_TRY(sto_hbase_document_parse(p->fields, document, &root, err));
    return write_document(p, root, out, err);
}

static int on_text(const char *p, size_t n, void *out)
{
    return ts_buf_append(out, p, n);
}

int sto_hbase__record_write(const json_t *record, struct ts_buf *out, struct ts_error *err)
{
    int rc = ts_buf_char(out, STO_REMOTE_RECORD);
    if (rc == 0 && json_dump_callback(record, on_text, out, JSON_COMPACT | JSON_SORT_KEYS) < 0)
        rc = TS_ELIMIT;
    return no_memory(rc, err);
}

int sto_hbase__record_of_document(const struct sto_hbase_field *fields, struct ts_slice document,
                                  struct ts_buf *out, struct ts_error *err)
{
    json_t *root, *record = json_object();
    int rc = sto_hbase_document_parse(fields, document, &root, err);
    for (; rc == 0 && fields->name; fields++) {
        json_t *value = json_object_get(root, fields->name);
        bool computed = strcmp(fields->name, "tsuid") == 0 || strcmp(fields->name, "type") == 0;
        bool is_nan = fields->type == STO_HBASE_NUMBER && !json_is_number(value);
        if (!computed && !is_nan && !json_is_null(value))
            json_object_set(record, fields->name, value);
    }
    json_decref(root);
    if (rc == 0)
        rc = sto_hbase__record_write(record, out, err);
    json_decref(record);
    return no_memory(rc, err);
}
