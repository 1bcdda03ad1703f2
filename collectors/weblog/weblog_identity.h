/*
 * weblog_identity.h - the identity of the files of a followed log.
 *
 * A followed log is a path. Its *family* is every name that its rotated files may get: beside it or in a folder of
 * collect_weblog_olddir, with numbers, dates and endings around (col_web_family). A file of the family is known by
 * its *first bytes*, a hash of up to COL_WEB_HEAD_BYTES of its text, packed or not. Each such file that was seen has
 * a *place*: its first bytes and how many bytes were taken of it. So
 *
 *   identity of a file = (path of its log, first bytes)
 *
 * whatever it is called, wherever it was copied, however it is packed. Device and inode are hints: they choose between files
 * of equal first bytes, and they show that a file has another name within one turn; they never decide that a
 * file is a new one. (Both change at a remount of btrfs, ZFS, overlay or dm, in a restore, in `cp -p x y; mv
 * y x`.)
 *
 *   /var/log/access.log        CURRENT   off = 1200    what stands at the path
 *   /var/log/access.log.1      ROTATED   off = 9000    read to its end, and for a while after
 *   /var/log/access.log.2.gz   DONE      off = 8000    read; if it turns out to be longer, its rest is read
 *   /var/log/access.log.3.gz   PAST      -             was there before its log was first seen: never read
 *
 * Places are kept per log, so busy logs forget nothing of quiet ones, and two logs of equal lines are two. A
 * place is dropped when its file was not seen for collect_weblog_keep_days, or above COL_WEB_PLACES_MAX
 * places of a log; then the log's floor rises to its last change, and files that are not younger than the
 * floor are never taken for new ones. A log that the configuration does not name any more keeps its places as
 * long.
 *
 * A file of which a part was imported before it was first seen (weblog_journal.h) has a place with that many
 * bytes as imported: it is read from its beginning, since lines at its head may say how the others look, and
 * the lines of that part are ignored.
 *
 * Some cases cannot be decided, so correct counts are not promised for them: two files of one log with equal first
 * bytes, each read at a different time (lines have times, so their log was rotated twice within a second); a log that
 * was replaced by an older copy of itself and then grew beyond its place before anybody looked; what a server writes
 * into a file between its copy and its truncation (copytruncate).
 *
 * Threads    one
 * Not here   looking for files (weblog_scan.c), reading them (weblog_read.c), keeping places on disk
 * (weblog_state.h)
 */
#ifndef COLLECTORS_WEBLOG_WEBLOG_IDENTITY_H
#define COLLECTORS_WEBLOG_WEBLOG_IDENTITY_H

#include "base/lineread.h"
#include "collectors/weblog/weblog_logs.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define COL_WEB_HEAD_BYTES 1024u      /* first bytes that make the hash, fewer while there are fewer */
#define COL_WEB_PLACES_MAX 512u       /* places of one log */
#define COL_WEB_OFF_ALL    UINT64_MAX /* off of a file that was read to its end, wherever that was */

/* First bytes of a file. */
struct col_web_head {
    uint32_t n_bytes; /* hashed; 0 = nothing known yet */
    uint64_t hash;    /* stable: kept on disk */
};

/* What a file is to its log. */
enum col_web_role {
    COL_WEB_CURRENT, /* it stands at the log's path; at most one */
    COL_WEB_ROTATED, /* it stood there, or came and went between two looks; there may be more to take */
    COL_WEB_DONE,    /* read to its end */
    COL_WEB_PAST,    /* rotated before its log was first seen; never read */
};

struct col_web_tail;

