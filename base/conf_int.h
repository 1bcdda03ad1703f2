/*
 * conf_int.h - what conf.c, conffile.c and opt.c share. Private to base/.
 */
#ifndef BASE_CONF_INT_H
#define BASE_CONF_INT_H

#include "base/conf.h"

/* The best name so far for a "did you mean". Zero-initialise. */
struct ts_conf__guess {
    const char *name;  /* borrowed; NULL = nothing is near */
    unsigned distance; /* edits from what was typed */
};
/** Offer one candidate for the typed name; '-' and '_' count as the same. */
void ts_conf__guess_offer(struct ts_conf__guess *g, struct ts_slice typed, const char *candidate);
/** Offer all keys of c. */
void ts_conf__guess_keys(struct ts_conf__guess *g, const struct ts_conf *c, struct ts_slice typed);

/** Row of a key by its own name, NULL if there is none. */
const struct ts_conf_key *ts_conf__find(const struct ts_conf *c, const char *name);
/** Is it a key that is ignored (ts_conf_pass_over)? */
bool ts_conf__passed_over(const struct ts_conf *c, const char *name);
/** Calls each(arg, key) for every row that names this OpenTSDB key; returns how many; each < 0 stops and is
 * returned. */
int ts_conf__each_opentsdb(const struct ts_conf *c, const char *opentsdb_key,
                           int (*each)(void *arg, const struct ts_conf_key *key), void *arg);
/** Is the text one of the words for true and false? */
bool ts_conf__is_bool(struct ts_slice s, bool *out);
/** Break text into lines of at most width columns, each begun with prefix but the first. */
void ts_conf__wrap(struct ts_buf *out, const char *text, const char *prefix, unsigned first_col,
                   unsigned width);

#endif
