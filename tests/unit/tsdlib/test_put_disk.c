/*
 * test_put_disk.c - answers to puts on a disk that fails: nothing is confirmed before it is on disk, and no error of the disk is
 * taken for success.
 */
#include "t_daemon.h"

#include "tests/faults/faultfs.h"

#include <errno.h>
#include <semaphore.h>

static struct t_daemon t;
static struct t_faultfs *disk;
static char answer[1 << 16];
static sem_t in_sync, go_on;

static int open_with(const char *wal_sync, const char *compat)
{
    const char *const keys[] = {"wal_sync", wal_sync, "compat", compat, "auto_create_metrics", "true", NULL};
    disk = t_faultfs_new(1);
    sem_init(&in_sync, 0, 0);
    sem_init(&go_on, 0, 0);
    t_daemon_open_on(&t, keys, t_faultfs_fs(disk));
    return 0;
}

static int set_up(void **state)
{
    (void)state;
    return open_with("always", "none");
}

/* The log is synced when somebody waits for it, and only then. */
static int set_up_quiet(void **state)
{
    (void)state;
    return open_with("none", "none");
}

static int set_up_compat(void **state)
{
    (void)state;
    return open_with("always", "opentsdb");
}

static int tear_down(void **state)
{
    (void)state;
    for (int i = 0; i < 1000; i++) /* a sync that still waits, and those of the end */
        sem_post(&go_on);
    t_faultfs_set_hook(disk, NULL, NULL);
    t_daemon_close(&t);
    t_faultfs_free(disk);
    sem_destroy(&in_sync);
    sem_destroy(&go_on);
    return 0;
}

static const char *talk(const char *text)
{
    (void)t_talk(&t, text, strlen(text), answer, sizeof(answer));
    return answer;
}

static const char *post(const char *query, unsigned second)
{
    char body[128], request[512];
    int n =
        snprintf(body, sizeof(body), "{\"metric\":\"m\",\"timestamp\":%u,\"value\":1,\"tags\":{\"a\":\"b\"}}",
                 1500000000 + second);
    (void)snprintf(request, sizeof(request),
                   "POST /api/put%s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", query, n,
                   body);
    return talk(request);
}

static void fail_syncs(void)
{
    t_faultfs_plan(disk,
                   (struct t_fault_plan){.ops = T_OP_SYNC, .at = 1, .for_good = true, .fault = T_FAULT_EIO});
}

static void test_put_disk__sync_says_that_the_disk_failed(void **state)
{
    (void)state;
    assert_string_equal(talk("put m 1500000000 1 a=b\nsync\n"), "ok 1\n");
    fail_syncs();
    const char *said = talk("put m 1500000001 1 a=b\nsync\nsync\n");
    assert_int_equal(strncmp(said, "sync: error ", 12), 0);
    assert_null(strstr(said, "ok "));
    assert_true(t_faultfs_fired(disk));
    said = talk("put m 1500000002 1 a=b\nsync\n"); /* the store refuses from now on */
    assert_int_equal(strncmp(said, "put: storage error: ", 20), 0);
    assert_null(strstr(said, "ok "));
    said = talk("stats\n");
    assert_non_null(strstr(said, " 1 type=hbase_errors"));
}

static void test_put_disk__bodies_are_not_confirmed(void **state)
{
    (void)state;
    static const char *const queries[] = {
        "", "?summary", "?details", "?sync", "?sync&sync_timeout=60000", "?details&sync"};
    assert_non_null(strstr(post("", 0), " 204 "));
    for (unsigned i = 0; i < sizeof(queries) / sizeof(queries[0]); i++) {
        if (i == 0)
            fail_syncs();
        const char *said = post(queries[i], i + 1);
        if (strncmp(said, "HTTP/1.1 500", 12) && strncmp(said, "HTTP/1.1 503", 12))
            fail_msg("%s: %s", queries[i], said);
        assert_null(strstr(said, "\"success\":1"));
    }
    assert_null(strstr(talk("stats\n"), " 0 type=hbase_errors"));
}

