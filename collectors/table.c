/*
 * table.c - all collectors.
 *
 * Threads    constant
 */
#include "collectors/core/collector.h"

extern const struct col_collector col_btrfs, col_clock, col_cpu, col_disk, col_edac, col_entropy, col_files,
    col_frequency, col_fs, col_groups, col_hwmon, col_interrupts, col_load, col_memory, col_mountstats,
    col_net, col_netclass, col_netfilter, col_netstack, col_nfs, col_nfsd, col_numa, col_power, col_pressure,
    col_process, col_programs, col_raid, col_schedstat, col_scrape, col_self, col_smart, col_sockets,
    col_systemd, col_tcpudp, col_temperature, col_textfile, col_throttle, col_units, col_uptime, col_vmstat,
    col_weblog, col_webstatus, col_xfs, col_zfs;

const struct col_collector *const col_collectors[] = {
    &col_btrfs,    &col_clock,      &col_cpu,       &col_disk,     &col_edac,
    &col_entropy,  &col_files,      &col_frequency, &col_fs,       &col_groups,
    &col_hwmon,    &col_interrupts, &col_load,      &col_memory,   &col_mountstats,
    &col_net,      &col_netclass,   &col_netfilter, &col_netstack, &col_nfs,
    &col_nfsd,     &col_numa,       &col_power,     &col_pressure, &col_process,
    &col_programs, &col_raid,       &col_schedstat, &col_scrape,   &col_self,
    &col_smart,    &col_sockets,    &col_systemd,   &col_tcpudp,   &col_temperature,
    &col_textfile, &col_throttle,   &col_units,     &col_uptime,   &col_vmstat,
    &col_weblog,   &col_webstatus,  &col_xfs,       &col_zfs,      NULL,
};

const struct col_collector *col_collector_find(struct ts_slice name)
{
    for (const struct col_collector *const *c = col_collectors; *c; c++)
        if (ts_slice_is(name, (*c)->name))
            return *c;
    return NULL;
}

const struct col_metric *col_metric_find(const struct col_collector *c, struct ts_slice metric)
{
    for (const struct col_metric *m = c->metrics; m->name; m++) {
        size_t n = strlen(m->name);
        bool open_end = n && m->name[n - 1] == '*';
        if (open_end ? metric.n >= n && memcmp(metric.p, m->name, n - 1) == 0 : ts_slice_is(metric, m->name))
            return m;
    }
    return NULL;
}
