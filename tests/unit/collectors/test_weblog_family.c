/*
 * test_weblog_family.c - names of rotated files, and of logs that only look like them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "collectors/weblog/weblog_family.h"

static void test_weblog_family__names_of_a_log(void **state)
{
    static const struct {
        const char *log, *name;
        enum col_web_family want;
    } rows[] = {
        {"a.log", "a.log", COL_WEB_STRICT},
        {"a.log", "a.log.1", COL_WEB_STRICT},
        {"a.log", "a.log.12.gz", COL_WEB_STRICT},
        {"a.log", "a.log.3.bz2", COL_WEB_STRICT},
        {"a.log", "a.log-20261121", COL_WEB_STRICT},
        {"a.log", "a.log-20261121_07.xz", COL_WEB_STRICT},
        {"a.log", "a.log-1795312222.zst", COL_WEB_STRICT},
        {"a.log", "a.1.log", COL_WEB_STRICT},
        {"a.log", "a.1.log.gz", COL_WEB_STRICT},
        {"a.log", "a-2026-11-21.log", COL_WEB_STRICT},
        {"a.log", "a.log.1.old", COL_WEB_STRICT},
        {"a.log", "a.log-2026-W47", COL_WEB_STRICT},
        {"access_log", "access_log.1", COL_WEB_STRICT},
        {"access_log", "access_log-20261121.gz", COL_WEB_STRICT},
        {"a.log", "a.log-24", COL_WEB_STRICT},
        {"a.log", "a-24.log", COL_WEB_LOOSE},
        {"access_log", "access_log-443", COL_WEB_LOOSE},
        {"a.log", "a.log.tmp", COL_WEB_LOOSE},
        {"a.log", "a.log.gz", COL_WEB_LOOSE},
        {"a.log", "a.log.bz2", COL_WEB_LOOSE},
        {"a.log", "a.log.old", COL_WEB_LOOSE},
        {"a.log", "a-ssl.log", COL_WEB_LOOSE},
        {"a.log", "a-ssl2.log", COL_WEB_LOOSE},
        {"a.log", "ab.log", COL_WEB_STRANGER},
        {"a.log", "a1.log", COL_WEB_STRANGER},
        {"a.log", "a.logs", COL_WEB_STRANGER},
        {"a.log", "b.log.1", COL_WEB_STRANGER},
        {"a.log", "a-1.log.1", COL_WEB_STRANGER},
        {"a.log", "a", COL_WEB_STRANGER},
        {"access_log", "access-1_log", COL_WEB_STRANGER},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        enum col_web_family have = col_web_family(rows[i].log, rows[i].name);
        if (have != rows[i].want)
            fail_msg("%s of %s: %d", rows[i].name, rows[i].log, (int)have);
        if (have != COL_WEB_STRANGER)
            assert_int_equal(strncmp(rows[i].log, rows[i].name, col_web_family_prefix(rows[i].log)), 0);
    }
}

/* Paths that are there: a list, blanks between. */
static bool there(void *arg, const char *path)
{
    const char *at = strstr(arg, path);
    size_t n = strlen(path);
    return at && (at[n] == ' ' || !at[n]);
}

static void test_weblog_family__the_neighbour_decides(void **state)
{
    static const struct {
        const char *path, *there, *neighbour;
        enum col_web_looks want;
    } rows[] = {
        {"/l/site-1.log", "/l/site.log", "", COL_WEB_LOOKS_OWN},
        {"/l/shop-24.log", "", "", COL_WEB_LOOKS_OWN},
        {"/l/x-443.log", "", "", COL_WEB_LOOKS_OWN},
        {"/l/web2.log", "", "", COL_WEB_LOOKS_OWN},
        {"/l/a.log", "", "", COL_WEB_LOOKS_OWN},
        {"/l/a.log.1", "/l/a.log", "/l/a.log", COL_WEB_LOOKS_ROTATED},
        {"/l/a.1.log", "/l/a.log", "/l/a.log", COL_WEB_LOOKS_ROTATED},
        {"/l/a.1.log", "", "", COL_WEB_LOOKS_OWN},
        {"/l/a-20261121.log", "/l/a.log", "/l/a.log", COL_WEB_LOOKS_ROTATED},
        {"/l/a-20261121.log", "", "", COL_WEB_LOOKS_ORPHAN},
        {"/l/a.log-20261121", "/l/a.log", "/l/a.log", COL_WEB_LOOKS_ROTATED},
        {"/l/a.log-20261121", "/l/b.log", "", COL_WEB_LOOKS_ORPHAN},
        {"/l/a.log.1", "", "", COL_WEB_LOOKS_ORPHAN},
        {"/l/site-1.log.1", "/l/site-1.log /l/site.log", "/l/site-1.log", COL_WEB_LOOKS_ROTATED},
        {"/l/a-1-20261121.log", "/l/a.log /l/a-1.log", "/l/a-1.log", COL_WEB_LOOKS_ROTATED},
        {"/l/a.log.1.gz", "", "", COL_WEB_LOOKS_ROTATED},
        {"/l/a.log~", "", "", COL_WEB_LOOKS_ROTATED},
        {"/l.1/access_log", "", "", COL_WEB_LOOKS_OWN},
        {"/l/access_log-443", "/l/access_log", "", COL_WEB_LOOKS_OWN},
        {"/l/access_log-20261121", "/l/access_log", "/l/access_log", COL_WEB_LOOKS_ROTATED},
        {"/l/access_log-443", "", "", COL_WEB_LOOKS_OWN},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char neighbour[100] = "";
        enum col_web_looks have = col_web_looks(rows[i].path, there, (void *)(uintptr_t)rows[i].there,
                                                neighbour, sizeof(neighbour));
        if (have != rows[i].want || (rows[i].want != COL_WEB_LOOKS_ROTATED || *rows[i].neighbour
                                         ? strcmp(neighbour, rows[i].neighbour) != 0
                                         : false))
            fail_msg("%s beside %s: %d %s", rows[i].path, rows[i].there, (int)have, neighbour);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_weblog_family__names_of_a_log),
        cmocka_unit_test(test_weblog_family__the_neighbour_decides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
