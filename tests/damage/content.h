/*
 * content.h - everything a store answers, as something that can be compared.
 *
 * Threads    one
 */
#ifndef TESTS_DAMAGE_CONTENT_H
#define TESTS_DAMAGE_CONTENT_H

#include "storage/store.h"
#include "tests/faults/faultfs.h"

/* One point. */
struct content_point {
    uint32_t series; /* index into texts */
    int64_t ts_ms;
    struct ts_num value;
};

/* What a store holds. Points by text of series, then time. */
struct content {
    char **texts; /* of series with points, sorted */
    size_t n_texts;
    struct content_point *points;
    size_t n_points, cap;
    char *cells; /* keys and values, one after the other */
    size_t cells_n;
};

/* How two stores differ. */
struct content_diff {
    size_t n_missing; /* points of a that b has not */
    size_t n_other;   /* points of b that a has not, or with another value */
    bool cells;       /* cells differ */
};

/** Open the store, read all, close. summaries: hours are asked by their summaries too, and compared with the points:
 * a difference is TS_ECORRUPT "wrong summary". 0 or the error of the store. */
int content_read(struct t_faultfs *f, bool read_only, struct content *out, struct ts_error *err);
void content_release(struct content *c);
/** Compare; missing (may be NULL) is told each point that b has not, other (may be NULL) says of each point of b that
 * a has not, or has with another value, whether it counts. */
struct content_diff content_compare(const struct content *a, const struct content *b,
                                    void (*missing)(void *arg, const char *text, int64_t ts_ms),
                                    bool (*other)(void *arg, const char *text, int64_t ts_ms), void *arg);

#endif
