/*
 * weblog_known.h - determines whether a log is or was followed, so that an import does not count its lines again.
 *
 * A file is known if collect_weblog names it (not as a rotated one), or if the checkpoint in collect_dir has it: by its path, or
 * by its first bytes, packed or not, among the places of any log (weblog_identity.h). The checkpoint is read
 * again for each file, since the collector may be running. With collect_dir = none no file is known.
 *
 * The part of a file that was imported before it was followed still belongs to imports: it may be imported
 * again, but no later line.
 *
 * Threads    one
 * Not here   following (weblog_follow.h), the checkpoint (weblog_state.h)
 */
#ifndef COLLECTORS_WEBLOG_WEBLOG_KNOWN_H
#define COLLECTORS_WEBLOG_WEBLOG_KNOWN_H

#include "base/conf.h"
#include "base/err.h"
#include "collectors/weblog/weblog_journal.h"

#include <stdbool.h>
#include <stddef.h>

struct col_web_known;
/** Read the keys. TS_EINVAL names the one that is wrong. conf is borrowed. */
int col_web_known_new(const struct ts_conf *conf, struct col_web_known **out, struct ts_error *err);
/** Free; NULL is harmless. */
void col_web_known_free(struct col_web_known *k);
/** Is a file known that stands, or stood a moment ago, at path, and begins with first (its text; COL_WEB_HEAD_BYTES
 * if there are so many; nothing = what the file there begins with)? Then why has a few words about it, and
 * *out_imported how many bytes of its text belong to an import nevertheless (0 = none; COL_WEB_OFF_ALL). journal: of
 * the imports; NULL = none is remembered. A checkpoint that can't be read is logged once. Cost: reads it. */
bool col_web_known_find(struct col_web_known *k, const char *path, struct ts_slice first,
                        const struct col_web_journal *journal, char *why, size_t why_bytes,
                        uint64_t *out_imported);

#endif
