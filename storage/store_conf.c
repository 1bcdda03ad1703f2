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
     .help = "When the write-ahead log is synced to disk: always = after every write, interval = every "
             "wal_sync_interval_ms and whenever a client waits for it, none = when the kernel decides. A "
             "killed process loses nothing in any mode."},
    {.name = "wal_sync_interval_ms",
     .type = TS_CONF_INT,
     .def = "100",
     .min = 1,
     .max = 60000,
     .help = "With wal_sync = interval, a power cut loses at most the unconfirmed points of this time and of "
             "one sync."},
    {.name = "memstore_bytes",
     .type = TS_CONF_BYTES,
     .def = "0",
     .max = (int64_t)1 << 40,
     .help = "Points are collected in memory and written to files when they use this much. At times twice as "
             "much is used. 0 = 32M, or a fourteenth of memory_limit if that is less."},
    {.name = "reserve_bytes",
     .type = TS_CONF_BYTES,
     .def = "1M",
     .min = 0,
     .max = (int64_t)1 << 32,
     .help =
         "A reserve file of this size in the data folder is removed when the disk is full, so that points in "
         "memory can still be written; it is created again when there is free space. 0 = no reserve."},
    {.name = "compaction_max_bytes_per_s",
     .type = TS_CONF_BYTES,
     .def = "0",
     .min = 0,
     .max = (int64_t)1 << 40,
     .help = "Merges of files write no more than this per second, which leaves a slow disk to points and "
             "queries. If the limit is too low, files accumulate. 0 = no limit."},
    {.name = "compaction_memory_bytes",
     .type = TS_CONF_BYTES,
     .def = "0",
     .max = (int64_t)1 << 40,
     .help = "Memory for blocks of the files that a merge reads. With less it reads blocks again instead of "
             "holding one of each file. 0 = 32M, or a 32nd of memory_limit if that is less."},
    {.name = "flush_age_s",
     .type = TS_CONF_INT,
     .def = "7200",
     .min = 0,
     .max = 30 * 86400,
     .help = "Points are written to files when they have been in memory for this long, even if memory is not "
             "full. 0 = never."},
    {.name = "queue_bytes",
     .type = TS_CONF_BYTES,
     .def = "16M",
     .min = 1 << 20,
     .max = (int64_t)1 << 36,
     .help = "Memory of points on their way between two workers. Above 75 % of it sockets are not read until "
             "it is down to 50 %."},
    {.name = "index_cache_bytes",
     .type = TS_CONF_BYTES,
     .def = "0",
     .max = (int64_t)1 << 40,
     .help = "Memory of the cache of index pages; other pages are read again when they are needed. 0 = 256M, "
             "or a sixteenth of memory_limit if that is less."},
    {.name = "shards",
     .type = TS_CONF_INT,
     .def = "16",
     .min = 1,
     .max = 4096,
     .help = "Number of shards of a new store (a power of two, fixed for its life); each belongs to one "
             "worker. Use 64 on a large machine."},
    {.name = "max_series",
     .type = TS_CONF_INT,
     .def = "0",
     .max = 4294967295,
     .help =
         "Most series of the store; points of further series are refused while those of known series are "
         "accepted. A series uses about 200 bytes of memory, more with long names. 0 = as many as "
         "memory_limit allows: names and series together use at most 30 % of it, whatever max_series is."},
    {.name = "retention_days",
     .type = TS_CONF_INT,
     .def = "0",
     .min = 0,
     .max = 3650000,
     .help = "Older points appear in no answer; their files are deleted an hour later. 0 = keep for ever."},
    {.name = "forget_series_h",
     .type = TS_CONF_INT,
     .def = "6",
     .min = 0,
     .max = 24 * 366,
     .help = "Interval at which series whose points have all expired or were deleted are forgotten, and then "
             "names that no series has. They appear in no list, use no memory, and get a new number when a "
             "client sends them again. Series and names with metadata or annotations stay, and so do names "
             "that were assigned by a person. 0 = never."},
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
