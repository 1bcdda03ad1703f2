/*
 * progress.c - the text of the bar and when to draw it.
 *
 * Threads    see progress.h
 */
#include "tsd/commands/progress.h"

#include "base/time.h"
#include "tsd/commands/terminal.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define PROGRESS_EVERY_NS 100000000ll
#define PROGRESS_MAX_LINE 256
#define PROGRESS_BAR_MAX  40

char *tsd_count_text(uint64_t n, char *out)
{
    char plain[24];
    int len = snprintf(plain, sizeof(plain), "%llu", (unsigned long long)n);
    char *p = out;
    for (int i = 0; i < len; i++) {
        if (i && (len - i) % 3 == 0)
            *p++ = ',';
        *p++ = plain[i];
    }
    *p = 0;
    return out;
}

void tsd_progress_begin(struct tsd_progress *p, uint64_t all_bytes)
{
    *p = (struct tsd_progress){.on = isatty(STDERR_FILENO), .all_bytes = all_bytes};
    p->began_ns = ts_clock_mono_ns();
    p->next_ns = p->began_ns + PROGRESS_EVERY_NS;
}

double tsd_progress_s(const struct tsd_progress *p)
{
    return (double)(ts_clock_mono_ns() - p->began_ns) / 1e9;
}

/* What was done, and its rate. */
static void progress_figures(const struct tsd_progress *p, double seconds, char *out, size_t cap)
{
    char done[32], rate[32];
    double n = (double)(p->in_bytes ? p->done_bytes : p->n_points), per_s = seconds > 0 ? n / seconds : 0;
    if (p->in_bytes)
        snprintf(out, cap, "%s, %s/s", tsd_bytes_text(n, done), tsd_bytes_text(per_s, rate));
    else
        snprintf(out, cap, "%s points, %s points/s", tsd_count_text(p->n_points, done),
                 tsd_count_text((uint64_t)per_s, rate));
}

size_t tsd_progress_line(const struct tsd_progress *p, double seconds, size_t width, char *out, size_t cap)
{
    char figures[96], tail[160];
    double part = p->all_bytes ? (double)p->done_bytes / (double)p->all_bytes : 0;
    part = part > 1 ? 1 : part;
    progress_figures(p, seconds, figures, sizeof(figures));
    if (!p->all_bytes)
        return (size_t)snprintf(out, cap, "%s", figures);
    if (part > 0.001) {
        unsigned left_s = (unsigned)(seconds / part - seconds + 0.5);
        snprintf(tail, sizeof(tail), "%3.0f %%  %s, %u:%02u left", part * 100, figures, left_s / 60,
                 left_s % 60);
    } else {
        snprintf(tail, sizeof(tail), "%3.0f %%  %s", part * 100, figures);
    }
    size_t n_tail = strlen(tail), n_bar = width > n_tail + 6 ? width - n_tail - 4 : 0;
    n_bar = n_bar > PROGRESS_BAR_MAX ? PROGRESS_BAR_MAX : n_bar;
    if (n_bar < 5)
        return (size_t)snprintf(out, cap, "%s", tail);
    char bar[PROGRESS_BAR_MAX + 1];
    memset(bar, ' ', n_bar);
    memset(bar, '=', (size_t)((double)n_bar * part));
    bar[n_bar] = 0;
    return (size_t)snprintf(out, cap, "[%s] %s", bar, tail);
}

void tsd_progress_set(struct tsd_progress *p, uint64_t done_bytes, uint64_t n_points)
{
    p->done_bytes = done_bytes;
    p->n_points = n_points;
    int64_t now = p->on ? ts_clock_mono_ns() : 0;
    if (!p->on || now < p->next_ns)
        return;
    p->next_ns = now + PROGRESS_EVERY_NS;
    struct winsize ws;
    size_t width = ioctl(STDERR_FILENO, TIOCGWINSZ, &ws) == 0 && ws.ws_col ? ws.ws_col : 80;
    char line[PROGRESS_MAX_LINE];
    tsd_progress_line(p, (double)(now - p->began_ns) / 1e9, width, line, sizeof(line));
    fprintf(stderr, "\r\033[K%s", line);
    fflush(stderr);
    p->drawn = true;
}

void tsd_progress_clear(struct tsd_progress *p)
{
    if (!p->drawn)
        return;
    fputs("\r\033[K", stderr);
    fflush(stderr);
    p->drawn = false;
}
