/*
 * memory.c - the table of accounts, where its limits come from, and the allocator's settings.
 *
 * Threads    see memory.h
 * Not here   how accounts count (base/budget.h), who takes from them
 */
#include "tsd/daemon/memory.h"

#include "base/json.h"
#include "base/time.h"
#include "storage/store.h"
#include "tsd/daemon/settings.h"

#include <malloc.h>
#include <string.h>
#include <unistd.h>

#define MIB               ((uint64_t)1 << 20)
#define MEMORY_PERCENT    60 /* of the machine, unless memory_limit says otherwise */
#define MEMORY_USABLE     85 /* percent of memory_limit that accounts may hold: the rest is fragmentation */
#define MEMORY_NAMES      30 /* percent of that for names and series */
#define MEMORY_CELLS      8  /* percent of it for annotations, metadata and trees */
#define MEMORY_QUERIES    33 /* percent of it for queries, unless query_total_bytes says otherwise */
#define MEMORY_TRIM_BYTES (16 * MIB) /* a use of so much is followed by a trim */
#define MEMORY_TRIM_NS    5000000000
#define MEMORY_MMAP_MOST  (4 << 20)   /* larger blocks come from the system and go back at once */
#define MEMORY_TOP_MOST   (16 << 20)  /* kept free at the top of each heap */
#define MEMORY_SMALL      (256 * MIB) /* with a lower memory_limit all threads share one heap */
#define MEMORY_QUERY_MOST (1024 * MIB)
#define MEMORY_CACHE_MOST (256 * MIB)
#define MEMORY_STORE_MOST (32 * MIB)
#define MEMORY_LINE_BYTES 512
#define MEMORY_RESERVED   16 /* at most 1 / 16 of the process is reserved for bodies, and as much for queries */

struct memory_row {
    const char *name;        /* as /api/stats shows it */
    const char *key;         /* that sets its limit */
    enum tsd_account parent; /* TSD_MEM_ACCOUNTS: none */
};
/* By enum tsd_account. */
static const struct memory_row memory_rows[TSD_MEM_ACCOUNTS] = {
    [TSD_MEM_PROCESS] = {"process", "memory_limit", TSD_MEM_ACCOUNTS},
    [TSD_MEM_MEMSTORES] = {"memstores", "memstore_bytes", TSD_MEM_PROCESS},
    [TSD_MEM_SNAPSHOTS] = {"snapshots", "memstore_bytes", TSD_MEM_PROCESS},
    [TSD_MEM_NAMES] = {"names", "max_series", TSD_MEM_PROCESS},
    [TSD_MEM_SERIES_CACHE] = {"series_cache", "series_cache_bytes", TSD_MEM_PROCESS},
    [TSD_MEM_FILES] = {"files", "memory_limit", TSD_MEM_PROCESS},
    [TSD_MEM_INDEX_CACHE] = {"index_cache", "index_cache_bytes", TSD_MEM_PROCESS},
    [TSD_MEM_MERGES] = {"merges", "compaction_memory_bytes", TSD_MEM_PROCESS},
    [TSD_MEM_DECODERS] = {"decoders", "memory_limit", TSD_MEM_PROCESS},
    [TSD_MEM_COUNTER_IDS] = {"counter_ids", "counter_ids_bytes", TSD_MEM_PROCESS},
    [TSD_MEM_QUERIES] = {"queries", "query_total_bytes", TSD_MEM_PROCESS},
    [TSD_MEM_BODIES] = {"bodies", "http_body_total_bytes", TSD_MEM_PROCESS},
    [TSD_MEM_JSON] = {"json", "http_body_total_bytes", TSD_MEM_BODIES},
    [TSD_MEM_CLIENTS] = {"clients", "memory_limit", TSD_MEM_ACCOUNTS},
    [TSD_MEM_REPLIES] = {"replies", "reply_total_bytes", TSD_MEM_CLIENTS},
    [TSD_MEM_STREAMS] = {"streams", "stream_total_bytes", TSD_MEM_CLIENTS},
    [TSD_MEM_CONNECTIONS] = {"connections", "connection_total_bytes", TSD_MEM_CLIENTS},
};

/*
 * How an account is divided among client addresses (base/budget.h, "shares"). One address gets at most weight / (weight + 1) of what the
 * others and the spare part leave: half of the memory that waits for slow readers, three quarters of what work needs.
 */
