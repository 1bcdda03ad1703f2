/*
 * weblog_identity.h - the identity of the files of a followed log.
 *
 * A followed log is a path. Its *family* consists of all names that its rotated files may get: in the same
 * folder or in one of collect_weblog_olddir, with added numbers, dates and endings (col_web_family). A file
 * of the family is identified by its *first bytes*, a hash of up to COL_WEB_HEAD_BYTES of its uncompressed
 * text. Each such file that was seen has a *place*: its first bytes and how many bytes of it were read. So
 *
 *   identity of a file = (path of its log, first bytes)
 *
 * independent of its name, its folder and its compression. Device and inode are hints: they choose between
 * files with equal first bytes, and they show within one turn that a file has another name; they never decide
 * that a file is new. (Both change at a remount of btrfs, ZFS, overlay or dm, in a restore, in `cp -p x y; mv
 * y x`.)
 *
 *   /var/log/access.log        CURRENT   off = 1200    the file at the path
 *   /var/log/access.log.1      ROTATED   off = 9000    read to its end, and for a while after
 *   /var/log/access.log.2.gz   DONE      off = 8000    read; if it turns out to be longer, its rest is read
 *   /var/log/access.log.3.gz   PAST      -             was there before its log was first seen: never read
 *
 * Each log has places of its own, so a busy log does not displace the places of a quiet one, and two logs
 * with equal lines are distinguished. A place is dropped when its file was not seen for
 * collect_weblog_keep_days, or when a log has more than COL_WEB_PLACES_MAX places. Then the log's floor is
 * raised to the last change of that file, and files that are not newer than the floor are never treated as
 * new. A log that was removed from the configuration keeps its places for the same time.
 *
 * A file of which a part was imported before it was first seen (weblog_journal.h) has a place with that many
 * bytes as imported: it is read from its beginning, since its first lines may determine the format of the
 * others, and the lines of that part are ignored.
 *
 * Some cases cannot be decided, so correct counts are not promised for them: two files of one log with equal first
 * bytes, each read at a different time (lines have times, so their log was rotated twice within a second); a
 * log that was replaced by an older copy of itself and then grew beyond its place before the next turn; lines
 * that a server writes to a file between its copy and its truncation (copytruncate).
 *
 * Threads    one
 * Not here   searching for files (weblog_scan.c), reading them (weblog_read.c), storing places on disk
 *            (weblog_state.h)
 */
#ifndef COLLECTORS_WEBLOG_WEBLOG_IDENTITY_H
#define COLLECTORS_WEBLOG_WEBLOG_IDENTITY_H

#include "base/lineread.h"
#include "collectors/weblog/weblog_logs.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* number of first bytes that are hashed; fewer while the file is shorter */
#define COL_WEB_HEAD_BYTES 1024u
#define COL_WEB_PLACES_MAX 512u       /* places of one log */
#define COL_WEB_OFF_ALL    UINT64_MAX /* value of off for a file that was read to its end, wherever that is */

/* First bytes of a file. */
struct col_web_head {
    uint32_t n_bytes; /* number of hashed bytes; 0 = nothing is known yet */
    uint64_t hash;    /* never changes between versions, since it is stored on disk */
};

/* Role of a file in its log. */
enum col_web_role {
    COL_WEB_CURRENT, /* it is at the log's path; at most one */
    COL_WEB_ROTATED, /* it was there, or came and was rotated between two turns; there may be more to read */
    COL_WEB_DONE,    /* read to its end */
    COL_WEB_PAST,    /* rotated before its log was first seen; never read */
};

struct col_web_tail;

