/*
 * fuzz_log.h - a record log whose records an input gives.
 *
 * Threads    one
 */
#ifndef TESTS_FUZZ_FUZZ_LOG_H
#define TESTS_FUZZ_FUZZ_LOG_H

#include "base/bytes.h"
#include "storage/reclog.h"
#include "tests/faults/faultfs.h"
#include "tests/fuzz/fuzz_kit.h"

/* Bodies with their lengths -> a record log. */
static inline void put_records(struct t_faultfs *f, const char *path, const char *kind, const uint8_t *p,
                               size_t n)
{
    const uint8_t *end = p + n;
    struct sto_reclog *log;
    CHECK(sto_reclog_open(t_faultfs_fs(f), path, kind, false, NULL, NULL, &log, NULL) == 0);
    while (end - p >= 2) {
        size_t n_body = ts_ld16(p);
        p += 2;
        n_body = n_body < (size_t)(end - p) ? n_body : (size_t)(end - p);
        if (n_body)
            CHECK(sto_reclog_add(log, (struct ts_slice){(const char *)p, n_body}, NULL) == 0);
        p += n_body;
    }
    CHECK(sto_reclog_close(log, NULL) == 0);
}

/* The input of a fuzzer of one log: first byte even: the rest is the file d/NAME; odd: the rest is bodies of records, each
 * after its length (u16), framed here. It is handed to try, which closes what it opens. */
static inline void fuzz_one_log(const uint8_t *data, size_t n, const char *path, const char *kind,
                                void (*try)(struct t_faultfs *f))
{
    ts_log_set_level(TS_LOG_ERROR + 1);
    if (n == 0)
        return;
    struct t_faultfs *f = t_faultfs_new(1);
    t_faultfs_put(f, "d/x", "", 0); /* makes the folder */
    if (data[0] & 1)
        put_records(f, path, kind, data + 1, n - 1);
    else
        t_faultfs_put(f, path, data + 1, n - 1);
    try(f);
    CHECK(t_faultfs_n_open(f) == 0);
    t_faultfs_free(f);
}

#endif
