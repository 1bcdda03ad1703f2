/*
 * views.h - views of the web page that people share: a folder with a file for each.
 *
 * The file NAME.json has an object with the member address: what the address of the page has behind #. People may put
 * files there, change them and take them away while the daemon runs. In the name of the file, '/', '\\', '%' and a
 * leading '.' of NAME stand as %2F and so on, so that no name leads out of the folder.
 *
 * Threads    all functions from any thread that may block; one mutex
 * Not here   the request (protocols/http/ep_views.c)
 */
#ifndef TSD_DAEMON_VIEWS_H
#define TSD_DAEMON_VIEWS_H

#include "base/buf.h"
#include "base/err.h"

#include <pthread.h>
#include <stdbool.h>

#define TSD_VIEW_NAME_BYTES    80u        /* longest name, so that no file name has more than 255 bytes */
#define TSD_VIEW_ADDRESS_BYTES (8u << 10) /* longest address */
#define TSD_VIEWS_LISTED       10000u     /* files of a folder; one with more is not listed */

struct tsd_views {
    char *dir;          /* the folder, made when the first view is saved */
    size_t n_max;       /* most views; 0: none can be saved */
    pthread_mutex_t mu; /* one change of the folder at a time */
};

/* A file of the folder. */
struct tsd_view {
    const char *file;        /* its name */
    struct ts_slice name;    /* of the view; empty with a problem */
    struct ts_slice address; /* without #; empty with a problem */
    const char *problem;     /* why it is no view; NULL: it is one */
};

/**
 * Remember where the views are. Nothing is read or made.
 *
 * @param folder  key views_folder; empty: the folder views of data
 * @param data    data folder
 * @param n_max   key views_max
 */
void tsd_views_init(struct tsd_views *v, const char *folder, const char *data, size_t n_max);
/** Free what init took. It is idempotent. */
void tsd_views_release(struct tsd_views *v);
/**
 * Call each(arg, view) for every file of the folder whose name ends in .json and does not begin with a dot, in the order of the
 * names of the files. A missing folder has none.
 *
 * @param each  view is borrowed until it returns; < 0 ends the list and is returned
 * @return 0; TS_ELIMIT: more than TSD_VIEWS_LISTED files; TS_EIO
 *
 * Blocks: reads every file. A file that cannot be read is a view with a problem.
 */
int tsd_views_each(struct tsd_views *v, int (*each)(void *arg, const struct tsd_view *view), void *arg,
                   struct ts_error *err);
/**
 * Save a view; it is on disk when 0 is returned.
 *
 * @param name     1 to TSD_VIEW_NAME_BYTES bytes without control characters; no blank at either end
 * @param address  1 to TSD_VIEW_ADDRESS_BYTES bytes without control characters; no # at the beginning
 * @param replace  an existing view is replaced
 * @return 0; TS_EINVAL: not such a name or address; TS_EEXIST: there is one, and replace is false; TS_ELIMIT: as many as
 *         views_max permits are there; TS_ENOSPC, TS_EIO: nothing is changed
 *
 * Blocks: for the disk.
 */
int tsd_views_save(struct tsd_views *v, struct ts_slice name, struct ts_slice address, bool replace,
                   struct ts_error *err);
/** Remove a view. TS_ENOTFOUND: there is none of this name; TS_EINVAL, TS_EIO. Blocks: for the disk. */
int tsd_views_remove(struct tsd_views *v, struct ts_slice name, struct ts_error *err);

#endif
