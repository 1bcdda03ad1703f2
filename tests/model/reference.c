/*
 * reference.c - operations of each series in a list; a scan replays them time by time.
 *
 * Threads    one thread at a time
 */
#include "tests/model/reference.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/xsum.h"

/* One remembered operation. */
struct ref_op {
    int64_t ts_ms;   /* time; DEL: first ms */
    int64_t to_ms;   /* DEL: last ms */
    size_t seq;      /* place in the order of writing */
    enum sto_op op;  /* what to do */
    struct ts_num v; /* value, not for DEL */
    bool ms;         /* resolution */
};

/* A list that grows. */
struct ref_list {
    struct ref_op *ops; /* in order of writing */
    size_t n, cap;      /* used, room */
};

struct t_ref {
    struct ref_list *writes; /* by series id: PUT and ADD */
    struct ref_list *dels;   /* by series id: DEL */
    uint32_t n_series;       /* length of both */
    size_t seq;              /* operations so far */
};

struct t_ref *t_ref_new(void)
{
    return ts_xcalloc(1, sizeof(struct t_ref));
}

void t_ref_free(struct t_ref *ref)
{
    if (!ref)
        return;
    for (uint32_t i = 0; i < ref->n_series; i++) {
        ts_free(ref->writes[i].ops);
        ts_free(ref->dels[i].ops);
    }
    ts_free(ref->writes);
    ts_free(ref->dels);
    ts_free(ref);
}

static void list_add(struct ref_list *list, const struct ref_op *op)
{
    if (list->n == list->cap) {
        list->cap = list->cap ? list->cap * 2 : 16;
        list->ops = ts_xrealloc(list->ops, list->cap * sizeof(*op));
    }
    list->ops[list->n++] = *op;
}

void t_ref_apply(struct t_ref *ref, const struct sto_point *p)
{
    uint32_t id = p->series->id;
    if (id >= ref->n_series) {
        uint32_t n = id + 1;
        ref->writes = ts_xrealloc(ref->writes, n * sizeof(struct ref_list));
        ref->dels = ts_xrealloc(ref->dels, n * sizeof(struct ref_list));
        memset(ref->writes + ref->n_series, 0, (n - ref->n_series) * sizeof(struct ref_list));
        memset(ref->dels + ref->n_series, 0, (n - ref->n_series) * sizeof(struct ref_list));
        ref->n_series = n;
    }
    struct ref_op op = {.ts_ms = p->ts_ms, .seq = ref->seq++, .op = (enum sto_op)sto_meta_op(p->flags)};
    if (op.op == STO_OP_DEL) {
        op.to_ms = p->m;
        list_add(&ref->dels[id], &op);
        return;
    }
    op.v = sto_cell_num(p->flags, p->m);
    op.ms = (p->flags & STO_META_MS) != 0;
    list_add(&ref->writes[id], &op);
}

size_t t_ref_next(const struct t_ref *ref)
{
    return ref->seq;
}

static bool list_remove(struct ref_list *list, size_t seq)
{
    size_t i = list->n;
    while (i > 0 && list->ops[i - 1].seq > seq)
        i--;
    if (i == 0 || list->ops[i - 1].seq != seq)
        return false;
    memmove(&list->ops[i - 1], &list->ops[i], (list->n - i) * sizeof(*list->ops));
    list->n--;
    return true;
}

void t_ref_undo(struct t_ref *ref, uint32_t series, size_t seq)
{
    if (series < ref->n_series && !list_remove(&ref->writes[series], seq))
        list_remove(&ref->dels[series], seq);
}

static int cmp_time_seq(const void *pa, const void *pb)
{
    const struct ref_op *a = pa, *b = pb;
    if (a->ts_ms != b->ts_ms)
        return a->ts_ms < b->ts_ms ? -1 : 1;
    return a->seq < b->seq ? -1 : a->seq > b->seq;
}

/* Is m, to be multiplied by 10 up to exp, at most 2^53? Then *m is the product. */
static bool ref_scale(__int128 *m, unsigned from, unsigned exp)
{
    for (; from < exp && *m < (__int128)1 << 64 && *m > -((__int128)1 << 64); from++)
        *m *= 10;
    return *m <= 1ll << 53 && *m >= -(1ll << 53);
}

static struct ts_num ref_sum(struct ts_num a, struct ts_num b)
{
    __int128 x = a.m, y = b.m;
    if (a.kind == TS_NUM_INT && b.kind == TS_NUM_INT && x + y >= INT64_MIN && x + y <= INT64_MAX)
        return (struct ts_num){.m = (int64_t)(x + y), .kind = TS_NUM_INT};
    uint8_t exp = a.exp > b.exp ? a.exp : b.exp; /* that of an integer is 0 */
    if (a.kind != TS_NUM_RAW && b.kind != TS_NUM_RAW && (a.kind == TS_NUM_DEC || b.kind == TS_NUM_DEC) &&
        ref_scale(&x, a.exp, exp) && ref_scale(&y, b.exp, exp) && x + y <= 1ll << 53 && x + y >= -(1ll << 53))
        return (struct ts_num){.m = (int64_t)(x + y), .kind = TS_NUM_DEC, .exp = exp};
    return ts_num_from_double(ts_num_double(a) + ts_num_double(b));
}