/* The increments of a client that got an error are not made later, so that it may send them again; those of others are. */
static void test_put_disk__refused_increments_may_be_repeated(void **state)
{
    (void)state;
    static const char sum[] = "GET /api/query?start=1500000000&m=sum:m HTTP/1.1\r\nHost: localhost\r\n\r\n";
    assert_string_equal(talk("incr m 1500000000 1 a=b\nsync\n"), "ok 1\n");
    t_faultfs_plan(disk,
                   (struct t_fault_plan){
                       .ops = T_OP_OPEN | T_OP_APPEND, .at = 1, .for_good = true, .fault = T_FAULT_ENOSPC});
    assert_int_equal(strncmp(talk("incr m 1500000000 10 a=b\nsync\n"), "sync: error ", 12), 0);
    const char *said = talk("incr m 1500000000 100 a=b\nsync\n"); /* refused at once, or tried in vain */
    assert_null(strstr(said, "ok "));
    assert_non_null(strstr(said, "the disk is full"));
    t_faultfs_plan(disk, (struct t_fault_plan){.at = 0});
    for (int i = 0; i < 1000 && strcmp(said, "ok 1\n"); i++) { /* until the store has tried again */
        usleep(10000);
        said = talk("incr m 1500000000 10 a=b\nsync\n");
    }
    assert_string_equal(said, "ok 1\n");
    assert_non_null(strstr(talk(sum), "\"1500000000\":11}"));
}

/* A full disk is not counted as an error of the store. */
static void test_put_disk__refusals_of_a_full_disk_are_counted_apart(void **state)
{
    (void)state;
    assert_string_equal(talk("put m 1500000000 1 a=b\nsync\n"), "ok 1\n");
    t_faultfs_plan(disk,
                   (struct t_fault_plan){
                       .ops = T_OP_OPEN | T_OP_APPEND, .at = 1, .for_good = true, .fault = T_FAULT_ENOSPC});
    const char *said = "";
    for (int i = 0; i < 1000 && strncmp(said, "put: storage error: the disk is full", 36); i++)
        said = talk("put m 1500000001 1 a=b\nsync\n"); /* refused at once, or tried in vain */
    assert_int_equal(strncmp(said, "put: storage error: the disk is full", 36), 0);
    said = talk("stats\n");
    assert_non_null(strstr(said, " 0 type=hbase_errors"));
    assert_null(strstr(said, " 0 type=disk_full"));
    assert_non_null(strstr(said, "type=disk_full"));
}

static void test_put_disk__compat_has_opentsdbs_word(void **state)
{
    (void)state;
    assert_string_equal(talk("put m 1500000000 1 a=b\nsync\n"), "ok 1\n");
    fail_syncs();
    (void)talk("put m 1500000001 1 a=b\nsync\n");
    assert_int_equal(strncmp(talk("put m 1500000002 1 a=b\n"), "put: HBase error: ", 18), 0);
    assert_non_null(strstr(talk("stats\n"), " 1 type=hbase_errors"));
}

static void stop_in_sync(void *arg, enum t_op op, const char *path, bool after)
{
    (void)arg;
    (void)path;
    if (op != T_OP_SYNC || after)
        return;
    sem_post(&in_sync);
    sem_wait(&go_on);
}

/* While fdatasync is under way, and after the worker had a further turn, nothing may have been answered. */
static void test_put_disk__no_answer_before_the_sync(void **state)
{
    (void)state;
    static const char request[] =
        "POST /api/put HTTP/1.1\r\nHost: localhost\r\nContent-Length: 64\r\n\r\n"
        "{\"metric\":\"m\",\"timestamp\":1500000005,\"value\":1,\"tags\":{\"a\":\"b\"}}";
    static const char *const rows[][2] = {{"put m 1500000006 1 a=b\nsync\n", "ok 1\n"},
                                          {request, "HTTP/1.1 204 "}};
    assert_string_equal(talk("put m 1500000000 1 a=b\nsync\n"), "ok 1\n"); /* the series is known now */
    t_faultfs_set_hook(disk, stop_in_sync, NULL);
    for (int i = 0; i < 2; i++) {
        char early[64];
        int fd = t_connect(&t);
        assert_int_equal(send(fd, rows[i][0], strlen(rows[i][0]), 0), strlen(rows[i][0]));
        sem_wait(&in_sync);
        assert_non_null(strstr(talk("version\n"), "built at revision"));
        assert_int_equal(recv(fd, early, sizeof(early), MSG_DONTWAIT), -1);
        assert_int_equal(errno, EAGAIN);
        for (int k = 0; k < 10; k++) /* wal_sync = always syncs for the append, and once more for who waits */
            sem_post(&go_on);
        assert_true(recv(fd, early, sizeof(early), 0) > 0);
        assert_int_equal(strncmp(early, rows[i][1], strlen(rows[i][1])), 0);
        close(fd);
        while (sem_trywait(&go_on) == 0 || sem_trywait(&in_sync) == 0)
            ;
    }
}

