/*
 * replay_main.c - runs a fuzzer over seeds without libFuzzer: fuzz_<name> [--changes N] [--seed S] PATH...
 *
 * Each seed (a file, or all files of a folder) is tried as it is, then N times changed: bytes flipped, set,
 * cut out, doubled, cut off. Same seed, same changes. A finding is a crash; the seed's name and the number of
 * the change are printed before each run when TSD_FUZZ_VERBOSE is set.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/num.h"
#include "tests/faults/faultfs.h"

#define MAX_INPUT_BYTES (1u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* What the command line says, and what was done. */
struct job {
    int64_t n_changes, seed;
    const char *folder; /* being listed; NULL = none */
    uint64_t n_runs, n_seeds;
};

/* One random change in place; p has room for 2 * n + 1 bytes. Returns the new length. */
static size_t change(uint8_t *p, size_t n, uint64_t *r)
{
    static const uint8_t odd[] = {0, 1, 0x7f, 0x80, 0xff, 0x20};
    size_t at = n ? (size_t)(t_rand(r) % n) : 0, len = n ? (size_t)(t_rand(r) % (n - at)) + 1 : 0;
    len = len > 16 && t_rand(r) % 4 ? 16 : len;
    switch (n ? t_rand(r) % 6 : 5) {
    case 0:
        p[at] ^= (uint8_t)(1u << t_rand(r) % 8);
        return n;
    case 1:
        p[at] = odd[t_rand(r) % sizeof(odd)];
        return n;
    case 2: /* cut out */
        memmove(p + at, p + at + len, n - at - len);
        return n - len;
    case 3: /* twice */
        memmove(p + at + len, p + at, n - at);
        return n + len;
    case 4: /* cut off */
        return at;
    default:
        p[n] = (uint8_t)t_rand(r);
        return n + 1;
    }
}

static void run(struct job *j, const char *path, const uint8_t *data, size_t n, int64_t number)
{
    uint8_t *copy = ts_xmalloc(n + 1); /* exactly n bytes are ours: a sanitizer sees reads beyond */
    copy = ts_xrealloc(copy, n ? n : 1);
    if (n)
        memcpy(copy, data, n);
    if (getenv("TSD_FUZZ_VERBOSE"))
        fprintf(stderr, "%s change %lld, %zu bytes\n", path, (long long)number, n);
    LLVMFuzzerTestOneInput(copy, n);
    ts_free(copy);
    j->n_runs++;
}

static int run_file(struct job *j, const char *path)
{
    char *seed;
    size_t n_seed;
    struct ts_error err = {0};
    int rc = ts_fs_read_file(ts_fs_real(), path, MAX_INPUT_BYTES, &seed, &n_seed, &err);
    if (rc < 0) {
        fprintf(stderr, "%s\n", err.text);
        return rc;
    }
    j->n_seeds++;
    run(j, path, (const uint8_t *)seed, n_seed, 0);
    uint64_t r = (uint64_t)j->seed;
    for (int64_t i = 1; i <= j->n_changes; i++) {
        size_t n = n_seed;
        uint64_t n_steps = t_rand(&r) % 4 + 1;
        uint8_t *p = ts_xmalloc((n + 1) << 5);
        memcpy(p, seed, n);
        for (; n_steps; n_steps--)
            n = change(p, n, &r);
        run(j, path, p, n, i);
        ts_free(p);
    }
    ts_free(seed);
    return 0;
}

static int each_name(void *arg, const char *name)
{
    struct job *j = arg;
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", j->folder, name);
    return run_file(j, path);
}

static void on_alarm(int sig)
{
    (void)sig;
}

/* libFuzzer has an alarm that restarts no call; a fuzzer must take that here as well. */
static void interrupt_calls(void)
{
    struct sigaction sa = {.sa_handler = on_alarm};
    const struct itimerval often = {{0, 5000}, {0, 5000}};
    (void)sigaction(SIGALRM, &sa, NULL);
    (void)setitimer(ITIMER_REAL, &often, NULL);
}

int main(int argc, char **argv)
{
    struct job j = {.seed = 1};
    const struct ts_fs *fs = ts_fs_real();
    interrupt_calls();
    for (int i = 1; i < argc; i++) {
        int64_t *option = strcmp(argv[i], "--changes") == 0 ? &j.n_changes
                          : strcmp(argv[i], "--seed") == 0  ? &j.seed
                                                            : NULL;
        if (option && (++i == argc || ts_num_parse_int(ts_slice_str(argv[i]), option, NULL) < 0)) {
            fprintf(stderr, "usage: %s [--changes N] [--seed S] FILE|FOLDER...\n", argv[0]);
            return 2;
        }
        if (option)
            continue;
        j.folder = argv[i];
        struct ts_error err = {0};
        int rc = fs->list(fs, argv[i], each_name, &j, &err);
        if (rc < 0 && err.code < 0) /* not a folder */
            rc = run_file(&j, argv[i]);
        if (rc < 0)
            return 1;
    }
    printf("%llu seeds, %llu runs, seed %lld\n", (unsigned long long)j.n_seeds, (unsigned long long)j.n_runs,
           (long long)j.seed);
    return j.n_seeds ? 0 : 1;
}
