/*
 * parse_kit.h - what tests of parsers share: an arena for each case, and the last error.
 */
#ifndef TESTS_UNIT_QUERY_PARSE_KIT_H
#define TESTS_UNIT_QUERY_PARSE_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"

static struct ts_arena arena;
static struct ts_error err;

static inline int setup(void **state)
{
    (void)state;
    ts_arena_init(&arena, 0);
    return 0;
}

static inline int teardown(void **state)
{
    (void)state;
    ts_arena_release(&arena);
    return 0;
}

#endif
