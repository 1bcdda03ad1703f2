/*
 * ids_cas.c - mappings of names and ids that are set where the cell is empty, many in flight.
 *
 * What a broken connection leaves open is read: our value in the cell means that it was set. A request that was thought to be lost and is executed
 * late sets the same value or finds the cell taken, so that it changes no outcome that was read.
 */
#include "storage/hbase/remote/ids_int.h"

#include "storage/hbase/limits.h"

/* Mappings that are being set. */
struct cas_job {
    struct sto_hbase__batch *b;
    enum sto_hbase__direction d;
    enum sto_remote_kind kind;
    struct ts_slice family;
    struct sto_hbase__cas *list;
    uint32_t items[STO_HBASE__BATCH_ITEMS]; /* those that are read, positions in list */
    struct ts_error err;                    /* the first one that ends the job */
    int rc;                                 /* its code */
};

/* The bytes of a name and of its number: one is the row, the other one the value. */
static int encode(const struct cas_job *job, const struct sto_hbase__cas *c, struct ts_buf *name,
                  struct ts_buf *id)
{
    uint8_t bytes[STO_HBASE_MAX_WIDTH];
    int n = sto_hbase_uid_make(&job->b->c->schema, job->kind, c->number, bytes, NULL);
    TS_TRY(n);
    TS_TRY(ts_buf_append(id, bytes, (size_t)n));
    return sto_hbase_name_encode(job->b->list[c->want].name, name);
}

/* --- requests in flight --- */

static int request(const struct cas_job *job, const struct sto_hbase__cas *c, struct sto_thrift_request *r)
{
    struct sto_hbase__ids_io *io = &job->b->io;
    bool by_name = job->d == STO_HBASE__BY_NAME;
    ts_buf_clear(&io->key);
    ts_buf_clear(&io->value);
    TS_TRY(encode(job, c, by_name ? &io->key : &io->value, by_name ? &io->value : &io->key));
    struct sto_thrift_cell cell = {.family = job->family,
                                   .qualifier = sto_hbase_uid_qualifier(job->kind),
                                   .value = ts_buf_get(&io->value)};
    struct sto_thrift_check check = {
        .row = ts_buf_get(&io->key), .family = cell.family, .qualifier = cell.qualifier};
    return sto_thrift_call_check_and_put(
        r, io->table, &check, &(struct sto_thrift_put){.row = check.row, .cells = &cell, .n_cells = 1});
}

static void end_job(struct cas_job *job, int rc, const struct ts_error *err)
{
    if (job->rc == 0) {
        job->rc = rc;
        job->err = *err;
    }
}

/* Receive the reply for an item. Returns false when the connection is broken. */
static bool receive(struct cas_job *job, struct sto_hbase__cas *c)
{
    struct sto_hbase_session *s = job->b->io.s;
    struct sto_thrift_reply reply = {0};
    struct ts_error err = {0};
    int rc = sto_thrift_client_receive(s->client, s->wait.cancel, &reply, NULL, &err);
    if (rc == 0)
        c->state = sto_thrift_reply_bool(&reply) ? STO_HBASE__CAS_SET : STO_HBASE__CAS_OTHER;
    else if (rc == TS_ECANCELLED || rc == TS_ELIMIT || (rc == TS_EBACKEND && sto_hbase_is_final(&reply)))
        end_job(job, rc, &err);
    return rc == 0 || rc == TS_EBACKEND;
}

/* Send an item. False: not now, because too many are in flight or there is no connection. */
static bool send(struct cas_job *job, const struct sto_hbase__cas *c, struct sto_thrift_request *r)
{
    struct sto_hbase_session *s = job->b->io.s;
    struct ts_error err = {0};
    int rc = request(job, c, r);
    if (rc == 0)
        rc = sto_thrift_client_send(s->client, r, sto_hbase_attempt(s), &err);
    else
        rc = ts_error_set(&err, TS_ELIMIT, "there is no memory for a request to HBase");
    if (rc == TS_ECANCELLED || rc == TS_ELIMIT)
        end_job(job, rc, &err);
    return rc == 0;
}

