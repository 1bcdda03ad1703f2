/*
 * weblog_follow.h - follows files: reads appended lines through rotation, truncation and compression, and continues
 * where it stopped.
 *
 * Which file is which, and what was taken of it: weblog_identity.h. A turn looks at the path of each log. When
 * something else stands there than before, what stood there is read to its end first and for a while after, since
 * servers write to it until they reopen their logs. Then the log's family is looked at: places that are not open are
 * found again by their first bytes, and files that nobody has read (they came and went between two looks, or while we
 * were not there) are read from their beginning.
 *
 * Where the format is `auto`, nothing is taken of a file before its first lines have decided (weblog_kind.h); a
 * rotated one that is given up without a decision is given out as it is.
 *
 * Threads    one
 * Not here   what a line says (weblog_format.h), keeping places on disk (weblog_state.h)
 */
#ifndef COLLECTORS_WEBLOG_WEBLOG_FOLLOW_H
#define COLLECTORS_WEBLOG_WEBLOG_FOLLOW_H

#include "base/buf.h"
#include "base/err.h"
#include "collectors/weblog/weblog_identity.h"

#include <stdbool.h>
#include <stdint.h>

#define COL_WEB_CHUNK_BYTES ((size_t)256 << 10) /* read at once; a longer line is a bad one */

/* What the caller gives. */
struct col_web_follow_opts {
    const struct col_web_logs
        *logs; /* borrowed; NULL = restored places are looked at only, whatever they are */
    const char *
        olddirs; /* folders where rotated files are looked for besides their own, comma separated; relative to it; borrowed; NULL */
    int64_t rotated_ms; /* a rotated file is given up when it was quiet so long */
    int64_t keep_ms;    /* places are kept so long after their file was last seen; 0 = for ever */
    bool from_end;      /* files found by the first turn are taken from their end */
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
    struct col_web_tail **tails;     /* all logs, those that are not configured now too; owned */
    uint32_t n_tails;                /* of them */
    uint32_t *slots;                 /* table of tails by path, index + 1; owned */
    uint32_t n_slots;                /* a power of two, or 0 */
    struct col_web_head
        *inherited;        /* first bytes of files that an older checkpoint knows without their logs; owned */
    bool *inherited_past;  /* of these: nobody read them; owned */
    uint32_t n_inherited;  /* of them */
    int64_t warn_ms;       /* steady clock before which files that can't be read are no news */
    uint64_t n_changes;    /* grows with all that a checkpoint must know */
    uint64_t n_told;       /* grows with each file of an unread packing that was named */
    uint32_t n_packed;     /* packed files that are open */
    bool turned;           /* the first turn is over */
    struct ts_buf scratch; /* texts of JSON lines */
    char *chunk;           /* COL_WEB_CHUNK_BYTES, owned */
    struct col_web_lists *lists; /* names of folders, for one turn; owned */
    char **left_out;             /* paths under patterns that are not followed, reported once; owned */
    uint32_t n_left_out;         /* of them */
};

/* Seam for tests: what is added to all numbers of devices and inodes, as a remount would change them. */
extern uint64_t col_web__remounts;

/** Empty. opts are copied. */
void col_web_follow_init(struct col_web_follow *f, const struct col_web_follow_opts *opts);
/** Close all; idempotent. */
void col_web_follow_release(struct col_web_follow *f);
/** Look at all files and take what is new, at most some chunks of each. Clocks: wall for what is kept, steady
 * for pauses.
 *  @return 1 = there is more to take right now; 0 = not now. What can't be read is logged and tried again by
 *  the next turn */
int col_web_follow_turn(struct col_web_follow *f, int64_t wall_ms, int64_t steady_ms);
/** A log as it was saved (path is copied): places are added to it by the caller. NULL: it is there
 * already. */
struct col_web_tail *col_web_follow_restore(struct col_web_follow *f, const char *path);
/** First bytes that an older checkpoint knows of no certain log. past: nobody read that file. */
void col_web_follow_inherit(struct col_web_follow *f, const struct col_web_head *head, bool past);
/** Is a path (without links) of a file that was imported the path of this log, or the name of one of its
 * rotated files in a folder where these are
 *  looked for? Cost: resolves the links of these folders. */
bool col_web_follow_family(const struct col_web_follow *f, const struct col_web_tail *t, const char *path);
/** Bytes that wait in files that are open, and how many these are. */
uint64_t col_web_follow_lag_bytes(const struct col_web_follow *f, uint32_t *out_n_files);

#endif
