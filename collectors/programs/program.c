/*
 * program.c - turns, pauses and ends of one program.
 *
 * Threads    see program.h
 */
#include "collectors/programs/program.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"
#include "collectors/core/fields.h"
#include "collectors/programs/programs_env.h"

#include <sys/wait.h>

#define EXIT_NEVER     13    /* "do not start me again" */
#define PAUSE_FIRST_MS 1000  /* after a failure; doubles */
#define LIVED_MS       60000 /* a program of interval 0 that ran so long begins anew with pauses */
#define WELL_MAX_MS    15000 /* longest pause after status 0: tcollector's turn */
#define LOG_LINES      50u   /* of standard error a program */
#define LOG_WINDOW_MS  60000 /* in such a time */
#define READ_BYTES     ((size_t)16 << 10)
#define READS_A_TURN   4 /* then the other programs have their turn */

/* --- lines --- */

static void program_bad(struct col_program *p, const char *what)
{
    p->n_bad++;
    if (!p->bad_logged)
        ts_log(TS_LOG_WARN, "program %s prints lines that are no points (further ones are counted only): %s",
               p->file.name, what);
    p->bad_logged = true;
}

static void program_point(void *arg, struct ts_slice line, bool too_long)
{
    struct col_program *p = arg;
    struct ts_error err = {0};
    p->line_ns = ts_clock_mono_ns();
    if (too_long)
        program_bad(p, "a line of 1024 bytes or more");
    else if (!col_trim(line).n)
        return;
    else if (col_emit_line(p->emit, line, &err) < 0)
        program_bad(p, err.text);
    else
        p->n_points++;
}

/* Standard error goes to our log: a traceback whole, a flood not. */
static void program_complaint(void *arg, struct ts_slice line, bool too_long)
{
    struct col_program *p = arg;
    int64_t now_ns = ts_clock_mono_ns();
    (void)too_long;
    if (!col_trim(line).n)
        return;
    if (now_ns - p->log_ns >= LOG_WINDOW_MS * 1000000ll) {
        if (p->n_log > LOG_LINES)
            ts_log(TS_LOG_WARN, "program %s: n_left_out=%u lines before this one", p->file.name,
                   p->n_log - LOG_LINES);
        p->log_ns = now_ns;
        p->n_log = 0;
    }
    if (++p->n_log <= LOG_LINES)
        ts_log(TS_LOG_WARN, "program %s: %.*s", p->file.name, (int)line.n, line.p);
}

void col_program_read(struct col_program *p)
{
    char bytes[READ_BYTES];
    for (unsigned which = 0; which < 2; which++)
        for (unsigned i = 0; i < READS_A_TURN; i++) {
            size_t n = col_child_read(&p->child, which, bytes, sizeof(bytes));
            if (!n)
                break;
            col_line_feed(which ? &p->err : &p->out, (struct ts_slice){bytes, n},
                          which ? program_complaint : program_point, p);
        }
}

/* --- one program --- */

/* The next turn of the clock that is at least half an interval ahead: a program started just before a turn
 * skips that one. */
static int64_t program_turn_ns(const struct col_program *p, int64_t now_ns)
{
    int64_t step_ms = (int64_t)p->file.interval_s * 1000, now_ms = ts_clock_ms();
    int64_t turn_ms = (ts_floor_div(now_ms + step_ms / 2 - 1, step_ms) + 1) * step_ms;
    return now_ns + (turn_ms - now_ms) * 1000000;
}

/* It failed: the next start comes after a pause, at a turn of the clock. */
static void program_pause(struct col_program *p, int64_t now_ns, int64_t max_ms)
{
    p->pause_ms = p->pause_ms ? col_sooner(p->pause_ms * 2, max_ms) : col_sooner(PAUSE_FIRST_MS, max_ms);
    int64_t at_ns = now_ns + p->pause_ms * 1000000, step_ns = (int64_t)p->file.interval_s * 1000000000;
    if (step_ns && p->next_ns < at_ns)
        p->next_ns += (at_ns - p->next_ns + step_ns - 1) / step_ns * step_ns;
    else if (!step_ns)
        p->next_ns = at_ns;
}

void col_program_start(const struct col_program_env *at, struct col_program *p, int64_t now_ns)
{
    struct ts_error err = {0};
    struct col_env env = {0};
    col_env_make(&env, at->folder);
    struct col_child_opts opts = {.path = p->file.path, .shell = p->file.shell, .env = env.vars};
    p->started_ns = p->line_ns = now_ns;
    p->next_ns = p->file.interval_s ? program_turn_ns(p, now_ns) : now_ns;
    p->late_ns = p->file.interval_s ? p->next_ns : INT64_MAX;
    p->renewed = false;
    p->out.n = p->err.n = 0;
    p->out.over = p->err.over = false;
    p->n_starts++;
    if (col_child_start(&p->child, &opts, &err) < 0) {
        p->n_ends[COL_PROGRAM_FAILED]++;
        program_pause(p, now_ns, ts_conf_int(at->conf, "collect_programs_retry_max_s") * 1000);
        ts_log(TS_LOG_WARN, "program %s: %s; again in %lld s", p->file.name, err.text,
               (long long)((p->next_ns - now_ns) / 1000000000));
    }
    col_env_release(&env);
}

