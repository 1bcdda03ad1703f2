/*
 * ship_backlog.c - how much is not shipped yet.
 *
 * The numbers are approximate, so that they cost no more than a visit of each file and memstore: a file of which something is not covered by
 * the marks counts as a whole, minus what the last pass had sent of its generations while they were in memory. Hours whose marks wait only until the sums
 * of their additions, which memory has, are in a file count as if they had them: memory counts what was not sent of these sums.
 *
 * Threads    any thread
 */
#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"
#include "storage/engine/ship_int.h"

#define SUM_RANGES                                                                                           \
    256 /* ranges of hours that wait only for sums; of more, the older ones count as not shipped */

/* What the marks leave of files and memstores. */
struct backlog {
    uint64_t points, bytes;
    int64_t since_ms; /* INT64_MAX = not known from files */
};

bool sto_ship__is_shipped(const struct sto_mark_list *marks, const struct sto_sst_info *f)
{
    return sto_mark_covers(marks, f->gen_hi, f->min_ms, f->max_ms);
}

static bool is_in(const struct sto_shipper *s, const struct sto_version *v, const struct sto_sst_info *f)
{
    return sto_ship__is_shipped(sto_marks_list(v->marks), f) || sto_ship__is_shipped(&s->with_sums, f);
}

static void add_files(struct backlog *b, const struct sto_shipper *s, const struct sto_version *v)
{
    for (size_t i = 0; i < v->n_ssts; i++) {
        const struct sto_sst_info *f = sto_sst_info(v->ssts[i]);
        int64_t made_ms = sto_sst_wear(v->ssts[i])->made_ms;
        if (!f->n_points || is_in(s, v, f))
            continue;
        b->points += f->n_points;
        b->bytes += f->t_bytes;
        b->since_ms = made_ms > 0 && made_ms < b->since_ms ? made_ms : b->since_ms;
    }
}

static void add_mems(struct backlog *b, const struct sto_version *v)
{
    for (size_t i = 0; i < v->n_mems; i++) {
        uint64_t n = sto_mem_points(v->mems[i]);
        b->points += n;
        b->bytes += n ? sto_mem_bytes(v->mems[i]) : 0;
    }
}

/* Does something that is not shipped lie in this generation? */
static bool is_pending(const struct sto_shipper *s, const struct sto_version *v, uint64_t gen)
{
    for (size_t i = 0; i < v->n_mems; i++)
        if (sto_mem_gen(v->mems[i]) == gen)
            return true;
    for (size_t i = 0; i < v->n_ssts; i++) {
        const struct sto_sst_info *f = sto_sst_info(v->ssts[i]);
        if (f->n_points && gen >= f->gen_lo && gen <= f->gen_hi && !is_in(s, v, f))
            return true;
    }
    return false;
}

/* Subtract what was sent of memstores. */
static void subtract_sent(struct backlog *b, const struct sto_shipper *s, const struct sto_version *v)
{
    uint64_t sent = 0, all = b->points;
    for (size_t i = 0; i < s->n_sent; i++)
        sent += is_pending(s, v, s->sent[i].gen) ? s->sent[i].n : 0;
    b->points = all > sent ? all - sent : 0;
    b->bytes = all ? (uint64_t)((double)b->bytes * (double)b->points / (double)all) : 0;
}

void sto_ship__backlog_stats(struct sto_shipper *s, const struct sto_version *v,
                             void (*each)(void *arg, const char *name, uint64_t value), void *arg)
{
    struct backlog b = {.since_ms = INT64_MAX};
    int64_t now_ms = ts_clock_ms();
    add_mems(&b, v);
    pthread_mutex_lock(&s->sent_mu);
    add_files(&b, s, v);
    subtract_sent(&b, s, v);
    int64_t since_ms = s->since_ms < b.since_ms ? s->since_ms : b.since_ms;
    pthread_mutex_unlock(&s->sent_mu);
    b.points += atomic_load_explicit(&s->n_waiting, memory_order_relaxed);
    each(arg, "ship.backlog_points", b.points);
    each(arg, "ship.backlog_bytes", b.bytes);
    each(arg, "ship.backlog_s", b.points && now_ms > since_ms ? (uint64_t)(now_ms - since_ms) / 1000 : 0);
}

