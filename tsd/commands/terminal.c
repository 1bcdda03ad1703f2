/*
 * terminal.c - size, colours and characters of standard output.
 *
 * Source     no-color.org; POSIX.1-2017 Base Definitions, section 8.3 (COLUMNS, LINES) and 8.2 (order of the locale's variables)
 */
#include "tsd/commands/terminal.h"

#include "base/num.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
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

void tsd_terminal_look(struct tsd_terminal *out)
{
    struct winsize ws = {0};
    size_t width = terminal_size("COLUMNS"), height = terminal_size("LINES");
    *out = (struct tsd_terminal){.is_tty = isatty(STDOUT_FILENO), .utf8 = terminal_utf8()};
    if (out->is_tty)
        (void)ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws);
    out->width = width ? width : terminal_within(ws.ws_col, TERMINAL_WIDTH);
    out->height = height ? height : terminal_within(ws.ws_row, TERMINAL_HEIGHT);
    out->colours = out->is_tty && !*terminal_env("NO_COLOR") && strcmp(terminal_env("TERM"), "dumb") != 0;
}
