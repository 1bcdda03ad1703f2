/*
 * opts.c - checks the options of a remote store in HBase; errors name the configuration keys.
 */
#include "storage/hbase/remote/remote.h"

#include "base/num.h"

#include <string.h>

#define TABLE_BYTES_MAX 200 /* of the name of a table */

static int check_table(const char *key, const char *name, struct ts_error *err)
{
    size_t n = strlen(name);
    const char *colon = strchr(name, ':');
    const char *own = colon ? colon + 1 : name;
    bool ok = n > 0 && n <= TABLE_BYTES_MAX && *own && *own != '.' && *own != '-' && colon != name;
    for (size_t i = 0; i < n && ok; i++)
        ok = (name[i] >= 'a' && name[i] <= 'z') || (name[i] >= 'A' && name[i] <= 'Z') ||
             (name[i] >= '0' && name[i] <= '9') || name[i] == '_' || name + i == colon ||
             (name + i >= own && strchr("-.", name[i]));
    if (ok && !strncmp(name, "hbase:", 6))
        return ts_error_set(err, TS_EINVAL,
                            "%s: the tables of namespace hbase are HBase's own, \"%.80s\" too", key, name);
    return ok ? 0
              : ts_error_set(err, TS_EINVAL,
                             "%s: \"%.80s\" cannot be the name of a table in HBase; it has letters, digits, "
                             "_ - and .%s",
                             key, name, colon ? ", its namespace only letters, digits and _" : "");
}

/* The name without the namespace that tables without one are in. */
static const char *plain_name(const char *name)
{
    static const char usual[] = "default:";
    return strncmp(name, usual, sizeof usual - 1) ? name : name + sizeof usual - 1;
}

/* A table of rollups_config. */
static int check_rollup_table(const struct sto_hbase_tables *t, const char *name, bool may_be_data,
                              struct ts_error *err)
{
    TS_TRY(check_table("rollups_config", name, err));
    if ((strcmp(name, t->data) || may_be_data) && strcmp(name, t->uid) && strcmp(name, t->tree) &&
        strcmp(name, t->meta))
        return 0;
    return ts_error_set(err, TS_EINVAL,
                        "rollups_config has a table \"%.80s\", which is used for something else", name);
}

static int check_rollup_tables(const struct sto_hbase_tables *t, const struct sto_hbase_rollups *r,
                               struct ts_error *err)
{
    TS_TRY(check_rollup_table(t, r->pre_table, true, err));
    for (size_t i = 0; i < r->n; i++) {
        TS_TRY(check_rollup_table(t, r->intervals[i].table, false, err));
        TS_TRY(check_rollup_table(t, r->intervals[i].pre_table, false, err));
    }
    return 0;
}

int sto_hbase_names_check(const struct sto_hbase_tables *t, const struct sto_hbase_rollups *rollups,
                          struct ts_error *err)
{
    const char *const rows[][2] = {{"hbase_data_table", t->data},
                                   {"hbase_uid_table", t->uid},
                                   {"hbase_tree_table", t->tree},
                                   {"hbase_meta_table", t->meta}};
    for (size_t i = 0; i < 4; i++) {
        TS_TRY(check_table(rows[i][0], rows[i][1], err));
        for (size_t k = 0; k < i; k++)
            if (!strcmp(plain_name(rows[i][1]), plain_name(rows[k][1])))
                return ts_error_set(err, TS_EINVAL,
                                    "%s and %s are both \"%.80s\", but need tables of their own", rows[k][0],
                                    rows[i][0], rows[i][1]);
    }
    return rollups ? check_rollup_tables(t, rollups, err) : 0;
}

static int check_range(const char *key, uint64_t value, uint64_t min, uint64_t max, struct ts_error *err)
{
    if (value >= min && value <= max)
        return 0;
    return ts_error_set(err, TS_EINVAL, "%s is %llu, but it must be %llu to %llu", key,
                        (unsigned long long)value, (unsigned long long)min, (unsigned long long)max);
}

static int check_gateways(const struct sto_hbase_access_opts *a, struct ts_error *err)
{
    if (a->n_gateways == 0)
        return ts_error_set(err, TS_EINVAL,
                            "hbase_gateways is empty; name HBase's Thrift2 gateways as host:port");
    for (size_t i = 0; i < a->n_gateways; i++) {
        const struct sto_thrift_gateway *g = &a->gateways[i];
        int64_t port = 0;
        if (!g->host || !*g->host)
            return ts_error_set(err, TS_EINVAL, "hbase_gateways: gateway %zu has no host", i + 1);
        bool digits = g->port && *g->port >= '0' && *g->port <= '9'; /* no sign */
        if (!digits || ts_num_parse_int(ts_slice_str(g->port), &port, NULL) < 0 || port < 1 || port > 65535)
            return ts_error_set(err, TS_EINVAL,
                                "hbase_gateways: the port \"%.40s\" of %.80s is not 1 to 65535",
                                g->port ? g->port : "", g->host);
    }
    return 0;
}

static int check_connections(const struct sto_hbase_opts *o, struct ts_error *err)
{
    unsigned most = o->access.max_connections;
    TS_TRY(check_range("hbase_max_connections", most, STO_HBASE_CONNECTIONS_MIN, STO_HBASE_CONNECTIONS_MAX,
                       err));
    if (o->ship_connections < 1 || o->ship_connections > most - 2)
        return ts_error_set(err, TS_EINVAL,
                            "hbase_ship_connections is %u, but it must be at least 1, and "
                            "hbase_max_connections = %u must leave two for queries and names",
                            o->ship_connections, most);
    return check_range("hbase_scan_connections", o->scan_connections, 1, most, err);
}

int sto_hbase_opts_check(const struct sto_hbase_opts *o, struct ts_error *err)
{
    const struct sto_hbase_access_opts *a = &o->access;
    TS_TRY(check_gateways(a, err));
    TS_TRY(sto_hbase_names_check(&o->tables, o->rollups, err));
    TS_TRY(sto_hbase_schema_check(&o->schema, err));
    TS_TRY(check_connections(o, err));
    TS_TRY(check_range("hbase_timeout_ms", (uint64_t)a->timeout_ms, 1, STO_HBASE_WAIT_MAX_MS, err));
    TS_TRY(check_range("hbase_connect_timeout_ms", (uint64_t)a->connect_timeout_ms, 1, STO_HBASE_WAIT_MAX_MS,
                       err));
    return check_range("hbase_max_reply_bytes", a->max_reply_bytes, STO_HBASE_REPLY_MIN_BYTES,
                       STO_HBASE_REPLY_MAX_BYTES, err);
}
