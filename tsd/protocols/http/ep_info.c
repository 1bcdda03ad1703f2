/*
 * ep_info.c - what this daemon is and can do: version, aggregators, configuration, filters.
 *
 * Threads    the connection's worker
 * Source     docs/OPENTSDB.md, sections 2.9, 2.11, 2.13, 2.20
 */
#include "tsd/protocols/http/ep.h"

#include "base/json.h"
#include "query/filters/filter.h"
#include "tsd/daemon/version.h"

#include <string.h>
#include <strings.h>

void tsd_ep_version(struct tsd_req *req)
{
    static const char *const members[][2] = {
        {"version", TSD_VERSION},      {"short_revision", TSD_REVISION}, {"full_revision", TSD_REVISION},
        {"timestamp", TSD_BUILD_TIME}, {"repo_status", TSD_REPO_STATUS}, {"user", TSD_BUILD_USER},
        {"host", TSD_BUILD_HOST},      {"repo", TSD_BUILD_REPO},         {"branch", TSD_BUILD_BRANCH},
    };
    struct ts_buf b;
    ts_buf_init(&b, 0);
    if (ts_slice_is(req->path, "version")) { /* the old path: text, JSON if the query string says so */
        if (!tsd_req_flag(req, "json")) {
            tsd_version_text(req->d->set.rules.compat, &b);
            tsd_reply(req, 200, tsd_type_text, ts_buf_get(&b));
            ts_buf_release(&b);
            return;
        }
    }
    struct ts_json j;
    ts_json_init(&j, &b);
    ts_json_obj(&j);
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
        ts_json_member_str(&j, members[i][0], members[i][1]);
    ts_json_obj_end(&j);
    tsd_reply_json_take(req, 200, &b);
}

void tsd_ep_aggregators(struct tsd_req *req, struct ts_json *j)
{
    (void)req;
    ts_json_arr(j);
    const char *name;
    for (size_t i = 0; (name = qry_agg_name(i)) != NULL; i++)
        ts_json_str(j, name);
    ts_json_arr_end(j);
}

bool tsd_conf_secret(const char *name)
{
    for (; *name; name++)
        if (!strncasecmp(name, "pass", 4))
            return true;
    return false;
}

static void info_key(void *arg, const struct ts_conf_key *key, const char *value)
{
    struct ts_json *j = arg;
    const char *shown = tsd_conf_secret(key->name) ? "********" : value;
    ts_json_member_str(j, key->name, shown);
}

static void info_opentsdb_key(void *arg, const struct ts_conf_key *key, const char *value)
{
    struct ts_json *j = arg;
    if (!key->opentsdb || !*key->opentsdb)
        return;
    ts_json_member_str(j, key->opentsdb, tsd_conf_secret(key->opentsdb) ? "********" : value);
}

/* Our names, then OpenTSDB's for the same keys: clients look for those. */
void tsd_ep_config(struct tsd_req *req, struct ts_json *j)
{
    ts_json_obj(j);
    ts_conf_each(req->d->conf, info_key, j);
    ts_conf_each(req->d->conf, info_opentsdb_key, j);
    ts_json_obj_end(j);
}

void tsd_ep_config_filters(struct tsd_req *req, struct ts_json *j)
{
    (void)req;
    ts_json_obj(j);
    for (const struct qry_filter_type *const *t = qry_filter_table(); *t; t++) {
        ts_json_member_obj(j, (*t)->name);
        ts_json_member_str(j, "description", (*t)->help);
        ts_json_member_str(j, "examples", (*t)->example);
        ts_json_obj_end(j);
    }
    ts_json_obj_end(j);
}

/* Endpoints of the API that take one of these methods. */
static void info_paths(struct ts_json *j, const char *key, unsigned methods)
{
    ts_json_member_arr(j, key);
    for (const struct tsd_endpoint *e = tsd_endpoints; e->path; e++)
        if ((tsd_endpoint_methods(e) & methods) && !strncmp(e->path, "api/", 4))
            ts_json_str(j, e->path + 4);
    ts_json_arr_end(j);
}

/* OpenTSDB documents this path and does not answer it; there is one serializer and no plug-in. */
void tsd_ep_serializers(struct tsd_req *req, struct ts_json *j)
{
    (void)req;
    static const char *const members[][2] = {
        {"serializer", "json"},
        {"class", "tsd"},
        {"request_content_type", "application/json"},
        {"response_content_type", tsd_type_json},
    };
    ts_json_arr(j);
    ts_json_obj(j);
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
        ts_json_member_str(j, members[i][0], members[i][1]);
    info_paths(j, "parsers", TSD_POST | TSD_PUT);
    info_paths(j, "formatters", TSD_GET);
    ts_json_obj_end(j);
    ts_json_arr_end(j);
}
