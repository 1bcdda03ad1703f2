/*
 * fuzz_store.h - one store for the whole run of a fuzzer, in a folder under /tmp that goes at the end.
 *
 * Threads    one
 */
#ifndef TESTS_FUZZ_FUZZ_STORE_H
#define TESTS_FUZZ_FUZZ_STORE_H

#include <stdio.h>

#include "storage/store.h"
#include "tests/fuzz/fuzz_kit.h"

static struct sto_store *store;
static char dir[64];

static inline void close_store(void)
{
    char cmd[128];
    (void)sto_close(store, NULL);
    snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
    if (system(cmd) != 0)
        abort();
}

/* Open it; opts says all but the folder. */
static inline void open_store(struct sto_opts opts)
{
    struct ts_error err = {0};
    snprintf(dir, sizeof(dir), "/tmp/tsd-fuzz-XXXXXX");
    CHECK(mkdtemp(dir));
    opts.dir = dir;
    opts.create = true;
    if (sto_open(&opts, &store, &err) < 0)
        TS_BUG("%s", err.text);
    atexit(close_store);
}

#endif
