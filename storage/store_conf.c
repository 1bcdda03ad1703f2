/*
 * store_conf.c - the configuration keys of storage.
 *
 * Threads    none of its own
 */
#include "storage/store.h"

#include <string.h>

#define TO(MEMBER) TS_CONF_TO(struct sto_opts, MEMBER)

const struct ts_conf_key sto_conf_keys[] = {
    TS_KEY_CHOICE(
        "wal_sync", "always|interval|none", "interval",
        "When the write-ahead log is synced to disk: always = after every write, interval = every "
        "wal_sync_interval_ms and whenever a client waits for it, none = when the kernel decides. A "
        "killed process loses nothing in any mode."),
    TS_KEY_INT(
        "wal_sync_interval_ms", "100", 1, 60000,
        "With wal_sync = interval, a power cut loses at most the unconfirmed points of this time and of "
        "one sync.",
        TO(wal_sync_interval_ms)),
    TS_KEY_BYTES(
        "memstore_bytes", "0", 0, (int64_t)1 << 40,
        "Points are collected in memory and written to files when they use this much. At times twice as "
        "much is used. 0 = 32M, or a fourteenth of memory_limit if that is less.",
        TO(memstore_bytes)),
    TS_KEY_BYTES(
        "reserve_bytes", "1M", 0, (int64_t)1 << 32,
        "A reserve file of this size in the data folder is removed when the disk is full, so that points in "
        "memory can still be written; it is created again when there is free space. 0 = no reserve.",
        TO(reserve_bytes)),
    TS_KEY_BYTES("compaction_max_bytes_per_s", "0", 0, (int64_t)1 << 40,
                 "Merges of files write no more than this per second, which leaves a slow disk to points and "
                 "queries. If the limit is too low, files accumulate. 0 = no limit.",
                 TO(merge_bytes_per_s)),
    TS_KEY_BYTES(
        "compaction_memory_bytes", "0", 0, (int64_t)1 << 40,
        "Memory for blocks of the files that a merge reads. With less it reads blocks again instead of "
        "holding one of each file. An hour of one series whose points need more than 8 times as much (at "
        "least 32M) is not merged. 0 = 32M, or a 32nd of memory_limit if that is less.",
        TO(merge_memory_bytes)),
    TS_KEY_BYTES(
        "compaction_file_bytes", "1G", 16 << 20, (int64_t)64 << 30,
        "Merges cut files by series at about this size. Smaller files are rewritten and copied in smaller "
        "pieces; larger ones are fewer. Files that exist change when they are merged.",
        TO(output_bytes)),
    TS_KEY_INT(
        "flush_age_s", "7200", 0, 30 * 86400,
        "Points are written to files when they have been in memory for this long, even if memory is not "
        "full. 0 = never.",
        TO(flush_age_ms), .factor = 1000),
    TS_KEY_INT(
        "bulk_keep_s", "86400", 60, 31622400,
        "The staging folder of tsd import --bulk is removed when no import has used it for so many seconds; "
        "until then an interrupted import can be continued, and no series is forgotten.",
        TO(bulk_keep_ms), .factor = 1000),
    TS_KEY_BYTES(
        "queue_bytes", "16M", 1 << 20, (int64_t)1 << 36,
        "Memory of points on their way between two workers. Above 75 % of it sockets are not read until "
        "it is down to 50 %.",
        TO(queue_bytes)),
    TS_KEY_BYTES(
        "index_cache_bytes", "0", 0, (int64_t)1 << 40,
        "Memory of the cache of index pages; other pages are read again when they are needed. 0 = 256M, "
        "or a sixteenth of memory_limit if that is less.",
        TO(index_cache_bytes)),
    TS_KEY_INT("counter_ids_max", "10000", 1, 1000000,
               "Most ids of clients that are remembered at a time in each shard, so that increments which a "
               "client repeats are "
               "recognised; see Counters in docs/PROTOCOL.md. Further ids are refused.",
               TO(max_ids)),
    TS_KEY_INT(
        "counter_ids_max_per_address", "0", 0, 1000000,
        "The same of one client address, so that no client takes the room of others; an IPv6 network "
        "(/64) is one address. 0 = a quarter of counter_ids_max, or of the ids that counter_ids_bytes has "
        "room for. Raise it if many clients come through one proxy.",
        TO(max_client_ids)),
    TS_KEY_INT(
        "counter_ids_kept_h", "168", 1, 24 * 366,
        "An id may be used for this long after the client made it; afterwards its increments are refused.",
        TO(ids_kept_s), .factor = 3600),
    TS_KEY_BYTES("counter_ids_bytes", "0", 0, 32 << 20,
                 "Memory for ids of clients, divided among the shards. 0 = 32M, or a 256th of memory_limit "
                 "if that is less.",
                 TO(ids_bytes)),
    TS_KEY_INT(
        "shards", "16", 1, 4096,
        "Number of shards of a new store (a power of two); each belongs to one worker. Use 64 on a large "
        "machine. tsd rebalance changes it later.",
        TO(n_shards)),
    TS_KEY_INT(
        "max_series", "0", 0, 2147483648,
        "Most series of the store; points of further series are refused while those of known series are "
        "accepted. Up to 1,024 series of the daemon's own figures (self_metrics) do not count. A series uses "
        "about 200 bytes of memory, more with long names. 0 = as many as "
        "memory_limit allows: names and series together use at most 30 % of it, whatever max_series is.",
        TO(max_series)),
    TS_KEY_BYTES("max_bytes", "0", 0, (int64_t)1 << 60,
                 "The store may use this much of the disk. When it has more, the oldest points of all series "
                 "are removed, "
                 "appear in no answer and are not taken any more. tsd retention max-bytes changes it while "
                 "tsd runs. At least "
                 "twice memstore_bytes, and reserve_bytes; 0 = no limit.",
                 TO(max_bytes)),
    TS_KEY_INT("max_bytes_grace_s", "600", 0, 31 * 86400,
               "After a start, and after max_bytes was set or lowered, no points are removed because of it "
               "for this long, "
               "so that a mistake can be corrected.",
               TO(max_bytes_grace_ms), .factor = 1000),
    TS_KEY_INT("retention_days", "0", 0, 3650000,
               "Older points appear in no answer, and are not taken; their files are deleted an hour later. "
               "Rules of retention "
               "come first. 0 = keep for ever."),
    TS_KEY_STR(
        "retention_rules", "",
        "How long points of some series are kept: rules METRIC [TAG=VALUE]... points=DURATION "
        "[hours=DURATION] [days=DURATION], separated by semicolons, as in cpu.* host=web* points=30d; "
        "audit.* points=forever. hours keeps summaries of hours longer than their points, days those of "
        "days longer than those of hours. The first rule that matches a series applies. Rules that were set "
        "with tsd retention come before these.",
        TO(retention_rules)),
    TS_KEY_INT(
        "forget_series_h", "6", 0, 24 * 366,
        "Interval at which series whose points have all expired or were deleted are forgotten, and then "
        "names that no series has. They appear in no list, use no memory, and get a new number when a "
        "client sends them again. Series and names with metadata or annotations stay, and so do names "
        "that were assigned by a person. 0 = never."),
    {.name = NULL},
};

void sto_opts_from_conf(struct sto_opts *opts, const struct ts_conf *conf)
{
    const char *sync = ts_conf_str(conf, "wal_sync");
    ts_conf_fill(conf, sto_conf_keys, opts);
    opts->wal_sync = !strcmp(sync, "always") ? STO_SYNC_ALWAYS
                     : !strcmp(sync, "none") ? STO_SYNC_NONE
                                             : STO_SYNC_INTERVAL;
    opts->retention_ms = ts_conf_int(conf, "retention_days") * TS_DAY_MS;
    opts->forget_every_ms = ts_conf_int(conf, "forget_series_h") * TS_HOUR_MS;
}
