/*
 * process.c - processes by state, and the commands that use the most processor time and memory, from /proc/<pid>/stat.
 *
 * Processes of one command count together. Processor time is a gauge, the percent of one core since the last round: a counter of a sum
 * over processes would fall when one ends. Memory is resident memory; what several processes share counts for each of them.
 *
 * Threads    the collector's own
 * Not here   units and containers (units.c)
 * Source     proc_pid_stat(5)
 */
#include "collectors/host/process.h"

#include "base/hash.h"
#include "base/array.h"
#include "base/mem.h"
#include "base/time.h"
#include "collectors/core/fields.h"
#include "collectors/core/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const struct col_metric metrics[] = {
    {"proc.processes.count", "state", "processes",
     "Processes that are running, sleeping, blocked (waiting for a disk), stopped, zombies, idle (threads "
     "of the kernel), or in another state.",
     COL_GAUGE},
    {"proc.processes.threads", "", "threads", "Threads of all processes.", COL_GAUGE},
    {"proc.top.cpu", "command", "percent",
     "Commands with the most processor time since the last read, in percent of a core.", COL_GAUGE},
    {"proc.top.memory", "command", "bytes", "Commands with the most resident memory.", COL_GAUGE},
    {NULL, NULL, NULL, NULL, COL_GAUGE},
};

#define COMMAND_BYTES 24 /* the kernel keeps 15 bytes of a name, a few more for its own workers */

static const struct {
    const char *letters, *name;
} states[] = {{"R", "running"}, {"S", "sleeping"}, {"D", "blocked"}, {"Tt", "stopped"},
              {"Z", "zombie"},  {"I", "idle"},     {"", "other"}};
#define N_STATES (sizeof(states) / sizeof(*states))

/* A process. */
struct proc {
    uint64_t pid, start; /* together they identify a process */
    uint64_t jiffies;    /* processor time, user and system */
};

/* Processes of one round, in the order of their numbers. */
struct round {
    struct proc *p; /* owned */
    size_t n, cap;  /* entries */
};

/* Processes of one command. */
struct command {
    char name[COMMAND_BYTES]; /* terminated */
    uint64_t jiffies;         /* since the last round */
    uint64_t rss_bytes;       /* now */
};

struct col_procs {
    struct col_procs_opts opts; /* constant */
    struct round now, last;     /* this round and the one before */
    bool has_last;              /* there was one */
    int64_t last_ms;            /* when */
    uint64_t counts[N_STATES];  /* of this round */
    uint64_t n_threads;         /* of this round */
    struct command *commands;   /* of this round, owned; order of appearance */
    size_t n_commands, cap;     /* entries */
    uint32_t *index;            /* hash of a command -> entry + 1; 0 = empty */
    size_t n_index;             /* power of two */
};

struct col_procs *col_procs_new(const struct col_procs_opts *opts)
{
    struct col_procs *p = ts_xcalloc(1, sizeof(*p));
    p->opts = *opts;
    return p;
}

void col_procs_free(struct col_procs *p)
{
    if (!p)
        return;
    ts_free(p->now.p);
    ts_free(p->last.p);
    ts_free(p->commands);
    ts_free(p->index);
    ts_free(p);
}

void col_procs_begin(struct col_procs *p)
{
    struct round old = p->last;
    p->last = p->now;
    p->now = old;
    p->now.n = 0;
    memset(p->counts, 0, sizeof(p->counts));
    p->n_threads = 0;
    p->n_commands = 0;
    if (p->index)
        memset(p->index, 0, p->n_index * sizeof(*p->index));
}

/* --- commands --- */

static void commands_grow(struct col_procs *p)
{
    p->cap = p->cap ? 2 * p->cap : 64;
    p->commands = ts_xrealloc(p->commands, p->cap * sizeof(*p->commands));
    p->n_index = 4 * p->cap;
    ts_free(p->index);
    p->index = ts_xcalloc(p->n_index, sizeof(*p->index));
    for (size_t i = 0; i < p->n_commands; i++) {
        size_t at = ts_hash(p->commands[i].name, strlen(p->commands[i].name)) & (p->n_index - 1);
        while (p->index[at])
            at = (at + 1) & (p->n_index - 1);
        p->index[at] = (uint32_t)(i + 1);
    }
}

