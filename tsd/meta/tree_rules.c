/*
 * tree_rules.c - rules at work.
 *
 * Threads    see tree_rules.h
 */
#include "tsd/meta/tree_rules.h"

#include "query/tsuid.h"
#include "base/array.h"
#include "base/regex.h"
#include "base/text.h"
#include "tsd/meta/uidmeta.h"

#include <unicode/utf.h>

enum rule_type { RULE_METRIC, RULE_METRIC_CUSTOM, RULE_TAGK, RULE_TAGK_CUSTOM, RULE_TAGV_CUSTOM, RULE_TYPES };
static const char *const rule_types[RULE_TYPES] = {"METRIC", "METRIC_CUSTOM", "TAGK", "TAGK_CUSTOM",
                                                   "TAGV_CUSTOM"};

/* A rule made ready. */
struct rule {
    const struct tsd_record *def; /* borrowed */
    enum rule_type type;          /* by name */
    struct ts_regex *regex;       /* owned; NULL = none */
    struct ts_regex *separator;   /* owned; NULL = none, or one character */
    char split;                   /* that character */
    bool splits;                  /* there is a separator */
    uint32_t known;               /* id whose free text is in custom; 0 = none */
    bool has;                     /* it has one */
    struct ts_buf custom;         /* that text */
};

struct tsd_tree_plan {
    struct tsd_tree_names names;
    const struct tsd_tree *t; /* borrowed */
    struct rule *rules;       /* owned */
    /* names of a store */
    struct sto_store *store; /* NULL = they are elsewhere */
    bool any_custom;         /* somebody has written about names */
    struct ts_arena arena;   /* for one record of metadata */
};

static struct ts_slice rule_text(const struct tsd_record *r, enum tsd_tree_rule_field f)
{
    return r->v[f].text;
}

/* --- checks --- */

static bool rule_type(struct ts_slice name, enum rule_type *out)
{
    for (int i = 0; i < RULE_TYPES; i++) {
        if (ts_slice_is_nocase(name, rule_types[i])) {
            *out = (enum rule_type)i;
            return true;
        }
    }
    return false;
}

static int rule_rank(const struct tsd_record *rule, enum tsd_tree_rule_field f, struct ts_error *err)
{
    int64_t n = rule->v[f].i;
    if (n >= 0 && n <= TSD_TREE_RANK_MAX)
        return 0;
    return ts_error_set(err, TS_EINVAL, "Invalid rule %s: %lld (0 to %d)", rule->fields[f].name, (long long)n,
                        TSD_TREE_RANK_MAX);
}

/* Compile the expressions. */
static int rule_expressions(struct rule *r, struct ts_error *err)
{
    struct ts_slice regex = rule_text(r->def, TSD_TREE_RULE_REGEX);
    struct ts_slice separator = rule_text(r->def, TSD_TREE_RULE_SEPARATOR);
    int64_t group = r->def->v[TSD_TREE_RULE_REGEX_GROUP].i;
    if (group < 0)
        return ts_error_set(err, TS_EINVAL, "Invalid regex group index: %lld (from 0 on)", (long long)group);
    if (regex.n)
        TS_TRY(ts_regex_new(regex, false, TS_REGEX_STEPS, &r->regex, err));
    if (regex.n && group && group >= ts_regex_groups(r->regex))
        return ts_error_set(err, TS_EINVAL,
                            "Invalid regex group index: %lld, the expression has %u groups, from 0 on",
                            (long long)group, ts_regex_groups(r->regex));
    r->splits = separator.n > 0;
    if (separator.n == 1)
        r->split = *separator.p;
    else if (separator.n)
        TS_TRY(ts_regex_new(separator, false, TS_REGEX_STEPS, &r->separator, err));
    return 0;
}

static void rule_release(struct rule *r)
{
    ts_regex_free(r->regex);
    ts_regex_free(r->separator);
    ts_buf_release(&r->custom);
}

