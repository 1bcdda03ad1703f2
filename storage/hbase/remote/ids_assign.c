/*
 * ids_assign.c - gives ids to names that have none, a block at a time.
 *
 * OpenTSDB gives one name an id in three steps, each atomic (docs/OPENTSDB.md, 10.8): (1) increment the counter of the kind, which returns a number;
 * (2) set the reverse mapping number -> name if it is empty; (3) set the forward mapping name -> number if it is empty, or use the number that is
 * there. Here one increment by n reserves n numbers for n names, and of the other steps only those are compare-and-set that decide something between
 * writers:
 *
 *   One name never gets two ids, since every writer sets a forward mapping by step 3 alone, for each name apart: exactly one of them finds
 *   the cell empty, all others read its number. This holds whatever is done in the steps before.
 *
 *   One number never gets two names. The increment is atomic: among all that take numbers from the counter, one at a time or in blocks, a
 *   number has one owner, and nobody else writes its reverse mapping. Three things break this:
 *     - The counter was lower than ids in use when it was incremented (restored from a copy, written by hand). OpenTSDB notices that step 2 fails. Here the
 *       reverse mappings of the block are read, and numbers that have a name are not used. After that only the owner writes them, so that they are
 *       put together, without a comparison. (A counter that is lowered between the increment and the put of a writer, while another one
 *       takes the same numbers, is not noticed; nothing in OpenTSDB lowers it.)
 *     - HBase has lost what it had acknowledged, the counter too. Numbers that this process has seen with a name are not used then (skip_known).
 *     - With tsd.core.uid.random_metrics, OpenTSDB takes numbers of metrics at random, without the counter. Then reading first is not
 *       enough: it could set the mapping between our look and our put, and we would replace it. So the reverse mappings of metrics are set by
 *       compare-and-set too. There are few metrics beside tag values, which random ids do not exist for.
 *
 *   The reverse mapping is acknowledged before the forward one is sent: a reverse mapping without a forward one is harmless, an id without a
 *   name cannot be shown.
 *
 * Lost replies: an increment is repeated, which leaves a block unused; a put of reverse mappings is repeated, since nobody else writes them; what became
 * of a compare-and-set is read (ids_cas.c).
 *
 * Threads    one thread assigns names of a kind at a time in this process, because others would mostly need the same names, and waste numbers
 */
#include "storage/hbase/remote/ids_int.h"

#include <time.h>

#include "base/mem.h"
#include "base/time.h"
#include "storage/hbase/limits.h"

#define MAX_ROUNDS 10          /* blocks that are tried for the same names */
#define LOOK_NS    100000000ll /* between looks at cancel */

/* By enum sto_remote_kind. */
static const struct {
    const char *plural, *key;
} kinds[] = {
    {"metrics", "hbase_metric_width"}, {"tag keys", "hbase_tagk_width"}, {"tag values", "hbase_tagv_width"}};

int sto_hbase__ids_full(const struct sto_hbase_id_cache *c, enum sto_remote_kind kind, struct ts_error *err)
{
    unsigned width = sto_hbase_uid_width(&c->schema, kind);
    return ts_error_set(
        err, TS_ELIMIT,
        "all ids of %s in table %s are assigned: %s = %u has room for %llu of them, and cannot be "
        "changed while there are points",
        kinds[kind].plural, c->table, kinds[kind].key, width, (unsigned long long)sto_hbase_width_max(width));
}

/* --- one thread at a time --- */

