/*
 * tree.c - trees in cells.
 *
 *   key    "tree/" · id u16 big-endian
 *   value  '1' · {"name":..., "rules":[{...}, ...]}
 *
 * Threads    see tree.h
 */
#include "tsd/meta/tree.h"

#include "base/time.h"
#include "storage/remote.h"
#include "tsd/meta/tree_rules.h"

#define TREE_PREFIX  "tree/"
#define TREE_TRIES   1000 /* somebody else changed it between reading and writing */
#define TREE_LIST_MS 2000 /* for the list of the remote store's trees */

const struct tsd_field tsd_tree_fields[] = {
    [TSD_TREE_NAME] = {"name", "name", TSD_FIELD_TEXT, 0},
    [TSD_TREE_DESCRIPTION] = {"description", "description", TSD_FIELD_TEXT, 0},
    [TSD_TREE_NOTES] = {"notes", "notes", TSD_FIELD_TEXT, 0},
    [TSD_TREE_STRICT_MATCH] = {"strictMatch", "strict_match", TSD_FIELD_BOOL, 0},
    [TSD_TREE_ENABLED] = {"enabled", "enabled", TSD_FIELD_BOOL, 0},
    [TSD_TREE_STORE_FAILURES] = {"storeFailures", "store_failures", TSD_FIELD_BOOL, 0},
    [TSD_TREE_CREATED] = {"created", NULL, TSD_FIELD_INT, TSD_FIELD_OURS},
    {NULL, NULL, TSD_FIELD_TEXT, 0},
};

const struct tsd_field tsd_tree_rule_fields[] = {
    [TSD_TREE_RULE_LEVEL] = {"level", "level", TSD_FIELD_INT, 0},
    [TSD_TREE_RULE_ORDER] = {"order", "order", TSD_FIELD_INT, 0},
    [TSD_TREE_RULE_TYPE] = {"type", "type", TSD_FIELD_TEXT, 0},
    [TSD_TREE_RULE_FIELD] = {"field", "field", TSD_FIELD_TEXT, 0},
    [TSD_TREE_RULE_CUSTOM_FIELD] = {"customField", "custom_field", TSD_FIELD_TEXT, 0},
    [TSD_TREE_RULE_REGEX] = {"regex", "regex", TSD_FIELD_TEXT, 0},
    [TSD_TREE_RULE_REGEX_GROUP] = {"regexGroupIdx", "regex_group_idx", TSD_FIELD_INT, 0},
    [TSD_TREE_RULE_SEPARATOR] = {"separator", "separator", TSD_FIELD_TEXT, 0},
    [TSD_TREE_RULE_DISPLAY_FORMAT] = {"displayFormat", "display_format", TSD_FIELD_TEXT, 0},
    [TSD_TREE_RULE_DESCRIPTION] = {"description", "description", TSD_FIELD_TEXT, 0},
    [TSD_TREE_RULE_NOTES] = {"notes", "notes", TSD_FIELD_TEXT, 0},
    {NULL, NULL, TSD_FIELD_TEXT, 0},
};

/* --- cells --- */

static void tree_key(uint16_t id, char key[sizeof(TREE_PREFIX) + 1], struct ts_slice *out)
{
    size_t n = sizeof(TREE_PREFIX) - 1;
    memcpy(key, TREE_PREFIX, n);
    key[n] = (char)(id >> 8);
    key[n + 1] = (char)(id & 255);
    *out = (struct ts_slice){key, n + 2};
}

bool tsd_tree_key_parse(struct ts_slice key, uint16_t *out_id)
{
    size_t n = sizeof(TREE_PREFIX) - 1;
    if (key.n != n + 2 || memcmp(key.p, TREE_PREFIX, n) != 0)
        return false;
    *out_id = (uint16_t)((unsigned char)key.p[n] << 8 | (unsigned char)key.p[n + 1]);
    return *out_id != 0;
}

/* Bring the copy of a tree up to date with the remote store. must: it has to answer. */
static int tree_refresh(struct sto_store *st, uint16_t id, bool must, struct ts_error *err)
{
    char key[sizeof(TREE_PREFIX) + 1];
    struct ts_slice k;
    tree_key(id, key, &k);
    return sto_cell_refresh(st, k, must, err);
}

static void tree_encode(const struct tsd_tree *t, struct ts_buf *out)
{
    struct ts_json j;
    ts_buf_char(out, TSD_FIELDS_FORMAT);
    ts_json_init(&j, out);
    ts_json_obj(&j);
    tsd_record_store_members(&t->def, &j);
    ts_json_member_arr(&j, "rules");
    for (size_t i = 0; i < t->n_rules; i++) {
        ts_json_obj(&j);
        tsd_record_store_members(&t->rules[i], &j);
        ts_json_obj_end(&j);
    }
    ts_json_arr_end(&j);
    ts_json_obj_end(&j);
}

