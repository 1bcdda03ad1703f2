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

#endif