/* A file of a log, and how much of it was read. The members down to seen_ms are stored in the checkpoint. */
struct col_web_place {
    struct col_web_tail *tail; /* its log */
    enum col_web_role role;    /* its role */
    struct col_web_head head;  /* its first bytes */
    uint64_t off;              /* bytes of its text that were read; COL_WEB_OFF_ALL */
    /* format of its lines if its log has no fixed one; no line is passed on before it is known */
    enum col_web_kind kind;
    uint64_t imported; /* lines that begin before this byte were counted by an import: they are ignored */
    bool skip;         /* off is inside a line that is too long */
    bool whole;        /* DONE: a compressed copy was read to its end too, so no compressed copy is longer */
    uint64_t dev, ino; /* hints: where it was last; 0 = not known */
    int64_t mtime_ms;  /* last change when it was last read */
    int64_t seen_ms;   /* wall clock when its file was last seen */

    FILE *file;             /* plain file that is being read; NULL */
    struct ts_lines *lines; /* compressed file that is being read; NULL */
    uint64_t lines_off;     /* offset in the uncompressed text up to which lines has returned it */
    uint64_t looked_bytes;  /* its size when its first lines did not determine the format */
    bool reported;          /* a message that the format is unknown was logged */
    /* its file has no name any more, and a copy has taken its place: it is removed when it is closed */
    bool unlinked;
    int64_t quiet_ms; /* steady clock when it last had new bytes, or was rotated */
    char *found;      /* path where a search has found it, owned; NULL */
    unsigned rank;    /* rank of that path among those found */
};

/* A followed log. */
struct col_web_tail {
    char *path; /* path of the log, from which the names of its family are made; owned */
    /* entry of the configuration; NULL = none names it now, its places are kept */
    const struct col_web_log *log;
    struct col_web_place **places; /* rotated ones before the current one; owned */
    uint32_t n_places;             /* of them */
    int64_t floor_ms;              /* files that are not newer than this are never read */
    int64_t seen_ms;               /* wall clock when it was last configured and existed */
    bool fresh;                    /* its family was not searched yet: files that exist now are PAST */
    bool scan;                     /* its family must be searched */
    /* it must be searched once more, since not every file that was found could be opened */
    bool scan_again;
    int64_t scan_ms;    /* steady clock before which it is not searched again for files that were not found */
    int64_t scanned_ms; /* steady clock of the last search */
    struct col_web_settled *settled; /* files that need not be checked again (weblog_scan.c); owned */
    uint32_t n_settled, cap_settled; /* of them */
};

/** Hash of the first bytes of a text, at most COL_WEB_HEAD_BYTES of them. */
struct col_web_head col_web_head_of(const char *p, size_t n);
/** Does a text begin with these first bytes? False if nothing is known of them. */
bool col_web_head_matches(const struct col_web_head *head, struct ts_slice first);

/** New log without places. */
struct col_web_tail *col_web_tail_new(const char *path, const struct col_web_log *log);
/** Close its files and free everything; NULL is ignored. */
void col_web_tail_free(struct col_web_tail *t);
/** A new place of a role: the current one at the end, others before it. Empty otherwise. */
struct col_web_place *col_web_place_add(struct col_web_tail *t, enum col_web_role role);
/** Forget a place; its files are closed. */
void col_web_place_remove(struct col_web_place *p);
/** Give a place to another log as its current one, with all that is known of it. */
void col_web_place_move(struct col_web_place *p, struct col_web_tail *to);
/** The current place of a log; NULL. */
struct col_web_place *col_web_current(const struct col_web_tail *t);
/** The place of a log whose first bytes a text begins with: the one with the most hashed bytes; among equals
 * the current one, then the one with these numbers of device and inode, then the one of which most was read.
 * NULL = the text belongs to no file that was seen. Cost: a hash a place. */
struct col_web_place *col_web_place_find(const struct col_web_tail *t, struct ts_slice first, uint64_t dev,
                                         uint64_t ino);
/** Is it being read right now? */
static inline bool col_web_place_open(const struct col_web_place *p)
{
    return p->file || p->lines;
}
/** Close the file that it reads; the place stays. */
void col_web_place_close(struct col_web_place *p);
/** Drop places that are DONE or PAST: those not seen since before_ms, and the longest unseen above
 * COL_WEB_PLACES_MAX. Returns how many. */
uint32_t col_web_tail_trim(struct col_web_tail *t, int64_t before_ms);

#endif
