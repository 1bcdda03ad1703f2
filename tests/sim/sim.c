/*
 * sim.c - the simulation's command line: seeds, one process each, and what one run is.
 *
 *   sim --seed N [--steps N] [--verbose]        one seed, in this process
 *   sim --seeds A..B [--jobs N] [--file LIST]   each seed in a process of its own; the failing ones are printed
 *   sim --file LIST                             the seeds of a list: a number a line, # begins a remark
 *
 * Exit 0: all promises held; 1: a seed failed (printed, with the command that repeats it); 2: usage.
 *
 * Threads    one
 */
#include "tests/sim/sim.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"

#define SEED_SECONDS 300 /* a seed that takes longer hangs */

static const char *program;

uint64_t sim_rnd(struct sim *s, uint64_t n)
{
    s->rnd += 0x9e3779b97f4a7c15ull;
    return ts_hash_u64(s->rnd) % n;
}

bool sim_chance(struct sim *s, unsigned pct)
{
    return sim_rnd(s, 100) < pct;
}

void sim_fail(struct sim *s, const char *fmt, ...)
{
    char text[600];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    printf("FAILED seed %llu step %u: %s\n  again: %s --seed %llu%s --verbose\n", (unsigned long long)s->seed,
           s->step, text, program, (unsigned long long)s->seed, s->n_steps ? " --steps (the same)" : "");
    fflush(stdout);
    _Exit(1);
}

void sim_say(struct sim *s, const char *fmt, ...)
{
    if (!s->verbose)
        return;
    va_list ap;
    printf("%5u %*s", s->step, (int)s->depth * 2, "");
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
    printf("\n");
}

bool sim_ok(struct sim *s, int rc, const struct ts_error *err, const char *what)
{
    if (rc >= 0)
        return true;
    if (s->remote.away && rc == TS_EBACKEND && err->text[0])
        return false;
    bool ended = (s->cut_planned || s->kill_planned) && t_faultfs_fired(s->f);
    if (rc != err->code || !err->text[0])
        sim_fail(s, "%s: answered %s with code %s and text \"%s\"", what, ts_err_name(rc),
                 ts_err_name(err->code), err->text);
    if (!s->faulty && !ended)
        sim_fail(s, "%s: %s: %s", what, ts_err_name(rc), err->text);
    if (rc != TS_EIO && rc != TS_ENOSPC && rc != TS_EMFILE && rc != TS_ECORRUPT)
        sim_fail(s, "%s: a fault became %s: %s", what, ts_err_name(rc), err->text);
    sim_say(s, "%s: %s", what, err->text);
    s->broken |= rc == TS_EIO;
    return false;
}

/* --- one seed --- */

/* Has the planned end come, or has the fault lasted long enough? */
static void mind_faults(struct sim *s)
{
    if ((s->cut_planned || s->kill_planned) && t_faultfs_fired(s->f))
        sim_crash(s, s->cut_planned || s->sync_lost);
    else if (s->faulty && sim_chance(s, 12))
        sim_fault_over(s);
}

static void release(struct sim *s)
{
    for (unsigned p = 0; p < SIM_WRITERS; p++) {
        for (unsigned o = 0; o < SIM_WRITERS; o++)
            sim_ops_clear(&s->open[p][o]);
        sim_ops_clear(&s->owners[p].arrived);
        sim_ops_clear(&s->owners[p].queue);
    }
    ts_free(s->cells.ops);
    sim_remote_release(s);
    sim_bulk_release(s);
    sim_aged_release(s);
    t_ref_free(s->ref);
    roaring_bitmap_free(s->gone);
    for (int kind = 0; kind < STO_UID_KINDS; kind++)
        roaring_bitmap_free(s->gone_names[kind]);
    t_faultfs_free(s->f);
    ts_free(s);
}