/* Is an hour held only because of additions, all of whose sums are in memory? */
static bool waits_for_sums(const struct sto_ship__pass *p, const struct sto_ship__hour *h)
{
    return h->additions && !h->missed && !h->refused_ms && !sto_mark_of(&p->undeleted, h->hour) &&
           h->through > sto_mark_of(&p->marks, h->hour);
}

/* The marks of the pass, as they would be if sums needed no file; the caller owns them. */
static struct sto_mark_list marks_with_sums(const struct sto_ship__pass *p)
{
    struct sto_mark_list list = sto_mark_list_without(&p->marks, 1, 0);
    size_t n_ranges = 0, n = 1;
    for (size_t i = 0; i < p->n_order && !p->additions.n && n_ranges < SUM_RANGES; i += n, n = 1) {
        const struct sto_ship__hour *h = sto_ship__hour_at(p, i), *last = h;
        if (!waits_for_sums(p, h))
            continue;
        for (; i + n < p->n_order; last = sto_ship__hour_at(p, i + n++)) {
            const struct sto_ship__hour *next = sto_ship__hour_at(p, i + n);
            if (next->hour != last->hour - 1 || next->through != h->through || !waits_for_sums(p, next))
                break;
        }
        sto_mark_list_replace(&list, sto_mark_list_with(&list, last->hour, h->hour, h->through));
        n_ranges++;
    }
    return list;
}

void sto_ship__note_backlog(struct sto_ship__pass *p, bool good)
{
    struct sto_ship__sent *sent = ts_xcalloc(p->n_mems + 1, sizeof *sent);
    struct sto_mark_list with_sums = marks_with_sums(p);
    int64_t open_ms = p->open_hour < INT32_MAX ? p->open_hour * TS_HOUR_MS : INT64_MAX;
    for (size_t i = 0; i < p->n_mems; i++)
        sent[i] = (struct sto_ship__sent){sto_mem_gen(p->mems[i]), p->sent ? p->sent[i] : 0};
    for (size_t i = 0; i < p->n_rows; i++)
        for (size_t k = 0; k < p->n_mems; k++)
            if (sent[k].gen == p->rows[i].gen) {
                sent[k].n += sto_mem_row_sent(p->rows[i].row);
                break;
            }
    pthread_mutex_lock(&p->s->sent_mu);
    ts_free(p->s->sent);
    p->s->sent = sent;
    p->s->n_sent = p->n_mems;
    sto_mark_list_replace(&p->s->with_sums, with_sums);
    if (good && !p->more)
        p->s->since_ms = p->begun_ms < open_ms ? p->begun_ms : open_ms;
    pthread_mutex_unlock(&p->s->sent_mu);
}

void sto_ship__expired(struct sto_engine *e, const struct sto_version *v, const uint64_t *gone, size_t n)
{
    static struct ts_log_limit limit;
    uint64_t n_points = 0;
    for (size_t i = 0; i < v->n_ssts && e->shipper; i++) {
        const struct sto_sst_info *f = sto_sst_info(v->ssts[i]);
        for (size_t k = 0; k < n; k++)
            if (gone[k] == f->file_no && f->n_points && !sto_ship__is_shipped(sto_marks_list(v->marks), f))
                n_points += f->n_points;
    }
    if (!n_points)
        return;
    atomic_fetch_add_explicit(&e->shipper->n_expired, n_points, memory_order_relaxed);
    ts_log_limited(
        &limit, TS_LOG_WARN,
        "retention removed points=%llu that may not be in the remote store yet: they expired before "
        "it took them",
        (unsigned long long)n_points);
}
