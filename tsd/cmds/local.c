/*
 * local.c - store options from --config and the environment, rules from the same keys.
 *
 * Threads    the main thread
 */
#include "tsd/cmds/local.h"

int tsd_local_open(const struct tsd_args *args, enum tsd_local how, struct sto_store **out_store,
                   struct tsd_rules *rules, struct ts_error *err)
{
    static const struct ts_conf_key *const tables[] = {sto_conf_keys};
    struct ts_conf *conf = ts_conf_new(tables, 1);
    const char *file = tsd_args_get(args, "config");
    struct sto_opts opts = {0};
    *out_store = NULL;
    int rc = file ? ts_conf_load_file(conf, file, err) : 0;
    if (rc == 0)
        rc = ts_conf_load_env(conf, err);
    if (rc == 0) {
        sto_opts_from_conf(&opts, conf);
        opts.dir = tsd_args_get(args, "data");
        opts.create = how == TSD_LOCAL_CREATE;
        opts.read_only = how == TSD_LOCAL_READ;
        opts.own_threads = true;
        rc = sto_open(&opts, out_store, err);
    }
    if (rules) {
        tsd_rules_init(rules, false, true, TSD_TAGS_MAX, "");
        rules->old_times = true;
    }
    ts_conf_free(conf);
    return rc;
}
