/*
 * fake_filter.h - filters of the fake HBase, parsed; for fake_filter.c and fake_message.c only.
 */
#ifndef TESTS_HBASE_FAKE_FILTER_H
#define TESTS_HBASE_FAKE_FILTER_H

#include "tests/hbase/fake_int.h"

#define FAKE_FILTER_DEPTH 20

enum comparator { BINARY, BINARY_PREFIX, REGEX, SUBSTRING };

enum kind {
    ALL_OF,
    ONE_OF,
    KEY_ONLY,
    FIRST_KEY_ONLY,
    PREFIX,
    COLUMN_PREFIX,
    COLUMN_PREFIXES,
    COLUMN_RANGE,
    ROW,
    QUALIFIER,
    RANGES
};

/* Keys from <= key < to. */
struct fake_range {
    struct ts_slice from, to;
};
struct fake_filter {
    enum kind kind;
    struct fake_filter *a, *b; /* of ALL_OF, ONE_OF */
    struct ts_slice text, to;  /* prefix, bound, bytes to compare with */
    struct ts_slice *prefixes; /* n_prefixes of COLUMN_PREFIXES; memory of the arena */
    size_t n_prefixes;
    bool from_inclusive, to_inclusive;
    enum sto_thrift_compare op;
    enum comparator comparator;
    struct ts_regex *regex;
    struct fake_range *ranges; /* of RANGES: n_ranges of them, ascending, none overlaps another */
    size_t n_ranges;
    bool found; /* FIRST_KEY_ONLY: a cell of the row was seen */
};

/* Index of the first range that ends above a row. */
size_t fake__range_of(const struct fake_filter *x, struct ts_slice row);

#endif
