/*
 * rollup.c - the line command rollup: SPEC METRIC TIME VALUE k=v ...
 *
 * Threads    see line.h
 * Source     docs/OPENTSDB.md, section 1.5
 */
#include "tsd/protocols/line/line.h"

#include "tsd/ingest/args.h"
#include "tsd/ingest/rollups.h"

#define ROLLUP_MIN_ARGS    5 /* spec, metric, time, value, one tag */
#define ROLLUP_COMPAT_ARGS 7 /* what OpenTSDB says it needs */

/* "1h-sum", "sum", "1h-sum:max"; of export "1h-sum:" and ":", pre-aggregates that have their tag. */
static int rollup_spec(struct tsd_ingest *in, struct ts_slice spec, struct tsd_rollup_words *out)
{
    const char *colon = memchr(spec.p, ':', spec.n);
    struct ts_slice front = {spec.p, colon ? (size_t)(colon - spec.p) : spec.n};
    const char *dash = memchr(front.p, '-', front.n);
    *out = (struct tsd_rollup_words){.group_by = {NULL, 0}};
    if (colon)
        out->group_by = (struct ts_slice){colon + 1, spec.n - front.n - 1};
    if (!dash && !colon) {
        out->group_by = front;
    } else if (dash) {
        out->interval = (struct ts_slice){front.p, (size_t)(dash - front.p)};
        out->aggregator = (struct ts_slice){dash + 1, front.n - out->interval.n - 1};
    }
    out->tagged = colon && !out->group_by.n && (dash || !front.n) && !in->rules->compat;
    bool half = (dash && (!out->interval.n || !out->aggregator.n)) ||
                (colon && !out->tagged && (!dash || !out->group_by.n)) || !spec.n;
    return half ? tsd_args_say(in, TS_EINVAL, "Missing interval or aggregator", (struct ts_slice){NULL, 0})
                : 0;
}

int tsd_rollup_line(struct tsd_ingest *in, const struct qry_rollups *conf, struct ts_slice raw)
{
    struct tsd_line_args a;
    struct tsd_rollup_words words;
    struct ts_slice spec = {NULL, 0};
    TS_TRY(tsd_args_begin(in, raw, ROLLUP_MIN_ARGS, in->rules->compat ? ROLLUP_COMPAT_ARGS : ROLLUP_MIN_ARGS,
                          &a));
    (void)tsd_args_word(&a, &spec);
    TS_TRY(rollup_spec(in, spec, &words));
    TS_TRY(tsd_args_point(in, &a));
    size_t n_tags = in->n_tags;
    tsd_ingest_add_tag(in,
                       (struct sto_tag_text){{NULL, 0}, {NULL, 0}}); /* space for the tag of pre-aggregates */
    return tsd_rollup_take(in, conf, &words, a.metric, in->tags, n_tags, &a.time, a.value_word, a.value);
}

enum tsd_line_end tsd_cmd_rollup(struct tsd_line *l, struct ts_slice rest)
{
    return tsd_line_taken(l, "rollup: ", tsd_rollup_line(l->in, l->rollups, rest));
}
