/*
 * series.h - a series by its names: tags, and the members of JSON that name it.
 *
 * Threads    any
 */
#ifndef TSD_META_SERIES_H
#define TSD_META_SERIES_H

#include "base/json.h"
#include "query/view.h"

#define TSD_SERIES_MAX_TAGS (UINT8_MAX + 1) /* more than a series has */

/** Names and values of a series' tags into out, which has TSD_SERIES_MAX_TAGS entries; returns how many.
 * Borrowed from the view. */
unsigned tsd_series_tags(const struct qry_view *view, const struct sto_series *s, struct sto_tag_text *out);
/** Write the members "metric" and "tags" of a series. */
void tsd_series_members(const struct qry_view *view, const struct sto_series *s, struct ts_json *j);

#endif
