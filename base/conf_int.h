/*
 * conf_int.h - what conf.c, conffile.c and opt.c share. Private to base/.
 */
#ifndef BASE_CONF_INT_H
#define BASE_CONF_INT_H

#include "base/conf.h"
#include "base/near.h"

/** Offer all keys of c; with others also those of other programs that are ignored (ts_conf_pass_over). */
void ts_conf__near_keys(struct ts_near *near, const struct ts_conf *c, bool others);

/** Row of a key by its own name, NULL if there is none. */
const struct ts_conf_key *ts_conf__find(const struct ts_conf *c, const char *name);
/** Is it a key that is ignored (ts_conf_pass_over)? */
bool ts_conf__passed_over(const struct ts_conf *c, const char *name);
/** Is it a key of this set, or one that is ignored (ts_conf_pass_over)? */
bool ts_conf__knows(const struct ts_conf *c, const char *name);
/** Offer the names that OpenTSDB has for keys of this set. */
void ts_conf__near_opentsdb(struct ts_near *near, const struct ts_conf *c);
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