static int begin_assigning(struct sto_hbase__batch *b, enum sto_remote_kind kind, struct ts_error *err)
{
    struct sto_hbase_id_cache *c = b->c;
    const struct sto_thrift_wait *wait = &b->io.s->wait;
    int rc = 0;
    pthread_mutex_lock(&c->mu);
    while (c->is_assigning[kind] && rc == 0) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        int64_t ns = until.tv_nsec + LOOK_NS;
        until.tv_sec += (time_t)(ns / 1000000000);
        until.tv_nsec = (long)(ns % 1000000000);
        pthread_cond_timedwait(&c->released, &c->mu, &until);
        if (wait->cancel && atomic_load_explicit(wait->cancel, memory_order_relaxed))
            rc = ts_error_set(err, TS_ECANCELLED, "waiting for ids of %s was cancelled", kinds[kind].plural);
        else if (ts_clock_mono_ns() >= wait->until_ns)
            rc = ts_error_set(err, TS_ETIMEOUT, "other threads were giving ids to %s until the deadline",
                              kinds[kind].plural);
    }
    if (rc == 0)
        c->is_assigning[kind] = true;
    pthread_mutex_unlock(&c->mu);
    return rc;
}

static void end_assigning(struct sto_hbase_id_cache *c, enum sto_remote_kind kind)
{
    pthread_mutex_lock(&c->mu);
    c->is_assigning[kind] = false;
    pthread_cond_broadcast(&c->released);
    pthread_mutex_unlock(&c->mu);
}

/* --- numbers --- */

/* Up to BATCH_ITEMS names of one kind, and numbers for them. */
struct block {
    struct sto_hbase__batch *b;
    enum sto_remote_kind kind;
    size_t n;       /* names */
    size_t n_named; /* those at the front of list that have a number */
    struct sto_hbase__cas list[STO_HBASE__BATCH_ITEMS];
    uint64_t first;                        /* of the numbers that were reserved last */
    size_t n_numbers;                      /* of them that fit the width */
    bool is_taken[STO_HBASE__BATCH_ITEMS]; /* those that have a name already */
    bool stuck;                            /* the counter gives no numbers, and will not by a repetition */
};

/* The counter gives no numbers. Names that have ids are not concerned. */
static int be_stuck(struct block *k, const char *why, struct ts_error *err)
{
    k->stuck = true;
    return ts_error_set(
        err, TS_EBACKEND,
        "the counter of %s in table %s gives no new ids: %s; tsd uid fsck fix --hbase mends it",
        kinds[k->kind].plural, k->b->c->table, why);
}

/* The value of a counter after the increment by n. */
static int counter(struct block *k, const struct sto_thrift_reply *reply, size_t n, uint64_t *out_last,
                   struct ts_error *err)
{
    struct sto_thrift_items it;
    struct sto_thrift_row row;
    struct sto_thrift_cell cell;
    sto_thrift_items_init(&it, reply);
    int rc = sto_thrift_row(&it, &row, err);
    if (rc > 0)
        rc = sto_thrift_row_next(&row, &cell, err);
    if (rc == 0)
        rc = ts_error_set(err, TS_EBACKEND, "HBase answered an increment without the new value");
    if (rc > 0) {
        struct ts_error why = {0};
        rc = sto_hbase_counter_parse(cell.value, out_last, &why);
        if (rc < 0 || *out_last < n)
            return be_stuck(k, rc < 0 ? why.text : "it was negative", err);
    }
    return sto_hbase_error(rc, err);
}

