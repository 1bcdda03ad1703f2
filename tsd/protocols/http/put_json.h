/*
 * put_json.h - the body of /api/put to points, nothing stored yet.
 *
 * A small pull parser reads the usual shape in place; anything it does not handle (escapes, nested unknown
 * fields) goes to jansson, which builds a tree. Both produce the same points: numbers keep the text that was
 * sent, also as values of tags.
 *
 * Threads    one worker
 * Source     docs/OPENTSDB.md, section 2.2
 */
#ifndef TSD_PROTOCOLS_HTTP_PUT_JSON_H
#define TSD_PROTOCOLS_HTTP_PUT_JSON_H

#include "base/json.h"
#include "base/mem.h"
#include "storage/store.h"
#include "tsd/ingest/rules.h"

/* One data point as sent. Slices point into the body or the tree. */
struct tsd_put_point {
    struct ts_slice metric;    /* p NULL: missing */
    struct ts_slice time;      /* text of the number or string; p NULL: missing */
    struct ts_slice value;     /* the same */
    struct sto_tag_text *tags; /* last of a key wins; NULL: missing or null */
    uint32_t n_tags;           /* how many */
    bool null_point;           /* null stood in the array */
    bool time_quoted;          /* time came as a string */
};

struct tsd_put_body {
    struct tsd_put_point *points; /* in the arena */
    size_t n_points;              /* how many */
    bool is_array;                /* it was an array */
    json_t *tree;                 /* the body as it was sent, if it was requested, or NULL */
    json_t *texts;                /* what the slices point into; NULL: the body */
};

/** Read a body. Slices are valid while body, arena and out live. Memory is taken from the arena's account.
 *  @param tree  always make out->tree
 *  @return 0
 *          TS_EPARSE  "The JSON must start as an object or an array", "Unable to parse the given JSON";
 * details of the place are appended to details (may be NULL)
 *          TS_ELIMIT  more than ts_json_max_values points, or values of a body of an unusual shape
 *                     points that need more than half of what one client may have (http_body_total_bytes)
 *          TS_ENOMEM  the arena's account is full: http_body_total_bytes */
int tsd_put_body_read(struct ts_slice body, bool tree, struct ts_arena *arena, struct tsd_put_body *out,
                      struct ts_error *err, struct ts_error *details);
/** Item i of a body that was read with a tree, of any JSON type; NULL: there is no item i. Borrowed from the tree. */
const json_t *tsd_put_body_item(const struct tsd_put_body *b, size_t i);
/** Time of a point by the rules. False: it has none that is valid; what the text "Invalid timestamp" needs behind it, if anything, is
 * appended to why. */
bool tsd_put_time(const struct tsd_rules *rules, const struct tsd_put_point *p, struct tsd_time *out,
                  struct ts_buf *why);
/** Release the tree; idempotent. */
void tsd_put_body_release(struct tsd_put_body *b);

#endif