int tsd_tree_rule_check(struct tsd_record *rule, struct ts_error *err)
{
    struct rule r = {.def = rule};
    struct ts_slice type = rule_text(rule, TSD_TREE_RULE_TYPE);
    TS_TRY(rule_rank(rule, TSD_TREE_RULE_LEVEL, err));
    TS_TRY(rule_rank(rule, TSD_TREE_RULE_ORDER, err));
    if (!type.n)
        return ts_error_set(err, TS_EINVAL, "Missing rule type");
    if (!rule_type(type, &r.type))
        return ts_error_set(err, TS_EINVAL,
                            "Invalid rule type: %.*s (METRIC, METRIC_CUSTOM, TAGK, TAGK_CUSTOM, TAGV_CUSTOM)",
                            (int)ts_utf8_cut(type, 60).n, type.p);
    rule->v[TSD_TREE_RULE_TYPE].text = ts_slice_str(rule_types[r.type]);
    if (r.type >= RULE_TAGK && !rule_text(rule, TSD_TREE_RULE_FIELD).n)
        return ts_error_set(err, TS_EINVAL, "Missing field name required for %s rule", rule_types[r.type]);
    if (r.type != RULE_METRIC && r.type != RULE_TAGK && !rule_text(rule, TSD_TREE_RULE_CUSTOM_FIELD).n)
        return ts_error_set(err, TS_EINVAL, "Missing custom field name required for %s rule",
                            rule_types[r.type]);
    int rc = rule_expressions(&r, err);
    rule_release(&r);
    return rc;
}

/* --- plans --- */

static struct ts_slice store_name(void *arg, enum sto_uid_kind kind, uint32_t id)
{
    const struct tsd_tree_plan *plan = arg;
    return sto_uid_name(sto_store_catalog(plan->store), kind, id);
}

static int store_custom(void *arg, enum sto_uid_kind kind, uint32_t id, struct ts_slice field,
                        struct ts_buf *out, struct ts_error *err)
{
    struct tsd_tree_plan *plan = arg;
    struct tsd_record meta;
    json_t *map = NULL;
    if (!plan->any_custom)
        return 0;
    int rc = tsd_uidmeta_load(plan->store, kind, id, &plan->arena, &meta, err);
    struct ts_slice text = rc == 0 ? meta.v[TSD_UIDMETA_CUSTOM].text : (struct ts_slice){NULL, 0};
    if (rc == 0 && text.n)
        rc = ts_json_load(text, &map, err);
    const json_t *v = map ? json_object_getn(map, field.p, field.n) : NULL;
    if (rc == 0 && json_is_string(v)) {
        ts_buf_append(out, json_string_value(v), json_string_length(v));
        rc = 1;
    }
    json_decref(map);
    ts_arena_release(&plan->arena);
    return rc;
}

static void store_tsuid(void *arg, const struct sto_series *s, struct ts_buf *out)
{
    (void)arg;
    qry_tsuid(s, out);
}

int tsd_tree_plan_over(const struct tsd_tree_names *names, const struct tsd_tree *t,
                       struct tsd_tree_plan **out, struct ts_error *err)
{
    struct tsd_tree_plan *plan = ts_xcalloc(1, sizeof(*plan));
    int rc = 0;
    plan->names = *names;
    plan->t = t;
    plan->rules = ts_xcalloc(t->n_rules + 1, sizeof(*plan->rules));
    ts_arena_init(&plan->arena, 0);
    for (size_t i = 0; i < t->n_rules && rc == 0; i++) {
        struct rule *r = &plan->rules[i];
        r->def = &t->rules[i];
        if (!rule_type(rule_text(r->def, TSD_TREE_RULE_TYPE), &r->type))
            rc = ts_error_set(err, TS_ECORRUPT, "a rule of tree %u makes no sense", (unsigned)t->id);
        else
            rc = rule_expressions(r, err);
    }
    if (rc < 0) {
        tsd_tree_plan_free(plan);
        plan = NULL;
    }
    *out = plan;
    return rc;
}

int tsd_tree_plan_new(struct sto_store *st, const struct tsd_tree *t, struct tsd_tree_plan **out,
                      struct ts_error *err)
{
    struct tsd_tree_names names = {.name = store_name, .custom = store_custom, .tsuid = store_tsuid};
    TS_TRY(tsd_tree_plan_over(&names, t, out, err));
    (*out)->names.arg = *out;
    (*out)->store = st;
    (*out)->any_custom = tsd_uidmeta_any(st);
    return 0;
}