/* Reserve n numbers. An increment whose reply is lost is repeated, and its numbers stay unused. */
static int reserve(struct block *k, size_t n, struct ts_error *err)
{
    struct sto_hbase__ids_io *io = &k->b->io;
    struct sto_thrift_column column = {.family = STO_HBASE_UID_FORWARD,
                                       .qualifier = sto_hbase_uid_qualifier(k->kind)};
    struct sto_thrift_reply reply = {0};
    enum sto_thrift_sent sent = STO_THRIFT_NOT_SENT;
    uint64_t last = 0, most = sto_hbase_width_max(sto_hbase_uid_width(&k->b->c->schema, k->kind));
    if (sto_thrift_call_increment(&io->r, io->table, STO_HBASE_UID_COUNTERS, &column, (int64_t)n) < 0)
        return ts_error_set(err, TS_ELIMIT, "there is no memory for a request to HBase");
    for (unsigned attempt = 1;; attempt++) {
        int rc = sto_hbase_call(io->s, &io->r, &reply, &sent, err);
        if (rc == 0)
            break;
        if (sent != STO_THRIFT_NOT_SENT)
            atomic_fetch_add_explicit(&k->b->c->n_unused, n, memory_order_relaxed);
        bool ends = sent == STO_THRIFT_ANSWERED ? sto_hbase_is_final(&reply) : sent == STO_THRIFT_NOT_SENT;
        if (rc == TS_EBACKEND && sent == STO_THRIFT_ANSWERED && sto_hbase_refuses_rows(&reply)) {
            struct ts_error why = *err;
            return be_stuck(k, why.text, err);
        }
        if (ends || rc == TS_ECANCELLED || rc == TS_ELIMIT || sto_hbase_pause(io->s, attempt, NULL) < 0)
            return rc;
    }
    TS_TRY(counter(k, &reply, n, &last, err));
    k->first = last - n + 1;
    k->n_numbers = k->first > most ? 0 : last > most ? (size_t)(most - k->first + 1) : n;
    return 0;
}

/* --- reverse mappings --- */

static int row_of_number(void *arg, size_t i, struct ts_buf *key)
{
    const struct block *k = arg;
    uint8_t id[STO_HBASE_MAX_WIDTH];
    int n = sto_hbase_uid_make(&k->b->c->schema, k->kind, k->first + i, id, NULL);
    return n < 0 ? n : ts_buf_append(key, id, (size_t)n);
}

static int got_taken(void *arg, size_t i, struct ts_slice value, struct ts_error *err)
{
    struct block *k = arg;
    (void)err;
    k->is_taken[i] = value.p != NULL;
    return 0;
}

/* Put the reverse mappings of n names, which their numbers belong to. */
static int put_reverse(struct block *k, const struct sto_hbase__cas *list, size_t n, struct ts_error *err)
{
    struct sto_hbase__ids_io *io = &k->b->io;
    struct sto_thrift_cell cell = {.family = STO_HBASE_UID_REVERSE,
                                   .qualifier = sto_hbase_uid_qualifier(k->kind)};
    for (size_t i = 0; i < n;) {
        struct sto_thrift_reply reply;
        sto_thrift_batch_begin(&io->r, STO_THRIFT_PUT_MULTIPLE, io->table);
        for (; i < n && io->r.bytes.n < STO_HBASE__BATCH_BYTES; i++) {
            uint8_t id[STO_HBASE_MAX_WIDTH];
            int n_id = sto_hbase_uid_make(&k->b->c->schema, k->kind, list[i].number, id, err);
            TS_TRY(n_id);
            ts_buf_clear(&io->value);
            if (sto_hbase_name_encode(k->b->list[list[i].want].name, &io->value) < 0)
                return ts_error_set(err, TS_ELIMIT, "there is no memory for names of HBase");
            cell.value = ts_buf_get(&io->value);
            sto_thrift_batch_put(&io->r, &(struct sto_thrift_put){.row = {(const char *)id, (size_t)n_id},
                                                                  .cells = &cell,
                                                                  .n_cells = 1});
        }
        if (sto_thrift_batch_end(&io->r) < 0)
            return ts_error_set(err, TS_ELIMIT, "there is no memory for a request to HBase");
        TS_TRY(sto_hbase_call(io->s, &io->r, &reply, NULL, err));
    }
    return 0;
}

/* A number that a name had here is not given to another one: HBase was set back, by a copy or because it has lost what it had acknowledged, and rows with
 * that number are still there, or in flight. All that is remembered is then read again. */
static void skip_known(struct block *k)
{
    struct sto_hbase_id_cache *c = k->b->c;
    bool any = false;
    pthread_mutex_lock(&c->mu);
    for (size_t i = 0; i < k->n_numbers; i++)
        if (!k->is_taken[i] && sto_hbase__records_by_number(&c->names, (uint8_t)k->kind, k->first + i))
            k->is_taken[i] = any = true;
    if (any)
        c->distrusted_ms = c->now_ms();
    pthread_mutex_unlock(&c->mu);
}