static struct command *commands_find(struct col_procs *p, struct ts_slice name)
{
    if (p->n_commands == p->cap)
        commands_grow(p);
    size_t at = ts_hash(name.p, name.n) & (p->n_index - 1);
    for (; p->index[at]; at = (at + 1) & (p->n_index - 1))
        if (ts_slice_is(name, p->commands[p->index[at] - 1].name))
            return &p->commands[p->index[at] - 1];
    struct command *c = &p->commands[p->n_commands++];
    *c = (struct command){.jiffies = 0};
    (void)snprintf(c->name, sizeof(c->name), "%.*s", (int)name.n, name.p);
    p->index[at] = (uint32_t)p->n_commands;
    return c;
}

/* --- a process --- */

static int proc_cmp(const void *a, const void *b)
{
    const struct proc *x = a, *y = b;
    return x->pid != y->pid ? (x->pid > y->pid) - (x->pid < y->pid)
                            : (x->start > y->start) - (x->start < y->start);
}

/* Processor time of a process since the last round. If it has started since, that is all of its time; in the
 * first round it is 0. */
static uint64_t proc_growth(const struct col_procs *p, const struct proc *now)
{
    const struct proc *was = p->last.n ? bsearch(now, p->last.p, p->last.n, sizeof(*now), proc_cmp) : NULL;
    if (!was)
        return p->has_last ? now->jiffies : 0;
    return now->jiffies >= was->jiffies ? now->jiffies - was->jiffies : 0;
}

static void proc_state(struct col_procs *p, char letter)
{
    size_t i = 0;
    while (i + 1 < N_STATES && !strchr(states[i].letters, letter))
        i++;
    p->counts[i]++;
}

/* The name under which a command is counted. The kernel appends to a kworker's name what it works on at present: "kworker/1:0-events"
 * becomes "kworker". */
static struct ts_slice proc_command(struct ts_slice name)
{
    struct ts_slice rest = name;
    if (col_prefix_take(&rest, "kworker/"))
        return TS_SLICE_LIT("kworker");
    if (name.n >= COMMAND_BYTES)
        name.n = COMMAND_BYTES - 1;
    return name;
}

/* "pid (name, any bytes) S ppid ..."; the name ends at the last parenthesis */
bool col_proc_stat_parse(struct ts_slice text, struct col_proc_stat *out)
{
    const char *open = text.n ? memchr(text.p, '(', text.n) : NULL;
    const char *close = text.n ? memrchr(text.p, ')', text.n) : NULL;
    struct ts_slice state, word;
    uint64_t v[22] = {0};
    unsigned n = 0;
    if (!open || !close || close < open || !col_u64_next(&text, &out->pid))
        return false;
    struct ts_slice rest = {close + 1, (size_t)(text.p + text.n - close - 1)};
    if (!col_word_next(&rest, &state))
        return false;
    for (; n < 21 && col_word_next(&rest, &word); n++)
        if (!col_u64_of(word, &v[n]))
            v[n] = 0; /* a negative priority or group */
    out->command = (struct ts_slice){open + 1, (size_t)(close - open - 1)};
    out->state = state.p[0];
    /* v[0] is field 4 */
    out->jiffies = v[10] + v[11];
    out->n_threads = v[16];
    out->start = v[18];
    out->rss_pages = v[20];
    return n == 21;
}

void col_procs_add(struct col_procs *p, struct ts_slice text)
{
    struct col_proc_stat st;
    if (!col_proc_stat_parse(text, &st))
        return;
    struct proc now = {.pid = st.pid, .start = st.start, .jiffies = st.jiffies};
    TS_ARRAY_GROW(p->now.p, p->now.n, p->now.cap, 256);
    p->now.p[p->now.n++] = now;
    proc_state(p, st.state);
    p->n_threads += st.n_threads;
    if (!p->opts.top)
        return;
    struct command *c = commands_find(p, proc_command(st.command));
    c->rss_bytes += st.rss_pages * p->opts.page_bytes;
    c->jiffies += proc_growth(p, &now);
}

/* --- the end of a round --- */

static int by_cpu(const void *a, const void *b)
{
    const struct command *x = a, *y = b;
    return x->jiffies != y->jiffies ? (x->jiffies < y->jiffies) - (x->jiffies > y->jiffies)
                                    : strcmp(x->name, y->name);
}