void tsd_tree_plan_free(struct tsd_tree_plan *plan)
{
    if (!plan)
        return;
    for (size_t i = 0; i < plan->t->n_rules; i++)
        rule_release(&plan->rules[i]);
    ts_arena_release(&plan->arena);
    ts_free(plan->rules);
    ts_free(plan);
}

/* --- paths --- */

void tsd_tree_path_init(struct tsd_tree_path *p)
{
    *p = (struct tsd_tree_path){0};
    ts_buf_init(&p->text, 0);
    ts_buf_init(&p->why, 0);
}

void tsd_tree_path_release(struct tsd_tree_path *p)
{
    ts_free(p->parts);
    ts_buf_release(&p->text);
    ts_buf_release(&p->why);
    tsd_tree_path_init(p);
}

struct ts_slice tsd_tree_path_name(const struct tsd_tree_path *p, size_t i)
{
    return (struct ts_slice){p->text.p + p->parts[i].at, p->parts[i].n};
}

uint32_t tsd_tree_hash(struct ts_slice name)
{
    const uint8_t *p = (const uint8_t *)name.p;
    uint32_t h = 0;
    for (size_t i = 0; i < name.n;) {
        UChar32 c;
        U8_NEXT(p, i, name.n, c);
        if (c < 0)
            c = 0xfffd;
        if (c > 0xffff) {
            h = h * 31 + U16_LEAD(c);
            c = U16_TRAIL(c);
        }
        h = h * 31 + (uint32_t)c;
    }
    return h;
}

/* What a rule works on. */
struct rule_value {
    const struct tsd_tree_names *names;
    const struct sto_series *s; /* the series */
    const struct rule *rule;    /* the rule */
    struct ts_slice whole;      /* before expression and separator */
};

static void path_token(const struct rule_value *v, struct ts_slice value, struct ts_slice token,
                       struct ts_buf *out)
{
    bool custom = v->rule->type != RULE_METRIC && v->rule->type != RULE_TAGK;
    if (ts_slice_is(token, "{value}"))
        ts_buf_slice(out, value);
    else if (ts_slice_is(token, "{ovalue}"))
        ts_buf_slice(out, v->whole);
    else if (ts_slice_is(token, "{tsuid}"))
        v->names->tsuid(v->names->arg, v->s, out);
    else if (ts_slice_is(token, "{tag_name}"))
        ts_buf_slice(out, rule_text(v->rule->def, custom ? TSD_TREE_RULE_CUSTOM_FIELD : TSD_TREE_RULE_FIELD));
    else
        ts_buf_slice(out, token);
}

/* displayFormat with its tokens replaced. */
static void path_format(const struct rule_value *v, struct ts_slice value, struct ts_slice format,
                        struct ts_buf *out)
{
    for (size_t i = 0; i < format.n;) {
        const char *close = format.p[i] == '{' ? memchr(format.p + i, '}', format.n - i) : NULL;
        size_t n = close ? (size_t)(close - format.p) + 1 - i : 1;
        path_token(v, value, (struct ts_slice){format.p + i, n}, out);
        i += n;
    }
}

/* Add a name made of a value; nothing if it is empty. */
static void path_add(struct tsd_tree_path *p, const struct rule_value *v, struct ts_slice value)
{
    struct ts_slice format = rule_text(v->rule->def, TSD_TREE_RULE_DISPLAY_FORMAT);
    size_t at = p->text.n;
    if (!value.n)
        return;
    if (format.n)
        path_format(v, value, format, &p->text);
    else
        ts_buf_slice(&p->text, value);
    if (p->text.n == at)
        return;
    TS_ARRAY_GROW(p->parts, p->n, p->cap, 16);
    size_t n = p->text.n - at;
    p->parts[p->n++] = (struct tsd_tree_part){at, n, tsd_tree_hash((struct ts_slice){p->text.p + at, n})};
}

/* --- values --- */