struct memory_division {
    enum tsd_account account;
    const char *name;     /* of a share, for refusals */
    unsigned weight;      /* see above */
    unsigned spare;       /* 1 / spare of the account is for addresses that hold little: */
    unsigned small;       /* 1 / small of it each, */
    uint64_t small_bytes; /* and at least this: one use of the usual size */
};
/* By enum tsd_shared. */
static const struct memory_division memory_divisions[TSD_SHARED] = {
    [TSD_SHARED_QUERIES] = {TSD_MEM_QUERIES, "queries of one client address", 3, 8, 64, MIB / 2},
    [TSD_SHARED_BODIES] = {TSD_MEM_BODIES, "bodies of one client address", 3, 4, 32, MIB / 8},
    [TSD_SHARED_REPLIES] = {TSD_MEM_REPLIES, "replies to one client address", 1, 4, 64, MIB / 16},
    [TSD_SHARED_STREAMS] = {TSD_MEM_STREAMS, "long replies to one client address", 1, 4, 64, MIB / 6},
    [TSD_SHARED_CONNECTIONS] = {TSD_MEM_CONNECTIONS, "connections of one client address", 1, 4, 64, MIB / 32},
};

/* --- what the machine has --- */

/* A number in a file; UINT64_MAX when there is none ("max", no file). */
static uint64_t memory_number(const char *path)
{
    unsigned long long v = 0;
    FILE *f = fopen(path, "re");
    if (!f)
        return UINT64_MAX;
    int n = fscanf(f, "%llu", &v);
    (void)fclose(f);
    return n == 1 ? v : UINT64_MAX;
}

static uint64_t memory_of_machine(const char *root)
{
    char path[512], line[MEMORY_LINE_BYTES];
    unsigned long long kib = 0;
    (void)snprintf(path, sizeof(path), "%s/proc/meminfo", root);
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof(line), f))
        if (sscanf(line, "MemTotal: %llu kB", &kib) == 1)
            break;
    if (f)
        (void)fclose(f);
    if (kib)
        return kib * 1024;
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 4096 * MIB;
}

/* The least limit of a cgroup and of those above it; group is shortened on the way. */
static uint64_t memory_of_group(const char *root, const char *mount, char *group, const char *file)
{
    char path[2 * MEMORY_LINE_BYTES];
    uint64_t least = UINT64_MAX;
    for (;;) {
        size_t n = strlen(group);
        while (n && group[n - 1] == '/')
            group[--n] = 0;
        (void)snprintf(path, sizeof(path), "%s/sys/fs/cgroup%s%s/%s", root, mount, group, file);
        uint64_t v = memory_number(path);
        least = v < least ? v : least;
        char *slash = strrchr(group, '/');
        if (!slash)
            return least;
        *slash = 0;
    }
}

/* One line of /proc/self/cgroup: "0::/a/b" (version 2) or "7:memory:/a/b". */
static uint64_t memory_of_line(const char *root, char *line)
{
    line[strcspn(line, "\n")] = 0;
    char *controllers = strchr(line, ':');
    char *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group)
        return UINT64_MAX;
    *group++ = 0;
    if (!strcmp(controllers, ":"))
        return memory_of_group(root, "", group, "memory.max");
    if (!strcmp(controllers, ":memory"))
        return memory_of_group(root, "/memory", group, "memory.limit_in_bytes");
    return UINT64_MAX;
}

uint64_t tsd_memory_machine_bytes(const char *root)
{
    char path[512], line[MEMORY_LINE_BYTES];
    uint64_t least = memory_of_machine(root);
    (void)snprintf(path, sizeof(path), "%s/proc/self/cgroup", root);
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof(line), f)) {
        uint64_t v = memory_of_line(root, line);
        least = v < least ? v : least;
    }
    if (f)
        (void)fclose(f);
    return least;
}

/* --- limits --- */

static uint64_t memory_usable(const struct tsd_settings *set)
{
    return set->memory_limit_bytes / 100 * MEMORY_USABLE;
}

static void memory_default(uint64_t *value, uint64_t automatic, uint64_t most)
{
    if (!*value)
        *value = automatic < most ? automatic : most;
}

