/*
 * ids_live.c - assigns ids in a real HBase, and measures how fast.
 *
 *   TSD_HBASE_GATEWAY=127.0.0.1:9090 build/dev/tests/ids_live [NAMES]
 *
 * Without that variable it fails. It creates the table hbids_uid unless there is one, and gives ids to NAMES (10000) new tag values; then another cache
 * does the same with as many, of which half are new, and both must agree on the others. The names stay in the table.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/num.h"
#include "base/time.h"
#include "storage/hbase/remote/ids.h"

#define TABLE "hbids_uid"

static struct sto_hbase_access *access_;
static struct ts_error err;
static size_t n_names = 10000;

static void must(int rc, const char *what)
{
    if (rc >= 0)
        return;
    (void)fprintf(stderr, "%s: %s\n", what, err.text);
    exit(1);
}

static void create_table(void)
{
    struct sto_hbase_session s;
    struct sto_thrift_request r;
    struct sto_thrift_reply reply;
    struct ts_slice table = TS_SLICE_LIT(TABLE);
    struct sto_thrift_family families[] = {STO_THRIFT_FAMILY(TS_SLICE_LIT("id")),
                                           STO_THRIFT_FAMILY(TS_SLICE_LIT("name"))};
    sto_thrift_request_init(&r, 0, NULL);
    must(sto_hbase_begin(access_, NULL, &s, &err), "begin");
    must(sto_thrift_call_table_exists(&r, table), "tableExists");
    must(sto_hbase_call(&s, &r, &reply, NULL, &err), "tableExists");
    if (!sto_thrift_reply_bool(&reply)) {
        must(sto_thrift_call_create_table(&r, table, families, 2, NULL, 0), "createTable");
        must(sto_hbase_call(&s, &r, &reply, NULL, &err), "createTable");
    }
    sto_hbase_end(&s);
    sto_thrift_request_release(&r);
}

/* Names that a thread looks up, and its cache. */
struct work {
    struct sto_remote_name *list;
    size_t n;
    struct sto_hbase_id_cache *ids;
    enum sto_remote_lookup what;
    struct ts_buf names;
    pthread_t thread;
};

static void *look_up(void *arg)
{
    struct work *w = arg;
    struct sto_hbase_session s;
    struct ts_error why = {0};
    int rc = sto_hbase_begin(access_, NULL, &s, &why);
    for (size_t i = 0; i < w->n && rc == 0; i += 5000)
        rc = sto_hbase_ids_names(w->ids, &s, w->what, w->list + i, w->n - i < 5000 ? w->n - i : 5000,
                                 &w->names, &why);
    if (rc < 0)
        (void)fprintf(stderr, "names: %s\n", why.text);
    sto_hbase_end(&s);
    return rc < 0 ? w : NULL;
}

static void run(struct work *w, size_t n, const char *what)
{
    int64_t began_ns = ts_clock_mono_ns();
    size_t n_done = 0;
    void *failed;
    for (size_t i = 0; i < n; i++) {
        if (pthread_create(&w[i].thread, NULL, look_up, &w[i]) != 0)
            exit(1);
        n_done += w[i].n;
    }
    for (size_t i = 0; i < n; i++) {
        pthread_join(w[i].thread, &failed);
        if (failed)
            exit(1);
    }
    double s = (double)(ts_clock_mono_ns() - began_ns) / 1e9;
    (void)printf("%s: %zu names in %.2f s, %.0f a second\n", what, n_done, s, (double)n_done / s);
}

static void print(void *arg, const char *name, uint64_t value)
{
    (void)arg;
    (void)printf("  %s %llu\n", name, (unsigned long long)value);
}

static struct sto_hbase_id_cache *new_cache(void)
{
    struct sto_hbase_schema schema = STO_HBASE_SCHEMA_DEFAULT;
    schema.tagv_width = 4;
    return sto_hbase_ids_new(&schema, TABLE, 0, NULL);
}

static void make_names(struct work *w, char (*text)[48], const char *prefix, size_t from)
{
    for (size_t i = 0; i < w->n; i++) {
        int n = snprintf(text[i], sizeof(text[i]), "%s.%zu", prefix, from + i);
        w->list[i] = (struct sto_remote_name){.kind = STO_REMOTE_TAGV, .name = {text[i], (size_t)n}};
    }
}

int main(int argc, char **argv)
{
    char *where = getenv("TSD_HBASE_GATEWAY"), *colon = where ? strrchr(where, ':') : NULL;
    int64_t n_asked = 0;
    if (!colon || (argc > 1 && ts_num_parse_int(ts_slice_str(argv[1]), &n_asked, NULL) < 0)) {
        (void)fprintf(stderr, "TSD_HBASE_GATEWAY=HOST:PORT ids_live [NAMES]\n");
        return 2;
    }
    n_names = n_asked > 0 ? (size_t)n_asked : n_names;
    *colon = 0;
    struct sto_thrift_gateway gateway = {where, colon + 1};
    access_ = sto_hbase_access_new(&(struct sto_hbase_access_opts){.gateways = &gateway, .n_gateways = 1});
    create_table();
    char prefix[32], (*text)[48] = ts_xcalloc(2 * n_names, sizeof(*text));
    (void)snprintf(prefix, sizeof prefix, "run%lld", (long long)ts_clock_ms());
    struct work w[2] = {{.n = n_names, .ids = new_cache(), .what = STO_REMOTE_MAKE},
                        {.n = n_names, .ids = new_cache(), .what = STO_REMOTE_MAKE}};
    for (size_t i = 0; i < 2; i++) {
        w[i].list = ts_xcalloc(n_names, sizeof(*w[i].list));
        make_names(&w[i], text + i * n_names, prefix, i * n_names / 2);
    }
    run(w, 1, "assigned, one thread");
    run(w + 1, 1, "another cache, half of them new");
    for (size_t i = n_names / 2; i < n_names; i++)
        if (w[0].list[i].id != w[1].list[i - n_names / 2].id || w[0].list[i].id == 0)
            must(-1, "two caches do not agree");
    run(w, 1, "from the cache");
    struct sto_hbase_id_cache *cold = new_cache();
    struct work find = {.list = w[0].list, .n = n_names, .ids = cold, .what = STO_REMOTE_FIND};
    run(&find, 1, "looked up by name");
    find.what = STO_REMOTE_BY_ID;
    run(&find, 1, "looked up by id");
    for (size_t i = 0; i < 2; i++) {
        sto_hbase_ids_status(w[i].ids, print, NULL);
        sto_hbase_ids_free(w[i].ids);
        ts_free(w[i].list);
    }
    sto_hbase_ids_free(cold);
    sto_hbase_access_status(access_, print, NULL);
    sto_hbase_access_free(access_);
    ts_buf_release(&find.names);
    ts_free(text);
    return 0;
}
