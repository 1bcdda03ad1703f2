/*
 * table.c - all collectors, and what tsd collect --list prints of them.
 *
 * Threads    constant
 */
#include "collectors/collect.h"
#include "collectors/core/collector.h"

/* The collectors, sorted by name: each is a struct col_collector col_<name> in a file of host, programs or weblog. */
#define COLLECTORS(ROW)                                                                                      \
    ROW(btrfs)                                                                                               \
    ROW(clock)                                                                                               \
    ROW(cpu)                                                                                                 \
    ROW(disk)                                                                                                \
    ROW(edac)                                                                                                \
    ROW(entropy)                                                                                             \
    ROW(files)                                                                                               \
    ROW(frequency)                                                                                           \
    ROW(fs)                                                                                                  \
    ROW(groups)                                                                                              \
    ROW(hwmon)                                                                                               \
    ROW(interrupts)                                                                                          \
    ROW(load)                                                                                                \
    ROW(memory)                                                                                              \
    ROW(mountstats)                                                                                          \
    ROW(net)                                                                                                 \
    ROW(netclass)                                                                                            \
    ROW(netfilter)                                                                                           \
    ROW(netstack)                                                                                            \
    ROW(nfs)                                                                                                 \
    ROW(nfsd)                                                                                                \
    ROW(numa)                                                                                                \
    ROW(power)                                                                                               \
    ROW(pressure)                                                                                            \
    ROW(process)                                                                                             \
    ROW(programs)                                                                                            \
    ROW(raid)                                                                                                \
    ROW(schedstat)                                                                                           \
    ROW(scrape)                                                                                              \
    ROW(self)                                                                                                \
    ROW(smart)                                                                                               \
    ROW(sockets)                                                                                             \
    ROW(systemd)                                                                                             \
    ROW(tcpudp)                                                                                              \
    ROW(temperature)                                                                                         \
    ROW(textfile)                                                                                            \
    ROW(throttle)                                                                                            \
    ROW(units)                                                                                               \
    ROW(uptime)                                                                                              \
    ROW(vmstat)                                                                                              \
    ROW(weblog)                                                                                              \
    ROW(webstatus)                                                                                           \
    ROW(xfs)                                                                                                 \
    ROW(zfs)

#define DECLARE(name) extern const struct col_collector col_##name;
#define ADDRESS(name) &col_##name,
COLLECTORS(DECLARE)
const struct col_collector *const col_collectors[] = {COLLECTORS(ADDRESS) NULL};

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
