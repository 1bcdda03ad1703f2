/*
 * terminal.c - size, colours and characters of standard output; colours and the pager, on a terminal only; figures.
 *
 * Threads    see terminal.h
 * Source     no-color.org; POSIX.1-2017 Base Definitions, section 8.3 (COLUMNS, LINES) and 8.2 (order of the locale's variables)
 */
#include "tsd/commands/terminal.h"

#include "base/cut.h"
#include "base/num.h"
#include "tsd/commands/cmd.h"
#include "tsd/commands/progress.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define TERMINAL_WIDTH  80 /* of a pipe */
#define TERMINAL_HEIGHT 24
#define TERMINAL_LEAST  10 /* smaller sizes are those of no terminal */
#define TERMINAL_MOST   1000

static const char *terminal_env(const char *name)
{
    const char *v = getenv(name);
    return v ? v : "";
}

/* A size from the environment; 0: not set, or none. */
static size_t terminal_size(const char *name)
{
    int64_t n;
    const char *v = terminal_env(name);
    if (!*v || ts_num_parse_int(ts_slice_str(v), &n, NULL) < 0 || n < TERMINAL_LEAST || n > TERMINAL_MOST)
        return 0;
    return (size_t)n;
}

static size_t terminal_within(size_t n, size_t otherwise)
{
    return n < TERMINAL_LEAST ? otherwise : n > TERMINAL_MOST ? TERMINAL_MOST : n;
}

static bool terminal_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *v = terminal_env(names[i]);
        if (*v)
            return strcasestr(v, "UTF-8") || strcasestr(v, "UTF8");
    }
    return false;
}

bool tsd_term_on(void)
{
    const char *term = terminal_env("TERM");
    return isatty(STDOUT_FILENO) && *term && strcmp(term, "dumb") != 0;
}

bool tsd_term_colours(void)
{
    return tsd_term_on() && !*terminal_env("NO_COLOR");
}

void tsd_terminal_look(struct tsd_terminal *out)
{
    struct winsize ws = {0};
    size_t width = terminal_size("COLUMNS"), height = terminal_size("LINES");
    *out = (struct tsd_terminal){.is_tty = isatty(STDOUT_FILENO), .utf8 = terminal_utf8()};
    if (out->is_tty)
        (void)ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws);
    out->width = width ? width : terminal_within(ws.ws_col, TERMINAL_WIDTH);
    out->height = height ? height : terminal_within(ws.ws_row, TERMINAL_HEIGHT);
    out->colours = tsd_term_colours();
}

void tsd_term_put(struct ts_buf *out, enum tsd_style style, struct ts_slice text)
{
    static const char *const codes[] = {"1", "2", "32", "33", "31"};
    bool on = tsd_term_colours();
    if (on)
        (void)ts_buf_printf(out, "\033[%sm", codes[style]);
    (void)ts_buf_slice(out, text);
    if (on)
        (void)ts_buf_str(out, "\033[0m");
}

void tsd_term_table(struct ts_buf *out, struct ts_slice table)
{
    const char *nl = table.n ? memchr(table.p, '\n', table.n) : NULL;
    if (!nl) {
        (void)ts_buf_slice(out, table);
        return;
    }
    size_t n = (size_t)(nl - table.p);
    tsd_term_put(out, TSD_STYLE_BOLD, (struct ts_slice){table.p, n});
    (void)ts_buf_append(out, nl, table.n - n);
}

/* --- the pager --- */

int tsd_term_page(struct ts_buf *text)
{
    const char *pager = getenv("PAGER");
    struct ts_slice all = ts_buf_get(text);
    struct tsd_terminal t;
    tsd_terminal_look(&t);
    if (!pager)
        pager = "less";
    if (!tsd_term_on() || !*pager || strcmp(pager, "cat") == 0 || ts_slice_count(all, '\n') < t.height)
        return tsd_print_page(text);
    (void)setenv("LESS", "FRX", 0);
    (void)fflush(stdout);
    FILE *f = popen(pager, "we");
    if (!f)
        return tsd_print_page(text);
    void (*old)(int) = signal(SIGPIPE, SIG_IGN); /* who ends the pager early has read enough */
    (void)fwrite(all.p, 1, all.n, f);
    int status = pclose(f);
    (void)signal(SIGPIPE, old);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127) /* the shell found no such program */
        return tsd_print_page(text);
    ts_buf_release(text);
    return TSD_EXIT_OK;
}

/* --- figures --- */

char *tsd_bytes_text(double bytes, char *out)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB"};
    size_t u = 0;
    while (bytes >= 1023.5 && u + 1 < sizeof(units) / sizeof(units[0])) {
        bytes /= 1024;
        u++;
    }
    (void)snprintf(out, TSD_FIGURE_BYTES, u && bytes < 9.95 ? "%.1f %s" : "%.0f %s", bytes, units[u]);
    return out;
}

char *tsd_number_text(double n, char *out)
{
    if (!(fabs(n) < 1e15))
        (void)snprintf(out, TSD_FIGURE_BYTES, "%.3g", n);
    else if (fabs(n) < 99.95 && n != floor(n))
        (void)snprintf(out, TSD_FIGURE_BYTES, "%.1f", n);
    else if (n < 0)
        (void)snprintf(out, TSD_FIGURE_BYTES, "%.0f", n);
    else
        (void)tsd_count_text((uint64_t)(n + 0.5), out);
    return out;
}

char *tsd_span_text(int64_t seconds, char *out)
{
    static const struct {
        int64_t s;               /* seconds of the larger unit */
        int64_t part_s;          /* of the smaller one */
        const char *unit, *part; /* their names */
    } units[] = {{86400, 3600, "d", "h"}, {3600, 60, "h", "min"}, {60, 1, "min", "s"}};
    int64_t s = seconds < 0 ? 0 : seconds;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (s >= units[i].s) {
            (void)snprintf(out, TSD_FIGURE_BYTES, "%lld %s %lld %s", (long long)(s / units[i].s),
                           units[i].unit, (long long)(s % units[i].s / units[i].part_s), units[i].part);
            return out;
        }
    (void)snprintf(out, TSD_FIGURE_BYTES, "%lld s", (long long)s);
    return out;
}
