/*
 * fuzz_collect.c - what collectors read, on any bytes: lines of programs, texts of /proc, what smartctl prints.
 *
 * First byte: which reader; for programs the second one says how many bytes arrive at once.
 *
 * Checked    no crash; every line that comes out is a put line of allowed characters; lines of programs in pieces give what they
 * give as a whole
 */
#include "collectors/core/exposition.h"
#include "collectors/host/parse.h"
#include "collectors/programs/programs_dir.h"
#include "collectors/programs/programs_line.h"
#include "tests/fuzz/fuzz_kit.h"

/* What came out. */
struct result {
    struct ts_buf lines;
    uint32_t n_bad;
    struct col_emit *emit;
};

static int take(void *arg, struct ts_slice lines, uint32_t n_points, bool durable, struct ts_error *err)
{
    struct result *r = arg;
    (void)n_points;
    (void)durable;
    (void)err;
    return ts_buf_slice(&r->lines, lines);
}

static void result_init(struct result *r)
{
    struct col_emit_opts opts = {.out = {.put = take, .arg = r}, .host = "h", .tags = "dc=x"};
    *r = (struct result){.n_bad = 0};
    ts_buf_init(&r->lines, 0);
    r->emit = col_emit_new(&opts);
    col_emit_time(r->emit, 1700000000000);
}

static void result_release(struct result *r)
{
    col_emit_free(r->emit);
    ts_buf_release(&r->lines);
}

static bool name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           memchr("-_./", c, 4) != NULL;
}

/* "put NAME TIME VALUE name=name ..." */
static void check_line(const char *p, size_t n)
{
    unsigned n_words = 0;
    CHECK(n > 4 && memcmp(p, "put ", 4) == 0);
    for (const char *word = p + 4, *end = p + n; word < end; n_words++) {
        const char *blank = memchr(word, ' ', (size_t)(end - word)), *to = blank ? blank : end;
        unsigned n_equal = 0;
        CHECK(to > word);
        for (const char *c = word; c < to; c++) {
            n_equal += *c == '=';
            CHECK(name_char(*c) || (*c == '=' && n_words > 2) || (*c == '+' && n_words == 2));
        }
        CHECK(n_equal == (n_words > 2));
        word = to + (blank != NULL);
    }
    CHECK(n_words > 3); /* host, dc */
}

static void check_lines(struct result *r)
{
    (void)col_emit_end(r->emit, false, NULL);
    struct ts_slice text = ts_buf_get(&r->lines);
    while (text.n) {
        const char *nl = memchr(text.p, '\n', text.n);
        CHECK(nl != NULL);
        check_line(text.p, (size_t)(nl - text.p));
        text = (struct ts_slice){nl + 1, text.n - (size_t)(nl + 1 - text.p)};
    }
}

static void program_line(void *arg, struct ts_slice line, bool too_long)
{
    struct result *r = arg;
    struct ts_error err = {0};
    CHECK(line.n < COL_PROGRAM_LINE_BYTES);
    if (too_long) {
        r->n_bad++;
        return;
    }
    int rc = col_emit_line(r->emit, line, &err);
    check_answer(rc, &err);
    r->n_bad += rc < 0;
}

static void program_feed(struct result *r, struct ts_slice text, size_t piece)
{
    struct col_line_cut cut = {.n = 0};
    for (size_t i = 0; i < text.n; i += piece)
        col_line_feed(&cut, (struct ts_slice){text.p + i, text.n - i < piece ? text.n - i : piece},
                      program_line, r);
    r->n_bad += col_line_end(&cut);
}

static void programs(struct input *in)
{
    struct result whole, parts;
    size_t piece = 1 + next8(in);
    struct ts_slice text = {(const char *)in->p, (size_t)(in->end - in->p)};
    result_init(&whole);
    result_init(&parts);
    program_feed(&whole, text, text.n + 1);
    program_feed(&parts, text, piece);
    check_lines(&whole);
    check_lines(&parts);
    CHECK(whole.n_bad == parts.n_bad && ts_slice_eq(ts_buf_get(&whole.lines), ts_buf_get(&parts.lines)));
    result_release(&whole);
    result_release(&parts);
}

/* A key's text, terminated. */
static void commands(struct ts_slice text)
{
    struct col_program_list l = {.p = NULL};
    struct ts_error err = {0};
    struct ts_buf z;
    ts_buf_init(&z, 0);
    ts_buf_slice(&z, text);
    ts_buf_char(&z, '\0');
    int looked = col_programs_commands(z.p, NULL, &err), rc = col_programs_commands(z.p, &l, &err);
    CHECK(looked == rc);
    check_answer(rc, &err);
    for (size_t i = 0; i < l.n; i++) {
        CHECK(*l.p[i].name && *l.p[i].path && l.p[i].interval_s <= COL_PROGRAMS_INTERVAL_MAX_S);
        for (size_t k = 0; k < i; k++)
            CHECK(strcmp(l.p[i].name, l.p[k].name) != 0);
    }
    col_programs_release(&l);
    ts_buf_release(&z);
}

static void vmstat_parse(struct ts_slice text, struct col_emit *emit)
{
    col_vmstat_parse(text, "*", emit);
}

static void exposition(struct ts_slice text)
{
    struct result r;
    result_init(&r);
    struct col_exposition x = {.emit = r.emit, .max_samples = 1000};
    col_exposition_read(&x, text);
    check_lines(&r);
    result_release(&r);
}

static void texts(unsigned which, struct ts_slice text)
{
    static void (*const parsers[])(struct ts_slice, struct col_emit *) = {
        col_cpu_parse,    col_load_parse,  col_memory_parse, vmstat_parse,
        col_uptime_parse, col_files_parse, col_nfs_parse,    col_tcpudp_parse};
    struct result r;
    uint64_t counts[COL_TCP_STATES] = {0};
    result_init(&r);
    if (which < 8)
        parsers[which](text, r.emit);
    else if (which < 10)
        col_interrupts_parse(text, which & 1, r.emit);
    else if (which < 12)
        col_softirqs_parse(text, which & 1, r.emit);
    else if (which == 12)
        col_net_parse(text, "*", "lo,br?", r.emit);
    else if (which == 13)
        col_sockstat_parse(text, 4096, r.emit);
    else if (which == 14)
        col_tcp_line(text, counts);
    else
        (void)col_smart_parse(text, "sda", r.emit);
    check_lines(&r);
    result_release(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct input in = {data, data + n};
    unsigned which = next8(&in) % 19;
    struct ts_slice text = {(const char *)in.p, (size_t)(in.end - in.p)};
    if (which == 18)
        exposition(text);
    else if (which == 16)
        programs(&in);
    else if (which == 17)
        commands(text);
    else
        texts(which, text);
    return 0;
}
