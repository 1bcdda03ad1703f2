/*
 * age_left.c - see age_left.h.
 */
#include "storage/age_left.h"

#include "storage/aged.h"
#include "storage/catalog/catalog.h"

static void add_points_of(const struct sto_catalog *catalog, const roaring_bitmap_t *series,
                          roaring_bitmap_t *out)
{
    roaring_uint32_iterator_t it;
    if (!series)
        return;
    for (roaring_init_iterator(series, &it); it.has_value; roaring_advance_uint32_iterator(&it)) {
        const struct sto_series *s = sto_series_get(catalog, it.current_value);
        if (s && sto_aged_level_of(catalog, s->metric) != STO_AGED_HOURS)
            roaring_bitmap_add(out, it.current_value);
    }
}

void sto_age_left__note(struct sto_age_left *left, const struct sto_catalog *catalog,
                        const roaring_bitmap_t *a, const roaring_bitmap_t *b)
{
    roaring_bitmap_t *set = roaring_bitmap_create();
    add_points_of(catalog, a, set);
    add_points_of(catalog, b, set);
    left->epoch += !left->series || !roaring_bitmap_equals(left->series, set);
    sto_age_left__release(left);
    left->series = set;
}

void sto_age_left__release(struct sto_age_left *left)
{
    if (left->series)
        roaring_bitmap_free(left->series);
    left->series = NULL;
}
