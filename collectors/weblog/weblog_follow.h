/*
 * weblog_follow.h - follows files: reads appended lines through rotation, truncation and compression, and continues
 * where it stopped.
 *
 * weblog_identity.h describes how files are recognised and how much of each was read. A turn checks the path
 * of each log. When another file is there than before, the previous one is first read to its end, and for a
 * while after that, since servers write to it until they reopen their logs. Then the files of the log's
 * family are checked: places that are not open are found again by their first bytes, and files that were
 * never read (they came and were rotated between two turns, or while the collector did not run) are read from
 * their beginning.
 *
 * Where the format is `auto`, no line of a file is passed on before its first lines have determined the
 * format (weblog_kind.h). The lines of a rotated file whose format is still unknown when it is given up are
 * passed on nevertheless.
 *
 * Threads    one
 * Not here   contents of lines (weblog_format.h), storing places on disk (weblog_state.h)
 */
#ifndef COLLECTORS_WEBLOG_WEBLOG_FOLLOW_H
#define COLLECTORS_WEBLOG_WEBLOG_FOLLOW_H

#include "base/buf.h"
#include "base/err.h"
#include "collectors/weblog/weblog_identity.h"

#include <stdbool.h>
#include <stdint.h>

#define COL_WEB_CHUNK_BYTES ((size_t)256 << 10) /* bytes read at a time; a longer line is bad */

/* Options and callbacks. */
struct col_web_follow_opts {
    const struct col_web_logs *logs; /* logs to follow; borrowed; NULL = only restored places are examined */
    /* folders where rotated files are looked for besides their own, comma separated; relative to it;
     * borrowed; NULL */
    const char *olddirs;
    int64_t rotated_ms; /* a rotated file is given up when nothing was added to it for this long */
    int64_t keep_ms;    /* places are kept for this long after their file was last seen; 0 = without limit */
    bool from_end;      /* files found by the first turn are read from their present end */
    /** A file of this log is seen for the first time: from now until the next checkpoint no import decides about any file. Its size and first bytes are read
     *  behind this call, never before: an import may have taken more of it than was there then. False: not now, the file is left alone until
     *  a later turn. NULL = there are no imports. */
    bool (*hold)(void *arg, const struct col_web_tail *t);
    /** How many bytes an import counted of a file of this log that begins with these, below hold; packed: all of it, if that was imported as it is
     *  (COL_WEB_OFF_ALL). NULL = none is. */
    uint64_t (*imported)(void *arg, const struct col_web_tail *t, struct ts_slice first, bool packed);
    /** A line (without its end) of a place's file, which begins at off. */
    void (*line)(void *arg, const struct col_web_place *place, uint64_t off, struct ts_slice line);
    /** A line that is too long, which begins about at off. */
    void (*too_long)(void *arg, const struct col_web_place *place, uint64_t off);
    void *arg; /* for all of them */
};

struct col_web_lists;

struct col_web_follow {
    struct col_web_follow_opts opts; /* as given */
    struct col_web_tail **tails;     /* all logs, including those that are no longer configured; owned */
    uint32_t n_tails;                /* of them */
    uint32_t *slots;                 /* table of tails by path, index + 1; owned */
    uint32_t n_slots;                /* a power of two, or 0 */
    struct col_web_head
        *inherited;        /* first bytes of files that an older checkpoint knows without their logs; owned */
    bool *inherited_past;  /* for each of these: its file was never read; owned */
    uint32_t n_inherited;  /* of them */
    int64_t warn_ms;       /* steady clock before which unreadable files are not reported again */
    uint64_t n_changes;    /* counts the changes that a checkpoint must contain */
    uint64_t n_reported;   /* counts the reported files of unsupported compression */
    uint32_t n_packed;     /* compressed files that are open */
    bool turned;           /* the first turn is over */
    struct ts_buf scratch; /* texts of JSON lines */
    char *chunk;           /* COL_WEB_CHUNK_BYTES, owned */
    struct col_web_lists *lists; /* names of folders, for one turn; owned */
    char **left_out;             /* paths under patterns that are not followed, reported once; owned */
    uint32_t n_left_out;         /* of them */
};

/* For tests: added to all numbers of devices and inodes, to change them as a remount does. */
extern uint64_t col_web__remounts;

/** Empty. opts are copied. */
void col_web_follow_init(struct col_web_follow *f, const struct col_web_follow_opts *opts);
/** Close all; idempotent. */
void col_web_follow_release(struct col_web_follow *f);
/** Check all files and read what is new, at most some chunks of each. The wall clock is used for saved times,
 * the steady clock for pauses.
 *  @return 1 = there is more to read now; 0 = not now. Errors of reading are logged, and the next turn tries
 *          again */
int col_web_follow_turn(struct col_web_follow *f, int64_t wall_ms, int64_t steady_ms);
/** Restore a saved log (path is copied); the caller adds its places. NULL: it exists already. */
struct col_web_tail *col_web_follow_restore(struct col_web_follow *f, const char *path);
/** Restore first bytes that an older checkpoint stored without their log. past: that file was never read. */
void col_web_follow_inherit(struct col_web_follow *f, const struct col_web_head *head, bool past);
/** Is a path (without links) of a file that was imported the path of this log, or the name of one of its
 * rotated files in a folder where these are
 *  looked for? Cost: resolves the links of these folders. */
bool col_web_follow_family(const struct col_web_follow *f, const struct col_web_tail *t, const char *path);
/** Bytes that wait in files that are open, and how many these are. */
uint64_t col_web_follow_lag_bytes(const struct col_web_follow *f, uint32_t *out_n_files);

#endif