static struct ts_slice value_name(const struct tsd_tree_plan *plan, enum sto_uid_kind kind, uint32_t id)
{
    return plan->names.name(plan->names.arg, kind, id);
}

/* Free text of a name; those of the last id requested are kept, as series of a metric follow each other. */
static int value_custom(struct tsd_tree_plan *plan, struct rule *r, enum sto_uid_kind kind, uint32_t id,
                        struct ts_slice *out, struct ts_error *err)
{
    if (r->known != id) {
        r->known = 0;
        ts_buf_clear(&r->custom);
        int rc = plan->names.custom(plan->names.arg, kind, id, rule_text(r->def, TSD_TREE_RULE_CUSTOM_FIELD),
                                    &r->custom, err);
        TS_TRY(rc);
        r->has = rc == 1;
        r->known = id;
    }
    if (r->has)
        *out = ts_buf_get(&r->custom);
    return 0;
}

/* The tag whose key is a rule's field, for TAGV_CUSTOM also whose value is. */
static const struct sto_tag *value_tag(const struct tsd_tree_plan *plan, const struct rule *r,
                                       const struct sto_series *s)
{
    struct ts_slice field = rule_text(r->def, TSD_TREE_RULE_FIELD);
    for (unsigned i = 0; i < s->n_tags; i++)
        if (ts_slice_eq(value_name(plan, STO_UID_TAGK, s->tags[i].k), field))
            return &s->tags[i];
    for (unsigned i = 0; i < s->n_tags && r->type == RULE_TAGV_CUSTOM; i++)
        if (ts_slice_eq(value_name(plan, STO_UID_TAGV, s->tags[i].v), field))
            return &s->tags[i];
    return NULL;
}

/* What a rule looks at; *out stays NULL if the series has no such thing. */
static int value_get(struct tsd_tree_plan *plan, struct rule *r, const struct sto_series *s,
                     struct ts_slice *out, struct ts_error *err)
{
    *out = (struct ts_slice){NULL, 0};
    if (r->type == RULE_METRIC) {
        *out = value_name(plan, STO_UID_METRIC, s->metric);
        return 0;
    }
    if (r->type == RULE_METRIC_CUSTOM)
        return value_custom(plan, r, STO_UID_METRIC, s->metric, out, err);
    const struct sto_tag *tag = value_tag(plan, r, s);
    if (!tag)
        return 0;
    if (r->type == RULE_TAGK_CUSTOM)
        return value_custom(plan, r, STO_UID_TAGK, tag->k, out, err);
    if (r->type == RULE_TAGV_CUSTOM)
        return value_custom(plan, r, STO_UID_TAGV, tag->v, out, err);
    *out = value_name(plan, STO_UID_TAGV, tag->v);
    return 0;
}

/* --- rules --- */

/* The group a rule wants of its expression. 1, 0, TS_ELIMIT. */
static int rule_regex(const struct rule *r, struct ts_slice value, struct ts_slice *out, struct ts_error *err)
{
    size_t from, to;
    int64_t group = r->def->v[TSD_TREE_RULE_REGEX_GROUP].i;
    unsigned n = ts_regex_groups(r->regex) ? (unsigned)group + 1 : 0;
    int rc = ts_regex_find(r->regex, value, 0, err);
    if (rc <= 0)
        return rc;
    if (!ts_regex_group(r->regex, n, &from, &to))
        return 0;
    *out = (struct ts_slice){value.p + from, to - from};
    return 1;
}

/* Next place of the separator from byte i on; *out_end is behind it. 1, 0, TS_ELIMIT. */
static int rule_separator(const struct rule *r, struct ts_slice value, size_t i, size_t *out_start,
                          size_t *out_end, struct ts_error *err)
{
    if (!r->separator) {
        const char *p = memchr(value.p + i, r->split, value.n - i);
        if (!p)
            return 0;
        *out_start = (size_t)(p - value.p);
        *out_end = *out_start + 1;
        return 1;
    }
    int rc = ts_regex_find(r->separator, value, i, err);
    return rc > 0 ? ts_regex_group(r->separator, 0, out_start, out_end) && *out_end > *out_start : rc;
}

