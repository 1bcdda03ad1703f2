/*
 * weblog_journal.h - which logs were imported, and with which keys: so that none is counted twice under other ones.
 *
 * A log that is imported again overwrites its own points, as long as the keys that decide about series and times are the same. With another
 * length of buckets, depth of paths or rule of domains it would make other points beside them. The journal is the file weblog.imports in
 * collect_dir: a line for each import begun, "IDENTITY<TAB>SERVER<TAB>KEY=VALUE<TAB>...", the last one of an identity counts.
 *
 * Threads    one; several processes may append
 * Not here   what to do about it (weblog_import.c)
 */
#ifndef COLLECTORS_WEBLOG_JOURNAL_H
#define COLLECTORS_WEBLOG_JOURNAL_H

#include "base/buf.h"
#include "base/conf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct col_web_journal;

/** The keys that decide about series and times, with their values, as a line of text without its end. */
void col_web_settings_get(const struct ts_conf *conf, struct ts_buf *out);
/** A new configuration with the values of such a text and nothing followed; the caller frees it. NULL: the text is none. */
struct ts_conf *col_web_settings_conf(const char *settings);
/** What differs between two such texts, "KEY = OLD (now NEW), ...", cut to fit. */
void col_web_settings_differ(const char *before, const char *now, char *out, size_t out_bytes);

/** Read the journal of collect_dir for the daemon of collect_server. One that is not there is empty; collect_dir = none remembers nothing. What can't
 *  be read is logged. Never NULL. */
struct col_web_journal *col_web_journal_open(const struct ts_conf *conf);
/** Read the journal of a folder, whatever daemon its logs went to; it is for looking up only. Never NULL. */
struct col_web_journal *col_web_journal_look(const char *dir);
/** Close; NULL is harmless. */
void col_web_journal_close(struct col_web_journal *j);
/** Identity of a log: of its lines down to its first request. before: what this gave for the line above; NULL = line is the first. */
uint64_t col_web_journal_identity(const uint64_t *before, struct ts_slice line);
/** Settings a log was imported with last; NULL = it was not. Borrowed until the next set. Cost: O(entries). */
const char *col_web_journal_find(const struct col_web_journal *j, uint64_t identity);
/** A log is going to be imported with these. What can't be written is logged once: the next import will not know. */
void col_web_journal_set(struct col_web_journal *j, uint64_t identity, const char *settings);

#endif
