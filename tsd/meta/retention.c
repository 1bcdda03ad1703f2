/*
 * retention.c - requests about the rules of retention.
 *
 *   GET  /api/retention[?explain]      the rules in order, and what each does
 *   POST /api/retention[?dry_run]      {"add": ["cpu.* points=30d"], "at": 0}, {"remove": [...]}, {"set": [...]}, or
 *                                      {"maxBytes": 1073741824}; "none" and "default" (what the configuration says) are values too
 *
 * Threads    see request.h
 * Not here   rules (storage/retain.h), the limit of bytes (storage/max_bytes.h)
 */
#include "tsd/meta/request.h"

#include "base/cut.h"
#include "storage/max_bytes.h"

static void print_does(struct ts_json *j, const struct sto_expired *does)
{
    if (does->cutoff_ms == INT64_MIN)
        ts_json_member_null(j, "cutoff");
    else
        ts_json_member_int(j, "cutoff", does->cutoff_ms);
    ts_json_member_count(j, "series", does->n_series);
    ts_json_member_count(j, "points", does->n_points);
    ts_json_member_count(j, "expiredPoints", does->n_expired);
    ts_json_member_count(j, "expiredBytes", does->expired_bytes);
    if (does->oldest_ms == INT64_MAX)
        ts_json_member_null(j, "oldest");
    else
        ts_json_member_int(j, "oldest", does->oldest_ms);
}

/* For how long summaries are kept, if longer than what they are made of. */
static void print_longer(struct ts_json *j, const char *name, int64_t ms, int64_t than_ms)
{
    if (ms == STO_KEEP_FOREVER && than_ms != STO_KEEP_FOREVER)
        ts_json_member_null(j, name);
    else if (ms > than_ms)
        ts_json_member_int(j, name, ms);
}

static void print_summaries(struct ts_json *j, const char *name, const struct sto_expired *do_)
{
    if (!do_)
        return;
    ts_json_member_obj(j, name);
    print_does(j, do_);
    ts_json_obj_end(j);
}

static void print_row(void *arg, const struct sto_retain_row *row)
{
    static const char *const sources[] = {[STO_RETAIN_SET] = "set",
                                          [STO_RETAIN_CONF] = "retention_rules",
                                          [STO_RETAIN_REST] = "retention_days"};
    struct ts_json *j = arg;
    ts_json_obj(j);
    ts_json_member_slice(j, "rule", row->text);
    ts_json_member_str(j, "source", sources[row->source]);
    if (row->points_ms == STO_KEEP_FOREVER)
        ts_json_member_null(j, "pointsMs");
    else
        ts_json_member_int(j, "pointsMs", row->points_ms);
    print_longer(j, "hoursMs", row->hours_ms, row->points_ms);
    print_longer(j, "daysMs", row->days_ms, row->hours_ms);
    if (row->does)
        print_does(j, row->does);
    print_summaries(j, "hours", row->hours_do);
    print_summaries(j, "days", row->days_do);
    ts_json_obj_end(j);
}

static void print_time(struct ts_json *j, const char *name, int64_t ms)
{
    if (ms == STO_MIN_TS_MS)
        ts_json_member_null(j, name);
    else
        ts_json_member_int(j, name, ms);
}

static void print_limit(struct ts_json *j, const struct sto_max_bytes *m, bool explain)
{
    ts_json_member_obj(j, "limit");
    if (m->max_bytes)
        ts_json_member_count(j, "maxBytes", m->max_bytes);
    else
        ts_json_member_null(j, "maxBytes");
    ts_json_member_str(j, "source", m->is_set ? "set" : "max_bytes");
    print_time(j, "cutoff", m->cutoff_ms);
    if (m->summaries_ms < m->cutoff_ms)
        print_time(j, "summariesCutoff", m->summaries_ms);
    if (explain) {
        ts_json_member_count(j, "bytes", m->bytes);
        ts_json_member_count(j, "fixedBytes", m->fixed_bytes);
        ts_json_member_count(j, "pendingBytes", m->pending_bytes);
        print_time(j, "next", m->next_ms);
        ts_json_member_count(j, "freedBytes", m->freed_bytes);
        ts_json_member_int(j, "heldMs", m->held_ms);
        ts_json_member_bool(j, "short", m->is_short);
    }
    ts_json_obj_end(j);
}

