/*
 * retain_rules.h - rules of retention as text.
 *
 *   cpu.* host=web* points=30d        metric, tags, and for how long points are kept
 *   * env=test points=7d              a star is any number of characters
 *   audit.* points=forever
 *   web.* points=30d hours=2y         summaries of hours for longer than the points
 *   web.* points=30d hours=2y days=forever     and summaries of days for longer than those
 *
 * A rule matches a series whose metric matches the pattern and that has every tag named, with a value that matches. Rollups and histograms
 * belong to the metric that they are of. Rules are separated by ';' or line ends; lines that begin with # are comments, and the metric of
 * a rule does not begin with it. Tags called points, hours or days cannot be named.
 *
 * Threads    pure functions; a parsed list is immutable
 * Not here   the rules of a store (retain.h), which rule a series has (keep.h)
 */
#ifndef STORAGE_RETAIN_RULES_H
#define STORAGE_RETAIN_RULES_H

#include "base/buf.h"
#include "base/err.h"
#include "storage/keep.h"

#define STO_RETAIN_STARS      8u              /* most stars of a pattern */
#define STO_RETAIN_TAGS       16              /* most tags of a rule */
#define STO_RETAIN_RULE_BYTES 4096u           /* longest text of a rule */
#define STO_RETAIN_TEXT_BYTES (256u << 10)    /* longest text of all rules */
#define STO_RETAIN_MIN_MS     TS_HOUR_MS      /* shortest time that points are kept */
#define STO_RETAIN_HOURS_MS   (2 * TS_DAY_MS) /* with days= alone: for how much longer than points */
#define STO_RETAIN_MAX_MS     (10000 * 365 * TS_DAY_MS)

/* One rule. */
struct sto_retain_rule {
    struct ts_slice text;   /* normal form: single blanks between the words */
    struct ts_slice metric; /* pattern; it and all below are parts of text */
    struct {
        struct ts_slice k, v; /* name, pattern of values */
    } tags[STO_RETAIN_TAGS];
    size_t n_tags;
    int64_t points_ms; /* STO_KEEP_FOREVER: for ever */
    int64_t
        hours_ms; /* the same of summaries of hours, at least points_ms; if the text does not say it points_ms, and two days more if it says days= */
    int64_t
        days_ms; /* the same of summaries of days, at least hours_ms; hours_ms if the text does not say it */
};

/* Rules in order. */
struct sto_retain_rules {
    struct sto_retain_rule *v; /* owned, with their texts */
    size_t n;
};

/** Read rules; out gets those of the text in addition to what it has. {0} to begin with. On an error out is as before.
 *  @return 0; TS_EINVAL: names the rule, what is wrong and how it should look; TS_ELIMIT: too many rules, or one is too long */
int sto_retain_rules_add(struct sto_retain_rules *out, struct ts_slice text, struct ts_error *err);
/** Release; idempotent. */
void sto_retain_rules_release(struct sto_retain_rules *r);

#endif
