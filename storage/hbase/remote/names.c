/*
 * names.c - names and ids, for callers of a remote store.
 *
 * Look-ups run in the thread of the caller, which has its result when `names` returns: callers are threads for jobs, or shipments, that would wait
 * for it in any case.
 */
#include "storage/hbase/remote/remote_int.h"

void sto_hbase__names(struct sto_remote *r, enum sto_remote_lookup what, struct sto_remote_name *list,
                      size_t n, const struct sto_remote_call *call, sto_remote_done_fn done, void *arg)
{
    struct sto_hbase *h = sto_hbase_of(r);
    struct sto_hbase_session s;
    struct ts_error err = {0};
    struct ts_buf names;
    ts_buf_init(&names, 0);
    names.budget = call ? call->memory : NULL;
    int rc = sto_hbase_begin(h->access, call, &s, &err);
    if (rc == 0) {
        rc = sto_hbase_ids_names(h->ids, &s, what, list, n, &names, &err);
        sto_hbase_end(&s);
    }
    done(arg, rc, rc < 0 ? &err : NULL);
    ts_buf_release(&names);
}

int sto_hbase__suggest(struct sto_remote *r, enum sto_remote_kind kind, struct ts_slice prefix, size_t max,
                       const struct sto_remote_call *call, bool (*each)(void *arg, struct ts_slice name),
                       void *arg, struct ts_error *err)
{
    struct sto_hbase *h = sto_hbase_of(r);
    struct sto_hbase_session s;
    TS_TRY(sto_hbase_begin(h->access, call, &s, err));
    int rc = sto_hbase_ids_suggest(h->ids, &s, kind, prefix, max, each, arg, err);
    sto_hbase_end(&s);
    return rc;
}

int sto_hbase__rename(struct sto_remote *r, enum sto_remote_kind kind, struct ts_slice from,
                      struct ts_slice to, const struct sto_remote_call *call, struct ts_error *err)
{
    struct sto_hbase *h = sto_hbase_of(r);
    struct sto_hbase_session s;
    TS_TRY(sto_hbase_begin(h->access, call, &s, err));
    int rc = sto_hbase_ids_rename(h->ids, &s, kind, from, to, err);
    sto_hbase_end(&s);
    return rc;
}