/* Rules of a JSON array, a line each. */
static int get_rules(const json_t *list, const char *name, struct ts_buf *out, struct ts_error *err)
{
    if (!json_is_array(list))
        return ts_error_set(err, TS_EPARSE, "'%s' must be an array of rules", name);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *v = json_array_get(list, i);
        struct ts_slice text = {json_string_value(v), json_string_length(v)};
        struct ts_slice rule = json_is_string(v) ? ts_slice_trim(text) : (struct ts_slice){"", 0};
        if (json_is_string(v) && !rule.n)
            return ts_error_set(err, TS_EINVAL, "a rule in '%s' is empty", name);
        if (!rule.n || *rule.p == '#' || memchr(text.p, '\n', text.n) || memchr(text.p, ';', text.n))
            return ts_error_set(err, TS_EPARSE, "'%s' must be an array of texts, a rule each", name);
        ts_buf_slice(out, text);
        ts_buf_char(out, '\n');
    }
    return out->failed
               ? ts_error_set(err, TS_ELIMIT, "the rules are longer than %u bytes", STO_RETAIN_TEXT_BYTES)
               : 0;
}

/* A pattern in which a star stands for any characters must be able to match a name. */
static int check_pattern(const struct tsd_meta_req *a, enum sto_uid_kind kind, struct ts_slice pattern,
                         struct ts_error *err)
{
    char text[STO_RETAIN_RULE_BYTES];
    size_t n = pattern.n < sizeof(text) ? pattern.n : sizeof(text);
    for (size_t i = 0; i < n; i++)
        text[i] = pattern.p[i] == '*' ? 'x' : pattern.p[i];
    return n ? tsd_meta_req_name(a, kind, (struct ts_slice){text, n}, err) : 0;
}

/* Rules that are set anew have no characters that no name has, such as the a|b of filters: they would never match. What else is wrong
 * with them the store says. */
static int check_patterns(const struct tsd_meta_req *a, struct ts_slice rules, struct ts_error *err)
{
    struct sto_retain_rules list = {.n = 0};
    int rc = 0;
    if (sto_retain_rules_add(&list, rules, NULL) < 0)
        return 0;
    for (size_t i = 0; i < list.n && rc == 0; i++) {
        const struct sto_retain_rule *r = &list.v[i];
        rc = check_pattern(a, STO_UID_METRIC, r->metric, err);
        for (size_t k = 0; k < r->n_tags && rc == 0; k++) {
            rc = check_pattern(a, STO_UID_TAGK, r->tags[k].k, err);
            if (rc == 0)
                rc = check_pattern(a, STO_UID_TAGV, r->tags[k].v, err);
        }
    }
    sto_retain_rules_release(&list);
    return rc;
}

/* Members that nobody reads may be meant to keep points: {"set": [...], "dry_run": true}. */
static int check_members(const json_t *root, struct ts_error *err)
{
    const char *key;
    json_t *v;
    json_object_foreach((json_t *)(uintptr_t)root, key, v)
    {
        if (strcmp(key, "add") && strcmp(key, "at") && strcmp(key, "remove") && strcmp(key, "set") &&
            strcmp(key, "maxBytes"))
            return ts_error_set(err, TS_EINVAL,
                                "Unknown member: %.64s (dry_run and explain are parameters of the URL)", key);
    }
    return 0;
}

/* A limit: a number of bytes, "10G", "none" or "default". */
static int get_limit(const json_t *v, struct sto_max_bytes_call *call, struct ts_error *err)
{
    struct ts_slice text = {json_is_string(v) ? json_string_value(v) : "", json_string_length(v)};
    call->what = ts_slice_is(text, "default") ? STO_MAX_BYTES_CONF : STO_MAX_BYTES_SET;
    call->max_bytes = 0;
    if (ts_slice_is(text, "default") || ts_slice_is(text, "none"))
        return 0;
    if (json_is_integer(v) && json_integer_value(v) > 0)
        call->max_bytes = (uint64_t)json_integer_value(v);
    else if (!json_is_string(v) || ts_num_parse_bytes(text, &call->max_bytes) < 0 || !call->max_bytes)
        return ts_error_set(
            err, TS_EPARSE,
            "'maxBytes' must be a whole number of bytes from 1, a text such as 100G, none or default");
    if (call->max_bytes > STO_MAX_BYTES_MOST)
        return ts_error_set(err, TS_EINVAL, "'maxBytes' is 1024P (2^60) at most");
    return 0;
}

