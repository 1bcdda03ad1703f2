/*
 * ids_kit.h - a fake HBase with OpenTSDB's tables, a cache of ids over it, another writer, and what must hold in tsdb-uid.
 */
#ifndef TESTS_UNIT_HBASE_IDS_KIT_H
#define TESTS_UNIT_HBASE_IDS_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/budget.h"
#include "base/mem.h"
#include "base/time.h"
#include "storage/hbase/bigendian.h"
#include "storage/hbase/limits.h"
#include "storage/hbase/remote/ids.h"
#include "storage/hbase/uidtable.h"
#include "tests/hbase/fake_hbase.h"

#define T_UID       "tsdb-uid"
#define T_MAX_NAMES 10000

static struct fake_hbase *fake;
static struct sto_hbase_access *hbase;
static struct sto_hbase_session session;
static struct sto_hbase_id_cache *ids;
static struct sto_hbase_schema schema;
static struct ts_error err;
static struct ts_buf found; /* names of ids */
static int64_t now_ms;      /* of the cache */

static inline int64_t t_clock(void)
{
    return now_ms;
}

static inline void t_cache_open(size_t max, struct ts_budget *memory)
{
    ids = sto_hbase_ids_new(&schema, T_UID, max, memory);
    sto_hbase_ids_clock(ids, t_clock);
}

static inline void t_cache_renew(void)
{
    sto_hbase_ids_free(ids);
    t_cache_open(0, NULL);
}

static inline void t_begin(struct sto_hbase_session *s)
{
    assert_int_equal(sto_hbase_begin(hbase, NULL, s, &err), 0);
}

static inline void t_open(void)
{
    fake = fake_hbase_start(STO_THRIFT_BUFFERED, 0);
    assert_non_null(fake);
    fake_hbase_create_opentsdb(fake);
    struct sto_thrift_gateway gateway = {"127.0.0.1", fake_hbase_port(fake)};
    hbase = sto_hbase_access_new(&(struct sto_hbase_access_opts){.gateways = &gateway, .n_gateways = 1});
    schema = STO_HBASE_SCHEMA_DEFAULT;
    now_ms = 1000;
    t_begin(&session);
    t_cache_open(0, NULL);
}

static inline void t_close(void)
{
    sto_hbase_end(&session);
    sto_hbase_ids_free(ids);
    sto_hbase_access_free(hbase);
    fake_hbase_stop(fake);
    ts_buf_release(&found);
    err = (struct ts_error){0};
}

static inline int t_setup(void **state)
{
    (void)state;
    t_open();
    return 0;
}

static inline int t_teardown(void **state)
{
    (void)state;
    t_close();
    return 0;
}

/* --- names --- */

/* Names "PREFIX0", "PREFIX1" ... and their items. */
struct t_names {
    char text[T_MAX_NAMES][24];
    struct sto_remote_name list[T_MAX_NAMES];
    size_t n;
};

static inline struct t_names *t_names_new(enum sto_remote_kind kind, const char *prefix, size_t n)
{
    struct t_names *w = ts_xcalloc(1, sizeof *w);
    w->n = n;
    for (size_t i = 0; i < n; i++) {
        int len = snprintf(w->text[i], sizeof w->text[i], "%s%zu", prefix, i);
        w->list[i] = (struct sto_remote_name){.kind = kind, .name = {w->text[i], (size_t)len}, .rc = -99};
    }
    return w;
}

static inline int t_look_up(enum sto_remote_lookup what, struct sto_remote_name *list, size_t n)
{
    ts_buf_clear(&found);
    return sto_hbase_ids_names(ids, &session, what, list, n, &found, &err);
}

/* Give ids to all names, which must work. */
static inline void t_make(struct sto_remote_name *list, size_t n)
{
    int rc = t_look_up(STO_REMOTE_MAKE, list, n);
    if (rc < 0)
        fail_msg("names: %d %s", rc, err.text);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(list[i].rc, 0);
}

/* Look up one name: its id; 0: it has none. */
static inline uint64_t t_id(enum sto_remote_lookup what, enum sto_remote_kind kind, const char *name)
{
    struct sto_remote_name item = {.kind = kind, .name = ts_slice_str(name)};
    int rc = t_look_up(what, &item, 1);
    if (rc < 0)
        fail_msg("%s: %d %s", name, rc, err.text);
    return item.rc == 0 ? item.id : 0;
}

/* --- the table --- */

