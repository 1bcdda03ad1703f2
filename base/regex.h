/*
 * regex.h - regular expressions (PCRE2, UTF-8) with limits on steps and memory, so that a pattern like (a+)+$ ends with
 * an error and not with a busy daemon.
 *
 * Threads    an expression belongs to one thread at a time
 */
#ifndef BASE_REGEX_H
#define BASE_REGEX_H

#include "base/buf.h"
#include "base/err.h"

#include <stdint.h>

#define TS_REGEX_STEPS 1000000u /* a value of a few hundred bytes and a sane pattern take hundreds */

struct ts_regex;

/**
 * Compile.
 *
 * @param caseless   upper and lower case are the same
 * @param max_steps  limit of one match; TS_REGEX_STEPS unless there is a reason for less
 * @param out        [out] the caller's: ts_regex_free
 * @return 0; TS_EINVAL 'Failed to compile regular expression "(": WHY at 1'; TS_ENOMEM
 */
int ts_regex_new(struct ts_slice pattern, bool caseless, uint32_t max_steps, struct ts_regex **out,
                 struct ts_error *err);
/** NULL is harmless. */
void ts_regex_free(struct ts_regex *re);
/** Number of groups, the whole match not counted. */
unsigned ts_regex_groups(const struct ts_regex *re);
/** Steps of all finds so far, about: each is counted as the limit under which it ended (64, 4096, 65536, max_steps). A step
 * takes some 10 ns. */
uint64_t ts_regex_steps(const struct ts_regex *re);
/** Is it found in a value, at byte `from` or later? 1; 0, also in a value that is not UTF-8; TS_ELIMIT: too many steps
 * or too much memory. */
int ts_regex_find(struct ts_regex *re, struct ts_slice value, size_t from, struct ts_error *err);
/** After a find that answered 1: where group n of that match lies (0 = all of it); false if it took no part. */
bool ts_regex_group(const struct ts_regex *re, unsigned n, size_t *out_start, size_t *out_end);

#endif