/* Try every OPEN item once, as long as the connection holds. */
static void try_all(struct cas_job *job, size_t n)
{
    struct sto_hbase__ids_io *io = &job->b->io;
    size_t flying[STO_HBASE__PIPELINE], n_sent = 0, n_received = 0;
    bool holds = true;
    for (size_t i = 0; i < n || n_received < n_sent;) {
        bool sends = holds && job->rc == 0 && i < n && n_sent - n_received < STO_HBASE__PIPELINE;
        size_t slot = n_sent % STO_HBASE__PIPELINE;
        if (sends && job->list[i].state != STO_HBASE__CAS_OPEN) {
            i++;
        } else if (sends && send(job, &job->list[i], &io->ring[slot])) {
            flying[slot] = i++;
            n_sent++;
        } else if (n_received < n_sent) {
            size_t item = flying[n_received++ % STO_HBASE__PIPELINE];
            holds = receive(job, &job->list[item]) && holds;
        } else {
            break;
        }
    }
}

/* --- what became of them --- */

static int row_of(void *arg, size_t i, struct ts_buf *key)
{
    struct cas_job *job = arg;
    struct ts_buf *value = &job->b->io.value;
    bool by_name = job->d == STO_HBASE__BY_NAME;
    ts_buf_clear(value);
    return encode(job, &job->list[job->items[i]], by_name ? key : value, by_name ? value : key);
}

static int got_value(void *arg, size_t i, struct ts_slice value, struct ts_error *err)
{
    struct cas_job *job = arg;
    struct sto_hbase__cas *c = &job->list[job->items[i]];
    struct sto_hbase__ids_io *io = &job->b->io;
    bool by_name = job->d == STO_HBASE__BY_NAME;
    c->state = STO_HBASE__CAS_OPEN;
    if (!value.p)
        return 0;
    ts_buf_clear(&io->key);
    ts_buf_clear(&io->value);
    if (encode(job, c, by_name ? &io->key : &io->value, by_name ? &io->value : &io->key) < 0)
        return ts_error_set(err, TS_ELIMIT, "there is no memory for names of HBase");
    c->state = ts_slice_eq(value, ts_buf_get(&io->value)) ? STO_HBASE__CAS_SET : STO_HBASE__CAS_OTHER;
    if (c->state == STO_HBASE__CAS_OTHER && by_name)
        return sto_hbase_error(sto_hbase_uid_parse(&job->b->c->schema, job->kind, value, &c->number, err),
                               err);
    return 0;
}

/* Read all items that are not SET: the winner's value is needed of those that lost, too. */
static int read_rest(struct cas_job *job, size_t n, struct ts_error *err)
{
    size_t n_items = 0;
    for (size_t i = 0; i < n; i++)
        if (job->list[i].state != STO_HBASE__CAS_SET)
            job->items[n_items++] = (uint32_t)i;
    return sto_hbase__ids_read(&job->b->io, job->family, job->kind, n_items, row_of, got_value, job, err);
}

int sto_hbase__ids_cas(struct sto_hbase__batch *b, enum sto_hbase__direction d, enum sto_remote_kind kind,
                       struct sto_hbase__cas *list, size_t n, struct ts_error *err)
{
    struct cas_job job = {.b = b,
                          .d = d,
                          .kind = kind,
                          .list = list,
                          .family = d == STO_HBASE__BY_NAME ? STO_HBASE_UID_FORWARD : STO_HBASE_UID_REVERSE};
    size_t n_before = n + 1;
    for (unsigned attempt = 0;; attempt++) {
        size_t n_open = 0;
        TS_TRY(sto_hbase_pause(b->io.s, attempt, err));
        try_all(&job, n);
        if (job.rc < 0) {
            if (err)
                *err = job.err;
            return sto_hbase_error(job.rc, err);
        }
        TS_TRY(read_rest(&job, n, err));
        for (size_t i = 0; i < n; i++)
            n_open += list[i].state == STO_HBASE__CAS_OPEN;
        if (n_open == 0)
            return 0;
        if (n_open < n_before)
            attempt = 0; /* the next pause is a short one */
        n_before = n_open;
    }
}
