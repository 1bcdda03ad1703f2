/*
 * tree_rule_handlers.c - /api/tree/rule and /api/tree/rules: one rule of a tree, and many.
 *
 * Threads    see request.h
 * Source     docs/OPENTSDB.md, section 2.15
 */
#include "tsd/meta/tree_handlers.h"

/* A change of rules. */
struct rule_edit {
    const struct tsd_meta_req *ask; /* whose */
    struct tsd_record *given;       /* rules as given */
    size_t n;                       /* how many */
    bool replace;                   /* fields that are not given go back to their defaults */
    bool only;                      /* all other rules go */
};

/* --- one --- */

static int rule_given(struct tsd_meta_req *a, const json_t *root, struct tsd_record *out,
                      struct ts_error *err)
{
    tsd_record_init(out, tsd_tree_rule_fields);
    if (root) {
        TS_TRY(tsd_meta_req_known(a, root, tsd_tree_rule_fields, "treeId", err));
        TS_TRY(tsd_record_from_json(out, root, a->arena, err));
    } else {
        TS_TRY(tsd_record_from_params(out, a->params, a->n_params, a->arena, err));
    }
    if (!out->v[TSD_TREE_RULE_LEVEL].given)
        return ts_error_set(err, TS_EINVAL, "Missing rule level");
    if (!out->v[TSD_TREE_RULE_ORDER].given)
        return ts_error_set(err, TS_EINVAL, "Missing rule order");
    return 0;
}

static int rule_delete(void *arg, struct tsd_tree *t, struct ts_arena *arena, struct ts_error *err)
{
    const struct rule_edit *e = arg;
    (void)arena;
    return tsd_tree_rule_delete(t, e->given->v[TSD_TREE_RULE_LEVEL].i, e->given->v[TSD_TREE_RULE_ORDER].i,
                                err);
}

static int rule_edit(void *arg, struct tsd_tree *t, struct ts_arena *arena, struct ts_error *err)
{
    const struct rule_edit *e = arg;
    uint64_t max = e->ask->tree_max_rules;
    if (e->only)
        t->n_rules = 0;
    for (size_t i = 0; i < e->n; i++) {
        TS_TRY(tsd_tree_rule_put(t, &e->given[i], e->replace, arena, err));
        if (max && t->n_rules > max)
            return ts_error_set(err, TS_ELIMIT, "A tree has at most tree_max_rules = %llu rules",
                                (unsigned long long)max);
    }
    return 0;
}

static int rule_gone(struct tsd_meta_req *a, int rc, struct ts_error *err)
{
    return rc == TS_ENOTFOUND ? tsd_meta_req_not_found(a, "Unable to locate rule", err) : rc;
}

static int rule_change(struct tsd_meta_req *a, struct tsd_tree_request *r, tsd_tree_change_fn change,
                       struct rule_edit *edit, struct ts_error *err)
{
    bool changed;
    TS_TRY(tsd_tree_request_load(a, r, err)); /* so that what is not found then is the rule */
    int rc = tsd_tree_change(a->store, r->id, a->arena, change, edit, &r->tree, &changed, err);
    if (rc == 0 && !changed)
        a->status = 304;
    return rule_gone(a, rc, err);
}

static int rule_write(struct tsd_meta_req *a, const struct tsd_tree *t, const struct tsd_record *given,
                      struct ts_error *err)
{
    struct ts_json j;
    int64_t level = given->v[TSD_TREE_RULE_LEVEL].i, order = given->v[TSD_TREE_RULE_ORDER].i;
    const struct tsd_record *rule = tsd_tree_rule(t, level, order);
    if (!rule) {
        (void)ts_error_set(err, TS_ENOTFOUND, "Tree %u has no rule of level %lld and order %lld",
                           (unsigned)t->id, (long long)level, (long long)order);
        return rule_gone(a, TS_ENOTFOUND, err);
    }
    tsd_meta_req_json(a, "", &j);
    tsd_tree_rule_json(t, rule, &j);
    return tsd_meta_req_write(a, err);
}

static int rule_do(struct tsd_meta_req *a, struct tsd_tree_request *r, struct ts_error *err)
{
    struct tsd_record given;
    struct rule_edit edit = {.ask = a, .given = &given, .n = 1, .replace = a->method == TSD_PUT};
    if (!r->has_id)
        return ts_error_set(err, TS_EINVAL, "Missing tree ID");
    TS_TRY(rule_given(a, r->root, &given, err));
    if (a->method == TSD_DELETE) {
        TS_TRY(rule_change(a, r, rule_delete, &edit, err));
        a->status = 204;
        return 0;
    }
    TS_TRY(a->method == TSD_GET ? tsd_tree_request_load(a, r, err)
                                : rule_change(a, r, rule_edit, &edit, err));
    return rule_write(a, &r->tree, &given, err);
}

int tsd_handle_tree_rule(struct tsd_meta_req *a, struct ts_error *err)
{
    return tsd_tree_request_run(a, TSD_GET | TSD_POST | TSD_PUT | TSD_DELETE, rule_do, err);
}

/* --- many --- */

static int rules_given(struct tsd_meta_req *a, struct tsd_tree_request *r, struct rule_edit *out,
                       struct ts_error *err)
{
    out->n = json_array_size(r->root);
    if (!r->root)
        return ts_error_set(err, TS_EPARSE, "Missing message content");
    if (!json_is_array(r->root))
        return ts_error_set(err, TS_EPARSE, "Expected an array of rules");
    if (out->n == 0)
        return ts_error_set(err, TS_EINVAL, "Missing tree rules");
    if (a->tree_max_rules && out->n > a->tree_max_rules)
        return ts_error_set(err, TS_ELIMIT, "A tree has at most tree_max_rules = %llu rules",
                            (unsigned long long)a->tree_max_rules);
    out->given = ts_arena_alloc(a->arena, out->n * sizeof(*out->given));
    for (size_t i = 0; i < out->n; i++) {
        const json_t *rule = json_array_get(r->root, i);
        uint16_t id = r->id;
        TS_TRY(tsd_tree_id_of(rule, &id, err));
        if (r->id && id != r->id)
            return ts_error_set(err, TS_EINVAL, "All rules must be of one tree: %u and %u are given",
                                (unsigned)r->id, (unsigned)id);
        r->id = id;
        r->has_id = id != 0;
        TS_TRY(rule_given(a, rule, &out->given[i], err));
    }
    return 0;
}

static int rules_do(struct tsd_meta_req *a, struct tsd_tree_request *r, struct ts_error *err)
{
    struct rule_edit edit = {.ask = a, .only = a->method != TSD_POST};
    if (a->method != TSD_DELETE)
        TS_TRY(rules_given(a, r, &edit, err));
    TS_TRY(rule_change(a, r, rule_edit, &edit, err));
    a->status = 204;
    return 0;
}

int tsd_handle_tree_rules(struct tsd_meta_req *a, struct ts_error *err)
{
    return tsd_tree_request_run(a, TSD_POST | TSD_PUT | TSD_DELETE, rules_do, err);
}
