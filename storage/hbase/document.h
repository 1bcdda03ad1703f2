/*
 * document.h - JSON documents in cells, with the bytes that OpenTSDB writes.
 *
 * OpenTSDB changes a document by compare-and-set: it serialises what it has read and compares the bytes. So the order
 * of the members, the way characters are escaped and the absence of blanks are part of the format.
 *
 * Format     docs/OPENTSDB.md, sections 10.5, 10.8 and 10.9
 * Threads    pure functions; a json_t belongs to one thread at a time
 * Not here   the members of each kind of document (annotation.h, uidtable.h, metatable.h)
 */
#ifndef STORAGE_HBASE_DOCUMENT_H
#define STORAGE_HBASE_DOCUMENT_H

#include "base/json.h"

#include <stdbool.h>

enum sto_hbase_type {
    STO_HBASE_TEXT,       /* a string; missing or null: "" */
    STO_HBASE_GIVEN,      /* a string that is left out if it is empty */
    STO_HBASE_INTEGER,    /* a whole number; missing or null: 0 */
    STO_HBASE_NUMBER,     /* a number; missing, null or not a number: "NaN" */
    STO_HBASE_TRUTH,      /* true or false; missing or null: false */
    STO_HBASE_PROPERTIES, /* an object of strings, written in the order of its keys; missing: null */
};
/* A member of a kind of document. A list of them ends with a name of NULL, and is in the order of writing. */
struct sto_hbase_field {
    const char *name;
    enum sto_hbase_type type;
};

/**
 * Append a document.
 *
 * @param fields    its members
 * @param document  object with these members, of their types; others are ignored
 * @param out       [in, out] the text is appended
 * @return 0
 *         TS_EINVAL            a member has another type; err names it
 *         TS_ELIMIT, TS_ENOMEM as ts_buf_append; a part may have been appended
 */
int sto_hbase_document_write(const struct sto_hbase_field *fields, const json_t *document, struct ts_buf *out,
                             struct ts_error *err);
/**
 * Parse a document. Members that are missing or null are set to what stands in their place when they are written, except
 * for STO_HBASE_GIVEN, which then is "".
 *
 * @param out  [out] owned by the caller (json_decref); NULL after an error
 * @return 0
 *         TS_ECORRUPT  it is no JSON object, or a member has another type; one sentence in err
 *         TS_ELIMIT    it has too many values, or there is no memory for it now (ts_json_load)
 */
int sto_hbase_document_parse(const struct sto_hbase_field *fields, struct ts_slice text, json_t **out,
                             struct ts_error *err);

#endif