static int rule_split(struct tsd_tree_path *p, const struct rule_value *v, struct ts_error *err)
{
    size_t from, to, i = 0;
    int rc;
    while ((rc = rule_separator(v->rule, v->whole, i, &from, &to, err)) > 0) {
        path_add(p, v, (struct ts_slice){v->whole.p + i, from - i});
        i = to;
    }
    if (rc == 0)
        path_add(p, v, (struct ts_slice){v->whole.p + i, v->whole.n - i});
    return rc;
}

static void rule_say(struct tsd_tree_path *p, const struct rule *r, struct ts_slice value, const char *what)
{
    struct ts_buf text;
    if (!p->messages)
        return;
    ts_buf_init(&text, 0);
    ts_buf_printf(&text, "Level %lld, order %lld, %s", (long long)r->def->v[TSD_TREE_RULE_LEVEL].i,
                  (long long)r->def->v[TSD_TREE_RULE_ORDER].i, rule_types[r->type]);
    if (r->type >= RULE_TAGK) {
        ts_buf_char(&text, ' ');
        ts_buf_slice(&text, rule_text(r->def, TSD_TREE_RULE_FIELD));
    }
    if (r->type != RULE_METRIC && r->type != RULE_TAGK) {
        ts_buf_char(&text, ' ');
        ts_buf_slice(&text, rule_text(r->def, TSD_TREE_RULE_CUSTOM_FIELD));
    }
    ts_buf_printf(&text, ": %s", what);
    ts_buf_slice(&text, value);
    ts_json_slice(p->messages, ts_buf_get(&text));
    ts_buf_release(&text);
}

/* Apply a rule; names it makes are added. 1: it matched. */
static int rule_apply(struct tsd_tree_plan *plan, struct rule *r, const struct sto_series *s,
                      struct tsd_tree_path *p, struct ts_error *err)
{
    struct rule_value v = {.names = &plan->names, .s = s, .rule = r};
    size_t n = p->n;
    int rc = value_get(plan, r, s, &v.whole, err);
    struct ts_slice value = v.whole;
    if (rc == 0 && !v.whole.p) {
        rule_say(p, r, (struct ts_slice){"", 0}, "the series has no such thing");
        return 0;
    }
    if (rc == 0 && r->regex)
        rc = rule_regex(r, v.whole, &value, err);
    else if (rc == 0 && r->splits)
        rc = rule_split(p, &v, err) < 0 ? TS_ELIMIT : 1;
    else if (rc == 0)
        rc = 1;
    if (rc < 0)
        return ts_error_wrap(err, "rule of level %lld, order %lld",
                             (long long)r->def->v[TSD_TREE_RULE_LEVEL].i,
                             (long long)r->def->v[TSD_TREE_RULE_ORDER].i);
    if (rc > 0 && (r->regex || !r->splits))
        path_add(p, &v, value);
    rule_say(p, r, v.whole, p->n > n ? "matches " : "does not match ");
    return p->n > n;
}

int tsd_tree_plan_run(struct tsd_tree_plan *plan, const struct sto_series *s, struct tsd_tree_path *out,
                      struct ts_error *err)
{
    const struct tsd_tree *t = plan->t;
    bool strict = t->def.v[TSD_TREE_STRICT_MATCH].i;
    out->n = 0;
    ts_buf_clear(&out->text);
    ts_buf_clear(&out->why);
    for (size_t i = 0; i < t->n_rules;) {
        int64_t level = t->rules[i].v[TSD_TREE_RULE_LEVEL].i;
        int matched = 0;
        for (; i < t->n_rules && t->rules[i].v[TSD_TREE_RULE_LEVEL].i == level; i++)
            if (!matched)
                TS_TRY(matched = rule_apply(plan, &plan->rules[i], s, out, err));
        if (!matched && strict) {
            out->n = 0;
            ts_buf_printf(&out->why, "No rule of level %lld matched, and the tree is strict",
                          (long long)level);
            return 0;
        }
    }
    if (out->n == 0)
        ts_buf_str(&out->why, t->n_rules ? "No rule matched" : "The tree has no rules");
    return out->text.failed ? ts_error_set(err, TS_ENOMEM, "no memory for the names of branches") : 0;
}
