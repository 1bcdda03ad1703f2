/*
 * legend.h - names of lines as the key of a picture has room for them.
 *
 * Threads    any
 */
#ifndef TSD_FORMAT_LEGEND_H
#define TSD_FORMAT_LEGEND_H

#include <stddef.h>

/** Leave out of names like "cpu {dc=eu, host=a} #2" (the blank and the number may be missing) the metric and the tags that all of them
 * have; nothing, if one of them would be empty then. Cost: n times the tags of a name.
 *  @param names  [n], owned by the caller, from ts_xmalloc; replaced */
void tsd_legend_own(char **names, size_t n);
/** Cut the middle of a name in place, with a mark, if it has more than max characters, at least 4: what begins and ends it tells it from
 * others. */
void tsd_legend_cut(char *name, size_t max);

#endif
