/*
 * targets.h - the pages that a configuration key names, "[NAME=]http://HOST[:PORT][/PATH]; ...", each fetched once per turn.
 *
 * After each failure a page is skipped for more turns, up to 16, so that it does not delay the others.
 *
 * Threads    the collector's own
 * Not here   HTTP (fetch.h)
 */
#ifndef COLLECTORS_CORE_TARGETS_H
#define COLLECTORS_CORE_TARGETS_H

#include "base/buf.h"
#include "base/err.h"
#include "base/log.h"
#include "collectors/core/fetch.h"

#include <stdbool.h>
#include <stdint.h>

/* A page. */
struct col_target {
    char job[128];       /* as named, else HOST:PORT */
    struct col_url url;  /* where */
    struct ts_error why; /* of the last turn that failed */
    unsigned n_failed;   /* turns that failed in a row */
    unsigned skip;       /* turns to leave it alone */
};
/* All of a key. Zero-initialise. */
struct col_targets {
    struct col_target *p; /* owned */
    unsigned n;           /* entries */
};

/** Append those of a key's text. TS_EINVAL names the key and what is wrong; what was parsed stays. */
int col_targets_parse(struct col_targets *l, const char *key, const char *text, const char *default_path,
                      struct ts_error *err);
/** Free them. Idempotent. */
void col_targets_release(struct col_targets *l);
/** Take a turn: fetch the page into body unless it is left alone. True = it is there. A failure is logged when it is
 * the first, and when it is over. */
bool col_target_turn(struct col_target *t, int64_t timeout_ms, struct ts_buf *body,
                     struct ts_log_limit *limit);
/** TS_EIO if pages could not be fetched in their last turn: how many, and why the first one could not. */
int col_targets_failed(const struct col_targets *l, struct ts_error *err);

#endif
