/*
 * weblog_family.h - decides by its name whether a file may be a rotated file of a log, by the naming schemes of
 * logrotate and others.
 *
 *   NAME           access.log             what follows NAME, or stands between STEM and ENDING, is the tag
 *   STEM ENDING    access  .log
 *
 *   access.log.1 .2.gz .10.bz2            logrotate: numbers, with a packed ending (any, by compressext)
 *   access.log-20261121 -2026112107       dateext, hourly; any dateformat of %Y %m %d %H %M %S %V %s and separators
 *   access.1.log access-20261121.log.gz   extension .log, before the packed ending or behind it
 *   access.log.1.old                      addextension .old
 *   access.log.tmp                        renamecopy, temporarily
 *   access.log                            in a folder of its own (olddir, or moved by hand)
 *
 * Threads    pure functions
 * Source     logrotate(8) 3.21: extension, addextension, compressext, dateext, dateformat, olddir, renamecopy, start
 */
#ifndef COLLECTORS_WEBLOG_WEBLOG_FAMILY_H
#define COLLECTORS_WEBLOG_WEBLOG_FAMILY_H

#include "base/buf.h"

#include <stdbool.h>

/* How certainly a name is that of a rotated file. */
enum col_web_family {
    COL_WEB_STRANGER, /* it is not one */
    COL_WEB_LOOSE,    /* it begins like one, and belongs to the log only if its first bytes show it */
    /* a tag with numbers in it: a rotated file, even if it was never seen before. Not "site-1.log" of
     * "site.log", nor "access_log-443": such short numbers are more often part of a site's name */
    COL_WEB_STRICT,
};

/** Is name (without folders) that of a rotated file of the log named log? The log's own name is
 * COL_WEB_STRICT, for its occurrence in other folders. */
enum col_web_family col_web_family(const char *log, const char *name);
/** Longest beginning that all names of a log's family have in common, in bytes: for looking through sorted names. */
size_t col_web_family_prefix(const char *log);

/* What a file that matches a pattern is, judged by its name and the names of other files. */
enum col_web_looks {
    COL_WEB_LOOKS_OWN,     /* a log of its own */
    COL_WEB_LOOKS_ROTATED, /* a rotated file of another log, or compressed */
    COL_WEB_LOOKS_ORPHAN,  /* the name of a rotated file whose log does not exist */
};
/** Judge the file at path. `there` says whether a path is a log that is followed or a file that exists; it is called
 * for names that path may have been made of. "site-1.log" beside "site.log" is a log of its own: if it is a rotated
 * file, its first bytes show it. neighbour: name of the log it was made of, "" = none (may be NULL). */
enum col_web_looks col_web_looks(const char *path, bool (*there)(void *arg, const char *path), void *arg,
                                 char *out_neighbour, size_t neighbour_bytes);
/** The nearest log of whose family the file at path is, by its name: "a-1.log" of a-1-20261121.log, though
 * "a.log" is there as well. False: it is
 *  of none that is there. */
bool col_web_owner(const char *path, bool (*there)(void *arg, const char *path), void *arg, char *out,
                   size_t out_bytes);

#endif
