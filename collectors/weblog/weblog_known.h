/*
 * weblog_known.h - determines whether a log is or was followed, so that an import does not count its lines again.
 *
 * A file is known if collect_weblog names it as a current log (not as a rotated one), or if the checkpoint in collect_dir contains its
 * path, or its first bytes (packed or not) in a place of any log (weblog_identity.h). The checkpoint is read again for each file, since
 * the collector may be running. With collect_dir = none no file is known.
 *
 * If a part of a file was imported before the file was followed, imports may count this part again, but no line behind it.
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
/** Is the file known that is, or was a moment ago, at path?
 *
 * @param first         the first COL_WEB_HEAD_BYTES bytes of its text, or all of a shorter one; empty = read them from the file at path
 * @param journal       journal of imports; NULL = no import is recorded
 * @param why           [out] the reason in a few words, if the file is known
 * @param out_imported  [out, bytes] the part of its text that imports may count nevertheless; 0 = none, COL_WEB_OFF_ALL = all of it
 *
 * A checkpoint that can't be read is logged once. Cost: reads the checkpoint. */
bool col_web_known_find(struct col_web_known *k, const char *path, struct ts_slice first,
                        const struct col_web_journal *journal, char *why, size_t why_bytes,
                        uint64_t *out_imported);

#endif
