/*
 * hbase_print.c - tables, gateways and servers of HBase as text in columns or as JSON.
 *
 * Threads    the main thread
 */
#include "tsd/commands/hbase.h"

#include "base/cut.h"
#include "base/json.h"
#include "base/num.h"
#include "base/text.h"
#include "storage/hbase/rowkey.h"
#include "tsd/commands/markdown.h"

#include <string.h>

#define COLUMNS 8

/* Lines whose columns are separated by tabs, with columns of equal width. */
static void hbase_align(struct ts_slice text, struct ts_buf *out)
{
    size_t widths[COLUMNS] = {0};
    for (int pass = 0; pass < 2; pass++) {
        struct ts_slice rest = text;
        while (rest.n) {
            struct ts_slice line = ts_slice_cut(&rest, '\n');
            for (size_t i = 0; i < COLUMNS && line.n; i++) {
                struct ts_slice cell = ts_slice_cut(&line, '\t');
                if (pass == 0 && cell.n > widths[i])
                    widths[i] = cell.n;
                if (pass == 1)
                    ts_buf_slice(out, cell);
                for (size_t k = cell.n; pass == 1 && line.n && k < widths[i] + 2; k++)
                    ts_buf_char(out, ' ');
            }
            if (pass == 1)
                ts_buf_char(out, '\n');
        }
    }
}

/* --- tables --- */

/* Lines whose columns are separated by tabs, the first one with names, as a table. */
static void put_table(struct tsd_hbase_run *run, struct ts_slice text)
{
    if (!run->markdown) {
        hbase_align(text, &run->out);
        return;
    }
    if (run->out.n)
        ts_buf_char(&run->out, '\n');
    tsd_markdown_tabs(text, &run->out);
    ts_buf_char(&run->out, '\n');
}

static const char *state_of(const struct tsd_hbase_run *run, const struct sto_hbase_table *t)
{
    if (t->existed)
        return "exists";
    return t->exists ? "created" : run->dry_run ? "to create" : "missing";
}

static size_t count_servers(const struct sto_hbase_table *t)
{
    size_t n = 0;
    for (size_t i = 0; i < t->n_regions; i++) {
        size_t k = 0;
        while (k < i && (!ts_slice_eq(t->regions[k].host, t->regions[i].host) ||
                         t->regions[k].port != t->regions[i].port))
            k++;
        n += k == i;
    }
    return n;
}

static void text_tables(struct tsd_hbase_run *run, bool plans)
{
    struct ts_buf text;
    ts_buf_init(&text, 0);
    ts_buf_str(&text, "TABLE\tROLE\tSTATE\tREGIONS\tSERVERS\tFAMILIES\n");
    for (size_t i = 0; i < run->list.n; i++) {
        const struct sto_hbase_table *t = &run->list.tables[i];
        bool planned = plans && !t->exists;
        const struct sto_thrift_family *f = planned ? t->wanted : t->families;
        size_t n = planned ? t->n_wanted : t->n_families;
        ts_buf_printf(&text, "%s\t%s\t%s\t%zu\t%zu\t", t->name, t->role, state_of(run, t),
                      planned ? t->n_splits + 1 : t->n_regions, count_servers(t));
        for (size_t k = 0; k < n; k++)
            ts_buf_printf(&text, "%s%.*s", k ? "," : "", (int)f[k].name.n, f[k].name.p);
        ts_buf_str(&text, n ? "\n" : "-\n");
    }
    put_table(run, ts_buf_get(&text));
    ts_buf_release(&text);
    for (size_t i = 0; i < run->list.n; i++)
        if (*run->list.tables[i].difference)
            ts_buf_printf(&run->out, "%s exists and is left as it is: %s\n", run->list.tables[i].name,
                          run->list.tables[i].difference);
}

static void text_splits(struct tsd_hbase_run *run)
{
    const struct sto_hbase_table *t = &run->list.tables[0]; /* those of rollups have the same */
    char hex[2 * STO_HBASE_MAX_SPLIT_BYTES];
    size_t n = 0;
    for (size_t i = 0; i < run->list.n; i++)
        if (!run->list.tables[i].exists && run->list.tables[i].n_splits)
            ts_buf_printf(&run->out, "%s%s", n++ ? ", " : "split keys of ", run->list.tables[i].name);
    if (n == 0)
        return;
    ts_buf_char(&run->out, ':');
    for (size_t i = 0; i < t->n_splits; i++) {
        sto_hbase_hex_print(t->splits[i], hex);
        ts_buf_printf(&run->out, "%s%.*s", i ? "," : " ", (int)(2 * t->splits[i].n), hex);
    }
    ts_buf_char(&run->out, '\n');
}

