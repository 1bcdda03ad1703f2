/*
 * mapping.h - which columns of a table are times, metrics, values and tags: the texts of --csv and --fixed.
 *
 *   time={1:%d/%b/%Y},metric=temp.{2},value={5},station={0}
 *   time={year}-{month}-{day},metric=weather.{},value={temp},value={humid},station={origin}
 *   time={12-19:%Y%m%d},metric=rain,value={20-25}/10,station=1-11
 *
 * Items are separated by commas. A text may hold references to columns, {NUMBER} from 0 or {NAME} of the header, or, with fixed widths, {FROM-TO}: characters
 * from 1, both inclusive. {} in a metric is the name of the value's column. A backslash takes the meaning from the next character. metric
 * holds for the values behind it; all other names are those of tags, which all points of a line have.
 *
 * Threads    one
 */
#ifndef TSD_INPUTS_MAPPING_H
#define TSD_INPUTS_MAPPING_H

#include "tsd/inputs/input.h"

#define TSD_MAPPING_BYTES  65536u /* longest text */
#define TSD_MAPPING_VALUES 256u   /* most values of a line */
#define TSD_MAPPING_REFS   1024u  /* most references */

/** Parse a text. fixed: references are ranges of characters.
 *  @return 0; TS_EINVAL with the character at which it is wrong. *out is NULL then */
int tsd_mapping_parse(struct ts_slice text, bool fixed, struct tsd_mapping **out, struct ts_error *err);
/** Release. NULL is harmless. */
void tsd_mapping_free(struct tsd_mapping *m);
/** Does it name columns by their header? */
bool tsd_mapping_named(const struct tsd_mapping *m);
/** Find the named columns in the fields of a header. TS_EINVAL lists the columns that there are. */
int tsd_mapping_header(struct tsd_mapping *m, const struct ts_slice *fields, size_t n, struct ts_error *err);
/** Cut a line of fixed widths into run->fields, one for each reference, without blanks at both ends. */
void tsd_mapping_cut(const struct tsd_mapping *m, struct tsd_input_run *run, struct ts_slice line);
/** Make points of run->fields. TS_EPARSE, TS_ELIMIT: the record is refused; the text names the column. */
int tsd_mapping_points(const struct tsd_mapping *m, struct tsd_input_run *run, struct ts_error *err);

#endif
