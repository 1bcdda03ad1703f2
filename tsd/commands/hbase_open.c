/*
 * hbase_open.c - the tables of HBase for commands that work on them without a daemon: keys, the remote store, Ctrl-C.
 *
 * Threads    the main thread
 */
#include "tsd/commands/hbase.h"

#include "base/cut.h"
#include "base/text.h"
#include "collectors/collect.h"
#include "tsd/server.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>

static const struct ts_conf_key *const own_tables[] = {tsd_hbase_conf_keys};
static const struct ts_conf_key *const other_tables[] = {tsd_conf_keys, sto_conf_keys, col_conf_keys, NULL};

static _Atomic bool interrupted; /* SIGINT came; written by the handler */

static void on_signal(int number)
{
    (void)number;
    atomic_store(&interrupted, true);
}

const _Atomic bool *tsd_hbase_interrupted(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
    (void)sigaction(SIGINT, &action, NULL); /* a second one ends the program at once */
    return &interrupted;
}

const char *tsd_hbase_option_given(const struct tsd_args *args)
{
    static const struct ts_opt opts[] = {TSD_HBASE_TABLES_OPTS, {.name = NULL}};
    const struct ts_opt *o = opts;
    while (o->name && !tsd_args_has(args, o->name))
        o++;
    return o->name;
}

int tsd_hbase_set_keys(const struct tsd_args *args, struct ts_conf *conf, struct ts_error *err)
{
    static const char *const keys[][2] = {{"gateways", "hbase_gateways"},
                                          {"salt-width", "hbase_salt_width"},
                                          {"salt-buckets", "hbase_salt_buckets"}};
    char where[40];
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *value = tsd_args_get(args, keys[i][0]);
        (void)snprintf(where, sizeof where, "option --%s", keys[i][0]);
        if (value)
            TS_TRY(ts_conf_set(conf, keys[i][1], ts_slice_str(value), where, err));
    }
    return ts_conf_set(conf, "remote", TS_SLICE_LIT("hbase"), "the command", err);
}

/* The properties were reported when the keys of HBase were read. */
static int on_property(void *arg, const char *name, struct ts_slice value, const struct ts_conf_key *key,
                       const char *where, struct ts_error *err)
{
    (void)arg, (void)name, (void)value, (void)key, (void)where, (void)err;
    return 0;
}

/* Keys of the daemon. The caller frees *out in any case. */
static int load_daemon(const struct tsd_args *args, struct ts_conf **out, struct ts_error *err)
{
    static const struct ts_conf_key *const daemon[] = {tsd_conf_keys}, *const others[] = {
                                                                           sto_conf_keys, tsd_hbase_conf_keys,
                                                                           col_conf_keys, NULL};
    const char *config = tsd_args_get(args, "config"), *opentsdb = tsd_args_get(args, "opentsdb-config");
    *out = ts_conf_new(daemon, 1);
    ts_conf_pass_over(*out, others);
    if (opentsdb)
        TS_TRY(ts_conf_load_properties(*out, opentsdb, on_property, NULL, err));
    if (config)
        TS_TRY(ts_conf_load_file(*out, config, err));
    return ts_conf_load_env(*out, err);
}

int tsd_hbase_daemon_where(const struct tsd_args *args, struct tsd_hbase_where *out, struct ts_error *err)
{
    struct ts_conf *conf;
    int rc = load_daemon(args, &conf, err);
    *out = (struct tsd_hbase_where){.host = "", .port = ""};
    if (rc == 0 && ts_conf_int(conf, "port"))
        (void)snprintf(out->port, sizeof out->port, "%lld", (long long)ts_conf_int(conf, "port"));
    struct ts_slice all = ts_slice_str(rc == 0 ? ts_conf_str(conf, "bind") : "");
    struct ts_slice first = ts_slice_trim(ts_slice_cut(&all, ','));
    if (!ts_slice_is(first, "0.0.0.0") && !ts_slice_is(first, "::")) /* this machine */
        (void)snprintf(out->host, sizeof out->host, "%.*s", TS_SHOWN(first, (int)sizeof out->host - 1));
    ts_conf_free(conf);
    return rc;
}

int tsd_hbase_daemon_keys(const struct tsd_args *args, struct tsd_hbase_settings *set, struct ts_error *err)
{
    struct ts_conf *conf;
    struct tsd_histograms histograms = {0};
    int rc = load_daemon(args, &conf, err);
    if (rc == 0)
        rc = tsd_histograms_load(conf, &histograms, err);
    if (rc == 0)
        rc = tsd_hbase_load_rollups(conf, set, err);
    set->opts.histogram_codec = histograms.on ? histograms.codec : -1;
    ts_conf_free(conf);
    return rc;
}

static int load(struct tsd_hbase_tables *t, const struct tsd_args *args, struct ts_error *err)
{
    const char *config = tsd_args_get(args, "config"), *opentsdb = tsd_args_get(args, "opentsdb-config");
    t->conf = ts_conf_new(own_tables, 1);
    ts_conf_pass_over(t->conf, other_tables);
    if (opentsdb)
        TS_TRY(tsd_opentsdb_conf(t->conf, opentsdb, err));
    if (config)
        TS_TRY(ts_conf_load_file(t->conf, config, err));
    TS_TRY(ts_conf_load_env(t->conf, err));
    TS_TRY(tsd_hbase_set_keys(args, t->conf, err));
    TS_TRY(tsd_hbase_load(t->conf, &t->set, err));
    TS_TRY(tsd_hbase_daemon_keys(args, &t->set, err));
    t->set.opts.access.gateways = t->set.gateways;
    ts_budget_init(&t->memory, "hbase", "hbase_memory_bytes", NULL, t->set.memory_bytes);
    t->set.opts.access.memory = &t->memory;
    return sto_hbase_open(&t->set.opts, &t->remote, err);
}

int tsd_hbase_probe(const struct tsd_hbase_settings *set, struct ts_error *err)
{
    const struct sto_hbase_opts *o = &set->opts;
    int rc = TS_EBACKEND;
    for (size_t i = 0; i < o->access.n_gateways && rc < 0; i++)
        rc = sto_hbase_gateway_probe(&o->access, i, o->tables.uid, err);
    return rc < 0 ? ts_error_wrap(err, "no gateway of hbase_gateways answers (%s)", set->gateways_key) : 0;
}

int tsd_hbase_look_at_keys(struct sto_remote *remote, const struct sto_remote_call *call,
                           struct ts_error *err)
{
    struct sto_hbase_sample keys;
    struct ts_error why = {0};
    TS_TRY(sto_hbase_sample_keys(remote, call, &keys, err));
    if (sto_hbase_sample_check(&keys, &why) == 0)
        return 0;
    return ts_error_set(err, TS_EINVAL, "%s: name the numbers with which the table was made", why.text);
}

int tsd_hbase_tables_open(struct tsd_hbase_tables *t, const struct tsd_args *args, struct ts_error *err)
{
    *t = (struct tsd_hbase_tables){.call = {.cancel = &interrupted, .memory = &t->memory}};
    int rc = load(t, args, err);
    if (rc == 0)
        rc = tsd_hbase_probe(&t->set, err);
    if (rc < 0) {
        tsd_hbase_tables_close(t);
        return rc;
    }
    (void)tsd_hbase_interrupted();
    return 0;
}

void tsd_hbase_tables_close(struct tsd_hbase_tables *t)
{
    if (t->remote)
        t->remote->ops->close(t->remote);
    t->remote = NULL;
    tsd_hbase_settings_release(&t->set);
    ts_conf_free(t->conf);
    t->conf = NULL;
}
