/*
 * fuzz_tzif.c - any bytes as a time zone file.
 *
 * Checked    no crash, no leak; an error has a code and a text; a table that is read is in order, and its
 *            last entry lies beyond TZ_END_MS if it is to be repeated
 */
#include "base/tz_int.h"
#include "tests/fuzz/fuzz_kit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct tz_table t;
    struct ts_error err = {0};
    int rc = ts_tzif_read((struct ts_slice){(const char *)data, n}, &t, &err);
    check_answer(rc, &err);
    if (rc == 0) {
        CHECK(t.n_steps >= 1 && t.n_steps <= TZ_MAX_STEPS && t.steps[0].from_ms == INT64_MIN);
        for (size_t i = 0; i < t.n_steps; i++) {
            CHECK(t.steps[i].offset_ms >= -TZ_MAX_OFFSET_S * 1000ll &&
                  t.steps[i].offset_ms <= TZ_MAX_OFFSET_S * 1000ll);
            CHECK(i == 0 || t.steps[i - 1].from_ms < t.steps[i].from_ms);
            CHECK(i == 0 || t.steps[i - 1].offset_ms != t.steps[i].offset_ms);
        }
        CHECK(!t.repeats || t.steps[t.n_steps - 1].from_ms >= TZ_END_MS);
    }
    ts_tzif_release(&t);
    return 0;
}
