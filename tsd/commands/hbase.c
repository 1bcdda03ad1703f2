/*
 * hbase.c - tsd hbase: create OpenTSDB's tables; show gateways, tables, regions and counters of a daemon; ship again.
 *
 * Threads    the main thread
 * Not here   the tables (storage/hbase/remote/tables.h), their print (hbase_print.c)
 */
#include "tsd/commands/hbase.h"

#include "base/cut.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"
#include "base/time.h"
#include "storage/hbase/rowkey.h"
#include "tsd/commands/client.h"

#include <jansson.h>
#include <string.h>

#define CREATE_MS 600000 /* for the creation of one table, which takes the longer the more regions it has */

const struct ts_opt tsd_hbase_opts[] = {
    TSD_HBASE_OPTS,
    {.name = "split",
     .arg = "WHERE",
     .help = "create-tables: divide the data table and those of rollups by salt, by metric, or at keys in "
             "hexadecimal digits "
             "separated by commas, such as 01,02,0380. Default: one region."},
    {.name = "metrics",
     .arg = "N",
     .help = "With --split metric: ids of metrics that are expected. Default 1000."},
    {.name = "regions",
     .arg = "N",
     .help = "With --split metric: regions for these ids; in a table with salts, for those of each bucket. "
             "Default 10."},
    {.name = "compression",
     .arg = "CODEC",
     .help = "create-tables: none, gz, snappy, lz4, zstd, lzo or bzip2; HBase must have it. Default none."},
    {.name = "ttl",
     .arg = "SECONDS",
     .help = "create-tables: HBase removes points that are older. Default: never."},
    {.name = "bloom", .arg = "KIND", .help = "create-tables: none, row or rowcol. Default row."},
    {.name = "encoding",
     .arg = "NAME",
     .help = "create-tables: data block encoding none, prefix, diff, fast_diff or row_index_v1. Default "
             "diff."},
    {.name = "dry-run", .help = "create-tables: create nothing, and print what would be created."},
    {.name = "from", .arg = "TIME", .help = "reship: first time, as in tsd query; its whole hour counts."},
    {.name = "to", .arg = "TIME", .help = "reship: last time; its whole hour counts."},
    {.name = "format", .arg = "FORMAT", .help = "text, json or markdown. Default text."},
    TSD_CLIENT_OPTS,
    {.name = NULL},
};

/* --- how HBase is reached --- */

int tsd_hbase_take(const struct tsd_args *args, struct tsd_hbase_settings *set, struct ts_budget *memory,
                   struct ts_error *err)
{
    struct ts_conf *conf = args->conf;
    TS_TRY(tsd_hbase_set_keys(args, conf, err));
    TS_TRY(tsd_hbase_load(conf, set, err));
    set->opts.access.gateways = set->gateways;
    ts_budget_init(memory, "hbase", "hbase_memory_bytes", NULL, set->memory_bytes);
    set->opts.access.memory = memory;
    return 0;
}

static int take_keys(struct tsd_hbase_run *run, struct ts_error *err)
{
    TS_TRY(tsd_hbase_take(run->args, &run->set, &run->memory, err));
    TS_TRY(tsd_hbase_daemon_keys(run->args, &run->set, err));
    sto_hbase_table_list_init(&run->list, &run->memory);
    return 0;
}

/* Probe the gateways, all of them or until one answers. Returns how many have answered. */
static size_t probe(struct tsd_hbase_run *run, bool all)
{
    const struct sto_hbase_opts *o = &run->set.opts;
    size_t n = 0;
    for (size_t i = 0; i < o->access.n_gateways && (all || n == 0); i++)
        n += sto_hbase_gateway_probe(&o->access, i, o->tables.uid, &run->why[i]) == 0;
    return n;
}

/* --- create-tables --- */

