/*
 * fuzz_conf.c - a configuration file of any bytes, of ours or an opentsdb.conf.
 *
 * Checked    no crash; an error has a code and a text; what was taken is printed, and the print is taken again
 *            with the same values
 */
#include "base/conf.h"
#include "storage/store.h"
#include "tests/fuzz/fuzz_kit.h"
#include "tsd/daemon/hbase.h"
#include "tsd/daemon/settings.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static const struct ts_conf_key *const tables[] = {tsd_conf_keys, sto_conf_keys, tsd_hbase_conf_keys};

/* Bytes as a file that has a path. */
static int load(struct ts_conf *c, struct ts_slice text, struct ts_error *err)
{
    char path[64];
    int fd = memfd_create("conf", MFD_CLOEXEC);
    CHECK(fd >= 0 && (text.n == 0 || write(fd, text.p, text.n) == (ssize_t)text.n));
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    int rc = ts_conf_load_file(c, path, err);
    close(fd);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct ts_conf *c = ts_conf_new(tables, 3);
    struct ts_error err = {0};
    ts_log_set_level(TS_LOG_ERROR + 1);
    int rc = load(c, (struct ts_slice){(const char *)data, n}, &err);
    check_answer(rc, &err);
    if (rc == 0) {
        struct ts_buf a, b;
        struct ts_conf *again = ts_conf_new(tables, 3);
        ts_buf_init(&a, 0);
        ts_buf_init(&b, 0);
        ts_conf_print(c, &a);
        CHECK(load(again, ts_buf_get(&a), &err) == 0);
        ts_conf_print(again, &b);
        CHECK(ts_slice_eq(ts_buf_get(&a), ts_buf_get(&b)));
        ts_buf_release(&a);
        ts_buf_release(&b);
        ts_conf_free(again);
    }
    ts_conf_free(c);
    return 0;
}
