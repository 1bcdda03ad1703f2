/*
 * answer.c - pieces of an answer from a socket or a sink to standard output or a buffer; the folder of --data.
 *
 * Threads    see answer.h
 */
#include "tsd/commands/answer.h"

#include "base/cut.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/openfiles.h"
#include "base/time.h"
#include "collectors/collect.h"
#include "tsd/daemon/hbase.h"
#include "tsd/daemon/settings.h"

#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ANSWER_PIECE_BYTES ((size_t)64 << 10)
#define ZONE_TIMEOUT_MS    30000

const char *tsd_answer_format(const struct tsd_args *args, const char *names, const char *def)
{
    const char *format = tsd_args_get(args, "format");
    int code;
    if (tsd_args_choice(args, "format", names, &code))
        return NULL;
    return format ? format : def;
}

struct ts_slice tsd_answer_opt(const struct tsd_args *args, const char *name)
{
    const char *v = tsd_args_get(args, name);
    return v ? ts_slice_str(v) : (struct ts_slice){NULL, 0};
}

int tsd_answer_open(struct tsd_answer *a, const struct tsd_args *args, enum tsd_local how,
                    struct ts_error *err)
{
    *a = (struct tsd_answer){.args = args};
    if (!tsd_args_has(args, "data"))
        return 0;
    TS_TRY(tsd_local_open(args, how, &a->store, NULL, err));
    a->pool = ts_pool_new(ts_pool_cores(UINT_MAX), "tsd-query");
    return 0;
}

int tsd_answer_close(struct tsd_answer *a, int rc, struct ts_error *err)
{
    struct ts_error close_err = {0};
    ts_pool_free(a->pool);
    int close_rc = a->store ? sto_close(a->store, &close_err) : 0;
    a->pool = NULL;
    a->store = NULL;
    if (rc < 0)
        return tsd_fail(err);
    return close_rc < 0 ? tsd_fail(&close_err) : TSD_EXIT_OK;
}

static int answer_keep(void *arg, struct ts_slice piece, struct ts_error *err)
{
    if (ts_buf_slice(arg, piece) < 0)
        return ts_error_set(err, TS_ELIMIT,
                            "the answer is too large for a table or a picture; ask for --format csv");
    return 0;
}

static int answer_print(void *arg, struct ts_slice piece, struct ts_error *err)
{
    struct tsd_answer *a = arg;
    if (piece.n)
        a->last = piece.p[piece.n - 1];
    a->n_bytes += piece.n;
    for (size_t i = 0; i < piece.n && a->n_lines < 3; i++)
        a->n_lines += piece.p[i] == '\n';
    if (a->bar && a->bar->on) {
        uint64_t n = a->bar->n_points + ts_slice_count(piece, '\n');
        tsd_progress_set(a->bar, n, n);
    }
    return tsd_print(piece, err);
}

int tsd_answer_remote(struct tsd_answer *a, const char *method, struct ts_slice path, struct ts_buf *keep,
                      struct ts_error *err)
{
    struct tsd_client_reply reply;
    char *text = ts_xmalloc(path.n + 1);
    memcpy(text, path.p, path.n);
    text[path.n] = 0;
    struct tsd_client_req req = {.method = method,
                                 .path = text,
                                 .sink = keep ? answer_keep : answer_print,
                                 .arg = keep ? (void *)keep : a,
                                 .left_out = a->left_out,
                                 .after = a->after};
    int rc = tsd_client_request(a->args, &req, &reply, err);
    a->partial |= rc == 0 && reply.partial;
    ts_buf_release(&reply.body);
    ts_free(text);
    return rc;
}

/* A sink whose pieces are printed or kept. */
struct answer_sink {
    struct ts_sink sink;            /* written to */
    struct ts_buf *keep;            /* NULL = print */
    struct tsd_answer *a;           /* for printing */
    char piece[ANSWER_PIECE_BYTES]; /* memory of the sink */
};

static int answer_more(struct ts_sink *s, struct ts_error *err)
{
    struct answer_sink *q = s->arg;
    struct ts_slice piece = {s->start, (size_t)(s->p - s->start)};
    s->p = s->start;
    return q->keep ? answer_keep(q->keep, piece, err) : answer_print(q->a, piece, err);
}

int tsd_answer_local(struct tsd_answer *a, int (*run)(void *arg, struct ts_sink *sink, struct ts_error *err),
                     void *arg, struct ts_buf *keep, struct ts_error *err)
{
    struct answer_sink *q = ts_xmalloc(sizeof(*q));
    q->keep = keep;
    q->a = a;
    q->sink = (struct ts_sink){
        .start = q->piece, .p = q->piece, .end = q->piece + sizeof(q->piece), .more = answer_more, .arg = q};
    int rc = run(arg, &q->sink, err);
    if (rc == 0)
        rc = answer_more(&q->sink, err);
    ts_free(q);
    return rc;
}

int tsd_answer_end(struct tsd_answer *a, struct ts_error *err)
{
    if (a->last && a->last != '\n') /* JSON */
        TS_TRY(tsd_print(TS_SLICE_LIT("\n"), err));
    TS_TRY(tsd_print_end(err));
    if (a->partial)
        (void)fputs("tsd: The answer is partial: the daemon's remote store did not answer\n", stderr);
    return 0;
}

