/*
 * base_kit.h - what tests of base share: repeatable random numbers, zones by name.
 *
 * A file says its own SEED before it includes this.
 */
#ifndef TESTS_UNIT_BASE_KIT_H
#define TESTS_UNIT_BASE_KIT_H

#include <string.h>

#include "base/time.h"
#include "tests/unit/t_random.h"

static uint64_t rng_state = SEED;

static inline uint64_t t_rand(void)
{
    return t_random(&rng_state);
}

static inline const struct ts_tz *t_tz(const char *name)
{
    const struct ts_tz *tz;
    struct ts_error err = {0};
    if (ts_tz_open(ts_slice_str(name), &tz, &err) != 0)
        fail_msg("%s", err.text);
    return tz;
}

#endif