static int tree_decode(struct ts_slice cell, struct ts_arena *arena, struct tsd_tree *out,
                       struct ts_error *err)
{
    json_t *root;
    if (cell.n == 0 || *cell.p != TSD_FIELDS_FORMAT)
        return ts_error_set(err, TS_EVERSION, "tree %u was written by a newer program", (unsigned)out->id);
    int loaded = ts_json_load((struct ts_slice){cell.p + 1, cell.n - 1}, &root, err);
    if (ts_json_may_be_whole(loaded))
        return loaded;
    if (loaded < 0)
        return ts_error_set(err, TS_ECORRUPT, "tree %u can't be read", (unsigned)out->id);
    const json_t *rules = json_object_get(root, "rules");
    int rc = tsd_record_load_members(root, tsd_tree_fields, arena, &out->def, err);
    out->n_rules = json_array_size(rules);
    out->cap_rules = out->n_rules + 1;
    out->rules = ts_arena_alloc(arena, out->cap_rules * sizeof(*out->rules));
    for (size_t i = 0; i < out->n_rules && rc == 0; i++)
        rc = tsd_record_load_members(json_array_get(rules, i), tsd_tree_rule_fields, arena, &out->rules[i],
                                     err);
    json_decref(root);
    return rc;
}

int tsd_tree_parse(struct ts_slice record, uint16_t id, struct ts_arena *arena, struct tsd_tree *out,
                   struct ts_error *err)
{
    *out = (struct tsd_tree){.id = id};
    return tree_decode(record, arena, out, err);
}

/* Load; cell gets the bytes. */
static int tree_read(struct sto_store *st, uint16_t id, struct ts_buf *cell, struct ts_arena *arena,
                     struct tsd_tree *out, struct ts_error *err)
{
    char key[sizeof(TREE_PREFIX) + 1];
    struct ts_slice k;
    tree_key(id, key, &k);
    *out = (struct tsd_tree){.id = id};
    int rc = sto_cell_get(st, k, cell);
    if (rc == TS_ENOTFOUND)
        return ts_error_set(err, rc, "There is no tree %u", (unsigned)id);
    return rc < 0 ? rc : tree_decode(ts_buf_get(cell), arena, out, err);
}

int tsd_tree_load(struct sto_store *st, uint16_t id, struct ts_arena *arena, struct tsd_tree *out,
                  struct ts_error *err)
{
    struct ts_buf cell;
    ts_buf_init(&cell, 0);
    (void)tree_refresh(st, id, false, NULL); /* otherwise the copy answers */
    int rc = tree_read(st, id, &cell, arena, out, err);
    ts_buf_release(&cell);
    return rc;
}

/* Ids on their way. */
struct tree_ids {
    uint16_t *ids; /* allocated for the maximum */
    size_t n;      /* found */
};

static bool tree_id(void *arg, struct ts_slice key, struct ts_slice value)
{
    struct tree_ids *w = arg;
    uint16_t id;
    (void)value;
    if (tsd_tree_key_parse(key, &id) && w->n < TSD_TREE_ID_MAX)
        w->ids[w->n++] = id;
    return true;
}

static bool tree_remote_id(void *arg, uint16_t id)
{
    struct tree_ids *w = arg;
    if (w->n < TSD_TREE_ID_MAX)
        w->ids[w->n++] = id;
    return true;
}

/* Copy the trees of the remote store that are not known here. */
static void tree_follow(struct sto_store *st, struct tree_ids *w)
{
    struct sto_remote *remote = sto_store_remote(st);
    struct sto_remote_call call = {.deadline_ns = ts_clock_mono_ns() + TREE_LIST_MS * 1000000ll};
    struct ts_buf cell;
    if (!remote || ts_fs_is_nowait() || remote->ops->trees(remote, &call, tree_remote_id, w, NULL) < 0)
        return;
    ts_buf_init(&cell, 0);
    for (size_t i = 0; i < w->n; i++) {
        char key[sizeof(TREE_PREFIX) + 1];
        struct ts_slice k;
        tree_key(w->ids[i], key, &k);
        ts_buf_clear(&cell);
        if (sto_cell_get(st, k, &cell) == TS_ENOTFOUND)
            (void)tree_refresh(st, w->ids[i], false, NULL);
    }
    ts_buf_release(&cell);
}

