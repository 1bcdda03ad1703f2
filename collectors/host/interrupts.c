/*
 * interrupts.c - interrupts by source and core, from /proc/interrupts and /proc/softirqs.
 *
 * The type is the kernel's short name (NMI, LOC, RES ...) or, for numbered ones, the device; the queues of one device are added up
 * (eth0-TxRx-3 counts for eth0-TxRx). tcollector leaves most numbered ones out. The heading says which cores the columns are.
 *
 * Threads    the collector's own
 * Source     proc_interrupts(5); docs/OPENTSDB.md, section 12.5, procstats
 */
#include "base/array.h"
#include "base/mem.h"
#include "collectors/core/fields.h"
#include "collectors/host/parse.h"
#include "collectors/core/source.h"

static const struct col_metric metrics[] = {
    {"proc.interrupts", "cpu type", "interrupts",
     "Interrupts of a kind or device; without cpu if collect_interrupts_per_cpu = false.", COL_COUNTER},
    {"proc.softirqs", "cpu type", "interrupts", "Work put off by interrupts: NET_RX, TIMER, BLOCK ...",
     COL_COUNTER},
    {NULL, NULL, NULL, NULL, COL_GAUGE},
};

#define CPUS_MAX 8192u /* columns; the kernel's own limit */

/* Counts of one type. */
struct irq_row {
    struct ts_slice type; /* borrowed from the text */
    unsigned n;           /* counts it has */
    uint64_t *counts;     /* of each column */
};

/* A table under way. */
struct irq_table {
    struct ts_arena arena; /* counts */
    struct ts_slice *cpus; /* numbers from the heading */
    unsigned n_cpus;       /* columns */
    struct irq_row *rows;  /* types */
    unsigned n, cap;       /* rows */
};

/* Device of a numbered interrupt: the last word, without the number of a queue. */
static struct ts_slice irq_device(struct ts_slice rest)
{
    struct ts_slice word, last = {NULL, 0};
    while (col_word_next(&rest, &word))
        last = word;
    size_t n = last.n;
    while (n && last.p[n - 1] >= '0' && last.p[n - 1] <= '9')
        n--;
    if (n == last.n || n < 2)
        return last;
    char c = last.p[n - 1];
    if (c == '-' || c == '.' || c == '@' || c == ':')
        last.n = n - 1;
    else if (c == 'q')
        last.n = n;
    return last;
}

static void irq_heading(struct irq_table *t, struct ts_slice line)
{
    struct ts_slice word;
    t->cpus = ts_arena_alloc(&t->arena, CPUS_MAX * sizeof(*t->cpus));
    while (t->n_cpus < CPUS_MAX && col_word_next(&line, &word) && col_prefix_take(&word, "CPU"))
        t->cpus[t->n_cpus++] = word;
}

static struct irq_row *irq_row(struct irq_table *t, struct ts_slice type)
{
    for (unsigned i = 0; i < t->n; i++)
        if (ts_slice_eq(t->rows[i].type, type))
            return &t->rows[i];
    TS_ARRAY_GROW(t->rows, t->n, t->cap, 64);
    t->rows[t->n] =
        (struct irq_row){.type = type, .counts = ts_arena_zalloc(&t->arena, t->n_cpus * sizeof(uint64_t))};
    return &t->rows[t->n++];
}

/* " 24:  10  20  PCI-MSI 524288-edge  virtio0-input.0", "NMI:  0  0  Non-maskable interrupts", "ERR:  0" */
static void irq_line(struct irq_table *t, struct ts_slice line)
{
    struct ts_slice name;
    uint64_t v, number;
    if (!col_word_next(&line, &name) || name.p[name.n - 1] != ':')
        return;
    name.n--;
    struct ts_slice counts = line;
    unsigned n = 0;
    while (n < t->n_cpus && col_u64_next(&line, &v))
        n++;
    if (!n || !name.n)
        return;
    struct ts_slice type = col_u64_of(name, &number) ? irq_device(line) : name;
    if (!type.n)
        return;
    struct irq_row *row = irq_row(t, type);
    for (unsigned i = 0; i < n && col_u64_next(&counts, &v); i++)
        row->counts[i] += v;
    if (n > row->n)
        row->n = n;
}

static void irq_emit(const struct irq_table *t, const char *metric, bool per_cpu, struct col_emit *emit)
{
    for (unsigned i = 0; i < t->n; i++) {
        const struct irq_row *row = &t->rows[i];
        uint64_t sum = 0;
        bool split = per_cpu && row->n == t->n_cpus; /* ERR and MIS have one number for the machine */
        for (unsigned k = 0; k < row->n; k++) {
            sum += row->counts[k];
            if (split)
                col_emit_u64(emit, metric, row->counts[k],
                             COL_TAGS({"cpu", t->cpus[k]}, {"type", row->type}));
        }
        if (per_cpu && !split)
            col_emit_u64(emit, metric, sum, COL_TAGS({"cpu", TS_SLICE_LIT("all")}, {"type", row->type}));
        else if (!per_cpu)
            col_emit_u64(emit, metric, sum, COL_TAGS({"type", row->type}));
    }
}

static void irq_parse(struct ts_slice text, const char *metric, bool per_cpu, struct col_emit *emit)
{
    struct irq_table t = {0};
    struct ts_slice line;
    ts_arena_init(&t.arena, 0);
    if (col_line_next(&text, &line))
        irq_heading(&t, line);
    while (t.n_cpus && col_line_next(&text, &line))
        irq_line(&t, line);
    irq_emit(&t, metric, per_cpu, emit);
    ts_free(t.rows);
    ts_arena_release(&t.arena);
}

void col_interrupts_parse(struct ts_slice text, bool per_cpu, struct col_emit *emit)
{
    irq_parse(text, metrics[0].name, per_cpu, emit);
}

void col_softirqs_parse(struct ts_slice text, bool per_cpu, struct col_emit *emit)
{
    irq_parse(text, metrics[1].name, per_cpu, emit);
}

static int interrupts_read(void *state, struct col_emit *emit, struct ts_error *err)
{
    const struct col_ctx *ctx = col_text_ctx(state);
    struct ts_buf *text = col_text_buf(state);
    bool per_cpu = ts_conf_bool(ctx->conf, "collect_interrupts_per_cpu");
    TS_TRY(col_source_read(ctx->root, "/proc/interrupts", text, err));
    col_interrupts_parse(ts_buf_get(text), per_cpu, emit);
    TS_TRY(col_source_read(ctx->root, "/proc/softirqs", text, err));
    col_softirqs_parse(ts_buf_get(text), per_cpu, emit);
    return 0;
}

const struct col_collector col_interrupts = {
    .name = "interrupts",
    .help = "Interrupts and soft interrupts by kind and core.",
    .metrics = metrics,
    .interval_s = 60,
    .init = col_text_init,
    .read = interrupts_read,
    .release = col_text_release,
};