/* A sync that comes while another one of its connection is under way covers points that one does not: it has to wait for a sync of
 * its own. Answers that come together leave in one write, so the first read would show both. */
static void test_put_disk__a_second_sync_waits_for_one_of_its_own(void **state)
{
    (void)state;
    char said[64] = {0};
    uint64_t *n_lines = &t.workers[0]->counts.n_lines;
    assert_string_equal(talk("put m 1500000000 1 a=b\nsync\n"), "ok 1\n"); /* the series is known now */
    t_faultfs_set_hook(disk, stop_in_sync, NULL);
    int fd = t_connect(&t);
    uint64_t before = __atomic_load_n(n_lines, __ATOMIC_RELAXED);
    assert_int_equal(send(fd, "put m 1500000001 1 a=b\nsync\n", 28, 0), 28);
    sem_wait(&in_sync);
    assert_int_equal(send(fd, "put m 1500000002 1 a=b\nsync\n", 28, 0), 28);
    while (__atomic_load_n(n_lines, __ATOMIC_RELAXED) < before + 4)
        poll(NULL, 0, 1);
    sem_post(&go_on);
    assert_int_equal(recv(fd, said, sizeof(said) - 1, 0), 5);
    assert_string_equal(said, "ok 1\n");
    sem_wait(&in_sync);
    assert_int_equal(recv(fd, said, sizeof(said) - 1, MSG_DONTWAIT), -1);
    sem_post(&go_on);
    assert_int_equal(recv(fd, said, sizeof(said) - 1, 0), 5);
    assert_string_equal(said, "ok 2\n");
    close(fd);
}

/* line_max_syncs = 2: of four syncs that come in one piece while the first is under way, two are taken; the others stay
 * where they are and are answered later. */
static void test_put_disk__no_more_syncs_than_the_limit_wait(void **state)
{
    (void)state;
    char said[64] = {0};
    uint64_t *n_lines = &t.workers[0]->counts.n_lines;
    t.d.set.line_max_syncs = 2;
    assert_string_equal(talk("put m 1500000000 1 a=b\nsync\n"), "ok 1\n"); /* the series is known now */
    t_faultfs_set_hook(disk, stop_in_sync, NULL);
    uint64_t before = __atomic_load_n(n_lines, __ATOMIC_RELAXED);
    int fd = t_connect(&t);
    assert_int_equal(send(fd, "put m 1500000001 1 a=b\nsync\nsync\nsync\nsync\n", 43, 0), 43);
    sem_wait(&in_sync);
    while (__atomic_load_n(n_lines, __ATOMIC_RELAXED) == before)
        poll(NULL, 0, 1);
    assert_int_equal(__atomic_load_n(n_lines, __ATOMIC_RELAXED), before + 3);
    t_faultfs_set_hook(disk, NULL, NULL);
    sem_post(&go_on);
    assert_int_equal(recv(fd, said, 20, MSG_WAITALL), 20);
    assert_string_equal(said, "ok 1\nok 1\nok 1\nok 1\n");
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_put_disk__sync_says_that_the_disk_failed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_put_disk__bodies_are_not_confirmed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_put_disk__refused_increments_may_be_repeated, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_put_disk__refusals_of_a_full_disk_are_counted_apart, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_put_disk__compat_has_opentsdbs_word, set_up_compat, tear_down),
        cmocka_unit_test_setup_teardown(test_put_disk__no_answer_before_the_sync, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_put_disk__a_second_sync_waits_for_one_of_its_own, set_up_quiet,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_put_disk__no_more_syncs_than_the_limit_wait, set_up_quiet,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
