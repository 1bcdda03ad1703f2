/*
 * page.h - the files of the web page, which the program carries in itself.
 *
 * embed.py makes a table of them when tsd is built: the modules, the style sheet and the picture of www/, and uPlot,
 * which draws the graphs. Without the page (CMake option TSD_PAGE=OFF) the table is empty.
 *
 * Threads    constant
 * Not here   how they are sent (tsd/protocols/http/ep_page.c)
 */
#ifndef TSD_PAGE_PAGE_H
#define TSD_PAGE_PAGE_H

#include "base/buf.h"

/* A file, in both forms in which it is sent. */
struct tsd_page_file {
    const char *name;      /* lower case, without a folder: "main.js" */
    const char *type;      /* media type, with the charset of texts */
    const char *etag;      /* strong, of the plain form, with its quotes */
    const char *etag_gzip; /* the same of the compressed form */
    struct ts_slice plain; /* as it is */
    struct ts_slice gzip;  /* compressed by gzip */
};

/**
 * Find a file of the page by its name.
 *
 * @param name  as in the table; what comes from a request need not be checked
 * @return the file, constant; NULL: there is none
 *
 * Cost: one comparison for each file, of which there are a few dozen.
 */
const struct tsd_page_file *tsd_page_find(struct ts_slice name);

#endif
