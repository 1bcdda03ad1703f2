/*
 * page_int.h - the table that embed.py generates, for page.c.
 */
#ifndef TSD_PAGE_PAGE_INT_H
#define TSD_PAGE_PAGE_INT_H

#include "tsd/page/page.h"

/* All files; the last row has name == NULL. */
extern const struct tsd_page_file tsd_page__files[];

#endif