/* What its end means for the next start. */
void col_program_ended(const struct col_program_env *at, struct col_program *p, int64_t now_ns)
{
    int status = p->child.status;
    int64_t max_ms = ts_conf_int(at->conf, "collect_programs_retry_max_s") * 1000;
    bool exited = WIFEXITED(status), lived = now_ns - p->started_ns >= LIVED_MS * 1000000ll;
    if (col_line_end(&p->out))
        program_bad(p, "its last line has no end");
    (void)col_line_end(&p->err);
    if (p->renewed || p->gone) {
        p->next_ns = now_ns;
        p->pause_ms = 0;
        return;
    }
    if (lived && !p->file.interval_s)
        p->pause_ms = 0;
    if (p->child.asked) {
        p->n_ends[COL_PROGRAM_STOPPED]++;
        program_pause(p, now_ns, max_ms);
    } else if (exited && WEXITSTATUS(status) == EXIT_NEVER) {
        p->n_ends[COL_PROGRAM_NEVER]++;
        p->next_ns = INT64_MAX;
        ts_log(TS_LOG_INFO, "program %s asks not to be started again (until its file changes)", p->file.name);
    } else if (exited && WEXITSTATUS(status) == 0) {
        p->n_ends[COL_PROGRAM_OK]++;
        if (p->file.interval_s)
            p->pause_ms = 0;
        else
            program_pause(p, now_ns, col_sooner(max_ms, WELL_MAX_MS));
    } else {
        p->n_ends[COL_PROGRAM_FAILED]++;
        program_pause(p, now_ns, max_ms);
        ts_log(TS_LOG_WARN, "program %s ended with %s %d; again in %lld s", p->file.name,
               exited ? "status" : "signal", exited ? WEXITSTATUS(status) : WTERMSIG(status),
               (long long)((p->next_ns - now_ns) / 1000000000));
    }
}

/* Is it silent or late? Then it has to go. */
static void program_watch(const struct col_program_env *at, struct col_program *p, int64_t now_ns)
{
    int64_t silence_s = ts_conf_int(at->conf, "collect_programs_silence_s");
    bool late = now_ns >= p->late_ns;
    bool silent = !p->file.interval_s && silence_s && now_ns - p->line_ns >= silence_s * 1000000000;
    if (p->child.asked || p->child.ended || (!late && !silent))
        return;
    ts_log(TS_LOG_WARN, "program %s %s %lld s: it is stopped", p->file.name,
           late ? "still runs at its next turn, after" : "printed no line for",
           (long long)((now_ns - (late ? p->started_ns : p->line_ns)) / 1000000000));
    col_child_stop(&p->child, COL_PROGRAM_GRACE_MS);
}

int64_t col_program_wake_ns(const struct col_program_env *at, const struct col_program *p)
{
    int64_t silence_s = ts_conf_int(at->conf, "collect_programs_silence_s");
    int64_t wake_ns = col_child_wake_ns(&p->child);
    if (!p->child.pid)
        return p->next_ns;
    if (p->child.asked || p->child.ended)
        return wake_ns;
    if (!p->file.interval_s && silence_s)
        wake_ns = col_sooner(wake_ns, p->line_ns + silence_s * 1000000000);
    return col_sooner(wake_ns, p->late_ns);
}

/* All that is due for it now. */
void col_program_step(const struct col_program_env *at, struct col_program *p)
{
    int64_t now_ns = ts_clock_mono_ns();
    if (p->child.pid) {
        program_watch(at, p, now_ns);
        if (!col_child_over(&p->child))
            return;
        col_program_ended(at, p, now_ns);
    }
    if (!p->gone && now_ns >= p->next_ns)
        col_program_start(at, p, now_ns);
}

struct col_program *col_program_new(struct col_program_file *file, struct col_emit *emit)
{
    struct col_program *p = ts_xcalloc(1, sizeof(*p));
    p->file = *file;
    file->name = file->path = NULL;
    p->child = COL_CHILD_NONE;
    p->emit = emit;
    return p;
}

void col_program_free(struct col_program *p)
{
    ts_free(p->file.name);
    ts_free(p->file.path);
    ts_free(p);
}

/* Its file changed. One of an interval uses the new file at its next turn. */
void col_program_renew(struct col_program *p, int64_t changed_ns)
{
    p->file.changed_ns = changed_ns;
    p->bad_logged = false;
    p->pause_ms = 0;
    p->renewed = !p->file.interval_s;
    if (!p->child.pid)
        p->next_ns = ts_clock_mono_ns();
    else if (p->renewed)
        col_child_stop(&p->child, COL_PROGRAM_GRACE_MS);
    ts_log(TS_LOG_INFO, "program %s changed", p->file.name);
}