static void json_number(struct ts_json *j, const char *name, int32_t value)
{
    if (value >= 0 && value != INT32_MAX) /* not said; unlimited */
        ts_json_member_int(j, name, value);
}

static void json_family(struct ts_json *j, const struct sto_thrift_family *f)
{
    const char *bloom = sto_hbase_attribute_name(STO_HBASE_BLOOM, f->bloom);
    const char *compression = sto_hbase_attribute_name(STO_HBASE_COMPRESSION, f->compression);
    const char *encoding = sto_hbase_attribute_name(STO_HBASE_ENCODING, f->encoding);
    ts_json_obj(j);
    ts_json_member_slice(j, "name", f->name);
    if (bloom)
        ts_json_member_str(j, "bloom", bloom);
    if (compression)
        ts_json_member_str(j, "compression", compression);
    if (encoding)
        ts_json_member_str(j, "encoding", encoding);
    json_number(j, "versions", f->max_versions);
    json_number(j, "ttl_s", f->ttl_s);
    ts_json_obj_end(j);
}

static void json_hex(struct ts_json *j, const char *name, struct ts_slice key)
{
    struct ts_buf hex;
    ts_buf_init(&hex, 0);
    sto_hbase_hex_print(key, ts_buf_reserve(&hex, 2 * key.n + 1));
    struct ts_slice text = {hex.p, 2 * key.n};
    if (name)
        ts_json_member_slice(j, name, text);
    else
        ts_json_slice(j, text);
    ts_buf_release(&hex);
}

static void json_table(struct ts_json *j, const struct tsd_hbase_run *run, const struct sto_hbase_table *t,
                       bool plans)
{
    bool planned = plans && !t->exists;
    const struct sto_thrift_family *f = planned ? t->wanted : t->families;
    ts_json_obj(j);
    ts_json_member_str(j, "table", t->name);
    ts_json_member_str(j, "role", t->role);
    ts_json_member_str(j, "state", state_of(run, t));
    ts_json_member_str(j, "difference", t->difference);
    ts_json_member_arr(j, "families");
    for (size_t i = 0; i < (planned ? t->n_wanted : t->n_families); i++)
        json_family(j, &f[i]);
    ts_json_arr_end(j);
    ts_json_member_arr(j, planned ? "splits" : "regions");
    for (size_t i = 0; planned && i < t->n_splits; i++)
        json_hex(j, NULL, t->splits[i]);
    for (size_t i = 0; !planned && i < t->n_regions; i++) {
        ts_json_obj(j);
        json_hex(j, "start", t->regions[i].start);
        json_hex(j, "stop", t->regions[i].stop);
        ts_json_member_slice(j, "host", t->regions[i].host);
        ts_json_member_int(j, "port", t->regions[i].port);
        ts_json_obj_end(j);
    }
    ts_json_arr_end(j);
    ts_json_obj_end(j);
}

static void json_tables(struct ts_json *j, const struct tsd_hbase_run *run, bool plans)
{
    ts_json_member_arr(j, "tables");
    for (size_t i = 0; i < run->list.n; i++)
        json_table(j, run, &run->list.tables[i], plans);
    ts_json_arr_end(j);
}

void tsd_hbase_print_created(struct tsd_hbase_run *run)
{
    struct ts_json j;
    if (!run->json) {
        text_tables(run, true);
        text_splits(run);
        return;
    }
    ts_json_init(&j, &run->out);
    ts_json_obj(&j);
    json_tables(&j, run, true);
    ts_json_obj_end(&j);
    ts_buf_char(&run->out, '\n');
}

/* --- status --- */

static void text_gateways(struct tsd_hbase_run *run)
{
    struct ts_buf text;
    ts_buf_init(&text, 0);
    ts_buf_str(&text, "GATEWAY\tANSWERS\n");
    for (size_t i = 0; i < run->set.opts.access.n_gateways; i++)
        ts_buf_printf(&text, "%s:%s\t%s%s\n", run->set.gateways[i].host, run->set.gateways[i].port,
                      run->why[i].code ? "no: " : "yes", run->why[i].code ? run->why[i].text : "");
    put_table(run, ts_buf_get(&text));
    ts_buf_release(&text);
}

