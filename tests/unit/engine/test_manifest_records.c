/*
 * test_manifest_records.c - records of the manifest whose checksums are right and whose contents may not be: what is read, and what is refused.
 *
 * Everything runs on the file system in memory (tests/faults/faultfs.h).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "storage/engine/manifest.h"
#include "storage/reclog.h"
#include "tests/faults/faultfs.h"

#define DIR_NAME "d"
#define PATH     DIR_NAME "/" STO_MANIFEST_NAME

/* Bodies of records whose checksums are right. */
static void test_manifest_records__unknown_versions_and_nonsense_are_refused(void **state)
{
    (void)state;
    static const struct {
        int want;
        size_t n;
        uint8_t b[32];
    } cases[] = {
        {0, 7, {1, 1, 16, 0, 0, 1, 0}},
        {0, 10, {1, 2, 16, 0, 0, 1, 0, 0, 0, 0}},
        {TS_EVERSION, 10, {1, 3, 16, 0, 0, 1, 0, 0, 0, 0}},       /* version 3 */
        {TS_EVERSION, 10, {1, 2, 16, 0, 0, 1, 0, 0, 0, 7}},       /* more extensions than there are types */
        {0, 14, {1, 2, 16, 3, 0, 1, 0, 0, 0, 1, 2, 1, 4, 0}},     /* hours that were sent */
        {TS_EVERSION, 11, {1, 2, 16, 0, 0, 1, 0, 0, 0, 1, 7}},    /* an unknown one */
        {0, 15, {1, 2, 16, 0, 0, 1, 0, 0, 0, 1, 5, 3, 3, 9, 0}},  /* ids */
        {TS_ECORRUPT, 12, {1, 2, 16, 0, 0, 1, 0, 0, 0, 1, 5, 0}}, /* none */
        {TS_ECORRUPT, 13, {1, 2, 16, 0, 0, 1, 0, 0, 0, 1, 5, 2, 3}},       /* cut */
        {0, 12, {1, 2, 16, 0, 0, 1, 0, 0, 0, 1, 6, 0}},                    /* nothing is complete */
        {0, 14, {1, 2, 16, 0, 0, 1, 0, 0, 0, 1, 6, 1, 8, 7}},              /* from 4 ms on */
        {TS_ECORRUPT, 13, {1, 2, 16, 0, 0, 1, 0, 0, 0, 1, 6, 1, 8}},       /* cut */
        {TS_ECORRUPT, 14, {1, 2, 16, 0, 0, 1, 0, 0, 0, 1, 6, 2, 8, 7}},    /* neither 0 nor 1 */
        {TS_ECORRUPT, 10, {1, 2, 16, 0, 0, 1, 0, 0, 0, 1}},                /* cut */
        {0, 15, {1, 2, 16, 3, 0, 1, 0, 0, 0, 1, 1, 1, 4, 0, 3}},           /* a ship mark */
        {TS_ECORRUPT, 15, {1, 2, 16, 3, 0, 1, 0, 0, 0, 1, 1, 1, 4, 0, 4}}, /* above what is flushed */
        {TS_EVERSION, 23, {1, 2, 16, 0, 0, 2, 0, 0, 1, 1, 1, 1,
                           0, 0, 0,  0, 1, 1, 0, 9, 0, 1, 0}}, /* a family */
        {TS_ECORRUPT, 9, {1, 2, 16, 0, 0, 1, 0, 0, 0}},        /* cut */
        {TS_EVERSION, 3, {9, 1, 16}},                          /* unknown record */
        {TS_ECORRUPT, 7, {2, 1, 0, 0, 0, 0, 0}},               /* an edit first */
        {TS_ECORRUPT, 7, {1, 1, 0, 0, 0, 1, 0}},               /* no shards */
        {TS_ECORRUPT, 8, {1, 1, 16, 0, 0, 1, 0, 0}},           /* a byte too many */
        {TS_ECORRUPT, 6, {1, 1, 16, 0, 0, 1}},                 /* cut */
        {TS_ECORRUPT, 7, {1, 1, 16, 0, 0, 1, 1}},              /* a file that is not there */
        {TS_ECORRUPT, 12, {1, 1, 16, 0, 0, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f}}, /* very many files */
        {TS_ECORRUPT, 11, {1, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 1, 0}},        /* too many shards */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct t_faultfs *f = t_faultfs_new(1);
        const struct ts_fs *fs = t_faultfs_fs(f);
        struct sto_reclog *log;
        struct sto_manifest *m;
        struct ts_error err = {0};
        assert_int_equal(fs->mkdir(fs, DIR_NAME, NULL), 0);
        assert_int_equal(sto_reclog_open(fs, PATH, "MANI", false, NULL, NULL, &log, NULL), 0);
        assert_int_equal(sto_reclog_add(log, (struct ts_slice){(const char *)cases[i].b, cases[i].n}, NULL),
                         0);
        assert_int_equal(sto_reclog_close(log, NULL), 0);
        assert_int_equal(sto_manifest_open(fs, DIR_NAME, true, false, 16, &m, &err), cases[i].want);
        assert_true(cases[i].want == 0 || (m == NULL && strstr(err.text, PATH)));
        sto_manifest_close(m);
        t_faultfs_free(f);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_manifest_records__unknown_versions_and_nonsense_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
