/*
 * retain_rules.c - reads rules of retention.
 *
 * Threads    pure functions
 */
#include "storage/retain_rules.h"

#include "base/cut.h"
#include "base/mem.h"
#include "base/time.h"

/* Of a rule and a part of it in an error, whose text has room for both of them, every reason, and the example. */
#define SHOWN_BYTES 36
#define PART_BYTES  18

static int bad(struct ts_slice rule, const char *why, struct ts_slice word, struct ts_error *err)
{
    struct ts_slice shown = ts_utf8_cut(rule, SHOWN_BYTES), part = ts_utf8_cut(word, PART_BYTES);
    return ts_error_set(err, TS_EINVAL,
                        "retention rule '%.*s%s': '%.*s%s' %s; a rule is as cpu.* host=web* points=30d "
                        "hours=2y days=forever",
                        (int)shown.n, shown.p, shown.n < rule.n ? "..." : "", (int)part.n, part.p,
                        part.n < word.n ? "..." : "", why);
}

static int get_duration(struct ts_slice rule, struct ts_slice text, struct ts_slice word, int64_t *out_ms,
                        struct ts_error *err)
{
    int64_t n;
    enum ts_unit unit;
    if (*out_ms)
        return bad(rule, "comes twice", word, err);
    if (ts_slice_is(text, "forever")) {
        *out_ms = STO_KEEP_FOREVER;
        return 0;
    }
    if (ts_duration_exact(text, &n, &unit, out_ms, NULL) < 0)
        return bad(rule, "is neither a duration, as 36h, 30d, 2y, nor forever", word, err);
    if (*out_ms < STO_RETAIN_MIN_MS || *out_ms > STO_RETAIN_MAX_MS)
        return bad(rule, "is not between 1h and 10000y", word, err);
    return 0;
}

/* A name is compared in time that grows with the stars of the pattern. */
static int check_stars(struct ts_slice rule, struct ts_slice pattern, struct ts_error *err)
{
    return ts_slice_count(pattern, '*') > STO_RETAIN_STARS ? bad(rule, "has more than 8 stars", pattern, err)
                                                           : 0;
}

/* A word behind the metric. */
static int get_word(struct sto_retain_rule *r, struct ts_slice word, struct ts_error *err)
{
    const char *eq = memchr(word.p, '=', word.n);
    if (!eq || eq == word.p || eq + 1 == word.p + word.n)
        return bad(r->text, "is not NAME=VALUE", word, err);
    struct ts_slice name = {word.p, (size_t)(eq - word.p)};
    struct ts_slice value = {eq + 1, word.n - name.n - 1};
    if (ts_slice_is(name, "points"))
        return get_duration(r->text, value, word, &r->points_ms, err);
    if (ts_slice_is(name, "hours"))
        return get_duration(r->text, value, word, &r->hours_ms, err);
    if (ts_slice_is(name, "days"))
        return get_duration(r->text, value, word, &r->days_ms, err);
    if (r->points_ms || r->hours_ms || r->days_ms)
        return bad(r->text, "comes after points=, hours= or days=", word, err);
    if (memchr(name.p, '*', name.n))
        return bad(r->text, "has a star in the name of a tag", word, err);
    TS_TRY(check_stars(r->text, value, err));
    if (r->n_tags == STO_RETAIN_TAGS)
        return bad(r->text, "is one tag more than a rule may have, 16", word, err);
    r->tags[r->n_tags].k = name;
    r->tags[r->n_tags++].v = value;
    return 0;
}

/* Next word of blanks and words. */
static bool next_word(struct ts_slice *rest, struct ts_slice *out)
{
    while (rest->n && (*rest->p == ' ' || *rest->p == '\t'))
        rest->p++, rest->n--;
    *out = (struct ts_slice){rest->p, 0};
    while (rest->n && *rest->p != ' ' && *rest->p != '\t')
        rest->p++, rest->n--, out->n++;
    return out->n > 0;
}

/* Is a tag probably a misspelt points=: "point=30d", "keep=30d"? */
static bool resembles_points(struct ts_slice value)
{
    int64_t n, ms;
    enum ts_unit unit;
    return ts_slice_is(value, "forever") || ts_duration_exact(value, &n, &unit, &ms, NULL) == 0;
}

/* For how long summaries are kept, as far as the text does not say it. */
static int get_summaries(struct sto_retain_rule *r, struct ts_error *err)
{
    if (!r->hours_ms)
        r->hours_ms = r->days_ms > r->points_ms && r->points_ms < STO_RETAIN_MAX_MS
                          ? r->points_ms + STO_RETAIN_HOURS_MS
                          : r->points_ms;
    r->days_ms = r->days_ms ? r->days_ms : r->hours_ms;
    if (r->hours_ms < r->points_ms)
        return bad(r->text, "keeps summaries of hours shorter than the points", r->text, err);
    if (r->days_ms < r->hours_ms)
        return bad(r->text, "keeps days shorter than hours, which are points plus 2d unless given", r->text,
                   err);
    if (r->days_ms > r->hours_ms && r->hours_ms == r->points_ms)
        return bad(r->text,
                   "keeps days, but no hours to make them of: let hours= be longer than points=", r->text,
                   err);
    return 0;
}