/* Give free numbers of the block to the next names, and set their reverse mappings. */
static int name_numbers(struct block *k, struct ts_error *err)
{
    struct sto_hbase__cas *list = k->list + k->n_named;
    size_t n = 0, n_good = 0;
    for (size_t i = 0; i < k->n_numbers; i++)
        if (!k->is_taken[i])
            list[n++].number = k->first + i;
    if (k->kind != STO_REMOTE_METRIC) {
        TS_TRY(put_reverse(k, list, n, err));
        n_good = n;
    } else {
        TS_TRY(sto_hbase__ids_cas(k->b, STO_HBASE__BY_NUMBER, k->kind, list, n, err));
        for (size_t i = 0; i < n; i++) { /* names that have their number come first */
            struct sto_hbase__cas c = list[i];
            if (c.state == STO_HBASE__CAS_SET) {
                list[i] = list[n_good];
                list[n_good++] = c;
            }
        }
        for (size_t i = 0; i < n; i++)
            list[i].state = STO_HBASE__CAS_OPEN;
    }
    k->n_named += n_good;
    atomic_fetch_add_explicit(&k->b->c->n_unused, k->n_numbers - n_good, memory_order_relaxed);
    return 0;
}

/* Reserve numbers until all names have one, or there are none. */
static int find_numbers(struct block *k, struct ts_error *err)
{
    for (unsigned round = 0; round < MAX_ROUNDS && k->n_named < k->n; round++) {
        size_t n = k->n - k->n_named;
        TS_TRY(reserve(k, n, err));
        TS_TRY(sto_hbase__ids_read(&k->b->io, STO_HBASE_UID_REVERSE, k->kind, k->n_numbers, row_of_number,
                                   got_taken, k, err));
        skip_known(k);
        TS_TRY(name_numbers(k, err));
        if (k->n_numbers < n)
            return 0; /* the last ones of the width */
    }
    if (k->n_named == 0) {
        char why[100];
        (void)snprintf(why, sizeof why, "%llu to %llu have names, although it had not reached them",
                       (unsigned long long)k->first, (unsigned long long)(k->first + k->n_numbers - 1));
        return be_stuck(k, why, err);
    }
    return 0;
}

/* --- blocks --- */

/* The names have ids in HBase: tell the batch and the cache. */
static void publish(struct block *k)
{
    struct sto_hbase_id_cache *c = k->b->c;
    pthread_mutex_lock(&c->mu);
    for (size_t i = 0; i < k->n_named; i++) {
        struct sto_hbase__want *w = &k->b->list[k->list[i].want];
        bool won = k->list[i].state == STO_HBASE__CAS_SET;
        w->id = k->list[i].number;
        w->state = STO_HBASE__KNOWN;
        w->seen_ms = k->b->now_ms;
        sto_hbase__batch_remember(k->b, w, STO_HBASE__BY_NAME);
        if (won)
            sto_hbase__batch_remember(k->b, w, STO_HBASE__BY_NUMBER);
        atomic_fetch_add_explicit(won ? &c->n_assigned : &c->n_unused, 1, memory_order_relaxed);
    }
    pthread_mutex_unlock(&c->mu);
}

static int assign_block(struct block *k, struct ts_error *err)
{
    TS_TRY(find_numbers(k, err));
    TS_TRY(sto_hbase__ids_cas(k->b, STO_HBASE__BY_NAME, k->kind, k->list, k->n_named, err));
    publish(k);
    return 0;
}

