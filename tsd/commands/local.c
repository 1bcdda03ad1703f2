/*
 * local.c - store options from --config and the environment, rules from the same keys.
 *
 * Rules are tsd's own ways whatever `compat` says: what export printed must come back.
 *
 * Threads    the main thread
 */
#include "tsd/commands/local.h"

#include "base/log.h"
#include "base/openfiles.h"
#include "collectors/collect.h"
#include "tsd/daemon/settings.h"

static int local_conf(const struct tsd_args *args, struct ts_conf *conf, struct ts_error *err)
{
    static const struct ts_conf_key *const others[] = {col_conf_keys,
                                                       NULL}; /* of tsd collect, in the same environment */
    const char *file = tsd_args_get(args, "config");
    ts_conf_pass_over(conf, others);
    if (file)
        TS_TRY(ts_conf_load_file(conf, file, err));
    return ts_conf_load_env(conf, err);
}

int tsd_local_open(const struct tsd_args *args, enum tsd_local how, struct sto_store **out_store,
                   struct tsd_rules *rules, struct ts_error *err)
{
    static const struct ts_conf_key *const tables[] = {tsd_conf_keys, sto_conf_keys};
    struct ts_conf *conf = ts_conf_new(tables, 2);
    struct sto_opts opts = {0};
    *out_store = NULL;
    (void)ts_open_files_raise(); /* a store has two descriptors open for each of its files */
    ts_log_set_level(TS_LOG_WARN);
    int rc = local_conf(args, conf, err);
    if (rc == 0) {
        sto_opts_from_conf(&opts, conf);
        opts.dir = tsd_args_get(args, "data");
        opts.create = how == TSD_LOCAL_CREATE;
        opts.read_only = how == TSD_LOCAL_READ;
        opts.own_threads = true;
        rc = sto_open(&opts, out_store, err);
    }
    if (rc == 0 && rules) {
        tsd_rules_init(rules, false, true, TSD_TAGS_MAX, ts_conf_str(conf, "allow_specialchars"));
        tsd_settings_names(conf, rules);
        rules->old_times = true;
    }
    ts_conf_free(conf);
    return rc;
}
