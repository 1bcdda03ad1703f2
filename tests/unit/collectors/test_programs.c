/*
 * test_programs.c - programs as collectors: lines out of pieces, which files are programs, one run of a program and its end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/time.h"
#include "collectors/core/programs_child.h"
#include "collectors/programs/programs_dir.h"
#include "collectors/programs/programs_env.h"
#include "collectors/programs/programs_line.h"

#include "tests/unit/t_folder.h"

#include <limits.h>
#include <signal.h>
#include <sys/wait.h>

/* --- lines --- */

/* Lines as "a|b|!c": ! = too long. */
struct seen {
    char text[8192];
    size_t n;
};

static void see(void *arg, struct ts_slice line, bool too_long)
{
    struct seen *s = arg;
    s->n += (size_t)snprintf(s->text + s->n, sizeof(s->text) - s->n, "%s%.*s|", too_long ? "!" : "",
                             line.n < 9 ? (int)line.n : 9, line.p);
}

static void test_programs__lines_in_any_pieces(void **state)
{
    const char *text = "one 1\ntwo 2\n\nthree 3\nfour";
    size_t n = strlen(text);
    (void)state;
    for (size_t step = 1; step <= n; step++) {
        struct col_line_cut cut = {.n = 0};
        struct seen s = {.n = 0};
        for (size_t i = 0; i < n; i += step)
            col_line_feed(&cut, (struct ts_slice){text + i, n - i < step ? n - i : step}, see, &s);
        assert_string_equal(s.text, "one 1|two 2||three 3|");
        assert_true(col_line_end(&cut)); /* "four" has no end: nobody gets it */
        assert_false(col_line_end(&cut));
    }
}

static void test_programs__long_lines_are_given_once_and_cut(void **state)
{
    char text[3 * COL_PROGRAM_LINE_BYTES];
    (void)state;
    for (size_t len = COL_PROGRAM_LINE_BYTES - 2; len < COL_PROGRAM_LINE_BYTES + 3; len++)
        for (size_t step = 1; step < sizeof(text); step = step * 5 + 2) {
            struct col_line_cut cut = {.n = 0};
            struct seen s = {.n = 0};
            memset(text, 'x', len);
            memcpy(text + len, "\nnext\n", 6);
            for (size_t i = 0; i < len + 6; i += step)
                col_line_feed(&cut, (struct ts_slice){text + i, len + 6 - i < step ? len + 6 - i : step}, see,
                              &s);
            assert_string_equal(s.text,
                                len < COL_PROGRAM_LINE_BYTES ? "xxxxxxxxx|next|" : "!xxxxxxxxx|next|");
        }
}

/* --- which programs --- */

static char folder[T_FOLDER_BYTES];

static void file_make(const char *name, mode_t mode)
{
    t_folder_file(folder, name, "#!/nowhere/python\n", mode);
}

static int folder_setup(void **state)
{
    (void)state;
    t_folder_make(folder);
    return 0;
}

static int folder_teardown(void **state)
{
    (void)state;
    return t_folder_remove(folder);
}

static void test_programs__files_of_interval_folders(void **state)
{
    struct col_program_list l = {.p = NULL};
    struct ts_error err = {0};
    (void)state;
    file_make("15", 0644);
    file_make("0/b.py", 0755);
    file_make("60/a.sh", 0755);
    file_make("300/a.sh", 0755); /* the name is taken */
    file_make("60/.internal", 0755);
    file_make("60/plain", 0644);
    file_make("60/sub/below", 0755);
    file_make("lib/utils.py", 0755);
    file_make("99999999999/x", 0755);
    file_make("300/z", 0700);
    file_make("007/bond", 0755);
    file_make("etc/conf.py", 0755);
    assert_int_equal(col_programs_scan(folder, &l, &err), 0);
    assert_int_equal(l.n, 3);
    assert_string_equal(l.p[0].name, "b.py");
    assert_int_equal(l.p[0].interval_s, 0);
    assert_string_equal(l.p[1].name, "a.sh");
    assert_int_equal(l.p[1].interval_s, 60);
    assert_string_equal(l.p[1].path + strlen(folder), "/60/a.sh");
    assert_true(l.p[1].changed_ns > 0);
    assert_string_equal(l.p[2].name, "z");
    assert_int_equal(l.n_twice, 1);
    assert_string_equal(l.twice, "300/a.sh");
    assert_int_equal(l.n_not_executable, 1);
    assert_string_equal(l.not_executable, "60/plain");
    col_programs_release(&l);
    col_programs_release(&l);
    assert_int_equal(col_programs_scan("/nowhere/at/all", &l, &err), TS_ENOTFOUND);
    col_programs_release(&l);
}