/* An id as it stands in the table. */
static inline struct ts_slice t_bytes(enum sto_remote_kind kind, uint64_t id)
{
    static _Thread_local uint8_t bytes[4][STO_HBASE_MAX_WIDTH];
    static _Thread_local unsigned at;
    uint8_t *p = bytes[at++ % 4];
    sto_hbase_put(p, id, sto_hbase_uid_width(&schema, kind));
    return (struct ts_slice){(const char *)p, sto_hbase_uid_width(&schema, kind)};
}

/* The id that HBase has for a name; 0: none. */
static inline uint64_t t_forward(enum sto_remote_kind kind, struct ts_slice name)
{
    struct ts_buf value = {0};
    uint64_t id = 0;
    if (fake_hbase_get(fake, T_UID, name, "id", sto_hbase_uid_qualifier(kind), &value, NULL))
        id = sto_hbase_get(value.p, (unsigned)value.n);
    ts_buf_release(&value);
    return id;
}

/* Does HBase have this name for an id? An empty name: does it have none? */
static inline bool t_reverse_is(enum sto_remote_kind kind, uint64_t id, struct ts_slice name)
{
    struct ts_buf value = {0};
    bool exists =
        fake_hbase_get(fake, T_UID, t_bytes(kind, id), "name", sto_hbase_uid_qualifier(kind), &value, NULL);
    bool same = name.n ? exists && ts_slice_eq(name, ts_buf_get(&value)) : !exists;
    ts_buf_release(&value);
    return same;
}

static inline uint64_t t_counter(enum sto_remote_kind kind)
{
    struct ts_buf value = {0};
    uint64_t n = 0;
    if (fake_hbase_get(fake, T_UID, STO_HBASE_UID_COUNTERS, "id", sto_hbase_uid_qualifier(kind), &value,
                       NULL))
        n = sto_hbase_get(value.p, 8);
    ts_buf_release(&value);
    return n;
}

static inline void t_put_forward(enum sto_remote_kind kind, struct ts_slice name, uint64_t id)
{
    fake_hbase_put(fake, T_UID, name, "id", sto_hbase_uid_qualifier(kind), t_bytes(kind, id), 0);
}

static inline void t_put_reverse(enum sto_remote_kind kind, uint64_t id, struct ts_slice name)
{
    fake_hbase_put(fake, T_UID, t_bytes(kind, id), "name", sto_hbase_uid_qualifier(kind), name, 0);
}

static inline void t_put_counter(enum sto_remote_kind kind, uint64_t n)
{
    uint8_t bytes[8];
    sto_hbase_put(bytes, n, 8);
    fake_hbase_put(fake, T_UID, STO_HBASE_UID_COUNTERS, "id", sto_hbase_uid_qualifier(kind),
                   (struct ts_slice){(const char *)bytes, 8}, 0);
}

/* OpenTSDB gives an id to a name, between two requests of ours. */
static inline uint64_t t_opentsdb_assigns(enum sto_remote_kind kind, const char *name)
{
    struct ts_slice s = ts_slice_str(name);
    uint64_t id = t_forward(kind, s);
    if (id)
        return id;
    id = t_counter(kind) + 1;
    t_put_counter(kind, id);
    assert_true(t_reverse_is(kind, id, (struct ts_slice){NULL, 0}));
    t_put_reverse(kind, id, s);
    t_put_forward(kind, s, id);
    return id;
}

/* Every name has exactly the id that we say, no two names have one, and the id shows the name. */
static inline void t_check(const struct sto_remote_name *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t id = t_forward(list[i].kind, list[i].name);
        if (id == 0 || id != list[i].id || !t_reverse_is(list[i].kind, id, list[i].name))
            fail_msg("%.*s: id %llu here, %llu in HBase, and its name is %s", (int)list[i].name.n,
                     list[i].name.p, (unsigned long long)list[i].id, (unsigned long long)id,
                     t_reverse_is(list[i].kind, id, list[i].name) ? "right" : "another one");
    }
}

/* A counter of the cache. */
struct t_status {
    const char *name;
    uint64_t value;
};
static inline void t_status_each(void *arg, const char *name, uint64_t value)
{
    struct t_status *want = arg;
    if (strcmp(name, want->name) == 0)
        want->value = value;
}
static inline uint64_t t_status(const char *name)
{
    struct t_status want = {name, UINT64_MAX};
    sto_hbase_ids_status(ids, t_status_each, &want);
    return want.value;
}

static inline uint64_t t_calls(void)
{
    return fake_hbase_count(fake, STO_THRIFT_N_CALLS);
}

#endif
