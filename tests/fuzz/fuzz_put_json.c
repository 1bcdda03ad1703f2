/*
 * fuzz_put_json.c - a body of /api/put of any bytes.
 *
 * The usual shape is read in place; any other goes through jansson. What was read in place is held against what
 * jansson makes of it.
 *
 * Checked    no crash, no leak; errors have a code and a text; both ways see the same points
 */
#include "tests/fuzz/fuzz_kit.h"
#include "tsd/protocols/http/put_json.h"

static bool same_slice(struct ts_slice a, struct ts_slice b)
{
    return (a.p == NULL) == (b.p == NULL) && ts_slice_eq(a, b);
}

/* Numbers are printed again by the tree, also where they are values of tags: then only their being there is
 * compared. */
static bool same_tag(const struct sto_tag_text *a, const struct sto_tag_text *b)
{
    bool number = a->v.n && (strchr("-0123456789IN", a->v.p[0]) != NULL);
    return ts_slice_eq(a->k, b->k) && (number || ts_slice_eq(a->v, b->v));
}

static void check_same(const struct tsd_put_point *a, const struct tsd_put_point *b)
{
    CHECK(a->null_point == b->null_point && a->n_tags == b->n_tags && a->time_quoted == b->time_quoted);
    CHECK(same_slice(a->metric, b->metric) && (a->time.p == NULL) == (b->time.p == NULL) &&
          (a->value.p == NULL) == (b->value.p == NULL));
    for (uint32_t i = 0; i < a->n_tags; i++) {
        bool found = false;
        for (uint32_t k = 0; k < b->n_tags; k++)
            found |= same_tag(&a->tags[i], &b->tags[k]);
        CHECK(found);
    }
}

/* May jansson refuse what was read in place? Names are checked later, so their bytes may be anything; NaN and
 * Infinity are known to clients of OpenTSDB; and numbers may have more digits than a double or int64_t. */
static bool may_refuse(struct ts_slice text)
{
    size_t n_digits = 0;
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        n_digits = c >= '0' && c <= '9' ? n_digits + 1 : 0;
        if (c >= 0x80 || c == 'N' || c == 'I' || c == 'e' || c == 'E' || n_digits > 18)
            return true;
    }
    return false;
}

static void compare(struct ts_slice text, const struct tsd_put_body *fast)
{
    struct ts_arena arena = {0};
    struct tsd_put_body tree;
    struct ts_error err = {0}, details = {0};
    int rc = tsd_put_body_read(text, true, &arena, &tree, &err, &details);
    CHECK(rc == 0 || may_refuse(text));
    CHECK(rc < 0 || (tree.tree && tree.is_array == fast->is_array && tree.n_points == fast->n_points));
    for (size_t i = 0; rc == 0 && i < fast->n_points; i++)
        check_same(&fast->points[i], &tree.points[i]);
    tsd_put_body_release(&tree);
    ts_arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct ts_arena arena = {0};
    struct tsd_put_body body;
    struct ts_error err = {0}, details = {0};
    ts_log_set_level(TS_LOG_ERROR + 1);
    char *copy = ts_xmalloc(n); /* exactly: a sanitizer sees reads beyond */
    if (n)
        memcpy(copy, data, n);
    struct ts_slice text = {copy, n};
    int rc = tsd_put_body_read(text, false, &arena, &body, &err, &details);
    check_answer(rc, &err);
    if (rc == 0 && !body.tree)
        compare(text, &body);
    tsd_put_body_release(&body);
    ts_arena_release(&arena);
    ts_free(copy);
    return 0;
}
