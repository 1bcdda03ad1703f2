/*
 * log_kit.h - a folder under /tmp with one record log in it, made and removed around each case.
 *
 * A file says LOG_NAME before it includes this and registers t_setup and t_teardown.
 */
#ifndef TESTS_UNIT_LOG_KIT_H
#define TESTS_UNIT_LOG_KIT_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char dir[64];
static char path[96];

static inline int t_setup(void **state)
{
    (void)state;
    (void)snprintf(dir, sizeof(dir), "/tmp/tsd-log-XXXXXX");
    assert_non_null(mkdtemp(dir));
    (void)snprintf(path, sizeof(path), "%s/" LOG_NAME, dir);
    return 0;
}

/* The copy beside the log goes: what a test does to the log is meant to be seen. */
static inline void t_drop_copy(void)
{
    char copy[128];
    (void)snprintf(copy, sizeof(copy), "%s.copy", path);
    (void)unlink(copy);
}

static inline int t_teardown(void **state)
{
    (void)state;
    char tmp[128];
    (void)snprintf(tmp, sizeof(tmp), "%s.tmp", path);
    (void)unlink(tmp);
    (void)unlink(path);
    t_drop_copy();
    return rmdir(dir);
}

#endif
