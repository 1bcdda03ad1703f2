/*
 * fetch_note.c - annotations of the rows that a fetch reads.
 */
#include "storage/hbase/remote/cells_int.h"
#include "storage/hbase/remote/fetch_int.h"

/* Start of an annotation in milliseconds, from its record. */
static int start_of(struct ts_slice record, int64_t *out_ms, struct ts_error *why)
{
    json_t *root;
    TS_TRY(ts_json_load((struct ts_slice){record.p + 1, record.n - 1}, &root, why));
    int64_t start = json_integer_value(json_object_get(root, "startTime"));
    json_decref(root);
    if (start < 0 || start > STO_MAX_TS_MS)
        return ts_error_set(why, TS_ECORRUPT, "an annotation has no valid start time");
    *out_ms = start > UINT32_MAX ? start : start * 1000;
    return 0;
}

static int deliver(struct sto_hbase__fetch *x, const struct sto_hbase__met *met, struct sto_remote_note note,
                   struct ts_error *err)
{
    int rc = 0;
    pthread_mutex_lock(&x->deliver_mu);
    for (; met && rc == 0; met = met->same) {
        note.series = x->metric ? &met->series : NULL;
        rc = sto_hbase__fetch_ended(x, err);
        if (rc == 0 && (rc = x->f->note(x->arg, &note, met->pos, err)) < 0)
            sto_hbase__fetch_fail(x, rc, err);
    }
    pthread_mutex_unlock(&x->deliver_mu);
    return rc < 0 ? rc : 0;
}

int sto_hbase__row_note(struct sto_hbase__reader *r, struct ts_slice document, struct ts_error *why,
                        struct ts_error *err)
{
    struct sto_hbase__fetch *x = r->x;
    struct sto_remote_note note = {.start_ms = 0};
    if (r->row.met->naming != STO_HBASE__NAMED) {
        sto_hbase__count(&x->h->fetched.n_unnamed, 1);
        return 0;
    }
    ts_buf_clear(&r->record);
    int rc = sto_hbase__record_of_document(sto_hbase_annotation_fields, document, &r->record, why);
    if (rc == 0)
        rc = start_of(ts_buf_get(&r->record), &note.start_ms, why);
    if (rc == TS_ELIMIT || rc == TS_ENOMEM)
        return ts_error_set(err, TS_ELIMIT, "%s", why->text);
    if (rc < 0 || note.start_ms < x->f->from_ms || note.start_ms > x->f->to_ms)
        return 0;
    note.record = ts_buf_get(&r->record);
    return deliver(x, r->row.met, note, err);
}