static void report_aged(const struct sim *s)
{
    printf("hours for longer than points: %zu have expired, %llu were compared\n", s->aged.n,
           (unsigned long long)s->n_aged);
    if (s->aged.days)
        printf("days for longer than hours: %llu were compared; %llu changes of rules, %llu deletes of what "
               "had expired, %llu times others came in between\n",
               (unsigned long long)s->aged.n_days, (unsigned long long)s->aged.n_rules,
               (unsigned long long)s->aged.n_deletes, (unsigned long long)s->aged.n_beside);
}

static void run(uint64_t seed, unsigned n_steps, bool verbose)
{
    struct sim *s = ts_xcalloc(1, sizeof *s);
    s->seed = seed;
    s->rnd = ts_hash_u64(seed + 1);
    s->verbose = verbose;
    s->ref = t_ref_new();
    s->f = t_faultfs_new(sim_rnd(s, UINT64_MAX));
    s->n_steps = n_steps;
    sim_configure(s);
    unsigned steps = n_steps ? n_steps : 100 + (unsigned)sim_rnd(s, 300);
    sim_open(s);
    for (s->step = 1; s->step <= steps; s->step++) {
        sim_step(s);
        mind_faults(s);
    }
    if (s->faulty)
        sim_fault_over(s);
    sim_turn_all(s);
    if (!((s->cut_planned || s->kill_planned) && t_faultfs_fired(s->f)))
        sim_close(s);
    sim_crash(s, true);
    if (s->remote.store)
        sim_ship_settle(s);
    if (verbose && s->remote.store)
        printf("remote store: %llu passes (%llu failed), %llu calls, %llu reads, %llu looks at all of it, "
               "%llu times "
               "shipped files were removed, %u points of the other writer\n",
               (unsigned long long)s->remote.n_passes, (unsigned long long)s->remote.n_bad_passes,
               (unsigned long long)s->remote.n_calls, (unsigned long long)s->remote.n_read,
               (unsigned long long)s->remote.n_settled, (unsigned long long)s->remote.n_drops,
               s->remote.n_others);
    if (verbose && s->bulk.on)
        printf("bulk loads: %llu were taken, %llu of them replaced, %llu more in a crash\n",
               (unsigned long long)s->bulk.n_taken, (unsigned long long)s->bulk.n_replaced,
               (unsigned long long)s->bulk.n_kept);
    if (verbose && s->aged.on)
        report_aged(s);
    if (verbose && s->n_cutoffs)
        printf("limit of bytes: %llu cutoffs\n", (unsigned long long)s->n_cutoffs);
    if (verbose)
        printf(
            "seed %llu: %u steps, %llu operations (%llu lost rightly), %llu ends, %llu faults, %llu played "
            "turns, %llu checks of %llu points and %llu summaries (%llu of days, %llu hours of totals), %llu "
            "series and %llu names "
            "forgotten\n",
            (unsigned long long)seed, steps, (unsigned long long)s->n_ops, (unsigned long long)s->n_lost,
            (unsigned long long)s->n_crashes, (unsigned long long)s->n_faults,
            (unsigned long long)s->n_played, (unsigned long long)s->n_checks, (unsigned long long)s->n_points,
            (unsigned long long)s->n_summaries, (unsigned long long)s->n_days,
            (unsigned long long)s->n_total_hours, (unsigned long long)s->n_forgotten,
            (unsigned long long)s->n_names_forgotten);
    t_faultfs_power_cut(s->f);
    sto_close(s->st, NULL);
    release(s);
}

/* --- many seeds --- */

/* Children at work. */
struct jobs {
    unsigned n, max; /* running, at most */
    struct {
        pid_t pid;
        uint64_t seed;
    } v[64];
    uint64_t n_done, n_failed;
};

static void reap(struct jobs *j)
{
    int status;
    pid_t pid = wait(&status);
    for (unsigned i = 0; i < j->n; i++) {
        if (j->v[i].pid != pid)
            continue;
        bool bad = !WIFEXITED(status) || WEXITSTATUS(status) != 0;
        if (bad && (!WIFEXITED(status) || WEXITSTATUS(status) != 1))
            printf("FAILED seed %llu: the process ended with status %d\n  again: %s --seed %llu --verbose\n",
                   (unsigned long long)j->v[i].seed, status, program, (unsigned long long)j->v[i].seed);
        j->n_failed += bad;
        j->n_done++;
        j->v[i] = j->v[--j->n];
        fflush(stdout);
        return;
    }
}

