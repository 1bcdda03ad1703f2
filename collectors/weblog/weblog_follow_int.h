/*
 * weblog_follow_int.h - what the files of following share: weblog_follow.c (turns), weblog_scan.c (looking), weblog_read.c (reading).
 *
 * Threads    one
 */
#ifndef COLLECTORS_WEBLOG_WEBLOG_FOLLOW_INT_H
#define COLLECTORS_WEBLOG_WEBLOG_FOLLOW_INT_H

#include "collectors/weblog/weblog_follow.h"

#include <limits.h>
#include <sys/stat.h>

/* The clocks of a turn. */
struct col_web_now {
    int64_t wall_ms;   /* for what is kept on disk */
    int64_t steady_ms; /* for pauses: no step of the wall clock ends a rotated file early */
};

/* What stat and fstat say, of a regular file. */
struct col_web_id {
    uint64_t dev, ino, size_bytes, n_links; /* as in struct stat */
    int64_t mtime_ms;                       /* last change */
};

/** The identity of the file at a path. False: there is no file, or it is not a regular one. */
bool col_web__id_of_path(const char *path, struct col_web_id *out);
/** The same of an open file. */
bool col_web__id_of_file(FILE *file, struct col_web_id *out);

/* --- reading (weblog_read.c) --- */

/** Take what a place has, at most some chunks. last_too: also a line that nobody will end.
 *  @return 1 = there is more; 0 = not now; -1 = its file is not the one it was: truncated, or it began anew */
int col_web__place_read(struct col_web_follow *f, struct col_web_place *p, bool last_too,
                        const struct col_web_now *now);
/** Take pieces of a packed file. @return 1 = there is more; 0 = all was taken; -1 = it is damaged, or not yet whole */
int col_web__packed_read(struct col_web_follow *f, struct col_web_place *p, const struct col_web_now *now);
/** The first bytes of an open file. Returns how many. */
size_t col_web__first_read(FILE *file, char out[COL_WEB_HEAD_BYTES]);
/** Was a rotated file empty when it was opened, and holds now, as its first bytes say, what somebody packs? Then it is no text. */
bool col_web__packed_text(const struct col_web_place *p, struct ts_slice first);
/** Must its format still be detected from its lines? */
bool col_web__kind_wanted(const struct col_web_place *p);

/* --- looking (weblog_scan.c) --- */

/** Look at the family of a log: find the files of places that are not open, and add places for those that
 * nobody has read. Those that
 *  were found are open afterwards. Cost: a sorted list of each folder a turn, shared by all logs; first bytes
 *  of files that changed. */
void col_web__scan(struct col_web_follow *f, struct col_web_tail *t, const struct col_web_now *now);
/** Is this file known by another name of the family? */
bool col_web__linked(struct col_web_follow *f, const struct col_web_tail *t, const struct col_web_id *id);
/** Folder number i of the olddirs for the log at path, with a slash at its end. False: there are not so many,
 * or it is too long. */
bool col_web__olddir(const struct col_web_follow *f, const char *path, unsigned i, char out[PATH_MAX]);
/** As opts.hold says. */
bool col_web__hold(const struct col_web_follow *f, const struct col_web_tail *t);
/** As opts.imported says; 0 without it, or when nothing is in the file: col_web__head_learn finds it out when
 * something is. */
uint64_t col_web__imported(const struct col_web_follow *f, const struct col_web_tail *t,
                           struct ts_slice first, bool packed);
/** The first bytes of a place's open file, or more of them than are known. When these are the first ever,
 * they are read once more below hold, and
 *  what was imported of the file is known from then on. False: that is not known now. */
bool col_web__head_learn(struct col_web_follow *f, struct col_web_place *p, struct ts_slice first);
/** A place is gone, or open again: files that were settled by it get a second look. */
void col_web__settled_forget(struct col_web_tail *t, const struct col_web_place *p);
/** Forget the lists of folders. */
void col_web__lists_forget(struct col_web_follow *f);

/* --- logs (weblog_tails.c) --- */

/** Log at a path; NULL. Cost: one look-up. */
struct col_web_tail *col_web__tail_at(const struct col_web_follow *f, const char *path);
/** A new log. */
struct col_web_tail *col_web__tail_add(struct col_web_follow *f, const char *path,
                                       const struct col_web_log *log);
/** Forget a log. */
void col_web__tail_remove(struct col_web_follow *f, struct col_web_tail *t);
/** Is path a log, or a file? For weblog_family.h; arg: the struct col_web_follow. */
bool col_web__log_there(void *arg, const char *path);
/** Find new files for all entries of the configuration. */
void col_web__paths_scan(struct col_web_follow *f, const struct col_web_now *now);

/* --- turns (weblog_follow.c) --- */

/** Let a place read the file that stands at its log's path from now on: one that is known continues at its place.
 *  False: there is none, or it can't be read. */
bool col_web__current_begin(struct col_web_follow *f, struct col_web_tail *t, const struct col_web_now *now);

#endif