void tsd_memory_defaults(struct tsd_settings *out)
{
    if (!out->memory_limit_bytes) {
        uint64_t machine = tsd_memory_machine_bytes("") / 100 * MEMORY_PERCENT;
        out->memory_limit_bytes = machine > TSD_MEMORY_MIN_BYTES ? machine : TSD_MEMORY_MIN_BYTES;
    }
    uint64_t usable = memory_usable(out);
    memory_default(&out->query_total_bytes, usable / 100 * MEMORY_QUERIES, UINT64_MAX);
    memory_default(&out->query_max_bytes, out->query_total_bytes / 2, MEMORY_QUERY_MOST);
    memory_default(&out->http_body_total_bytes, usable / 100 * 15, UINT64_MAX);
    memory_default(&out->reply_total_bytes, usable / 100 * 6, UINT64_MAX);
    memory_default(&out->stream_total_bytes, usable / 100 * 6, UINT64_MAX);
    memory_default(&out->connection_total_bytes, usable / 100 * 4, UINT64_MAX);
    uint64_t cache = out->series_cache_bytes;
    memory_default(&cache, usable / 11, MEMORY_CACHE_MOST);
    out->series_cache_bytes = (size_t)cache;
}

int tsd_memory_load(const struct ts_conf *conf, struct tsd_settings *out, struct ts_error *err)
{
    out->memory_limit_bytes = (uint64_t)ts_conf_int(conf, "memory_limit");
    out->query_total_bytes = (uint64_t)ts_conf_int(conf, "query_total_bytes");
    out->http_body_total_bytes = (uint64_t)ts_conf_int(conf, "http_body_total_bytes");
    out->reply_total_bytes = (uint64_t)ts_conf_int(conf, "reply_total_bytes");
    out->stream_total_bytes = (uint64_t)ts_conf_int(conf, "stream_total_bytes");
    out->connection_total_bytes = (uint64_t)ts_conf_int(conf, "connection_total_bytes");
    if (out->memory_limit_bytes && out->memory_limit_bytes < TSD_MEMORY_MIN_BYTES)
        return ts_error_set(err, TS_EINVAL, "memory_limit: a daemon needs at least %d MiB; 0 = automatic",
                            (int)(TSD_MEMORY_MIN_BYTES >> 20));
    tsd_memory_defaults(out);
    return 0;
}

/* What is reserved for clients: all of what its parts may have, but never more than half. */
static uint64_t memory_clients(const struct tsd_settings *set)
{
    uint64_t most = memory_usable(set) / 2;
    uint64_t sum = set->reply_total_bytes + set->stream_total_bytes + set->connection_total_bytes;
    return sum < most ? sum : most;
}

uint64_t tsd_memory_name_bytes(const struct tsd_settings *set)
{
    return memory_usable(set) / 100 * MEMORY_NAMES;
}

uint64_t tsd_memory_cell_bytes(const struct tsd_settings *set)
{
    return memory_usable(set) / 100 * MEMORY_CELLS;
}

size_t tsd_memory_memstore_bytes(const struct tsd_settings *set)
{
    uint64_t share = set->memory_limit_bytes / 16; /* twice as much is used at times */
    return (size_t)(share < MEMORY_STORE_MOST ? share : MEMORY_STORE_MOST);
}

size_t tsd_memory_index_cache_bytes(const struct tsd_settings *set)
{
    uint64_t share = set->memory_limit_bytes / 16;
    return (size_t)(share < MEMORY_CACHE_MOST ? share : MEMORY_CACHE_MOST);
}

uint64_t tsd_memory_merge_bytes(const struct tsd_settings *set)
{
    uint64_t share = set->memory_limit_bytes / 32;
    return share < MEMORY_STORE_MOST ? share : MEMORY_STORE_MOST;
}

uint64_t tsd_memory_counter_ids_bytes(const struct tsd_settings *set)
{
    uint64_t share = set->memory_limit_bytes / 256;
    return share < MEMORY_STORE_MOST ? share : MEMORY_STORE_MOST;
}

static void memory_reserve(struct ts_budget *account, uint64_t part)
{
    uint64_t most = account->parent->limit_bytes / MEMORY_RESERVED, n_bytes = account->limit_bytes / part;
    ts_budget_reserve(account, n_bytes < most ? n_bytes : most);
}