static int take_number(const struct tsd_args *args, const char *name, int64_t max, int64_t usual,
                       int64_t *out, struct ts_error *err)
{
    const char *text = tsd_args_get(args, name);
    *out = usual;
    if (text && (ts_num_parse_int(ts_slice_str(text), out, NULL) < 0 || *out < 1 || *out > max))
        return ts_error_set(err, TS_EINVAL, "--%s is a whole number from 1 to %lld, not \"%.40s\"", name,
                            (long long)max, text);
    return 0;
}

static int take_attribute(const struct tsd_args *args, const char *name, enum sto_hbase_attribute what,
                          int32_t *out, struct ts_error *err)
{
    const char *text = tsd_args_get(args, name);
    if (!text)
        return 0;
    *out = sto_hbase_attribute_value(what, ts_slice_str(text));
    return *out >= 0 ? 0 : ts_error_set(err, TS_EINVAL, "--%s does not permit \"%.40s\"", name, text);
}

/* Keys as hexadecimal digits; *out_keys and *out_bytes are the caller's. */
static int take_split_keys(const char *text, struct ts_slice **out_keys, uint8_t **out_bytes, size_t *out_n,
                           struct ts_error *err)
{
    struct ts_slice rest = ts_slice_str(text);
    uint8_t *at = *out_bytes = ts_xcalloc(1, rest.n + 1);
    *out_keys = ts_xcalloc(ts_slice_count(rest, ',') + 1, sizeof **out_keys);
    *out_n = 0;
    while (rest.n) {
        struct ts_slice part = ts_slice_trim(ts_slice_cut(&rest, ','));
        int n = sto_hbase_hex_parse(part, at, part.n / 2);
        if (n <= 0)
            return ts_error_set(
                err, TS_EINVAL,
                "--split: \"%.*s\" is neither salt nor metric nor a key in hexadecimal digits, "
                "two for each byte",
                TS_SHOWN(part, 40));
        (*out_keys)[(*out_n)++] = (struct ts_slice){(const char *)at, (size_t)n};
        at += n;
    }
    return *out_n ? 0 : ts_error_set(err, TS_EINVAL, "--split is empty");
}

static int take_request(const struct tsd_args *args, struct sto_hbase_create *want, struct ts_error *err)
{
    int64_t ttl_s, n_metrics, n_ranges;
    const char *split = tsd_args_get(args, "split");
    TS_TRY(take_number(args, "ttl", INT32_MAX, INT32_MAX, &ttl_s, err));
    TS_TRY(take_number(args, "metrics", INT64_MAX, 1000, &n_metrics, err));
    TS_TRY(take_number(args, "regions", STO_HBASE_MAX_REGIONS, 10, &n_ranges, err));
    TS_TRY(take_attribute(args, "compression", STO_HBASE_COMPRESSION, &want->compression, err));
    TS_TRY(take_attribute(args, "encoding", STO_HBASE_ENCODING, &want->encoding, err));
    TS_TRY(take_attribute(args, "bloom", STO_HBASE_BLOOM, &want->bloom, err));
    want->ttl_s = (int32_t)ttl_s;
    want->n_metrics = (uint64_t)n_metrics;
    want->n_ranges = (uint32_t)n_ranges;
    want->split = !split                     ? STO_HBASE_SPLIT_NONE
                  : !strcmp(split, "salt")   ? STO_HBASE_SPLIT_SALT
                  : !strcmp(split, "metric") ? STO_HBASE_SPLIT_METRIC
                                             : STO_HBASE_SPLIT_KEYS;
    if (want->split != STO_HBASE_SPLIT_METRIC &&
        (tsd_args_has(args, "metrics") || tsd_args_has(args, "regions")))
        return ts_error_set(err, TS_EINVAL, "--metrics and --regions belong to --split metric");
    return 0;
}