/* Mode of a file or folder below the folder. */
static void mode_set(const char *name, mode_t mode)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    assert_int_equal(chmod(path, mode), 0);
}

static size_t n_programs(size_t *out_n_unsafe)
{
    struct col_program_list l = {.p = NULL};
    assert_int_equal(col_programs_scan(folder, &l, NULL), 0);
    size_t n = l.n;
    *out_n_unsafe = l.n_unsafe;
    col_programs_release(&l);
    return n;
}

static void test_programs__files_others_may_change_are_not_run(void **state)
{
    size_t n_unsafe;
    char others[T_FOLDER_BYTES]; /* the folder of the other cases */
    (void)state;
    memcpy(others, folder, sizeof(others));
    t_folder_make(folder);
    file_make("0/a", 0755);
    file_make("60/b", 0755);
    assert_int_equal(n_programs(&n_unsafe), 2);
    assert_int_equal(n_unsafe, 0);
    mode_set("60/b", 0757);
    assert_int_equal(n_programs(&n_unsafe), 1);
    assert_int_equal(n_unsafe, 1);
    mode_set("60/b", 0755);
    mode_set("0", 0777); /* a folder in which anybody may put a file */
    assert_int_equal(n_programs(&n_unsafe), 1);
    mode_set("0", 0755);
    mode_set("", 0777);
    assert_int_equal(n_programs(&n_unsafe), 0);
    assert_int_equal(n_unsafe, 2);
    mode_set("", 0755);
    if (geteuid() == 0) {
        char path[256];
        snprintf(path, sizeof(path), "%s/0/a", folder);
        assert_int_equal(chown(path, 12345, 0), 0); /* another user's */
        assert_int_equal(n_programs(&n_unsafe), 1);
        assert_int_equal(n_unsafe, 1);
    }
    t_folder_remove(folder);
    memcpy(folder, others, sizeof(others));
}

static void test_programs__commands(void **state)
{
    struct col_program_list l = {.p = NULL};
    struct ts_error err = {0};
    (void)state;
    assert_int_equal(col_programs_commands(" 60 /usr/bin/queue --x 'a b' ;0 follow; 5 queue;;", &l, &err), 0);
    assert_int_equal(l.n, 3);
    assert_string_equal(l.p[0].name, "queue");
    assert_string_equal(l.p[0].path, "/usr/bin/queue --x 'a b'");
    assert_int_equal(l.p[0].interval_s, 60);
    assert_int_equal(l.p[0].shell, 1);
    assert_int_equal(l.p[1].interval_s, 0);
    assert_string_equal(l.p[2].name, "queue-2");
    col_programs_release(&l);
    assert_int_equal(col_programs_commands("5 a/; 5 /usr/bin/x", &l, &err), 0);
    assert_string_equal(l.p[0].name, "a/");
    assert_string_equal(l.p[1].name, "x");
    col_programs_release(&l);
    assert_int_equal(col_programs_commands("", NULL, &err), 0);
    assert_int_equal(col_programs_commands("60", NULL, &err), TS_EINVAL);
    assert_int_equal(col_programs_commands("/bin/x", NULL, &err), TS_EINVAL);
    assert_non_null(strstr(err.text, "collect_commands: \"/bin/x\""));
    assert_int_equal(col_programs_commands("-1 x", NULL, &err), TS_EINVAL);
    assert_int_equal(col_programs_commands("9999999 x", NULL, &err), TS_EINVAL);
}

static const char *env_get(const struct col_env *env, const char *name)
{
    for (char **v = env->vars; *v; v++)
        if (!strncmp(*v, name, strlen(name)) && (*v)[strlen(name)] == '=')
            return *v + strlen(name) + 1;
    return NULL;
}

static void test_programs__python_finds_lib(void **state)
{
    struct col_env env = {0};
    char want[3 * PATH_MAX], enabled[PATH_MAX];
    (void)state;
    setenv("PYTHONPATH", "/before", 1);
    snprintf(want, sizeof(want), "/before:%s/lib:/tmp", folder);
    col_env_make(&env, folder); /* has lib */
    assert_string_equal(env_get(&env, "PYTHONPATH"), want);
    assert_string_equal(env_get(&env, "PATH"), getenv("PATH"));
    col_env_release(&env);
    unsetenv("PYTHONPATH");
    snprintf(enabled, sizeof(enabled), "%s/0", folder); /* lib is beside it */
    col_env_make(&env, enabled);
    assert_string_equal(env_get(&env, "PYTHONPATH"), want + strlen("/before:"));
    col_env_release(&env);
    col_env_release(&env);
    col_env_make(&env, "");
    assert_null(env_get(&env, "PYTHONPATH"));
    col_env_release(&env);
}