/* What a body says is to be done. */
static int get_call(const json_t *root, struct sto_retain_call *call, struct sto_max_bytes_call *limit,
                    struct ts_buf *text, struct ts_error *err)
{
    static const struct {
        const char *name;
        enum sto_retain_what what;
    } kinds[] = {{"add", STO_RETAIN_ADD}, {"remove", STO_RETAIN_REMOVE}, {"set", STO_RETAIN_REPLACE}};
    TS_TRY(check_members(root, err));
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        const json_t *list = json_object_get(root, kinds[i].name);
        if (!list)
            continue;
        if (call->what != STO_RETAIN_LIST)
            return ts_error_set(err, TS_EINVAL, "a request has one of 'add', 'remove', 'set' and 'maxBytes'");
        call->what = kinds[i].what;
        TS_TRY(get_rules(list, kinds[i].name, text, err));
    }
    const json_t *max_bytes = json_object_get(root, "maxBytes");
    if (max_bytes && json_object_size(root) > 1)
        return ts_error_set(err, TS_EINVAL, "a request has one of 'add', 'remove', 'set' and 'maxBytes'");
    if (max_bytes)
        return get_limit(max_bytes, limit, err);
    if (call->what == STO_RETAIN_LIST)
        return ts_error_set(err, TS_EINVAL, "Missing 'add', 'remove', 'set' or 'maxBytes'");
    const json_t *at = json_object_get(root, "at");
    if (at && call->what != STO_RETAIN_ADD)
        return ts_error_set(err, TS_EINVAL, "'at' belongs to 'add'");
    if (at && (!json_is_integer(at) || json_integer_value(at) < 0))
        return ts_error_set(err, TS_EPARSE, "'at' must be a whole number from 0");
    call->at = at ? (size_t)json_integer_value(at) : SIZE_MAX;
    call->text = ts_buf_get(text);
    return 0;
}

static bool is_on(const struct tsd_meta_req *a, const char *name)
{
    struct ts_slice value;
    return tsd_meta_req_param(a, name, &value) && !ts_slice_is(value, "false");
}

int tsd_handle_retention(struct tsd_meta_req *a, struct ts_error *err)
{
    struct sto_retain_call call = {.dry_run = is_on(a, "dry_run"),
                                   .explain = is_on(a, "explain") || is_on(a, "dry_run"),
                                   .each = print_row};
    struct sto_max_bytes_call limit = {.dry_run = call.dry_run, .explain = call.explain};
    struct sto_max_bytes does;
    struct ts_buf text;
    struct ts_json j;
    json_t *root = NULL;
    if (a->method == TSD_POST)
        TS_TRY(tsd_meta_req_body(a, &root, err));
    ts_buf_init(&text, STO_RETAIN_TEXT_BYTES);
    int rc = root ? get_call(root, &call, &limit, &text, err) : 0;
    if (rc == 0 && (call.what == STO_RETAIN_ADD || call.what == STO_RETAIN_REPLACE))
        rc = check_patterns(a, call.text, err);
    if (rc == 0)
        rc = sto_max_bytes(a->store, &limit, &does, err);
    if (rc == 0) {
        tsd_meta_req_json(a, "", &j);
        ts_json_obj(&j);
        ts_json_member_arr(&j, "rules");
        call.arg = &j;
        rc = sto_retain(a->store, &call, err);
        ts_json_arr_end(&j);
        if (does.max_bytes || does.cutoff_ms > STO_MIN_TS_MS || limit.explain ||
            limit.what != STO_MAX_BYTES_LIST)
            print_limit(&j, &does, limit.explain);
        ts_json_obj_end(&j);
    }
    json_decref(root);
    ts_buf_release(&text);
    if (rc == TS_ENOTFOUND)
        a->error_status = 404;
    return rc == 0 ? tsd_meta_req_write(a, err) : rc;
}
