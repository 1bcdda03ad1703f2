/*
 * log.h - log lines on stderr: "2026-11-02T10:00:00.123Z level message key=value ...".
 *
 * Threads    every function may be called from any thread; one line is one write(2)
 * Not here   error texts (err.h); results (stdout belongs to commands)
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

enum ts_log_level { TS_LOG_DEBUG, TS_LOG_INFO, TS_LOG_WARN, TS_LOG_ERROR };

/** Lines below level are dropped. Default TS_LOG_INFO. */
void ts_log_set_level(enum ts_log_level level);
/** Level from its name (debug info warn error); TS_EPARSE if unknown. */
int ts_log_level_parse(const char *name, enum ts_log_level *out_level);
/** One line. Text is cut at 2,000 bytes; line breaks and other control bytes in it become spaces. Keeps errno. */
void ts_log(enum ts_log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/** At most one line a second for each call site (static struct); the next one reports how many were left out
 * (n_left_out=12). */
struct ts_log_limit {
    long long next_ns;   /* monotonic time before which lines are counted only; atomic */
    long long n_dropped; /* lines left out since the last one printed; atomic */
};
/** ts_log, but at most as often as limit says; what was left out is counted in the next line. */
void ts_log_limited(struct ts_log_limit *limit, enum ts_log_level level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/** The last lines logged, newest first, for /logs: calls emit(arg, line) for up to 1,024 kept lines. */
void ts_log_recent(void (*emit)(void *arg, const char *line), void *arg);

#endif
