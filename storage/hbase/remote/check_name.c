/*
 * check_name.c - deletes a name of the table of ids.
 *
 * The forward mapping goes first: whoever needs the name from then on gives it a new id. If the call ends between the two steps, the check of ids
 * finds an id whose name has no id.
 */
#include "storage/hbase/remote/check_int.h"

#include "base/mem.h"
#include "base/text.h"
#include "storage/hbase/limits.h"
#include "storage/hbase/remote/ids_int.h"

static int delete_steps(struct sto_hbase *h, struct sto_hbase_session *s, enum sto_remote_kind kind,
                        struct ts_slice utf8, struct ts_slice name, struct ts_buf *id,
                        struct sto_thrift_request *r, struct ts_error *err)
{
    struct sto_hbase__cell_id forward = {h->opts.tables.uid, name, STO_HBASE_UID_FORWARD,
                                         sto_hbase_uid_qualifier(kind)};
    const struct ts_slice none = {NULL, 0}, document = sto_hbase_uid_document(kind);
    int rc = sto_hbase__cell_read(s, r, &forward, id, NULL, err);
    TS_TRY(rc);
    if (rc == 0)
        return ts_error_set(err, TS_ENOTFOUND, "the name \"%.*s\" does not exist in table %s",
                            TS_SHOWN(utf8, 80), h->opts.tables.uid);
    rc = sto_hbase__cell_change(s, r, &forward, ts_buf_get(id), none, 0, NULL, 0, err);
    TS_TRY(rc);
    if (rc == 0)
        return ts_error_set(err, TS_EBUSY,
                            "another writer has changed the name \"%.*s\" in table %s meanwhile",
                            TS_SHOWN(utf8, 80), h->opts.tables.uid);
    struct sto_hbase__cell_id reverse = {h->opts.tables.uid, ts_buf_get(id), STO_HBASE_UID_REVERSE,
                                         sto_hbase_uid_qualifier(kind)};
    if (id->n == 0)
        return 0;
    /* another name that the id shows belongs to another mapping */
    rc = sto_hbase__cell_change(s, r, &reverse, name, none, 0, &document, 1, err);
    return rc < 0 ? rc : 0;
}

static void forget(struct sto_hbase *h, enum sto_remote_kind kind, struct ts_slice utf8, struct ts_slice id)
{
    struct sto_hbase_id_cache *c = h->ids;
    uint64_t number = 0;
    (void)sto_hbase_uid_parse(&h->opts.schema, kind, id, &number, NULL);
    pthread_mutex_lock(&c->mu);
    struct sto_hbase__records *t = &c->names;
    sto_hbase__records_forget(t, sto_hbase__records_by_name(t, (uint8_t)kind, utf8), STO_HBASE__BY_NAME);
    sto_hbase__records_forget(t, sto_hbase__records_by_number(t, (uint8_t)kind, number),
                              STO_HBASE__BY_NUMBER);
    c->series.generation++;
    pthread_mutex_unlock(&c->mu);
}

int sto_hbase_delete_name(struct sto_remote *remote, enum sto_remote_kind kind, struct ts_slice name,
                          const struct sto_remote_call *call, struct ts_error *err)
{
    struct sto_hbase *h = sto_hbase_of(remote);
    struct sto_hbase_session s;
    struct sto_thrift_request r;
    struct ts_buf bytes, id;
    if (sto_hbase_check_name(kind, name, err) < 0)
        return ts_error_set(err, TS_ENOTFOUND, "the name \"%.*s\" does not exist in table %s",
                            TS_SHOWN(name, 80), h->opts.tables.uid);
    TS_TRY(sto_hbase_begin(h->access, call, &s, err));
    sto_thrift_request_init(&r, STO_HBASE__REQUEST_BYTES, h->opts.access.memory);
    ts_buf_init(&bytes, 0);
    ts_buf_init(&id, 0);
    int rc = sto_hbase_name_encode(name, &bytes) < 0
                 ? sto_hbase__no_memory(err)
                 : delete_steps(h, &s, kind, name, ts_buf_get(&bytes), &id, &r, err);
    if (id.n)
        forget(h, kind, name, ts_buf_get(&id));
    ts_buf_release(&bytes);
    ts_buf_release(&id);
    sto_thrift_request_release(&r);
    sto_hbase_end(&s);
    return rc;
}