size_t tsd_tree_ids(struct sto_store *st, struct ts_arena *arena, uint16_t **out)
{
    struct tree_ids w = {.ids = ts_arena_alloc(arena, TSD_TREE_ID_MAX * sizeof(*w.ids))};
    tree_follow(st, &w);
    w.n = 0;
    sto_cell_each(st, TS_SLICE_LIT(TREE_PREFIX), tree_id, &w);
    *out = w.ids;
    return w.n;
}

/* --- changes --- */

/* What a change is. */
struct tree_change {
    tsd_tree_change_fn change; /* does it */
    void *arg;                 /* for change */
    struct ts_arena *arena;    /* for what it makes */
};

/* Store a tree where `before` stands now (empty: nothing); TS_EEXIST: something else does. */
static int tree_swap(struct sto_store *st, const struct tsd_tree *t, struct ts_slice before,
                     struct ts_slice after, struct ts_error *err)
{
    char key[sizeof(TREE_PREFIX) + 1];
    struct ts_slice k;
    tree_key(t->id, key, &k);
    return sto_cell_cas(st, k, before, after, err);
}

int tsd_tree_create(struct sto_store *st, const struct tsd_record *given, struct ts_arena *arena,
                    struct tsd_tree *out, struct ts_error *err)
{
    int rc = TS_EEXIST;
    if (!given->v[TSD_TREE_NAME].text.n)
        return ts_error_set(err, TS_EINVAL, "Missing tree name");
    for (int i = 0; i < TREE_TRIES && rc == TS_EEXIST; i++) {
        uint16_t *ids;
        struct ts_buf cell;
        size_t n = tsd_tree_ids(st, arena, &ids);
        unsigned last = n ? ids[n - 1] : 0;
        if (last == TSD_TREE_ID_MAX)
            return ts_error_set(err, TS_ELIMIT, "Tree %u exists: there is no id above it", last);
        *out = (struct tsd_tree){.id = (uint16_t)(last + 1)};
        tsd_record_init(&out->def, tsd_tree_fields);
        tsd_record_merge(&out->def, given, false);
        out->def.v[TSD_TREE_CREATED].i = ts_clock_ms() / 1000;
        ts_buf_init(&cell, 0);
        tree_encode(out, &cell);
        rc = cell.failed ? ts_error_set(err, TS_ENOMEM, "no memory for a tree")
                         : tree_swap(st, out, (struct ts_slice){NULL, 0}, ts_buf_get(&cell), err);
        ts_buf_release(&cell);
    }
    return rc;
}

/* One try of tsd_tree_change. before: the cell; was, after: what it says before and after the change. */
static int tree_try(struct sto_store *st, const struct tree_change *c, struct ts_buf *before,
                    struct ts_buf *was, struct ts_buf *after, struct tsd_tree *out, bool *out_changed,
                    struct ts_error *err)
{
    TS_TRY(tree_read(st, out->id, before, c->arena, out, err));
    tree_encode(out, was);
    TS_TRY(c->change(c->arg, out, c->arena, err));
    tree_encode(out, after);
    if (was->failed || after->failed)
        return ts_error_set(err, TS_ENOMEM, "no memory for a tree");
    *out_changed = !ts_slice_eq(ts_buf_get(was), ts_buf_get(after));
    return *out_changed ? tree_swap(st, out, ts_buf_get(before), ts_buf_get(after), err) : 0;
}

int tsd_tree_change(struct sto_store *st, uint16_t id, struct ts_arena *arena, tsd_tree_change_fn change,
                    void *arg, struct tsd_tree *out, bool *out_changed, struct ts_error *err)
{
    struct tree_change c = {.change = change, .arg = arg, .arena = arena};
    int rc = TS_EEXIST;
    *out = (struct tsd_tree){.id = id};
    TS_TRY(tree_refresh(st, id, true, err)); /* whether anything changes depends on what others wrote */
    for (int i = 0; i < TREE_TRIES && rc == TS_EEXIST; i++) {
        struct ts_buf before, was, after;
        ts_buf_init(&before, 0);
        ts_buf_init(&was, 0);
        ts_buf_init(&after, 0);
        rc = tree_try(st, &c, &before, &was, &after, out, out_changed, err);
        ts_buf_release(&before);
        ts_buf_release(&was);
        ts_buf_release(&after);
    }
    return rc;
}

int tsd_tree_delete(struct sto_store *st, uint16_t id, struct ts_error *err)
{
    char key[sizeof(TREE_PREFIX) + 1];
    struct ts_slice k;
    struct ts_buf cell;
    TS_TRY(tree_refresh(st, id, true, err));
    ts_buf_init(&cell, 0);
    tree_key(id, key, &k);
    int rc = sto_cell_get(st, k, &cell);
    ts_buf_release(&cell);
    if (rc == TS_ENOTFOUND)
        return ts_error_set(err, rc, "There is no tree %u", (unsigned)id);
    return rc < 0 ? rc : sto_cell_put(st, k, (struct ts_slice){NULL, 0}, err);
}