/* Was something deleted at this time between two moments of writing? */
static bool deleted_between(const struct ref_list *dels, int64_t ts_ms, size_t after_seq, size_t before_seq)
{
    for (size_t i = 0; i < dels->n; i++) {
        const struct ref_op *d = &dels->ops[i];
        if (d->ts_ms <= ts_ms && ts_ms <= d->to_ms && d->seq > after_seq && d->seq < before_seq)
            return true;
    }
    return false;
}

/* Replay the n operations of one time; false if nothing is left. */
static bool replay(const struct ref_op *ops, size_t n, const struct ref_list *dels, struct t_ref_point *out)
{
    bool have = false;
    out->ts_ms = ops[0].ts_ms;
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && deleted_between(dels, out->ts_ms, ops[i - 1].seq, ops[i].seq))
            have = false;
        out->value = have && ops[i].op == STO_OP_ADD ? ref_sum(out->value, ops[i].v) : ops[i].v;
        out->ms = ops[i].ms;
        have = true;
    }
    return have && !deleted_between(dels, out->ts_ms, ops[n - 1].seq, SIZE_MAX);
}

size_t t_ref_scan(const struct t_ref *ref, uint32_t series, int64_t from_ms, int64_t to_ms,
                  struct t_ref_point **out_points)
{
    *out_points = NULL;
    if (series >= ref->n_series || ref->writes[series].n == 0)
        return 0;
    size_t n = ref->writes[series].n, n_out = 0;
    struct ref_op *ops = ts_xmalloc(n * sizeof(*ops));
    memcpy(ops, ref->writes[series].ops, n * sizeof(*ops));
    qsort(ops, n, sizeof(*ops), cmp_time_seq);
    *out_points = ts_xmalloc(n * sizeof(**out_points));
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && ops[end].ts_ms == ops[i].ts_ms;)
            end++;
        if (ops[i].ts_ms >= from_ms && ops[i].ts_ms <= to_ms &&
            replay(ops + i, end - i, &ref->dels[series], &(*out_points)[n_out]))
            n_out++;
    }
    ts_free(ops);
    return n_out;
}

uint32_t t_ref_n_series(const struct t_ref *ref)
{
    return ref->n_series;
}

bool t_ref_same(struct ts_num a, struct ts_num b)
{
    if ((a.kind == TS_NUM_INT) != (b.kind == TS_NUM_INT))
        return false;
    if (a.kind == TS_NUM_INT)
        return a.m == b.m;
    double x = ts_num_double(a), y = ts_num_double(b);
    return memcmp(&x, &y, sizeof(x)) == 0;
}

bool t_ref_sums_up(const struct sto_summary *sum, int64_t start_ms, const struct t_ref_point *p, size_t n)
{
    if (n == 0 || sum->n != n)
        return false;
    double min = ts_num_double(p[0].value), max = min;
    struct ts_xsum doubles = {0};
    __int128 ints = 0;
    bool is_int = p[0].value.kind == TS_NUM_INT, mixed = false;
    for (size_t k = 0; k < n; k++) {
        double d = ts_num_double(p[k].value);
        mixed |= (p[k].value.kind == TS_NUM_INT) != is_int || d != d;
        ints += is_int ? p[k].value.m : 0;
        ts_xsum_add(&doubles, d);
        min = d < min ? d : min;
        max = d > max ? d : max;
    }
    bool same_sum =
        !sum->has_sum || (is_int ? sum->sum == ints : ts_xsum_is_fixed(&doubles) && sum->sum == doubles.fix);
    ts_xsum_release(&doubles);
    return !mixed && same_sum && sum->is_int == is_int && start_ms + sum->first_off == p[0].ts_ms &&
           start_ms + sum->last_off == p[n - 1].ts_ms && t_ref_same(sum->first, p[0].value) &&
           t_ref_same(sum->last, p[n - 1].value) && ts_num_double(sum->min) == min &&
           ts_num_double(sum->max) == max;
}

bool t_ref_adds_up(const struct t_ref_point *p, size_t n, bool is_int, __int128 sum)
{
    struct ts_xsum doubles = {0};
    __int128 ints = 0;
    bool same = true;
    for (size_t k = 0; k < n; k++) {
        same = same && (p[k].value.kind == TS_NUM_INT) == is_int;
        ints += is_int ? p[k].value.m : 0;
        ts_xsum_add(&doubles, ts_num_double(p[k].value));
    }
    same = same && (is_int ? sum == ints : ts_xsum_is_fixed(&doubles) && sum == doubles.fix);
    ts_xsum_release(&doubles);
    return same;
}
