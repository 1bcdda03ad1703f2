/*
 * progress.h - a bar with rate and time left on standard error, on a terminal only.
 *
 * Threads    one
 */
#ifndef TSD_COMMANDS_PROGRESS_H
#define TSD_COMMANDS_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tsd_progress {
    bool on;             /* standard error is a terminal */
    bool drawn;          /* a bar stands on the last line */
    int64_t began_ns;    /* monotonic */
    int64_t next_ns;     /* when to draw again */
    uint64_t done_bytes; /* of all_bytes */
    uint64_t all_bytes;  /* 0 = not known */
    uint64_t n_points;   /* so far */
    bool in_bytes;       /* show done_bytes and their rate instead of points; set after begin */
};

/** Begin; all_bytes 0: the end is not known, a count is shown instead of a bar. */
void tsd_progress_begin(struct tsd_progress *p, uint64_t all_bytes);
/** Update the progress; draws at most ten times a second. */
void tsd_progress_set(struct tsd_progress *p, uint64_t done_bytes, uint64_t n_points);
/** Remove the bar before other lines are printed, and at the end. */
void tsd_progress_clear(struct tsd_progress *p);
/** Seconds since begin. */
double tsd_progress_s(const struct tsd_progress *p);
/** The line a bar would show, for width columns; returns its length. */
size_t tsd_progress_line(const struct tsd_progress *p, double seconds, size_t width, char *out, size_t cap);
/** 1234567 as "1,234,567". Returns out (32 bytes are enough). */
char *tsd_count_text(uint64_t n, char *out);

#endif