/* --- one run --- */

/* Run a command to its end, all it prints into out; returns false if it was not over in 60 s. */
static bool child_finish(struct col_child *c, char *out, size_t out_bytes)
{
    int64_t until_ns = ts_clock_mono_ns() + 60000000000ll;
    size_t n = 0;
    while (!col_child_over(c)) {
        struct pollfd fds[COL_CHILD_FDS];
        int64_t now_ns = ts_clock_mono_ns(), wait_ns = col_child_wake_ns(c) - now_ns;
        if (now_ns > until_ns)
            return false;
        (void)poll(fds, col_child_fds(c, fds),
                   wait_ns < 0            ? 0
                   : wait_ns > 1000000000 ? 1000
                                          : (int)(wait_ns / 1000000) + 1);
        n += col_child_read(c, 0, out + n, out_bytes - 1 - n);
        n += col_child_read(c, 1, out + n, out_bytes - 1 - n);
    }
    out[n] = '\0';
    return true;
}

static void child_shell(struct col_child *c, const char *command)
{
    struct col_child_opts opts = {.path = command, .shell = true, .env = environ};
    struct ts_error err = {0};
    assert_int_equal(col_child_start(c, &opts, &err), 0);
}

static void test_programs__a_run_and_its_end(void **state)
{
    struct col_child c = COL_CHILD_NONE;
    char out[4096];
    (void)state;
    sigset_t block;
    sigemptyset(&block);
    sigaddset(&block, SIGTERM);
    sigprocmask(SIG_BLOCK, &block, NULL);
    child_shell(&c, "read x || echo no input; pwd; echo oops >&2; ls /proc/self/fd | wc -l; exit 13");
    assert_int_equal(getsid(c.pid), c.pid);
    assert_true(child_finish(&c, out, sizeof(out)));
    assert_true(WIFEXITED(c.status) && WEXITSTATUS(c.status) == 13);
    assert_false(c.asked || c.killed);
    assert_non_null(strstr(out, "no input\n/\n"));
    assert_non_null(strstr(out, "oops\n"));
    assert_non_null(strstr(out, "4\n")); /* 0, 1, 2 and the folder that is read */
    assert_int_equal(c.pid, 0);
    assert_int_equal(col_child_fds(&c, NULL), 0);
    child_shell(&c, "kill -9 $$");
    assert_true(child_finish(&c, out, sizeof(out)));
    assert_true(WIFSIGNALED(c.status) && WTERMSIG(c.status) == SIGKILL);
    sigprocmask(SIG_UNBLOCK, &block, NULL);
}

static bool process_there(pid_t pid)
{
    char path[64], line[256] = "";
    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    FILE *f = fopen(path, "r");
    if (!f)
        return false;
    (void)!fgets(line, sizeof(line), f);
    fclose(f);
    const char *end = strrchr(line, ')');
    return end && end[2] != 'Z' && end[2] != 'X';
}

/* Wait until a line "N" of a process came out. */
/* It has ended and both pipes are at their end: nothing may be waited for any more. */
static void test_programs__the_end_is_seen_at_once(void **state)
{
    struct col_child c = COL_CHILD_NONE;
    struct pollfd fds[COL_CHILD_FDS];
    char byte;
    (void)state;
    child_shell(&c, "exit 3");
    do
        (void)poll(fds, col_child_fds(&c, fds), 1000);
    while (c.ended ? false : (col_child_over(&c), !c.ended));
    assert_int_equal(col_child_read(&c, 0, &byte, 1), 0);
    assert_int_equal(col_child_read(&c, 1, &byte, 1), 0);
    while (c.out_fd >= 0 || c.err_fd >= 0) { /* the kernel closes them a moment before or after */
        (void)poll(fds, col_child_fds(&c, fds), 1000);
        (void)col_child_read(&c, 0, &byte, 1);
        (void)col_child_read(&c, 1, &byte, 1);
    }
    assert_int_equal(col_child_fds(&c, fds), 0);
    assert_true(col_child_wake_ns(&c) <= ts_clock_mono_ns());
    assert_true(col_child_over(&c));
    assert_int_equal(c.status >> 8, 3);
}

