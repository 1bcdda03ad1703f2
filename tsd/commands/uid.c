/*
 * uid.c - tsd uid: names and their ids: look up, search, assign, rename, delete, check, free text fields; trees.
 * tsd mkmetric is its form "assign metrics".
 *
 * Threads    the main thread
 * Source     docs/OPENTSDB.md, section 11.5 (forms and output)
 */
#include "tsd/commands/hbase.h"
#include "tsd/commands/meta_client.h"
#include "tsd/meta/uidmeta.h"

#include <stdlib.h>

const struct ts_opt tsd_uid_opts[] = {
    TSD_META_CLIENT_OPTS,
    {.name = "deleted", .help = "grep: print deleted names, \"~ID~NAME\", instead of others."},
    {.name = "ignore-case", .letter = 'i', .help = "grep: ignore case."},
    {.name = "hbase",
     .help = "Use OpenTSDB's table in HBase, without a daemon. --config is then the daemon's, and the "
             "following options belong to it."},
    TSD_HBASE_TABLES_OPTS,
    {.name = NULL},
};
const struct ts_opt tsd_mkmetric_opts[] = {TSD_META_CLIENT_OPTS, {.name = NULL}};

static const char *const kind_names[STO_UID_KINDS] = {"metrics", "tagk", "tagv"};

/* Words of one run, after the form's name. */
struct uid_words {
    const char *const *words; /* borrowed */
    size_t n;                 /* how many */
};
static struct uid_words uid_rest(const struct tsd_meta_client *client, size_t skip)
{
    return (struct uid_words){client->args->words + skip, client->args->n_words - skip};
}

static int uid_kind(const char *word, enum sto_uid_kind *out, struct ts_error *err)
{
    for (unsigned k = 0; k < STO_UID_KINDS; k++) {
        if (strcmp(word, kind_names[k]) == 0) {
            *out = (enum sto_uid_kind)k;
            return 0;
        }
    }
    return ts_error_set(err, TS_EINVAL, "\"%s\" is not a kind; there are metrics, tagk and tagv", word);
}

/* "[KIND] WORD": *out_kind -1 without a kind. */
static int uid_kind_word(struct uid_words w, int *out_kind, const char **out_word, struct ts_error *err)
{
    enum sto_uid_kind kind = STO_UID_METRIC;
    *out_kind = -1;
    *out_word = w.words[w.n - 1];
    if (w.n < 2)
        return 0;
    TS_TRY(uid_kind(w.words[0], &kind, err));
    *out_kind = (int)kind;
    return 0;
}

/* "metrics web.hits: [0, 0, 1]": bytes as OpenTSDB prints them. */
static void uid_line(enum sto_uid_kind kind, uint32_t id, const char *name, struct ts_buf *out)
{
    ts_buf_printf(out, "%s %s: ", kind_names[kind], name);
    tsd_uid_bytes(id, out);
    ts_buf_char(out, '\n');
}

/* --- requests --- */

/* One name found. */
struct uid_hit {
    enum sto_uid_kind kind;
    uint32_t id;
    const char *name; /* in the answer */
};