/* Read one rule from its normal form, which r takes. */
static int get_rule(struct sto_retain_rule *r, struct ts_slice text, struct ts_error *err)
{
    struct ts_slice rest = text, word;
    *r = (struct sto_retain_rule){.text = text};
    for (size_t i = 0; i < text.n; i++)
        if ((unsigned char)text.p[i] < ' ')
            return bad(text, "contains a control character", (struct ts_slice){text.p, i}, err);
    (void)next_word(&rest, &r->metric);
    if (r->metric.n && *r->metric.p == '#') /* where it begins a line, it would be a comment */
        return bad(text, "begins with a #, as comments do: write * in its place", r->metric, err);
    if (memchr(r->metric.p, '=', r->metric.n))
        return bad(text, "is where the metric should be (* is any)", r->metric, err);
    TS_TRY(check_stars(text, r->metric, err));
    while (next_word(&rest, &word))
        TS_TRY(get_word(r, word, err));
    if (!r->points_ms && r->n_tags && resembles_points(r->tags[r->n_tags - 1].v))
        return bad(text, "is read as a tag: did you mean points=?",
                   (struct ts_slice){r->tags[r->n_tags - 1].k.p,
                                     (size_t)(text.p + text.n - r->tags[r->n_tags - 1].k.p)},
                   err);
    if (!r->points_ms)
        return bad(text, "does not say for how long, points=", text, err);
    return get_summaries(r, err);
}

/* The words of a rule with single blanks, owned by the caller. */
static struct ts_slice normal(struct ts_slice text)
{
    struct ts_slice word;
    char *p = ts_xmalloc(text.n + 1);
    size_t n = 0;
    while (next_word(&text, &word)) {
        if (n)
            p[n++] = ' ';
        memcpy(p + n, word.p, word.n);
        n += word.n;
    }
    return (struct ts_slice){p, n};
}

/* Cut the next rule from a text: up to a ';' or the end of the line. begins: rest is at the begin of a line. */
static struct ts_slice cut_rule(struct ts_slice *rest, bool *begins)
{
    struct ts_slice one = {rest->p, 0};
    bool comment = *begins && rest->n && *rest->p == '#';
    while (one.n < rest->n && one.p[one.n] != '\n' && (comment || one.p[one.n] != ';'))
        one.n++;
    size_t taken = one.n < rest->n ? one.n + 1 : one.n;
    *begins = one.n < rest->n && one.p[one.n] == '\n';
    rest->p += taken;
    rest->n -= taken;
    if (one.n && one.p[one.n - 1] == '\r')
        one.n--;
    return comment ? (struct ts_slice){one.p, 0} : ts_slice_trim(one);
}

static void drop_from(struct sto_retain_rules *r, size_t n)
{
    for (size_t i = n; i < r->n; i++)
        ts_free((char *)r->v[i].text.p);
    r->n = n;
}

int sto_retain_rules_add(struct sto_retain_rules *out, struct ts_slice text, struct ts_error *err)
{
    size_t had = out->n;
    bool begins = true;
    int rc = 0;
    if (text.n > STO_RETAIN_TEXT_BYTES)
        return ts_error_set(err, TS_ELIMIT, "the rules of retention are longer than %u bytes",
                            STO_RETAIN_TEXT_BYTES);
    while (rc == 0 && text.n) {
        struct ts_slice one = cut_rule(&text, &begins);
        if (!one.n)
            continue;
        if (one.n > STO_RETAIN_RULE_BYTES) {
            rc = ts_error_set(err, TS_ELIMIT, "a rule of retention is longer than %u bytes",
                              STO_RETAIN_RULE_BYTES);
        } else if (out->n == STO_KEEP_RULES) {
            rc = ts_error_set(err, TS_ELIMIT, "there are more than %d rules of retention", STO_KEEP_RULES);
        } else {
            out->v = ts_xrealloc(out->v, (out->n + 1) * sizeof *out->v);
            rc = get_rule(&out->v[out->n], normal(one), err);
            out->n++;
        }
    }
    if (rc < 0)
        drop_from(out, had);
    if (rc < 0 && had == 0) { /* so that nobody has to release it */
        ts_free(out->v);
        out->v = NULL;
    }
    return rc;
}

void sto_retain_rules_release(struct sto_retain_rules *r)
{
    drop_from(r, 0);
    ts_free(r->v);
    r->v = NULL;
}