static int by_memory(const void *a, const void *b)
{
    const struct command *x = a, *y = b;
    return x->rss_bytes != y->rss_bytes ? (x->rss_bytes < y->rss_bytes) - (x->rss_bytes > y->rss_bytes)
                                        : strcmp(x->name, y->name);
}

static void top_cpu(struct col_procs *p, int64_t now_ms, struct col_emit *emit)
{
    double dt_s = (double)(now_ms - p->last_ms) / 1000.0;
    if (!p->has_last || dt_s <= 0)
        return;
    qsort(p->commands, p->n_commands, sizeof(*p->commands), by_cpu);
    for (size_t i = 0; i < p->n_commands && i < p->opts.top && p->commands[i].jiffies; i++) {
        double pct = 100.0 * (double)p->commands[i].jiffies / (double)p->opts.jiffies_per_s / dt_s;
        col_emit_num(emit, "proc.top.cpu", (double)(int64_t)(pct * 100.0 + 0.5) / 100.0,
                     COL_TAGS({"command", ts_slice_str(p->commands[i].name)}));
    }
}

void col_procs_end(struct col_procs *p, int64_t now_ms, struct col_emit *emit)
{
    for (size_t i = 0; i < N_STATES; i++)
        col_emit_u64(emit, "proc.processes.count", p->counts[i],
                     COL_TAGS({"state", ts_slice_str(states[i].name)}));
    col_emit_u64(emit, "proc.processes.threads", p->n_threads, COL_NO_TAGS);
    if (p->n_commands) {
        top_cpu(p, now_ms, emit);
        qsort(p->commands, p->n_commands, sizeof(*p->commands), by_memory);
        for (size_t i = 0; i < p->n_commands && i < p->opts.top && p->commands[i].rss_bytes; i++)
            col_emit_u64(emit, "proc.top.memory", p->commands[i].rss_bytes,
                         COL_TAGS({"command", ts_slice_str(p->commands[i].name)}));
    }
    if (p->now.n > 1)
        qsort(p->now.p, p->now.n, sizeof(*p->now.p), proc_cmp);
    p->has_last = true;
    p->last_ms = now_ms;
}

/* --- on a host --- */

struct process_state {
    const struct col_ctx *ctx; /* borrowed */
    struct col_procs *procs;   /* owned */
    struct ts_buf text;        /* of one process */
};

static int process_one(void *arg, const char *name)
{
    struct process_state *s = arg;
    char path[64];
    if (*name < '0' || *name > '9' || strlen(name) > 20)
        return 0;
    (void)snprintf(path, sizeof(path), "/proc/%.20s/stat", name);
    if (col_source_read(s->ctx->root, path, &s->text, NULL) == 0)
        col_procs_add(s->procs, ts_buf_get(&s->text));
    return 0;
}

static int process_init(const struct col_ctx *ctx, void **out_state, struct ts_error *err)
{
    struct process_state *s = ts_xcalloc(1, sizeof(*s));
    struct col_procs_opts opts = {.top = (unsigned)ts_conf_int(ctx->conf, "collect_top"),
                                  .page_bytes = (uint64_t)sysconf(_SC_PAGESIZE),
                                  .jiffies_per_s = (uint64_t)sysconf(_SC_CLK_TCK)};
    (void)err;
    ts_buf_init(&s->text, (size_t)64 << 10);
    s->ctx = ctx;
    s->procs = col_procs_new(&opts);
    *out_state = s;
    return 0;
}

static int process_read(void *state, struct col_emit *emit, struct ts_error *err)
{
    struct process_state *s = state;
    col_procs_begin(s->procs);
    TS_TRY(col_source_list(s->ctx->root, "/proc", process_one, s, err));
    col_procs_end(s->procs, ts_clock_mono_ns() / 1000000, emit);
    return 0;
}

static void process_release(void *state)
{
    struct process_state *s = state;
    if (!s)
        return;
    col_procs_free(s->procs);
    ts_buf_release(&s->text);
    ts_free(s);
}

const struct col_collector col_process = {
    .name = "process",
    .help = "Processes by state; the commands that use the most processor time and memory.",
    .metrics = metrics,
    .interval_s = 60,
    .rates = true,
    .init = process_init,
    .read = process_read,
    .release = process_release,
};
