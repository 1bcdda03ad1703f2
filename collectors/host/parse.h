/*
 * parse.h - the parsers of the host collectors; separate from reading the files, so that tests can pass saved texts.
 *
 * A parser evaluates what it knows and ignores the rest: kernels add columns, containers lack files. A parser never fails.
 *
 * Threads    pure functions, but for the emit
 * Not here   rows and reading (each collector's file)
 */
#ifndef COLLECTORS_HOST_PARSE_H
#define COLLECTORS_HOST_PARSE_H

#include "collectors/core/collector.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/timex.h>

/* --- collectors of one text --- */

/** State of collectors that read texts and remember nothing: a buffer and the root. Never fails. */
int col_text_init(const struct col_ctx *ctx, void **out_state, struct ts_error *err);
/** Its release. */
void col_text_release(void *state);
/** Read one file and parse it. TS_ENOTFOUND, TS_EIO as col_source_read. */
int col_text_read(void *state, struct col_emit *emit, const char *path,
                  void (*parse)(struct ts_slice text, struct col_emit *emit), struct ts_error *err);
/** The context a col_text_init was given. */
const struct col_ctx *col_text_ctx(const void *state);
/** Its buffer, for collectors that read several files. */
struct ts_buf *col_text_buf(void *state);

/* The read and row of a collector of one text at PATH: PARSE makes points of it; its metrics are NAME_metrics. */
#define COL_TEXT_COLLECTOR(NAME, PATH, PARSE, INTERVAL_S, HELP)                                              \
    static int NAME##_read(void *state, struct col_emit *emit, struct ts_error *err)                         \
    {                                                                                                        \
        return col_text_read(state, emit, PATH, PARSE, err);                                                 \
    }                                                                                                        \
    const struct col_collector col_##NAME = {                                                                \
        .name = #NAME,                                                                                       \
        .help = HELP,                                                                                        \
        .metrics = NAME##_metrics,                                                                           \
        .interval_s = INTERVAL_S,                                                                            \
        .init = col_text_init,                                                                               \
        .read = NAME##_read,                                                                                 \
        .release = col_text_release,                                                                         \
    }

/* --- parsers --- */

/** /proc/stat */
void col_cpu_parse(struct ts_slice text, struct col_emit *emit);
/** /proc/loadavg */
void col_load_parse(struct ts_slice text, struct col_emit *emit);
/** /proc/meminfo */
void col_memory_parse(struct ts_slice text, struct col_emit *emit);
/** /proc/vmstat; wanted: patterns of names */
void col_vmstat_parse(struct ts_slice text, const char *wanted, struct col_emit *emit);
/** /proc/uptime */
void col_uptime_parse(struct ts_slice text, struct col_emit *emit);
/** /proc/sys/fs/file-nr */
void col_files_parse(struct ts_slice text, struct col_emit *emit);
/** /proc/interrupts; per_cpu: else sums over the cores */
void col_interrupts_parse(struct ts_slice text, bool per_cpu, struct col_emit *emit);
/** /proc/softirqs */
void col_softirqs_parse(struct ts_slice text, bool per_cpu, struct col_emit *emit);
/** /proc/net/dev; include and exclude are patterns of interfaces */
void col_net_parse(struct ts_slice text, const char *include, const char *exclude, struct col_emit *emit);
/** /proc/net/sockstat or sockstat6; page_bytes of this machine */
void col_sockstat_parse(struct ts_slice text, uint64_t page_bytes, struct col_emit *emit);
#define COL_TCP_STATES 12u /* as the kernel numbers them, from 1 */
/** A line of /proc/net/tcp or tcp6 counts for its state. */
void col_tcp_line(struct ts_slice line, uint64_t counts[COL_TCP_STATES]);
/** Page of nginx's stub_status or Apache's server-status?auto; job is a tag */
void col_webstatus_parse(struct ts_slice text, const char *job, struct col_emit *emit);
/** What systemctl list-units --plain --no-legend prints; wanted: patterns of units reported each */
void col_systemd_parse(struct ts_slice text, const char *wanted, struct col_emit *emit);
/** /proc/pressure/RESOURCE */
void col_pressure_parse(struct ts_slice text, const char *resource, struct col_emit *emit);
/** /proc/net/softnet_stat */
void col_softnet_parse(struct ts_slice text, struct col_emit *emit);
/** /proc/net/arp */
void col_arp_parse(struct ts_slice text, struct col_emit *emit);
/** /proc/schedstat */
void col_schedstat_parse(struct ts_slice text, struct col_emit *emit);
/** /proc/net/rpc/nfs */
void col_nfs_parse(struct ts_slice text, struct col_emit *emit);
/** /proc/net/netstat or /proc/net/snmp */
void col_tcpudp_parse(struct ts_slice text, struct col_emit *emit);

/** Emit the figures of t; state is what adjtimex returned. */
void col_clock_points(const struct timex *t, int state, struct col_emit *emit);

/** Output of `smartctl -i -A` of a disk: a point for each attribute that has a name here. False if there is no table of attributes. */
bool col_smart_parse(struct ts_slice text, const char *disk, struct col_emit *emit);

#endif