/* Regions of a table that a server has, if region number at is the first of them; else 0. */
static size_t regions_of(const struct sto_hbase_table *t, size_t at)
{
    size_t n = 0;
    for (size_t i = 0; i < t->n_regions; i++) {
        bool same =
            ts_slice_eq(t->regions[i].host, t->regions[at].host) && t->regions[i].port == t->regions[at].port;
        if (same && i < at)
            return 0;
        n += same;
    }
    return n;
}

static void text_servers(struct tsd_hbase_run *run)
{
    struct ts_buf text;
    size_t n_regions = 0;
    for (size_t i = 0; i < run->list.n; i++)
        n_regions += run->list.tables[i].n_regions;
    if (n_regions == 0)
        return;
    ts_buf_init(&text, 0);
    ts_buf_str(&text, "SERVER\tTABLE\tREGIONS\n");
    for (size_t i = 0; i < run->list.n; i++) {
        const struct sto_hbase_table *t = &run->list.tables[i];
        for (size_t k = 0; k < t->n_regions; k++) {
            size_t n = regions_of(t, k);
            if (n)
                ts_buf_printf(&text, "%.*s:%d\t%s\t%zu\n", (int)t->regions[k].host.n, t->regions[k].host.p,
                              t->regions[k].port, t->name, n);
        }
    }
    ts_buf_char(&run->out, '\n');
    put_table(run, ts_buf_get(&text));
    ts_buf_release(&text);
}

static void json_gateways(struct ts_json *j, const struct tsd_hbase_run *run)
{
    char where[300];
    ts_json_member_arr(j, "gateways");
    for (size_t i = 0; i < run->set.opts.access.n_gateways; i++) {
        ts_json_obj(j);
        (void)snprintf(where, sizeof where, "%.255s:%s", run->set.gateways[i].host,
                       run->set.gateways[i].port);
        ts_json_member_str(j, "gateway", where);
        ts_json_member_bool(j, "answers", run->why[i].code == 0);
        ts_json_member_str(j, "error", run->why[i].code ? run->why[i].text : "");
        ts_json_obj_end(j);
    }
    ts_json_arr_end(j);
}

static void json_daemon(struct ts_json *j, const char *where, struct ts_slice stats, const char *note)
{
    ts_json_member_obj(j, "daemon");
    ts_json_member_str(j, "where", where);
    ts_json_member_str(j, "note", note);
    ts_json_member_obj(j, "stats");
    while (stats.n) {
        struct ts_slice line = ts_slice_cut(&stats, '\n'), name = ts_slice_cut(&line, '\t');
        int64_t value = 0;
        (void)ts_num_parse_int(line, &value, NULL);
        ts_json_key_slice(j, name);
        ts_json_int(j, value);
    }
    ts_json_obj_end(j);
    ts_json_obj_end(j);
}

/* Rows of /api/stats; Markdown has no table without a head. */
static void text_stats(struct tsd_hbase_run *run, struct ts_slice stats)
{
    struct ts_buf text;
    ts_buf_init(&text, 0);
    ts_buf_str(&text, run->markdown && stats.n ? "NAME\tVALUE\n" : "");
    ts_buf_slice(&text, stats);
    if (text.n)
        put_table(run, ts_buf_get(&text));
    ts_buf_release(&text);
}

void tsd_hbase_print_status(struct tsd_hbase_run *run, bool has_tables, const char *where,
                            struct ts_slice stats, const char *note)
{
    struct ts_json j;
    if (!run->json) {
        text_gateways(run);
        if (has_tables) {
            ts_buf_char(&run->out, '\n');
            text_tables(run, false);
            text_servers(run);
        }
        ts_buf_printf(&run->out, "\ndaemon at %s%s%s\n", where, *note ? ": " : "", note);
        text_stats(run, stats);
        return;
    }
    ts_json_init(&j, &run->out);
    ts_json_obj(&j);
    json_gateways(&j, run);
    if (has_tables)
        json_tables(&j, run, false);
    json_daemon(&j, where, stats, note);
    ts_json_obj_end(&j);
    ts_buf_char(&run->out, '\n');
}