void tsd_memory_init(struct tsd_memory *m, const struct tsd_settings *set)
{
    const uint64_t limits[TSD_MEM_ACCOUNTS] = {
        [TSD_MEM_PROCESS] = memory_usable(set) - memory_clients(set),
        [TSD_MEM_NAMES] = tsd_memory_name_bytes(set) + tsd_memory_cell_bytes(set),
        [TSD_MEM_QUERIES] = set->query_total_bytes,
        [TSD_MEM_BODIES] = set->http_body_total_bytes,
        [TSD_MEM_JSON] = set->http_body_total_bytes / 4 * 3,
        [TSD_MEM_CLIENTS] = memory_clients(set),
        [TSD_MEM_REPLIES] = set->reply_total_bytes,
        [TSD_MEM_STREAMS] = set->stream_total_bytes,
        [TSD_MEM_CONNECTIONS] = set->connection_total_bytes,
    };
    memset(m, 0, sizeof(*m));
    for (int i = 0; i < TSD_MEM_ACCOUNTS; i++) {
        const struct memory_row *row = &memory_rows[i];
        ts_budget_init(&m->accounts[i], row->name, row->key,
                       row->parent == TSD_MEM_ACCOUNTS ? NULL : &m->accounts[row->parent], limits[i]);
    }
    /* half of the bodies and an eighth of the queries are there even while everything else has grown to the limit */
    memory_reserve(&m->accounts[TSD_MEM_BODIES], 2);
    memory_reserve(&m->accounts[TSD_MEM_QUERIES], 8);
    for (int i = 0; i < TSD_SHARED; i++) {
        const struct memory_division *div = &memory_divisions[i];
        uint64_t limit = limits[div->account], small = limit / div->small;
        ts_budget_divide(&m->accounts[div->account], div->weight, limit / div->spare,
                         small > div->small_bytes ? small : div->small_bytes);
    }
}

void tsd_memory_shares_init(struct tsd_memory *m, struct tsd_memory_shares *shares)
{
    for (int i = 0; i < TSD_SHARED; i++)
        ts_budget_init_share(&shares->accounts[i], memory_divisions[i].name,
                             &m->accounts[memory_divisions[i].account]);
}

struct ts_budget *tsd_memory_share(struct tsd_memory *m, struct tsd_memory_shares *shares,
                                   enum tsd_shared account)
{
    return shares ? &shares->accounts[account] : &m->accounts[memory_divisions[account].account];
}

/* What holds most of the process. */
static const struct ts_budget *memory_largest(const struct tsd_memory *m)
{
    const struct ts_budget *most = &m->accounts[TSD_MEM_MEMSTORES];
    for (int i = TSD_MEM_MEMSTORES; i <= TSD_MEM_BODIES; i++)
        if (atomic_load(&m->accounts[i].used_bytes) > atomic_load(&most->used_bytes))
            most = &m->accounts[i];
    return most;
}

int tsd_memory_no_body(struct tsd_memory *m, const struct ts_budget *account, uint64_t n_bytes,
                       struct ts_error *err)
{
    const struct ts_budget *bodies = &m->accounts[TSD_MEM_BODIES], *process = &m->accounts[TSD_MEM_PROCESS];
    uint64_t most = ts_budget_most(account);
    if (n_bytes > most)
        return ts_error_set(err, TS_ELIMIT,
                            "The body of the request needs at least %llu bytes of memory, and "
                            "http_body_total_bytes leaves one client %llu: send it in parts",
                            (unsigned long long)n_bytes, (unsigned long long)most);
    uint64_t room = ts_budget_room(account), used = atomic_load(&bodies->used_bytes);
    uint64_t reserve = used < bodies->reserved_bytes ? bodies->reserved_bytes - used : 0;
    if (room >= ts_budget_room(process) + reserve) {
        const struct ts_budget *largest = memory_largest(m);
        return ts_error_set(err, TS_ENOMEM,
                            "Not enough memory for the body of the request: memory_limit is used up, most of "
                            "it by the account \"%s\" (%s): try again later",
                            largest->name, largest->key);
    }
    return ts_error_set(
        err, TS_ENOMEM,
        "Too many bytes of request bodies%s are under way (http_body_total_bytes): try again later",
        room < ts_budget_room(bodies) ? " of one client address" : "");
}

/* --- the allocator --- */

/* A 256th of memory_limit, at most `most`: what a heap may waste. */
static int memory_part(uint64_t limit_bytes, int most)
{
    uint64_t part = limit_bytes / 256;
    return part < (uint64_t)most ? (int)part : most;
}