static void test_programs__a_run_gives_what_is_printed(void **state)
{
    struct ts_buf out;
    struct col_child_opts opts = {.path = "echo noise >&2; echo 12345678", .shell = true, .env = environ};
    (void)state;
    ts_buf_init(&out, 0);
    assert_int_equal(col_child_run(&opts, 60000, 1000, &out, NULL), 0);
    assert_true(ts_slice_is(ts_buf_get(&out), "12345678\n"));
    opts.path = "echo a; exec sleep 1000"; /* asked to end after 1 ms */
    assert_int_equal(col_child_run(&opts, 1, 1000, &out, NULL), 0);
    opts = (struct col_child_opts){.path = "/nowhere/program", .env = environ};
    assert_int_equal(col_child_run(&opts, 1000, 1000, &out, NULL), TS_EIO);
    ts_buf_release(&out);
}

static pid_t child_number(struct col_child *c)
{
    char out[64] = "";
    size_t n = 0;
    while (!strchr(out, '\n')) {
        struct pollfd fds[COL_CHILD_FDS];
        (void)poll(fds, col_child_fds(c, fds), 1000);
        n += col_child_read(c, 0, out + n, sizeof(out) - 1 - n);
        out[n] = '\0';
    }
    return (pid_t)strtol(out, NULL, 10);
}

static bool process_vanishes(pid_t pid)
{
    for (unsigned i = 0; process_there(pid) && i < 6000; i++)
        usleep(10000);
    return !process_there(pid);
}

static void test_programs__the_whole_group_is_killed(void **state)
{
    struct col_child c = COL_CHILD_NONE;
    char out[4096];
    (void)state;
    /* neither it nor its child listens to SIGTERM */
    child_shell(&c, "trap '' TERM; sleep 1000 & echo $!; wait; sleep 1000");
    pid_t grandchild = child_number(&c);
    assert_true(process_there(grandchild));
    col_child_stop(&c, 100);
    col_child_stop(&c, 100000); /* again does nothing */
    assert_true(child_finish(&c, out, sizeof(out)));
    assert_true(c.asked && c.killed);
    assert_true(WIFSIGNALED(c.status) && WTERMSIG(c.status) == SIGKILL);
    assert_true(process_vanishes(grandchild));
}

static void test_programs__what_it_leaves_behind_is_ended(void **state)
{
    struct col_child c = COL_CHILD_NONE;
    char out[4096];
    (void)state;
    child_shell(&c, "sleep 1000 & echo $!"); /* holds the pipes */
    pid_t left = child_number(&c);
    assert_true(child_finish(&c, out, sizeof(out)));
    assert_true(WIFEXITED(c.status) && WEXITSTATUS(c.status) == 0);
    assert_false(c.asked);
    assert_true(process_vanishes(left));
    child_shell(&c, "sleep 1000 >/dev/null 2>&1 & echo $!"); /* does not */
    left = child_number(&c);
    assert_true(child_finish(&c, out, sizeof(out)));
    assert_true(process_vanishes(left));
}

static void test_programs__what_can_not_be_started(void **state)
{
    struct col_child c = COL_CHILD_NONE;
    struct ts_error err = {0};
    char path[PATH_MAX];
    (void)state;
    file_make("0/no-interpreter", 0755);
    snprintf(path, sizeof(path), "%s/0/no-interpreter", folder);
    struct col_child_opts opts = {.path = path, .env = environ};
    assert_int_equal(col_child_start(&c, &opts, &err), TS_EIO);
    assert_non_null(strstr(err.text, "the interpreter named in its first line is not installed"));
    opts.path = "/nowhere/program";
    assert_int_equal(col_child_start(&c, &opts, &err), TS_EIO);
    assert_non_null(strstr(err.text, "No such file"));
    assert_int_equal(c.pid, 0);
    assert_true(col_child_over(&c));
    col_child_stop(&c, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_programs__lines_in_any_pieces),
        cmocka_unit_test(test_programs__long_lines_are_given_once_and_cut),
        cmocka_unit_test(test_programs__files_of_interval_folders),
        cmocka_unit_test(test_programs__files_others_may_change_are_not_run),
        cmocka_unit_test(test_programs__commands),
        cmocka_unit_test(test_programs__python_finds_lib),
        cmocka_unit_test(test_programs__a_run_and_its_end),
        cmocka_unit_test(test_programs__the_end_is_seen_at_once),
        cmocka_unit_test(test_programs__a_run_gives_what_is_printed),
        cmocka_unit_test(test_programs__the_whole_group_is_killed),
        cmocka_unit_test(test_programs__what_it_leaves_behind_is_ended),
        cmocka_unit_test(test_programs__what_can_not_be_started),
    };
    return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