static void start(struct jobs *j, uint64_t seed, unsigned n_steps)
{
    while (j->n == j->max)
        reap(j);
    fflush(stdout);
    pid_t pid = fork();
    if (pid < 0) {
        perror("fork");
        exit(1);
    }
    if (pid == 0) {
        alarm(SEED_SECONDS);
        run(seed, n_steps, false);
        exit(0);
    }
    j->v[j->n].pid = pid;
    j->v[j->n++].seed = seed;
}

/* The list is closed before the first seed runs: a process that exits sets the offset of a stream that it shares back to what it
 * has read, and its parent would read the same lines again. */
static int from_file(struct jobs *j, const char *path, unsigned n_steps)
{
    uint64_t seeds[256];
    size_t n = 0;
    char line[300];
    FILE *in = fopen(path, "r");
    if (!in) {
        perror(path);
        return 2;
    }
    while (n < sizeof seeds / sizeof seeds[0] && fgets(line, sizeof line, in)) {
        char *end;
        seeds[n] = strtoull(line, &end, 10);
        n += end != line;
    }
    bool all = feof(in) || !fgets(line, sizeof line, in);
    fclose(in);
    if (!all) {
        fprintf(stderr, "%s: more than %zu seeds\n", path, sizeof seeds / sizeof seeds[0]);
        return 2;
    }
    for (size_t i = 0; i < n; i++)
        start(j, seeds[i], n_steps);
    return 0;
}

static int usage(void)
{
    fprintf(stderr, "usage: sim --seed N [--steps N] [--verbose]\n"
                    "       sim [--seeds A..B] [--file LIST] [--jobs N] [--stop]\n");
    return 2;
}

int main(int argc, char **argv)
{
    uint64_t seed = 0, from = 1, to = 0;
    const char *list = NULL;
    bool one = false, verbose = false, stop = false;
    unsigned n_steps = 0;
    struct jobs j = {.max = 2};
    program = argv[0];
    ts_log_set_level((enum ts_log_level)(TS_LOG_ERROR + 1)); /* errors are expected here */
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (!strcmp(argv[i], "--verbose"))
            verbose = true;
        else if (!strcmp(argv[i], "--stop"))
            stop = true;
        else if (!strcmp(argv[i], "--seed") && *value)
            one = true, seed = strtoull(argv[++i], NULL, 10);
        else if (!strcmp(argv[i], "--steps") && *value)
            n_steps = (unsigned)strtoul(argv[++i], NULL, 10);
        else if (!strcmp(argv[i], "--jobs") && *value)
            j.max = (unsigned)strtoul(argv[++i], NULL, 10);
        else if (!strcmp(argv[i], "--file") && *value)
            list = argv[++i];
        else if (!strcmp(argv[i], "--seeds") && strstr(value, ".."))
            from = strtoull(argv[++i], NULL, 10), to = strtoull(strstr(value, "..") + 2, NULL, 10);
        else
            return usage();
    }
    if (!one && !list && from > to)
        return usage();
    if (one) {
        run(seed, n_steps, verbose);
        printf("ok seed %llu\n", (unsigned long long)seed);
        return 0;
    }
    j.max = j.max < 1 ? 1 : j.max > 64 ? 64 : j.max;
    if (list && from_file(&j, list, n_steps))
        return 2;
    for (uint64_t k = from; k <= to && !(stop && j.n_failed); k++)
        start(&j, k, n_steps);
    while (j.n)
        reap(&j);
    printf("%s: %llu seeds, %llu failed\n", j.n_failed ? "FAILED" : "ok", (unsigned long long)j.n_done,
           (unsigned long long)j.n_failed);
    return j.n_failed != 0;
}