static int plan(struct tsd_hbase_run *run, bool creates, struct ts_error *err)
{
    struct sto_hbase_create want = STO_HBASE_CREATE_DEFAULT;
    struct ts_slice *keys = NULL;
    uint8_t *bytes = NULL;
    want.names = run->set.opts.tables;
    want.schema = run->set.opts.schema;
    want.rollups = run->set.rollups;
    int rc = take_request(run->args, &want, err);
    if (rc == 0 && want.split == STO_HBASE_SPLIT_KEYS)
        rc = take_split_keys(tsd_args_get(run->args, "split"), &keys, &bytes, &want.n_keys, err);
    want.keys = keys;
    if (!creates) /* only what tsd needs is compared */
        want.compression = want.encoding = want.bloom = want.ttl_s = -1;
    if (rc == 0)
        rc = sto_hbase_tables_plan(&want, &run->list, err);
    if (rc == 0 && run->list.tables[0].n_splits && run->set.opts.access.transport == STO_THRIFT_FRAMED)
        rc = ts_error_set(err, TS_EINVAL,
                          "gateways with framed transport refuse split keys (HBase 2.5): create the tables "
                          "through one with buffered transport, or without --split");
    ts_free(keys);
    ts_free(bytes);
    return rc;
}

static int no_gateway(const struct tsd_hbase_run *run, struct ts_error *err)
{
    *err = run->why[run->set.opts.access.n_gateways - 1];
    return ts_error_wrap(err, "no gateway of hbase_gateways answers (%s)", run->set.gateways_key);
}

static int create_tables(struct tsd_hbase_run *run, struct ts_error *err)
{
    struct sto_hbase_access_opts opts = run->set.opts.access;
    struct sto_remote_call call = {.memory = &run->memory};
    if (probe(run, false) == 0)
        return no_gateway(run, err);
    if (!run->dry_run) {
        opts.timeout_ms = CREATE_MS;
        opts.call_ms = (int64_t)run->list.n * CREATE_MS;
    }
    struct sto_hbase_access *a = sto_hbase_access_new(&opts);
    int rc = (run->dry_run ? sto_hbase_tables_look : sto_hbase_tables_create)(a, &call, &run->list, err);
    sto_hbase_access_free(a);
    TS_TRY(rc);
    tsd_hbase_print_created(run);
    return 0;
}

/* --- the daemon --- */

/* The options of the command, and before them --host and --port of the daemon whose file it reads. The caller frees uses. */
static int with_daemon(const struct tsd_args *args, struct tsd_hbase_where *where, struct tsd_args *out,
                       struct ts_error *err)
{
    *out = *args;
    out->n_uses = 0;
    out->uses = ts_xcalloc(args->n_uses + 2, sizeof *out->uses);
    TS_TRY(tsd_hbase_daemon_where(args, where, err));
    if (*where->host && !tsd_args_has(args, "host"))
        out->uses[out->n_uses++] = (struct ts_opt_use){"host", where->host};
    if (*where->port && !tsd_args_has(args, "port"))
        out->uses[out->n_uses++] = (struct ts_opt_use){"port", where->port};
    for (unsigned i = 0; i < args->n_uses; i++)
        out->uses[out->n_uses++] = args->uses[i];
    return 0;
}

/* --- status --- */

/* Rows of /api/stats about HBase as "name\tvalue\n". */
static int take_stats(struct ts_slice body, struct ts_buf *out, struct ts_error *err)
{
    static const char *const prefixes[] = {"tsd.hbase.", "tsd.storage.ship."};
    json_t *root = NULL, *row;
    size_t i;
    TS_TRY(ts_json_load(body, &root, err));
    json_array_foreach(root, i, row)
    {
        const char *name = json_string_value(json_object_get(row, "metric"));
        const json_t *value = json_object_get(row, "value");
        for (size_t k = 0; name && k < sizeof prefixes / sizeof *prefixes; k++)
            if (!strncmp(name, prefixes[k], strlen(prefixes[k])))
                ts_buf_printf(out, "%s\t%s\n", name,
                              json_string_value(value) ? json_string_value(value) : "0");
    }
    json_decref(root);
    return 0;
}

