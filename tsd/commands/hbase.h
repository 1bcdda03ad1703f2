/*
 * hbase.h - what the forms of tsd hbase, and other commands over HBase's tables, share: how HBase is reached, and text in aligned columns.
 *
 * Threads    the main thread
 * Not here   the forms (hbase.c, hbase_print.c, fsck_hbase.c, uid_hbase.c, treesync.c)
 */
#ifndef TSD_COMMANDS_HBASE_H
#define TSD_COMMANDS_HBASE_H

#include "storage/hbase/remote/tables.h"
#include "storage/store.h"
#include "tsd/commands/cmd.h"
#include "tsd/daemon/hbase.h"

/* Options of how HBase is reached, besides --config. */
#define TSD_HBASE_TABLES_OPTS                                                                                \
    {.name = "opentsdb-config", .arg = "FILE", .help = "Before it, read an opentsdb.conf."},                 \
        {.name = "gateways", .arg = "LIST", .help = "Thrift2 gateways as host:port: key hbase_gateways."},   \
        {.name = "salt-width", .arg = "N", .help = "Bytes of the salt: key hbase_salt_width."},              \
    {                                                                                                        \
        .name = "salt-buckets", .arg = "N", .help = "Number of salts: key hbase_salt_buckets."               \
    }
/* The same with --config, for commands that have no other file of keys. */
#define TSD_HBASE_OPTS                                                                                       \
    {.name = "config",                                                                                       \
     .arg = "FILE",                                                                                          \
     .help = "Read keys from this file, that of the daemon: lines \"key = value\"."},                        \
        TSD_HBASE_TABLES_OPTS

/** Does one of the gateways answer? TS_EBACKEND and the like: none does, which *err says; at the start of a command somebody has mistyped the
 * address. */
int tsd_hbase_probe(const struct tsd_hbase_settings *set, struct ts_error *err);
/** From now on the first Ctrl-C sets a flag, which is returned, for calls to be cancelled by; a second one ends the program. */
const _Atomic bool *tsd_hbase_interrupted(void);
/** TS_EINVAL if many keys of the table do not fit the configuration: then nothing is found, and nothing else says so. Otherwise 0; errors of
 * storage/remote.h. */
int tsd_hbase_look_at_keys(struct sto_remote *remote, const struct sto_remote_call *call,
                           struct ts_error *err);
/** Keys of args->conf and these options.
 *  @param memory  [out] the account of hbase_memory_bytes; outlives set and what is opened with it
 *  @return 0; TS_EINVAL with one sentence. set is released with tsd_hbase_settings_release */
int tsd_hbase_take(const struct tsd_args *args, struct tsd_hbase_settings *set, struct ts_budget *memory,
                   struct ts_error *err);
/** Keys of the daemon that the same files have: the codec of histograms and the tables of rollups, for settings that were loaded. 0; TS_EINVAL with one
 * sentence; others. */
int tsd_hbase_daemon_keys(const struct tsd_args *args, struct tsd_hbase_settings *set, struct ts_error *err);
/* Where the daemon of these files listens; "": its own default. */
struct tsd_hbase_where {
    char host[256], port[8];
};
/** Keys bind and port of these files and the environment. 0; TS_EINVAL with one sentence; others. */
int tsd_hbase_daemon_where(const struct tsd_args *args, struct tsd_hbase_where *out, struct ts_error *err);
/** The first of TSD_HBASE_TABLES_OPTS that was given, for a command that needs --hbase for them; NULL: none was. */
const char *tsd_hbase_option_given(const struct tsd_args *args);
/** Set the keys of these options in conf, and remote = hbase. */
int tsd_hbase_set_keys(const struct tsd_args *args, struct ts_conf *conf, struct ts_error *err);

/* The tables, for a command that works on them without a daemon (--hbase). */
struct tsd_hbase_tables {
    struct ts_conf *conf;          /* owned */
    struct tsd_hbase_settings set; /* keys of HBase */
    struct ts_budget memory;       /* hbase_memory_bytes */
    struct sto_remote *remote;     /* owned; NULL = not open */
    struct sto_remote_call call;   /* for all calls: ends with Ctrl-C */
};
/** Read the keys of --config, the environment and the options, and open the tables, if one of the gateways answers. Ctrl-C cancels the calls from now on; a second one
 * ends the program. 0; TS_EINVAL: wrong usage; others. */
int tsd_hbase_tables_open(struct tsd_hbase_tables *t, const struct tsd_args *args, struct ts_error *err);
/** Idempotent. */
void tsd_hbase_tables_close(struct tsd_hbase_tables *t);

/** Open the tables, and a store for reading in which queries see what is there, and nothing else. The caller closes the store first. Ctrl-C ends the
 * program. As tsd_hbase_tables_open; TS_EIO: no scratch folder can be made. */
int tsd_hbase_store_open(const struct tsd_args *args, struct tsd_hbase_tables *t, struct sto_store **out,
                         struct ts_error *err);

/** tsd fsck --hbase. Returns an exit code. */
int tsd_fsck_hbase_run(const struct tsd_args *args);
/** tsd uid --hbase. Returns an exit code. */
int tsd_uid_hbase_run(const struct tsd_args *args);

/** Store branches and leaves of all enabled trees, or of one (tree not 0), for all series that have metadata; what was done is appended to out, also after
 * an error. The call may be repeated. TS_ENOTFOUND: there is no such tree; others of storage/remote.h. */
int tsd_treesync_hbase(struct tsd_hbase_tables *t, uint16_t tree, struct ts_buf *out, struct ts_error *err);

/* One run. */
struct tsd_hbase_run {
    const struct tsd_args *args;
    struct tsd_hbase_settings set;               /* keys of HBase */
    struct ts_budget memory;                     /* hbase_memory_bytes */
    struct sto_hbase_table_list list;            /* the tables */
    struct ts_error why[TSD_HBASE_GATEWAYS_MAX]; /* status: of each gateway; code 0 = it answers */
    bool json, markdown;                         /* --format */
    bool dry_run;                                /* create-tables: nothing is created */
    struct ts_buf out;                           /* what is printed */
};

/** Append what create-tables has done, or would do. */
void tsd_hbase_print_created(struct tsd_hbase_run *run);
/** Append gateways, tables and servers; without tables if has_tables is false. stats are rows of a daemon's /api/stats as pairs "name\tvalue\n",
 * where says which daemon; empty: it does not answer, or has no HBase behind it, which note says. */
void tsd_hbase_print_status(struct tsd_hbase_run *run, bool has_tables, const char *where,
                            struct ts_slice stats, const char *note);

#endif
