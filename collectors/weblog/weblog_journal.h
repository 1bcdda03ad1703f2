/*
 * weblog_journal.h - records which logs were imported, with which keys and how far, so that no line is counted twice.
 *
 * A log that is imported again overwrites its own points, as long as the keys that decide about series and times are
 * the same. With another length of buckets, depth of paths or rule of domains it would make other points beside them.
 * The journal is the file weblog.imports in collect_dir: one line for each import that has begun,
 * "IDENTITY<TAB>SERVER<TAB>KEY=VALUE<TAB>...", the last line of an identity is valid.
 *
 * It also records where each imported file is divided: the lines that begin before that byte belong to the import, the later ones to a collector that follows the log now or later. "place<TAB>HEAD BYTES<TAB>HEAD<TAB>BYTES or
 * all<TAB>begun, done or whole<TAB>SERVER<TAB>PATH" is on disk before the first point of the file is sent. The import reads no further than that, however often it is repeated, and a collector that sees the file for the first time ignores these lines (weblog_identity.h, imported). Both decide under the lock of the folder,
 *
 *   import     lock > checkpoint: not followed > size, first bytes > line of the journal, synced > unlock > points > "done"
 *   collector  lock > size, first bytes > journal: so far > places, checkpoint, synced > unlock > points
 *
 * and only from facts that they read under the lock; what was read of a file before is only a reason to take
 * the lock. A file grows while a process waits for the lock, and the other process may have read more of it,
 * and have hashed more first bytes, than this one. So the second process sees what the first has decided:
 *
 *   first      killed, or ended                    second     what it finds
 *   import     before the line is synced           collector  nothing: all lines are its own; the import, repeated, finds the place and is left out
 *   import     behind it, at any time              collector  the line: it begins behind that byte; the import, repeated, counts the same part again
 *   collector  before the checkpoint is synced     import     no place: all lines are its own; the collector, started again, finds the line
 *   collector  behind it, at any time              import     the place: it counts the part that the place leaves to imports, if there is one
 *   import     at any time                         import     the log claimed, and leaves it out; the line, once the first has ended or was
 *                                                            killed: it may take more than that as long as no collector has a place
 *
 * The kernel frees the lock of a killed process. A rotation moves neither side of the division: lines and places know
 * a file by first bytes and the family of its name, not by the name. Rotations and writes themselves need no lock.
 *
 * Threads    one; several processes may append
 * Not here   what to do about it (weblog_import.c, weblog.c), the text of settings (weblog_settings.h)
 */
#ifndef COLLECTORS_WEBLOG_WEBLOG_JOURNAL_H
#define COLLECTORS_WEBLOG_WEBLOG_JOURNAL_H

#include "base/buf.h"
#include "base/conf.h"
#include "base/err.h"
#include "collectors/weblog/weblog_identity.h"

#include <stdbool.h>
#include <stdint.h>

struct col_web_journal;

/* What was imported of a file. */
struct col_web_taken {
    uint64_t bytes; /* of its text, unpacked: lines that begin before belong to the import; COL_WEB_OFF_ALL */
    bool done;      /* the import ended, and the daemon has its points */
    bool whole;     /* of a packed file, to which nobody appends: all of it */
};

/** Read the journal of collect_dir for the daemon of collect_server. One that is not there is empty; collect_dir =
 * none remembers nothing. What can't be read is logged. Never NULL. */
struct col_web_journal *col_web_journal_open(const struct ts_conf *conf);
/** Read the journal of a folder, whatever daemon its logs went to; it is for looking up only. Never NULL. */
struct col_web_journal *col_web_journal_look(const char *dir);
/** Close; NULL is ignored. */
void col_web_journal_close(struct col_web_journal *j);
/** Identity of a log: of its lines down to its first request. before: what this gave for the line above; NULL = line
 * is the first. */
uint64_t col_web_journal_identity(const uint64_t *before, struct ts_slice line);
/** Settings a log was imported with last; NULL = it was not. Borrowed until the next set. Cost: O(entries). */
const char *col_web_journal_find(const struct col_web_journal *j, uint64_t identity);
/** A log is going to be imported with these. What can't be written is logged once: the next import will not know. */
void col_web_journal_set(struct col_web_journal *j, uint64_t identity, const char *settings);

/** A log that was set is this import's until the journal is closed, or its process ends. False: another import has
 * it; both would send the same points, and the older counts might come last. Where the file system has no such locks,
 * nobody sees the other. */
bool col_web_journal_claim(struct col_web_journal *j, uint64_t identity);

/** Is there a folder, so that anything is remembered? */
bool col_web_journal_keeps(const struct col_web_journal *j);
/** Take the lock of the folder, and read the journal again if it has changed. Holding it already is fine; without a
 * folder there is nothing to hold. Another process keeps it for milliseconds. False: it did so for longer than
 * wait_ms, or this process has no descriptor left to see it. Blocks: that long. */
bool col_web_journal_lock(struct col_web_journal *j, unsigned wait_ms);
/** Is it held by this journal? */
bool col_web_journal_locked(const struct col_web_journal *j);
/** Unlock; does nothing if the lock is not held. */
void col_web_journal_unlock(struct col_web_journal *j);
/** What was imported of a file that begins with these bytes, under a path of which `of` says that it is a name of the
 * file's log (without links). False: nothing. Cost: a hash an entry. */
bool col_web_journal_taken(const struct col_web_journal *j, struct ts_slice first,
                           bool (*of)(void *arg, const char *path), void *arg, struct col_web_taken *out);
/** Record, and sync, that this many bytes of the file at path (without links) belong to an import that begins
 * now. An error is logged once: a collector that follows the log later then counts these lines again. */
void col_web_journal_take(struct col_web_journal *j, const char *path, const struct col_web_head *head,
                          uint64_t bytes);
/** Record the length of the text of the file at path, all of which was imported. */
void col_web_journal_ended(struct col_web_journal *j, const char *path, const struct col_web_head *head,
                           uint64_t bytes);
/** Record that the daemon has all points of the files recorded by this journal. */
void col_web_journal_done(struct col_web_journal *j);

#endif