/* True: the daemon answers. note: what is wrong with it. */
static bool look_at_daemon(const struct tsd_args *args, struct ts_buf *stats, struct ts_error *note)
{
    struct tsd_client_reply reply;
    struct tsd_client_req req = {.method = "GET", .path = "/api/stats"};
    int rc = tsd_client_request(args, &req, &reply, note);
    if (rc == 0)
        rc = take_stats(ts_buf_get(&reply.body), stats, note);
    ts_buf_release(&reply.body);
    if (rc == 0 && stats->n == 0)
        (void)ts_error_set(note, TS_ENOTFOUND, "it has no HBase behind it (remote = none)");
    return rc == 0;
}

static int look_at_tables(struct tsd_hbase_run *run, struct ts_error *err)
{
    struct sto_remote_call call = {.memory = &run->memory};
    struct sto_hbase_access *a = sto_hbase_access_new(&run->set.opts.access);
    int rc = sto_hbase_tables_look(a, &call, &run->list, err);
    sto_hbase_access_free(a);
    return rc;
}

/* TS_ENOTFOUND: tables do not exist. */
static int check_missing(const struct tsd_hbase_run *run, struct ts_error *err)
{
    const char *name = NULL;
    size_t n = 0;
    for (size_t i = run->list.n; i-- > 0;)
        if (!run->list.tables[i].exists) {
            name = run->list.tables[i].name;
            n++;
        }
    if (n > 1)
        return ts_error_set(err, TS_ENOTFOUND,
                            "%zu tables do not exist, among them %s; tsd hbase create-tables creates them", n,
                            name);
    return n == 0 ? 0
                  : ts_error_set(err, TS_ENOTFOUND,
                                 "table %s does not exist; tsd hbase create-tables creates it", name);
}

static int status(struct tsd_hbase_run *run, struct ts_error *err)
{
    struct ts_buf stats;
    struct ts_error note = {0};
    struct tsd_hbase_where listens;
    struct tsd_args args;
    const char *host, *port;
    char where[300];
    if (with_daemon(run->args, &listens, &args, err) < 0) {
        ts_free(args.uses);
        return err->code;
    }
    bool answers = probe(run, true) > 0;
    int rc = answers ? look_at_tables(run, err)
                     : ts_error_set(err, run->why[0].code, "no gateway of HBase answers");
    ts_buf_init(&stats, 0);
    tsd_client_where(&args, &host, &port);
    (void)snprintf(where, sizeof where, "%.255s:%s", host, port);
    bool daemon = look_at_daemon(&args, &stats, &note);
    ts_free(args.uses);
    tsd_hbase_print_status(run, rc == 0, where, ts_buf_get(&stats), note.code ? note.text : "");
    ts_buf_release(&stats);
    if (rc == 0)
        rc = check_missing(run, err);
    if (rc == 0 && !daemon && (tsd_args_has(run->args, "host") || tsd_args_has(run->args, "port")))
        rc = ts_error_set(err, TS_EIO, "%s", note.text);
    return rc;
}

/* --- reship --- */

/* The options --from and --to; errors are those of the user. */
static int take_range(const struct tsd_args *args, int64_t *from_ms, int64_t *to_ms, struct ts_error *err)
{
    const char *from = tsd_args_get(args, "from"), *to = tsd_args_get(args, "to");
    if (!from || !to)
        return ts_error_set(err, TS_EINVAL, "reship needs --from TIME and --to TIME");
    TS_TRY(ts_time_parse(ts_slice_str(from), NULL, ts_clock_ms(), false, from_ms, NULL, err));
    TS_TRY(ts_time_parse_end(ts_slice_str(to), NULL, ts_clock_ms(), false, to_ms, err));
    return *from_ms <= *to_ms
               ? 0
               : ts_error_set(err, TS_EINVAL, "--from %.60s is later than --to %.60s", from, to);
}