static int uid_hit_cmp(const void *a, const void *b)
{
    const struct uid_hit *x = a, *y = b;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* Names that meet a query, by kind and name; *out_hits and *out_root are the caller's. */
static int uid_request(struct tsd_meta_client *client, int kind, struct ts_slice query,
                       struct uid_hit **out_hits, size_t *out_n, json_t **out_root, struct ts_error *err)
{
    struct ts_buf text;
    ts_buf_init(&text, 0);
    if (kind >= 0)
        ts_buf_printf(&text, "type:%s ", tsd_uid_kind_name((enum sto_uid_kind)kind));
    ts_buf_slice(&text, query);
    struct tsd_meta_client_req req = {
        .method = "GET",
        .path = tsd_args_has(client->args, "deleted") ? "api/find/deleted" : "api/find/uidmeta",
        .params = {{TS_SLICE_LIT("query"), ts_buf_get(&text)}, {TS_SLICE_LIT("limit"), TS_SLICE_LIT("0")}}};
    int rc = tsd_meta_client_request(client, &req, out_root, err);
    ts_buf_release(&text);
    TS_TRY(rc);
    const json_t *results = json_object_get(*out_root, "results");
    *out_n = 0;
    *out_hits = ts_xcalloc(json_array_size(results) + 1, sizeof(**out_hits));
    for (size_t i = 0; i < json_array_size(results); i++) {
        const json_t *r = json_array_get(results, i);
        const char *type = json_string_value(json_object_get(r, "type"));
        const char *uid = json_string_value(json_object_get(r, "uid"));
        struct uid_hit *hit = &(*out_hits)[*out_n];
        hit->name = json_string_value(json_object_get(r, "name"));
        if (type && uid && hit->name && tsd_uid_kind(ts_slice_str(type), &hit->kind) &&
            tsd_uid_parse(ts_slice_str(uid), &hit->id))
            ++*out_n;
    }
    qsort(*out_hits, *out_n, sizeof(**out_hits), uid_hit_cmp);
    return 0;
}

/* A word of a query with quotes around its value, so that it is one word. */
static void uid_term(struct ts_buf *query, const char *head, const char *value, const char *tail)
{
    ts_buf_printf(query, "%s\"%s", head, tail);
    for (; *value; value++) {
        if (*value == '"')
            ts_buf_char(query, '\\');
        ts_buf_char(query, *value);
    }
    ts_buf_printf(query, "%s\"", tail);
}

/* Print the names that meet a query; *io_kinds: bits of the kinds left to look in. */
static int uid_show(struct tsd_meta_client *client, int kind, struct ts_slice query, unsigned *io_kinds,
                    struct ts_buf *out, struct ts_error *err)
{
    struct uid_hit *hits = NULL;
    json_t *root = NULL;
    size_t n = 0;
    unsigned found = 0;
    int rc = uid_request(client, kind, query, &hits, &n, &root, err);
    for (size_t i = 0; i < n && rc == 0; i++) {
        if (!(*io_kinds >> hits[i].kind & 1))
            continue;
        uid_line(hits[i].kind, hits[i].id, hits[i].name, out);
        found |= 1u << hits[i].kind;
    }
    *io_kinds &= ~found;
    ts_free(hits);
    json_decref(root);
    return rc;
}

/* --- look up, grep, find --- */

static int uid_lookup(struct tsd_meta_client *client, struct ts_buf *out, struct ts_error *err)
{
    struct uid_words w = uid_rest(client, 0);
    int kind;
    const char *word;
    int64_t number;
    unsigned kinds = (1u << STO_UID_KINDS) - 1, left = kinds;
    struct ts_buf query;
    TS_TRY(uid_kind_word(w, &kind, &word, err));
    ts_buf_init(&query, 0);
    uid_term(&query, "name=", word, "");
    int rc = uid_show(client, kind, ts_buf_get(&query), &left, out, err);
    if (rc == 0 && ts_num_parse_int(ts_slice_str(word), &number, NULL) == 0 && number > 0 &&
        number <= UINT32_MAX) {
        ts_buf_clear(&query);
        ts_buf_str(&query, "uid=");
        tsd_uid_hex((uint32_t)number, &query);
        rc = uid_show(client, kind, ts_buf_get(&query), &left, out, err);
    }
    ts_buf_release(&query);
    if (rc == 0 && left == kinds)
        return ts_error_set(err, TS_ENOTFOUND, "no such name or number%s%s: %s", kind < 0 ? "" : " among ",
                            kind < 0 ? "" : kind_names[kind], word);
    return rc;
}

static int uid_grep(struct tsd_meta_client *client, struct ts_buf *out, struct ts_error *err)
{
    int kind;
    const char *word;
    unsigned left = (1u << STO_UID_KINDS) - 1;
    struct ts_buf query;
    TS_TRY(uid_kind_word(uid_rest(client, 1), &kind, &word, err));
    ts_buf_init(&query, 0);
    uid_term(&query, "name:", word, "/");
    if (tsd_args_has(client->args, "ignore-case"))
        ts_buf_char(&query, 'i');
    int rc = uid_show(client, kind, ts_buf_get(&query), &left, out, err);
    ts_buf_release(&query);
    if (rc == 0 && out->n == 0)
        return ts_error_set(err, TS_ENOTFOUND, "no name matches %s", word);
    return rc;
}

static int uid_find(struct tsd_meta_client *client, struct ts_buf *out, struct ts_error *err)
{
    struct uid_words w = uid_rest(client, 1);
    enum sto_uid_kind kind = STO_UID_METRIC;
    unsigned left = (1u << STO_UID_KINDS) - 1;
    struct ts_buf query;
    bool has_kind = w.n > 1 && uid_kind(w.words[0], &kind, NULL) == 0;
    ts_buf_init(&query, 0);
    for (size_t i = has_kind; i < w.n; i++)
        ts_buf_printf(&query, "%s ", w.words[i]);
    int rc = uid_show(client, has_kind ? (int)kind : -1, ts_buf_get(&query), &left, out, err);
    ts_buf_release(&query);
    if (rc == 0 && out->n == 0)
        return ts_error_set(err, TS_ENOTFOUND, "nothing is found");
    return rc;
}

/* --- assign, delete, rename --- */

/* {"metric":["a","b"]} */
static void uid_names(enum sto_uid_kind kind, struct uid_words w, struct ts_buf *body)
{
    struct ts_json j;
    ts_json_init(&j, body);
    ts_json_obj(&j);
    ts_json_member_arr(&j, tsd_uid_kind_name(kind));
    for (size_t i = 0; i < w.n; i++)
        ts_json_str(&j, w.words[i]);
    ts_json_arr_end(&j);
    ts_json_obj_end(&j);
}

/* Id of a name in the answer to assign or delete: a new one, or one that was there. */
static int uid_answer(const json_t *root, enum sto_uid_kind kind, const char *name, uint32_t *out_id,
                      struct ts_error *err)
{
    static const char there[] = "already exists with UID: ";
    char key[32];
    (void)snprintf(key, sizeof(key), "%s_errors", tsd_uid_kind_name(kind));
    const char *uid =
        json_string_value(json_object_get(json_object_get(root, tsd_uid_kind_name(kind)), name));
    const char *why = json_string_value(json_object_get(json_object_get(root, key), name));
    const char *old = why ? strstr(why, there) : NULL;
    if (!uid && old)
        uid = old + sizeof(there) - 1;
    if (uid && tsd_uid_parse(ts_slice_str(uid), out_id))
        return 0;
    return ts_error_set(err, TS_EINVAL, "%s", why ? why : "the daemon's answer has no such name");
}

static int uid_change(struct tsd_meta_client *client, const char *path, struct uid_words w, bool print,
                      struct ts_buf *out, struct ts_error *err)
{
    enum sto_uid_kind kind = STO_UID_METRIC;
    struct ts_buf body;
    json_t *root = NULL;
    uint32_t id;
    TS_TRY(uid_kind(w.words[0], &kind, err));
    w = (struct uid_words){w.words + 1, w.n - 1};
    ts_buf_init(&body, 0);
    uid_names(kind, w, &body);
    struct tsd_meta_client_req req = {.method = "POST", .path = path, .body = ts_buf_get(&body)};
    int rc = tsd_meta_client_request(client, &req, &root, err);
    for (size_t i = 0; i < w.n && rc == 0; i++) {
        rc = uid_answer(root, kind, w.words[i], &id, err);
        if (rc == 0 && print)
            uid_line(kind, id, w.words[i], out);
    }
    json_decref(root);
    ts_buf_release(&body);
    return rc;
}

static int uid_assign(struct tsd_meta_client *client, struct ts_buf *out, struct ts_error *err)
{
    return uid_change(client, "api/uid/assign", uid_rest(client, 1), true, out, err);
}

static int uid_delete(struct tsd_meta_client *client, struct ts_buf *out, struct ts_error *err)
{
    return uid_change(client, "api/uid/delete", uid_rest(client, 1), false, out, err);
}

static int uid_rename(struct tsd_meta_client *client, struct ts_buf *out, struct ts_error *err)
{
    struct uid_words w = uid_rest(client, 1);
    enum sto_uid_kind kind = STO_UID_METRIC;
    json_t *root = NULL;
    TS_TRY(uid_kind(w.words[0], &kind, err));
    struct ts_buf body;
    struct ts_json j;
    ts_buf_init(&body, 0);
    ts_json_init(&j, &body);
    ts_json_obj(&j);
    ts_json_member_str(&j, tsd_uid_kind_name(kind), w.words[1]);
    ts_json_member_str(&j, "name", w.words[2]);
    ts_json_obj_end(&j);
    struct tsd_meta_client_req req = {.method = "POST", .path = "api/uid/rename", .body = ts_buf_get(&body)};
    int rc = tsd_meta_client_request(client, &req, &root, err);
    ts_buf_release(&body);
    TS_TRY(rc);
    const char *why = json_string_value(json_object_get(root, "error"));
    rc = why ? ts_error_set(err, TS_EINVAL, "%s", why) : 0;
    if (rc == 0)
        ts_buf_printf(out, "%s %s -> %s\n", w.words[0], w.words[1], w.words[2]);
    json_decref(root);
    return rc;
}

/* --- free text fields --- */

/* Record of "KIND NAME"; *out_root keeps it alive. */
static int uid_record(struct tsd_meta_client *client, struct uid_words w, enum sto_uid_kind *kind,
                      json_t **out_root, const json_t **out, struct ts_error *err)
{
    struct ts_buf query;
    ts_buf_init(&query, 0);
    TS_TRY(uid_kind(w.words[0], kind, err));
    ts_buf_printf(&query, "type:%s ", tsd_uid_kind_name(*kind));
    uid_term(&query, "name=", w.words[1], "");
    struct tsd_meta_client_req req = {
        .method = "GET", .path = "api/find/uidmeta", .params = {{TS_SLICE_LIT("query"), ts_buf_get(&query)}}};
    int rc = tsd_meta_client_request(client, &req, out_root, err);
    ts_buf_release(&query);
    TS_TRY(rc);
    *out = json_array_get(json_object_get(*out_root, "results"), 0);
    return *out ? 0 : ts_error_set(err, TS_ENOTFOUND, "no such name among %s: %s", w.words[0], w.words[1]);
}

static const char *const uid_own_fields[] = {"displayName", "description", "notes", NULL};

static bool uid_own_field(const char *name)
{
    for (const char *const *f = uid_own_fields; *f; f++)
        if (strcmp(*f, name) == 0)
            return true;
    return false;
}

static int uid_get(struct tsd_meta_client *client, struct ts_buf *out, struct ts_error *err)
{
    struct uid_words w = uid_rest(client, 1);
    enum sto_uid_kind kind = STO_UID_METRIC;
    json_t *root = NULL, *v;
    const json_t *record;
    const char *k;
    int rc = uid_record(client, w, &kind, &root, &record, err);
    json_t *custom = rc == 0 ? json_object_get(record, "custom") : NULL;
    if (rc == 0 && w.n > 2) {
        const char *text = json_string_value(
            json_object_get(uid_own_field(w.words[2]) ? record : (const json_t *)custom, w.words[2]));
        if (text && *text)
            ts_buf_printf(out, "%s\n", text);
        else
            rc = ts_error_set(err, TS_ENOTFOUND, "%s %s has no field %s", w.words[0], w.words[1], w.words[2]);
    } else if (rc == 0) {
        for (const char *const *f = uid_own_fields; *f; f++) {
            const char *text = json_string_value(json_object_get(record, *f));
            if (text && *text)
                ts_buf_printf(out, "%s: %s\n", *f, text);
        }
        json_object_foreach(custom, k, v) ts_buf_printf(out, "%s: %s\n", k, json_string_value(v));
    }
    json_decref(root);
    return rc;
}

static int uid_set(struct tsd_meta_client *client, struct ts_buf *out, struct ts_error *err)
{
    struct uid_words w = uid_rest(client, 1);
    enum sto_uid_kind kind = STO_UID_METRIC;
    json_t *root = NULL;
    const json_t *record;
    struct ts_buf body;
    struct ts_json j;
    (void)out;
    int rc = uid_record(client, w, &kind, &root, &record, err);
    ts_buf_init(&body, 0);
    ts_json_init(&j, &body);
    ts_json_obj(&j);
    ts_json_member_str(&j, "type", tsd_uid_kind_name(kind));
    ts_json_member_str(&j, "uid", rc == 0 ? json_string_value(json_object_get(record, "uid")) : "");
    ts_json_key(&j, uid_own_field(w.words[2]) ? w.words[2] : "customMerge");
    if (uid_own_field(w.words[2])) {
        ts_json_str(&j, w.words[3]);
    } else {
        ts_json_obj(&j);
        ts_json_member_str(&j, w.words[2], w.words[3]);
        ts_json_obj_end(&j);
    }
    ts_json_obj_end(&j);
    if (rc == 0)
        rc = tsd_meta_client_send(client, "POST", "api/uid/uidmeta", &body, err);
    ts_buf_release(&body);
    json_decref(root);
    return rc;
}

/* --- check --- */

static int uid_fsck(struct tsd_meta_client *client, struct ts_buf *out, struct ts_error *err)
{
    struct uid_words w = uid_rest(client, 1);
    json_t *root = NULL;
    bool fix = w.n && strcmp(w.words[0], "fix") == 0;
    if (w.n && !fix)
        return ts_error_set(err, TS_EINVAL, "fsck accepts no word but fix");
    struct tsd_meta_client_req req = {
        .method = fix ? "POST" : "GET",
        .path = "api/uid/fsck",
        .params = {{TS_SLICE_LIT("fix"), fix ? TS_SLICE_LIT("true") : TS_SLICE_LIT("false")}}};
    TS_TRY(tsd_meta_client_request(client, &req, &root, err));
    const json_t *lines = json_object_get(root, "findings");
    for (size_t i = 0; i < json_array_size(lines); i++)
        ts_buf_printf(out, "%s\n", json_string_value(json_array_get(lines, i)));
    int64_t n = json_integer_value(json_object_get(root, "errors"));
    ts_buf_printf(out, "%lld names analyzed\n",
                  (long long)json_integer_value(json_object_get(root, "names")));
    if (n)
        ts_buf_printf(out, "%lld errors found.\n", (long long)n);
    else
        ts_buf_str(out, "No errors found.\n");
    json_decref(root);
    return n && !fix ? ts_error_set(err, TS_ECORRUPT, "tsd uid fsck fix corrects them") : 0;
}

/* --- trees --- */

/* Request a tree, or all of them; *out is an object or an array. */
static int uid_trees(struct tsd_meta_client *client, const char *id, json_t **out, struct ts_error *err)
{
    struct tsd_meta_client_req req = {.method = "GET", .path = "api/tree"};
    if (id)
        req.params[0] = (struct qry_param){TS_SLICE_LIT("treeid"), ts_slice_str(id)};
    return tsd_meta_client_request(client, &req, out, err);
}

static void uid_tree_line(const json_t *tree, const char *what, struct ts_buf *out)
{
    ts_buf_printf(out, "tree %lld %s: %s\n", (long long)json_integer_value(json_object_get(tree, "treeId")),
                  json_string_value(json_object_get(tree, "name")), what);
}

/* There is nothing to do, and it says so: branches follow from the rules. */
static int uid_treesync(struct tsd_meta_client *client, struct ts_buf *out, struct ts_error *err)
{
    static const char in_sync[] = "in sync: branches are computed from its rules at each request";
    static const char off[] = "not enabled: it has no branches (POST /api/tree with enabled=true)";
    struct uid_words w = uid_rest(client, 1);
    json_t *root = NULL;
    TS_TRY(uid_trees(client, w.n ? w.words[0] : NULL, &root, err));
    for (size_t i = 0, n = json_is_array(root) ? json_array_size(root) : 1; i < n; i++) {
        const json_t *tree = json_is_array(root) ? json_array_get(root, i) : root;
        uid_tree_line(tree, json_is_true(json_object_get(tree, "enabled")) ? in_sync : off, out);
    }
    json_decref(root);
    return 0;
}

static int uid_treepurge(struct tsd_meta_client *client, struct ts_buf *out, struct ts_error *err)
{
    struct uid_words w = uid_rest(client, 1);
    json_t *root = NULL, *answer = NULL;
    bool all = w.n > 1 && (strcmp(w.words[1], "definition") == 0 || strcmp(w.words[1], "true") == 0);
    if (w.n > 1 && !all)
        return ts_error_set(err, TS_EINVAL, "treepurge accepts no second word but definition");
    TS_TRY(uid_trees(client, w.words[0], &root, err));
    struct tsd_meta_client_req req = {.method = "DELETE",
                                      .path = "api/tree",
                                      .params = {{TS_SLICE_LIT("treeid"), ts_slice_str(w.words[0])},
                                                 {TS_SLICE_LIT("definition"), TS_SLICE_LIT("true")}}};
    int rc = all ? tsd_meta_client_request(client, &req, &answer, err) : 0;
    if (rc == 0)
        uid_tree_line(root,
                      all ? "definition and rules are deleted, and with them all branches"
                          : "nothing to purge: branches are not stored, they are computed from its rules",
                      out);
    json_decref(answer);
    json_decref(root);
    return rc;
}

/* --- the command --- */

/* One form, identified by its first word. */
struct uid_form {
    const char *word;   /* NULL: look up */
    const char *usage;  /* all of its words */
    size_t min, max;    /* number of words after the first */
    enum tsd_local how; /* how a folder is opened */
    int (*run)(struct tsd_meta_client *client, struct ts_buf *out, struct ts_error *err);
};
static const struct uid_form forms[] = {
    {"grep", "grep [KIND] EXPRESSION", 1, 2, TSD_LOCAL_READ, uid_grep},
    {"assign", "assign KIND NAME...", 2, SIZE_MAX, TSD_LOCAL_WRITE, uid_assign},
    {"rename", "rename KIND OLD NEW", 3, 3, TSD_LOCAL_WRITE, uid_rename},
    {"delete", "delete KIND NAME...", 2, SIZE_MAX, TSD_LOCAL_WRITE, uid_delete},
    {"fsck", "fsck [fix]", 0, 1, TSD_LOCAL_WRITE, uid_fsck},
    {"set", "set KIND NAME FIELD TEXT", 4, 4, TSD_LOCAL_WRITE, uid_set},
    {"get", "get KIND NAME [FIELD]", 2, 3, TSD_LOCAL_READ, uid_get},
    {"treesync", "treesync [ID]", 0, 1, TSD_LOCAL_READ, uid_treesync},
    {"treepurge", "treepurge ID [definition]", 1, 2, TSD_LOCAL_WRITE, uid_treepurge},
    {"find", "find [KIND] QUERY...", 1, SIZE_MAX, TSD_LOCAL_READ, uid_find},
    {NULL, "[KIND] NAME", 1, 2, TSD_LOCAL_READ, uid_lookup},
};

int tsd_uid_run(const struct tsd_args *args)
{
    const struct uid_form *form = forms;
    if (args->n_words == 0)
        return tsd_usage(
            args, "say what to do: a name, a number, grep, assign, rename, delete, fsck, set, get, find, "
                  "treesync or treepurge");
    if (tsd_args_has(args, "hbase"))
        return tsd_uid_hbase_run(args);
    if (tsd_hbase_option_given(args))
        return tsd_usage(args, "--%s belongs to --hbase", tsd_hbase_option_given(args));
    while (form->word && strcmp(form->word, args->words[0]) != 0)
        form++;
    if (!form->word && (!strcmp(args->words[0], "metasync") || !strcmp(args->words[0], "metapurge")))
        return tsd_usage(args, "%s belongs to --hbase", args->words[0]);
    size_t n = args->n_words - (form->word ? 1 : 0);
    if (!form->word && n > form->max)
        return tsd_usage_word(args, args->words[0],
                              "grep assign rename delete fsck set get find treesync treepurge");
    if (n < form->min || n > form->max)
        return tsd_usage(args, "the words are %s", form->usage);
    return tsd_meta_client_run(args, form->how, form->run);
}

static int mkmetric(struct tsd_meta_client *client, struct ts_buf *out, struct ts_error *err)
{
    const char **words = ts_xcalloc(client->args->n_words + 1, sizeof(*words));
    words[0] = kind_names[STO_UID_METRIC];
    memcpy(words + 1, client->args->words, client->args->n_words * sizeof(*words));
    int rc = uid_change(client, "api/uid/assign", (struct uid_words){words, client->args->n_words + 1}, true,
                        out, err);
    ts_free(words);
    return rc;
}

int tsd_mkmetric_run(const struct tsd_args *args)
{
    if (args->n_words == 0)
        return tsd_usage(args, "name the metrics to make");
    return tsd_meta_client_run(args, TSD_LOCAL_WRITE, mkmetric);
}