/* Names that another thread gave ids to while this one waited. */
static void look_again(struct sto_hbase__batch *b, enum sto_remote_kind kind)
{
    pthread_mutex_lock(&b->c->mu);
    int64_t now_ms = b->c->now_ms(); /* that thread may have begun after this one */
    for (size_t i = 0; i < b->n; i++) {
        struct sto_hbase__want *w = &b->list[i];
        if (w->kind != kind || w->state != STO_HBASE__ABSENT)
            continue;
        const struct sto_hbase__record *r = sto_hbase__records_by_name(&b->c->names, w->kind, w->name);
        if (r && sto_hbase__is_fresh(b->c, r->seen_ms[STO_HBASE__BY_NAME], now_ms)) {
            w->id = r->number;
            w->seen_ms = r->seen_ms[STO_HBASE__BY_NAME];
            w->state = STO_HBASE__KNOWN;
        }
    }
    pthread_mutex_unlock(&b->c->mu);
}

/* Whether the kind was full a moment ago; all its ABSENT names are FULL then. */
static bool is_full(struct sto_hbase__batch *b, enum sto_remote_kind kind, bool found)
{
    pthread_mutex_lock(&b->c->mu);
    int64_t *full_ms = &b->c->full_ms[kind];
    if (found)
        *full_ms = b->now_ms;
    bool full = found || (*full_ms != INT64_MIN && sto_hbase__is_fresh(b->c, *full_ms, b->now_ms));
    pthread_mutex_unlock(&b->c->mu);
    for (size_t i = 0; full && i < b->n; i++)
        if (b->list[i].kind == kind && b->list[i].state == STO_HBASE__ABSENT)
            b->list[i].state = STO_HBASE__FULL;
    return full;
}

/* Names that need an id of the kind do not get one; the others of the batch are not concerned. */
static int set_stuck(struct block *k, const struct ts_error *why)
{
    struct sto_hbase__batch *b = k->b;
    b->stuck[k->kind] = *why;
    for (size_t i = 0; i < b->n; i++)
        if (b->list[i].kind == k->kind && b->list[i].state == STO_HBASE__ABSENT)
            b->list[i].state = STO_HBASE__STUCK;
    return 0;
}

/* Give ids to the ABSENT names of a kind. */
static int assign_kind(struct block *k, struct ts_error *err)
{
    struct sto_hbase__batch *b = k->b;
    look_again(b, k->kind);
    if (is_full(b, k->kind, false))
        return 0;
    for (size_t i = 0; i < b->n;) {
        size_t n_bytes = 0;
        for (k->n = k->n_named = 0;
             i < b->n && k->n < STO_HBASE__BATCH_ITEMS && n_bytes < STO_HBASE__BATCH_BYTES; i++)
            if (b->list[i].kind == k->kind && b->list[i].state == STO_HBASE__ABSENT) {
                k->list[k->n++] = (struct sto_hbase__cas){.want = (uint32_t)i};
                n_bytes += b->list[i].name.n;
            }
        if (k->n) {
            struct ts_error why = {0};
            int rc = assign_block(k, &why);
            if (k->stuck)
                return set_stuck(k, &why);
            if (rc < 0)
                return ts_error_set(err, rc, "%s", why.text);
        }
        if (k->n_named < k->n) {
            if (k->n_numbers == 0 && is_full(b, k->kind, true))
                return 0;
            i = k->list[0].want; /* the rest once more */
        }
    }
    return 0;
}

int sto_hbase__batch_assign(struct sto_hbase__batch *b, struct ts_error *err)
{
    bool needed[STO_HBASE__N_KINDS] = {false};
    int rc = 0;
    for (size_t i = 0; i < b->n; i++)
        if (b->list[i].state == STO_HBASE__ABSENT)
            needed[b->list[i].kind] = true;
    struct block *k = ts_xmalloc(sizeof(*k));
    for (unsigned kind = 0; rc == 0 && kind < STO_HBASE__N_KINDS; kind++) {
        if (!needed[kind])
            continue;
        k->b = b;
        k->kind = (enum sto_remote_kind)kind;
        k->stuck = false;
        rc = begin_assigning(b, k->kind, err);
        if (rc == 0) {
            rc = assign_kind(k, err);
            end_assigning(b->c, k->kind);
        }
    }
    ts_free(k);
    return rc;
}
