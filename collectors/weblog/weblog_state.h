/*
 * weblog_state.h - the checkpoint of the web log collector: positions in files, names and counts, in one file
 * that is replaced atomically.
 *
 * It is written before points are sent. Changed cells are marked in it, so that after a crash the same
 * absolute counts are sent again, whatever the files contain then. The counts of a checkpoint include exactly
 * the lines before the saved position in each file.
 *
 *   "tsd-weblog 2 CRC32C\n" and a JSON object
 *
 * Version 1 identified files by device and inode and had one list of finished files for all logs. It is read,
 * and replaced by version 2. Its list is kept unchanged: a file that a log finds in it belongs to that log
 * from then on.
 *
 * Threads    one
 */
#ifndef COLLECTORS_WEBLOG_WEBLOG_STATE_H
#define COLLECTORS_WEBLOG_WEBLOG_STATE_H

#include "base/fs.h"
#include "collectors/weblog/weblog_count.h"
#include "collectors/weblog/weblog_follow.h"

#define COL_WEB_DRESS_BYTES 2048
#define COL_WEB_STATE_NAME  "weblog.state" /* of the checkpoint, in the collector's folder */

/* All that is kept. */
struct col_web_state {
    const struct ts_fs *fs;        /* NULL = the real one */
    const char *path;              /* of the checkpoint */
    struct col_web_follow *follow; /* files */
    struct col_web_count *count;   /* names, cells, figures */
    uint64_t *n_bad;               /* lines that could not be read */
    /* COL_WEB_DRESS_BYTES: host, tags and prefix that all points of the cells have, a line each; NULL = not
     * wanted. Load leaves it empty where the checkpoint does not say */
    char *dress;
};

/** Write all. TS_ENOSPC, TS_EIO: what was there before is still there. */
int col_web_state_save(const struct col_web_state *s, struct ts_error *err);
/** Read into empty follow and count. TS_ENOTFOUND: there is none; TS_ECORRUPT, TS_EVERSION: the text says what to do. */
int col_web_state_load(const struct col_web_state *s, int64_t now_ms, struct ts_error *err);

#endif