void tsd_memory_setup_allocator(struct tsd_memory *m, const struct tsd_settings *set)
{
    ts_json_count_in(&m->accounts[TSD_MEM_JSON]);
    /* every arena keeps free memory of its own; fixed thresholds switch off glibc's, which grow to 32 MiB */
    uint64_t limit = set->memory_limit_bytes;
    int n_arenas = set->n_workers > 2 ? (int)set->n_workers + 2 : 4;
    (void)mallopt(M_ARENA_MAX, limit < MEMORY_SMALL ? 1 : n_arenas);
    (void)mallopt(M_MMAP_THRESHOLD, memory_part(limit, MEMORY_MMAP_MOST));
    (void)mallopt(M_TRIM_THRESHOLD, memory_part(limit, MEMORY_TOP_MOST));
}

void tsd_memory_reset_allocator(void)
{
    ts_json_count_in(NULL);
}

void tsd_memory_ended(struct tsd_memory *m, uint64_t peak_bytes)
{
    if (peak_bytes >= MEMORY_TRIM_BYTES)
        atomic_store_explicit(&m->trim_wanted, true, memory_order_relaxed);
}

bool tsd_memory_trim_due(struct tsd_memory *m)
{
    int64_t now_ns = ts_clock_mono_ns();
    if (now_ns - m->trimmed_ns < MEMORY_TRIM_NS ||
        !atomic_exchange_explicit(&m->trim_wanted, false, memory_order_relaxed))
        return false;
    m->trimmed_ns = now_ns;
    return true;
}

void tsd_memory_trim(void *unused)
{
    (void)unused;
    (void)malloc_trim(0);
}

/* --- measuring --- */

struct memory_look {
    uint64_t live, snapshots, names,
        files; /* bytes: memstores, those only readers hold, catalog and cells, files */
    uint64_t pages, merges, decoders; /* bytes: pages of indexes, inputs of merges, decoders at rest */
    uint64_t ids;                     /* bytes: ids of clients */
};

static void memory_stat(void *arg, const char *name, uint64_t value)
{
    struct memory_look *l = arg;
    if (!strcmp(name, "memstore.bytes"))
        l->live = value;
    else if (!strcmp(name, "memstore.snapshot_bytes"))
        l->snapshots = value;
    else if (!strcmp(name, "catalog.names_bytes") || !strcmp(name, "catalog.series_bytes") ||
             !strcmp(name, "catalog.index_bytes") || !strcmp(name, "cells.bytes"))
        l->names += value;
    else if (!strcmp(name, "files.index_bytes"))
        l->files = value;
    else if (!strcmp(name, "index_cache.bytes"))
        l->pages = value;
    else if (!strcmp(name, "merges.bytes"))
        l->merges = value;
    else if (!strcmp(name, "decoders.bytes"))
        l->decoders = value;
    else if (!strcmp(name, "counters.ids_bytes"))
        l->ids = value;
}

void tsd_memory_look(struct tsd_memory *m, struct sto_store *store, uint64_t cache_bytes)
{
    struct memory_look l = {0};
    sto_stats(store, memory_stat, &l);
    ts_budget_report(&m->accounts[TSD_MEM_MEMSTORES], l.live);
    ts_budget_report(&m->accounts[TSD_MEM_SNAPSHOTS], l.snapshots);
    ts_budget_report(&m->accounts[TSD_MEM_NAMES], l.names);
    ts_budget_report(&m->accounts[TSD_MEM_SERIES_CACHE], cache_bytes);
    ts_budget_report(&m->accounts[TSD_MEM_FILES], l.files);
    ts_budget_report(&m->accounts[TSD_MEM_INDEX_CACHE], l.pages);
    ts_budget_report(&m->accounts[TSD_MEM_MERGES], l.merges);
    ts_budget_report(&m->accounts[TSD_MEM_DECODERS], l.decoders);
    ts_budget_report(&m->accounts[TSD_MEM_COUNTER_IDS], l.ids);
}

void tsd_memory_each(const struct tsd_memory *m, void (*each)(void *arg, const struct ts_budget *account),
                     void *arg)
{
    for (int i = 0; i < TSD_MEM_ACCOUNTS; i++)
        each(arg, &m->accounts[i]);
}
