/*
 * legend.h - names of lines, shortened to fit the legend of a picture.
 *
 * Threads    any
 */
#ifndef TSD_FORMAT_LEGEND_H
#define TSD_FORMAT_LEGEND_H

#include <stddef.h>

/** Leave out of names like "cpu {dc=eu, host=a} #2" (the blank and the number may be missing) the metric and
 * the tags that all of them have; nothing, if one of them would be empty then. Cost: n times the tags of a
 * name.
 *  @param names  [n], owned by the caller, from ts_xmalloc; replaced */
void tsd_legend_own(char **names, size_t n);
/** Replace the middle of a name by a mark, in place, if it has more than max characters (at least 4); its
 * beginning and end distinguish it from others. */
void tsd_legend_cut(char *name, size_t max);

#endif
