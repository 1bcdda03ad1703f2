/*
 * smart.h - what smartctl prints of a disk, apart from running it, for tests.
 *
 * Threads    pure function
 */
#ifndef COLLECTORS_HOST_SMART_H
#define COLLECTORS_HOST_SMART_H

#include "base/buf.h"
#include "collectors/core/emit.h"

#include <stdbool.h>

/** Output of `smartctl -i -A` of a disk: a point for each attribute that has a name here. False if there is no table of attributes. */
bool col_smart_parse(struct ts_slice text, const char *disk, struct col_emit *emit);

#endif