/* --- the folder of a stopped daemon --- */

static int local_conf(const struct tsd_args *args, struct ts_conf *conf, struct ts_error *err)
{
    static const struct ts_conf_key *const others[] = {col_conf_keys,
                                                       NULL}; /* of tsd collect, in the same environment */
    const char *file = tsd_args_get(args, "config");
    ts_conf_pass_over(conf, others);
    if (file)
        TS_TRY(ts_conf_load_file(conf, file, err));
    return ts_conf_load_env(conf, err);
}

/* The key timezone of the daemon's configuration, from a file and the environment. */
static int local_zone(const struct tsd_args *args, const struct ts_tz **out, struct ts_error *err)
{
    static const struct ts_conf_key *const tables[] = {tsd_conf_keys, sto_conf_keys, tsd_hbase_conf_keys};
    struct ts_conf *conf = ts_conf_new(tables, 3);
    int rc = local_conf(args, conf, err);
    if (rc == 0)
        rc = ts_tz_open(ts_slice_str(ts_conf_str(conf, "timezone")), out, err);
    ts_conf_free(conf);
    return rc;
}

/* That of a running daemon. */
static int remote_zone(const struct tsd_args *args, const struct ts_tz **out, struct ts_error *err)
{
    json_t *root;
    TS_TRY(tsd_client_json(args, "/api/config", ZONE_TIMEOUT_MS, &root, err));
    const char *name = json_string_value(json_object_get(root, "timezone"));
    int rc = name ? ts_tz_open(ts_slice_str(name), out, err)
                  : ts_error_set(err, TS_EBACKEND,
                                 "the daemon does not say of which zone its dates are: name one with --tz");
    json_decref(root);
    return rc;
}

int tsd_zone_begin(const struct tsd_args *args, struct ts_error *err)
{
    const struct ts_tz *zone;
    bool local = tsd_args_has(args, "data") || tsd_args_has(args, "hbase");
    if (tsd_args_has(args, "tz"))
        return 0;
    TS_TRY(local ? local_zone(args, &zone, err) : remote_zone(args, &zone, err));
    ts_tz_set_default(zone);
    return 0;
}

int tsd_zone_words(const struct tsd_args *args, const char *by, struct ts_arena *arena,
                   struct qry_spec *out_spec, struct ts_buf *out_uri, struct ts_error *err)
{
    const char *tz = tsd_args_get(args, "tz"), *fill = tsd_args_get(args, "fill");
    int64_t now_ms = ts_clock_ms();
    int rc = qry_parse_words(args->words, args->n_words, by, tz, fill, now_ms, arena, out_spec, out_uri, err);
    if (rc == 0 || tz || tsd_zone_begin(args, NULL) < 0)
        return rc;
    ts_buf_clear(out_uri);
    return qry_parse_words(args->words, args->n_words, by, NULL, fill, now_ms, arena, out_spec, out_uri, err);
}

int tsd_zone_of_store(const struct tsd_args *args, struct ts_error *err)
{
    const struct ts_tz *zone;
    if (!tsd_args_has(args, "data"))
        return tsd_zone_begin(args, err);
    TS_TRY(local_zone(args, &zone, err));
    ts_tz_set_default(zone);
    return 0;
}

int tsd_local_open(const struct tsd_args *args, enum tsd_local how, struct sto_store **out_store,
                   struct tsd_rules *rules, struct ts_error *err)
{
    return tsd_local_open_dir(args, tsd_args_get(args, "data"), how, out_store, rules, err);
}

int tsd_local_open_dir(const struct tsd_args *args, const char *dir, enum tsd_local how,
                       struct sto_store **out_store, struct tsd_rules *rules, struct ts_error *err)
{
    static const struct ts_conf_key *const tables[] = {tsd_conf_keys, sto_conf_keys, tsd_hbase_conf_keys};
    struct ts_conf *conf = ts_conf_new(tables, 3);
    struct sto_opts opts = {0};
    *out_store = NULL;
    (void)ts_open_files_raise(); /* the store holds an eighth of them */
    ts_log_set_level(TS_LOG_WARN);
    int rc = local_conf(args, conf, err);
    if (rc == 0) {
        sto_opts_from_conf(&opts, conf);
        opts.dir = dir;
        opts.create = how == TSD_LOCAL_CREATE;
        opts.read_only = how == TSD_LOCAL_READ;
        opts.own_threads = true;
        rc = sto_open(&opts, out_store, err);
    }
    if (rc == 0 && rules) {
        tsd_rules_init(rules, false, true, TSD_TAGS_MAX, ts_conf_str(conf, "allow_specialchars"));
        tsd_settings_names(conf, rules);
        rules->old_times = true;
        rc = tsd_hbase_rules(conf, rules, err);
        if (rc < 0) {
            (void)sto_close(*out_store, NULL);
            *out_store = NULL;
        }
    }
    ts_conf_free(conf);
    return rc;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st, (void)type, (void)at;
    (void)remove(path);
    return 0;
}

void tsd_remove_folder(const char *dir)
{
    (void)nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}