/* A file of a log, and what was taken of it. Kept in the checkpoint down to seen_ms. */
struct col_web_place {
    struct col_web_tail *tail; /* its log */
    enum col_web_role role;    /* see there */
    struct col_web_head head;  /* its first bytes */
    uint64_t off;              /* bytes of its text that were taken; COL_WEB_OFF_ALL */
    enum col_web_kind
        kind;          /* of its lines, where its log has no format: nothing is taken before it is known */
    uint64_t imported; /* lines that begin before this byte were counted by an import: they are ignored */
    bool skip;         /* off stands inside of a line that is too long */
    bool whole;        /* DONE: a packed copy was read to its end as well, so no packed one is longer */
    uint64_t dev, ino; /* hints: where it was last; 0 = not known */
    int64_t mtime_ms;  /* last change when it was last read */
    int64_t seen_ms;   /* wall clock when its file was last seen */

    FILE *file;             /* it is read from; NULL */
    struct ts_lines *lines; /* or from this packed one; NULL */
    uint64_t lines_off;     /* of the unpacked text: what lines gave out so far */
    uint64_t looked_bytes;  /* its size when its first lines were looked at in vain */
    bool told;              /* that nothing was found was logged */
    /* its file has no name any more, and a copy of it has its place: it ends when it is closed */
    bool unlinked;
    int64_t quiet_ms; /* steady clock when it last gave something, or was rotated */
    char *found;      /* path where a look for it found it, owned; NULL */
    unsigned rank;    /* how good that is */
};

/* A followed log. */
struct col_web_tail {
    char *path; /* where it stands; owned. Its family is made of this name */
    /* entry of the configuration; NULL = none names it now, its places are kept */
    const struct col_web_log *log;
    struct col_web_place **places; /* rotated ones before the current one; owned */
    uint32_t n_places;             /* of them */
    int64_t floor_ms;              /* files that are not younger than this are none of those to be read */
    int64_t seen_ms;               /* wall clock when it was last configured and there */
    bool fresh;                    /* nothing of its family was looked at yet: what is there is past */
    bool scan;                     /* its family must be looked at */
    bool scan_again;               /* and once more: not all that was found could be opened */
    int64_t scan_ms;    /* steady clock before which it is not looked at for files that were not found */
    int64_t scanned_ms; /* steady clock of the last look */
    struct col_web_settled *settled; /* files that need no second look (weblog_scan.c); owned */
    uint32_t n_settled, cap_settled; /* of them */
};

/** First bytes of a text; more than COL_WEB_HEAD_BYTES are not looked at. */
struct col_web_head col_web_head_of(const char *p, size_t n);
/** Does a text begin with these first bytes? Nothing known of them: no. */
bool col_web_head_matches(const struct col_web_head *head, struct ts_slice first);

/** New log without places. */
struct col_web_tail *col_web_tail_new(const char *path, const struct col_web_log *log);
/** Close and free all of it; NULL is harmless. */
void col_web_tail_free(struct col_web_tail *t);
/** A new place of a role: the current one at the end, others before it. Empty otherwise. */
struct col_web_place *col_web_place_add(struct col_web_tail *t, enum col_web_role role);
/** Forget a place; its files are closed. */
void col_web_place_remove(struct col_web_place *p);
/** Give a place to another log as its current one, with all that is known of it. */
void col_web_place_move(struct col_web_place *p, struct col_web_tail *to);
/** The current place of a log; NULL. */
struct col_web_place *col_web_current(const struct col_web_tail *t);
/** The place of a log whose first bytes a text begins with: the one that says most, among equals the current one,
 * then the one with these numbers of device and inode, then the one of which most was taken. NULL = the text is of no
 * file that was seen. Cost: a hash a place. */
struct col_web_place *col_web_place_find(const struct col_web_tail *t, struct ts_slice first, uint64_t dev,
                                         uint64_t ino);
/** Is it being read right now? */
static inline bool col_web_place_open(const struct col_web_place *p)
{
    return p->file || p->lines;
}
/** Close what it is read from; the place stays. */
void col_web_place_close(struct col_web_place *p);
/** Drop places that are DONE or PAST: those not seen since before_ms, and the longest unseen above
 * COL_WEB_PLACES_MAX. Returns how many. */
uint32_t col_web_tail_trim(struct col_web_tail *t, int64_t before_ms);

#endif
