/*
 * ship_attempt.c - repeats of a change of rows: the pause before an attempt, and what follows from its error.
 */
#include "storage/hbase/remote/ship_int.h"

#define MEMORY_ATTEMPTS 9 /* of a row for which memory is short: some ten seconds */

int sto_hbase__pause_after(struct sto_hbase_session *s, unsigned attempt, const struct ts_error *why,
                           struct ts_error *err)
{
    struct ts_error late = {0};
    int rc = sto_hbase_pause(s, attempt, &late);
    if (rc >= 0)
        return 0;
    if (err)
        *err = rc == TS_ECANCELLED || !why->code ? late : *why;
    return sto_hbase_error(rc == TS_ETIMEOUT && why->code ? why->code : rc, err);
}

/* Memory for one row was refused: do others hold it, so that the row may fit in a later attempt? */
static bool is_short(const struct sto_hbase *h, const struct sto_hbase_session *s)
{
    const struct ts_budget *memory = h->opts.access.memory;
    sto_thrift_client_trim(s->client); /* the reply is ours */
    return memory && memory->limit_bytes && ts_budget_room(memory) < memory->limit_bytes / 2;
}

static bool is_passing(int rc, bool final)
{
    return rc == TS_EIO || rc == TS_ETIMEOUT || rc == TS_ECORRUPT || rc == TS_EBUSY ||
           (rc == TS_EBACKEND && !final);
}

enum sto_hbase__verdict sto_hbase__judge(const struct sto_hbase *h, const struct sto_hbase_session *s,
                                         const struct sto_hbase__attempt *a, int rc, struct ts_error *why)
{
    bool refused = a->refused;
    why->code = rc = rc == TS_ENOMEM ? TS_ELIMIT : rc; /* a buffer that grows takes more than it needs */
    if (a->n_rows > 1 && (refused || rc == TS_ELIMIT))
        return STO_HBASE__DIVIDE;
    if (rc == TS_ELIMIT) {
        bool later = is_short(h, s);
        if (later && a->n < MEMORY_ATTEMPTS)
            return STO_HBASE__REPEAT;
        ts_error_wrap(why, later ? "other work holds the memory that the row in HBase needs"
                                 : "the row in HBase is too large to be changed");
        refused = true;
    }
    if (refused) {
        why->code = TS_EINVAL;
        return STO_HBASE__REFUSE;
    }
    return is_passing(rc, a->final) ? STO_HBASE__REPEAT : STO_HBASE__FAIL;
}

int sto_hbase__fail(const struct ts_error *why, struct ts_error *err)
{
    if (err)
        *err = *why;
    return sto_hbase_error(why->code, err);
}
