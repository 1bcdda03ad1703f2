/*
 * table.c - all collectors, and what tsd collect --list prints of them.
 *
 * Threads    constant
 */
#include "collectors/collect.h"
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

/* --- tsd collect --list --- */

static void list_text(const struct col_collector *c, struct ts_buf *out)
{
    ts_buf_printf(out, "%s", c->name);
    if (c->read)
        ts_buf_printf(out, ", every %u s", c->interval_s);
    ts_buf_printf(out, "%s: %s\n", c->by_request ? ", only when asked for" : "", c->help);
    for (const struct col_metric *m = c->metrics; m->name; m++)
        ts_buf_printf(out, "  %-36s %-12s %-8s %-16s %s\n", m->name, m->unit,
                      m->kind == COL_COUNTER ? "counter" : "gauge", m->tags, m->help);
    ts_buf_char(out, '\n');
}

static void list_csv_field(struct ts_buf *out, const char *text, char end)
{
    bool quoted = text[strcspn(text, ",\"\n")];
    if (quoted)
        ts_buf_char(out, '"');
    for (; *text; text++) {
        if (*text == '"')
            ts_buf_char(out, '"');
        ts_buf_char(out, *text);
    }
    if (quoted)
        ts_buf_char(out, '"');
    ts_buf_char(out, end);
}

static void list_csv(const struct col_collector *c, struct ts_buf *out)
{
    for (const struct col_metric *m = c->metrics; m->name; m++) {
        ts_buf_printf(out, "%s,%u,", c->name, c->read ? c->interval_s : 0);
        list_csv_field(out, m->name, ',');
        list_csv_field(out, m->tags, ',');
        list_csv_field(out, m->unit, ',');
        ts_buf_str(out, m->kind == COL_COUNTER ? "counter," : "gauge,");
        list_csv_field(out, m->help, '\n');
    }
}

void col_list(bool csv, struct ts_buf *out)
{
    if (csv)
        ts_buf_str(out, "collector,interval_s,metric,tags,unit,kind,help\n");
    for (const struct col_collector *const *c = col_collectors; *c; c++) {
        if (csv)
            list_csv(*c, out);
        else
            list_text(*c, out);
    }
}
