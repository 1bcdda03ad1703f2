/*
 * store_conf.c - the configuration keys of storage.
 *
 * Threads    none of its own
 */
#include "storage/store.h"

#include <string.h>

const struct ts_conf_key sto_conf_keys[] = {
    {.name = "wal_sync",
     .type = TS_CONF_CHOICE,
     .def = "interval",
     .choices = "always|interval|none",
     .help = "When the log is forced to disk: always = as soon as something was written, interval = every "
             "wal_sync_interval_ms and "
             "whenever a client waits for it, none = when the kernel likes. A killed process loses nothing "
             "in any mode."},
    {.name = "wal_sync_interval_ms",
     .type = TS_CONF_INT,
     .def = "100",
     .min = 1,
     .max = 60000,
     .help = "wal_sync = interval: a power cut costs at most this much (and one sync) of what nobody waited "
             "for."},
    {.name = "memstore_bytes",
     .type = TS_CONF_BYTES,
     .def = "0",
     .max = (int64_t)1 << 40,
     .help = "Points are gathered in memory and written to a file when they take this much. Twice as much is "
             "used at times. 0 = 32M, or a fourteenth of memory_limit if that is less."},
    {.name = "reserve_bytes",
     .type = TS_CONF_BYTES,
     .def = "1M",
     .min = 0,
     .max = (int64_t)1 << 32,
     .help = "A file of this size in the data folder is given up when the disk is full, so that small files "
             "can still be written; it is made again when there is room. 0 = none."},
    {.name = "compaction_max_bytes_per_s",
     .type = TS_CONF_BYTES,
     .def = "0",
     .min = 0,
     .max = (int64_t)1 << 40,
     .help = "Merging files writes no more than this a second, so that a slow disk is left to "
             "points and queries. Too low a limit lets files gather. 0 = no limit."},
    {.name = "compaction_memory_bytes",
     .type = TS_CONF_BYTES,
     .def = "0",
     .max = (int64_t)1 << 40,
     .help = "Memory for blocks of the files that a merge reads. With less it reads blocks again instead of "
             "holding one of each file. 0 = 32M."},
    {.name = "flush_age_s",
     .type = TS_CONF_INT,
     .def = "7200",
     .min = 0,
     .max = 30 * 86400,
     .help = "Points are written to a file at the latest when they are this old, even if memory is not full. "
             "0 = never."},
    {.name = "queue_bytes",
     .type = TS_CONF_BYTES,
     .def = "16M",
     .min = 1 << 20,
     .max = (int64_t)1 << 36,
     .help = "Points under way between two workers. Above 75 % sockets are not read until it is 50 % again."},
    {.name = "index_cache_bytes",
     .type = TS_CONF_BYTES,
     .def = "0",
     .max = (int64_t)1 << 40,
     .help = "Pages of the indexes of files that are kept in memory; others are read again when they are "
             "needed. 0 = 256M, or a sixteenth of memory_limit if that is less."},
    {.name = "shards",
     .type = TS_CONF_INT,
     .def = "16",
     .min = 1,
     .max = 4096,
     .help = "Shards of a new store (a power of two, fixed for its life); each belongs to one worker. 64 on "
             "a large machine."},
    {.name = "max_series",
     .type = TS_CONF_INT,
     .def = "0",
     .max = 4294967295,
     .help =
         "Points of new series beyond this many are refused, those of known series are taken. A series takes "
         "about 200 bytes of memory, more with long names. 0 = as many as memory_limit allows: names and "
         "series together take at most 30 % of it, whatever max_series says."},
    {.name = "retention_days",
     .type = TS_CONF_INT,
     .def = "0",
     .min = 0,
     .max = 3650000,
     .help =
         "Points that are older are in no answer; their files are deleted an hour later. 0 = keep for ever."},
    {.name = "forget_series_h",
     .type = TS_CONF_INT,
     .def = "0",
     .min = 0,
     .max = 24 * 366,
     .help = "With retention_days: every so many hours series without points are looked for and forgotten. "
             "They are in no list, take no memory, and get another number when somebody sends a point again. "
             "Series with metadata or annotations stay. 0 = never."},
    {.name = NULL},
};

void sto_opts_from_conf(struct sto_opts *opts, const struct ts_conf *conf)
{
    const char *sync = ts_conf_str(conf, "wal_sync");
    opts->wal_sync = !strcmp(sync, "always") ? STO_SYNC_ALWAYS
                     : !strcmp(sync, "none") ? STO_SYNC_NONE
                                             : STO_SYNC_INTERVAL;
    opts->wal_sync_interval_ms = (unsigned)ts_conf_int(conf, "wal_sync_interval_ms");
    opts->reserve_bytes = (uint64_t)ts_conf_int(conf, "reserve_bytes");
    opts->merge_bytes_per_s = (uint64_t)ts_conf_int(conf, "compaction_max_bytes_per_s");
    opts->merge_memory_bytes = (uint64_t)ts_conf_int(conf, "compaction_memory_bytes");
    opts->memstore_bytes = (size_t)ts_conf_int(conf, "memstore_bytes");
    opts->queue_bytes = (size_t)ts_conf_int(conf, "queue_bytes");
    opts->index_cache_bytes = (size_t)ts_conf_int(conf, "index_cache_bytes");
    opts->n_shards = (unsigned)ts_conf_int(conf, "shards");
    opts->max_series = (uint64_t)ts_conf_int(conf, "max_series");
    opts->retention_ms = ts_conf_int(conf, "retention_days") * TS_DAY_MS;
    opts->forget_every_ms = ts_conf_int(conf, "forget_series_h") * TS_HOUR_MS;
    opts->flush_age_ms = ts_conf_int(conf, "flush_age_s") * 1000;
}