/* --- rules --- */

/* Number of rules before a level and order. */
static size_t tree_rule_at(const struct tsd_tree *t, int64_t level, int64_t order)
{
    size_t i = 0;
    while (i < t->n_rules &&
           (t->rules[i].v[TSD_TREE_RULE_LEVEL].i < level ||
            (t->rules[i].v[TSD_TREE_RULE_LEVEL].i == level && t->rules[i].v[TSD_TREE_RULE_ORDER].i < order)))
        i++;
    return i;
}

struct tsd_record *tsd_tree_rule(const struct tsd_tree *t, int64_t level, int64_t order)
{
    size_t i = tree_rule_at(t, level, order);
    bool there = i < t->n_rules && t->rules[i].v[TSD_TREE_RULE_LEVEL].i == level &&
                 t->rules[i].v[TSD_TREE_RULE_ORDER].i == order;
    return there ? &t->rules[i] : NULL;
}

int tsd_tree_rule_put(struct tsd_tree *t, const struct tsd_record *given, bool replace,
                      struct ts_arena *arena, struct ts_error *err)
{
    int64_t level = given->v[TSD_TREE_RULE_LEVEL].i, order = given->v[TSD_TREE_RULE_ORDER].i;
    struct tsd_record *there = tsd_tree_rule(t, level, order), rule;
    tsd_record_init(&rule, tsd_tree_rule_fields);
    if (there)
        rule = *there;
    tsd_record_merge(&rule, given, replace);
    TS_TRY(tsd_tree_rule_check(&rule, err));
    if (there) {
        *there = rule;
        return 0;
    }
    size_t i = tree_rule_at(t, level, order);
    if (t->n_rules == t->cap_rules) {
        struct tsd_record *more = ts_arena_alloc(arena, (t->cap_rules * 2 + 1) * sizeof(*more));
        memcpy(more, t->rules, t->n_rules * sizeof(*more));
        t->rules = more;
        t->cap_rules = t->cap_rules * 2 + 1;
    }
    memmove(t->rules + i + 1, t->rules + i, (t->n_rules - i) * sizeof(*t->rules));
    t->rules[i] = rule;
    t->n_rules++;
    return 0;
}

int tsd_tree_rule_delete(struct tsd_tree *t, int64_t level, int64_t order, struct ts_error *err)
{
    struct tsd_record *rule = tsd_tree_rule(t, level, order);
    if (!rule)
        return ts_error_set(err, TS_ENOTFOUND, "Tree %u has no rule of level %lld and order %lld",
                            (unsigned)t->id, (long long)level, (long long)order);
    memmove(rule, rule + 1, (size_t)(t->rules + t->n_rules - rule - 1) * sizeof(*rule));
    t->n_rules--;
    return 0;
}

/* --- out --- */

void tsd_tree_rule_json(const struct tsd_tree *t, const struct tsd_record *rule, struct ts_json *j)
{
    ts_json_obj(j);
    ts_json_member_int(j, "treeId", t->id);
    tsd_record_members(rule, j);
    ts_json_obj_end(j);
}

static void tree_number_key(int64_t n, struct ts_json *j)
{
    char text[24];
    (void)snprintf(text, sizeof(text), "%lld", (long long)n);
    ts_json_key(j, text);
}

/* {level: {order: rule}} */
static void tree_rules_json(const struct tsd_tree *t, struct ts_json *j)
{
    ts_json_obj(j);
    for (size_t i = 0; i < t->n_rules;) {
        int64_t level = t->rules[i].v[TSD_TREE_RULE_LEVEL].i;
        tree_number_key(level, j);
        ts_json_obj(j);
        for (; i < t->n_rules && t->rules[i].v[TSD_TREE_RULE_LEVEL].i == level; i++) {
            tree_number_key(t->rules[i].v[TSD_TREE_RULE_ORDER].i, j);
            tsd_tree_rule_json(t, &t->rules[i], j);
        }
        ts_json_obj_end(j);
    }
    ts_json_obj_end(j);
}

void tsd_tree_json(const struct tsd_tree *t, struct ts_json *j)
{
    ts_json_obj(j);
    ts_json_member_int(j, "treeId", t->id);
    tsd_record_members(&t->def, j);
    ts_json_key(j, "rules");
    if (t->n_rules)
        tree_rules_json(t, j);
    else
        ts_json_null(j);
    ts_json_obj_end(j);
}
