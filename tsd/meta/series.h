/*
 * series.h - a series by its names: tags, and the members of JSON that name it.
 *
 * Threads    any
 */
#ifndef TSD_META_SERIES_H
#define TSD_META_SERIES_H

#include "base/json.h"
#include "storage/store.h"

#define TSD_SERIES_MAX_TAGS (UINT8_MAX + 1) /* more than a series has */

/** Names and values of a series' tags into out, which has TSD_SERIES_MAX_TAGS entries; returns how many.
 * Borrowed from the catalog. */
unsigned tsd_series_tags(const struct sto_catalog *cat, const struct sto_series *s, struct sto_tag_text *out);
/** Write the members "metric" and "tags" of a series. */
void tsd_series_members(const struct sto_catalog *cat, const struct sto_series *s, struct ts_json *j);

#endif