static int reship(const struct tsd_args *args, int64_t from_ms, int64_t to_ms, struct ts_error *err)
{
    char path[120],
        text[] =
            "what is kept here of these hours will be shipped again; tsd hbase status shows the progress\n";
    struct tsd_hbase_where listens;
    struct tsd_args where;
    struct tsd_client_reply reply = {0};
    (void)snprintf(path, sizeof path, "/api/admin/reship?from=%lldms&to=%lldms", (long long)from_ms,
                   (long long)to_ms);
    struct tsd_client_req req = {.method = "POST", .path = path};
    int rc = with_daemon(args, &listens, &where, err);
    if (rc == 0) {
        rc = tsd_client_request(&where, &req, &reply, err);
        ts_buf_release(&reply.body);
    }
    ts_free(where.uses);
    return rc < 0 ? rc : tsd_print_all(ts_slice_str(text), err);
}

/* --- the command --- */

static int run_form(struct tsd_hbase_run *run, bool creates, struct ts_error *err)
{
    int rc = (creates ? create_tables : status)(run, err);
    struct ts_error print_err = {0};
    if (tsd_print_all(ts_buf_get(&run->out), &print_err) < 0 && rc == 0) {
        *err = print_err;
        rc = err->code;
    }
    return rc;
}

static int run_reship(const struct tsd_args *args)
{
    struct ts_error err = {0};
    int64_t from_ms, to_ms;
    if (take_range(args, &from_ms, &to_ms, &err) < 0)
        return tsd_usage(args, "%s", err.text);
    return reship(args, from_ms, to_ms, &err) < 0 ? tsd_fail(&err) : TSD_EXIT_OK;
}

/* An option of another form than the one that is given has no effect, and is not meant like that. */
static int check_options(const struct tsd_args *args, const char *form, struct ts_error *err)
{
    static const struct {
        const char *option, *form;
    } of[] = {{"split", "create-tables"},
              {"metrics", "create-tables"},
              {"regions", "create-tables"},
              {"compression", "create-tables"},
              {"ttl", "create-tables"},
              {"bloom", "create-tables"},
              {"encoding", "create-tables"},
              {"dry-run", "create-tables"},
              {"from", "reship"},
              {"to", "reship"}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        if (tsd_args_has(args, of[i].option) && strcmp(form, of[i].form) != 0)
            return ts_error_set(err, TS_EINVAL, "--%s belongs to %s", of[i].option, of[i].form);
    if (tsd_args_has(args, "format") && !strcmp(form, "reship"))
        return ts_error_set(err, TS_EINVAL, "reship prints a sentence; --format belongs to the other words");
    return 0;
}

int tsd_hbase_cmd_run(const struct tsd_args *args)
{
    const char *form = args->n_words ? args->words[0] : "", *format = tsd_args_get(args, "format");
    bool creates = !strcmp(form, "create-tables");
    struct tsd_hbase_run run = {.args = args,
                                .json = format && !strcmp(format, "json"),
                                .markdown = format && !strcmp(format, "markdown"),
                                .dry_run = tsd_args_has(args, "dry-run")};
    struct ts_error err = {0};
    if (args->n_words == 0)
        return tsd_usage(args, "hbase needs one of the words create-tables, status and reship");
    bool reships = !strcmp(form, "reship");
    if (!creates && !reships && strcmp(form, "status") != 0)
        return tsd_usage_word(args, form, "create-tables status reship");
    if (args->n_words > 1)
        return tsd_usage(args, "%s accepts no further word, but there is \"%.60s\"", form, args->words[1]);
    if (check_options(args, form, &err) < 0)
        return tsd_usage(args, "%s", err.text);
    if (reships)
        return run_reship(args);
    int code;
    if (tsd_args_choice(args, "format", "text|json|markdown", &code))
        return code;
    ts_buf_init(&run.out, 0);
    int rc = take_keys(&run, &err);
    if (rc == 0)
        rc = plan(&run, creates, &err);
    code = rc < 0 ? tsd_usage(args, "%s", err.text) : TSD_EXIT_OK;
    if (rc == 0 && run_form(&run, creates, &err) < 0)
        code = tsd_fail(&err);
    sto_hbase_table_list_release(&run.list);
    ts_buf_release(&run.out);
    tsd_hbase_settings_release(&run.set);
    return code;
}
