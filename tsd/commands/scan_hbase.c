/*
 * scan_hbase.c - the tables of HBase as a store that has nothing of its own, so that tsd scan --hbase prints what a daemon would that has shipped
 * everything.
 *
 * The store is made in a scratch folder and opened for reading. Nothing is read from the folder after that, so it is removed before the scan
 * begins, which may take hours and be killed.
 *
 * Threads    the main thread
 */
#include "base/mem.h"
#include "tsd/commands/answer.h"
#include "tsd/commands/hbase.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

static char *make_folder(struct ts_error *err)
{
    const char *parent = getenv("TMPDIR");
    char *path = ts_fs_join(parent && *parent ? parent : "/tmp", "tsd-scan-XXXXXX");
    if (mkdtemp(path))
        return path;
    (void)ts_error_sys(err, TS_EIO, errno, "cannot make the scratch folder %s (TMPDIR names another place)",
                       path);
    ts_free(path);
    return NULL;
}

static int open_store(const char *dir, struct sto_remote *remote, struct sto_store **out,
                      struct ts_error *err)
{
    struct sto_opts opts = {.dir = dir, .create = true, .own_threads = true, .n_shards = 1};
    TS_TRY(sto_open(&opts, out, err));
    TS_TRY(sto_close(*out, err));
    *out = NULL;
    opts.create = false;
    opts.read_only = true;
    opts.remote = remote;
    return sto_open(&opts, out, err);
}

/* Rows that fit are printed, with a warning if many do not. */
static int look_at_keys(struct tsd_hbase_tables *t, struct ts_error *err)
{
    struct ts_error why = {0};
    int rc = tsd_hbase_look_at_keys(t->remote, &t->call, &why);
    if (rc == TS_EINVAL) {
        tsd_say("%s; rows that do not fit are not printed", why.text);
        return 0;
    }
    if (rc < 0 && err)
        *err = why;
    return rc;
}

int tsd_hbase_store_open(const struct tsd_args *args, struct tsd_hbase_tables *t, struct sto_store **out,
                         struct ts_error *err)
{
    *out = NULL;
    TS_TRY(tsd_hbase_tables_open(t, args, err));
    (void)signal(SIGINT, SIG_DFL); /* nothing is changed that would have to be finished */
    int rc = look_at_keys(t, err);
    char *dir = rc == 0 ? make_folder(err) : NULL;
    if (rc == 0)
        rc = dir ? open_store(dir, t->remote, out, err) : TS_EIO;
    if (dir)
        tsd_remove_folder(dir);
    ts_free(dir);
    if (rc < 0)
        tsd_hbase_tables_close(t);
    return rc;
}
