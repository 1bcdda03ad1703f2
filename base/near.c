/*
 * near.c - the name that was probably meant.
 *
 * Source     R. Lowrance, R. A. Wagner, An Extension of the String-to-String Correction Problem, JACM 22 (1975), 177; swaps of
 *            neighbours alone
 */
#include "base/near.h"

#include "base/cut.h"

#include <stdio.h>
#include <string.h>

#define NEAR_MAX_CHANGES 3

void ts_near_init(struct ts_near *near, struct ts_slice wanted)
{
    *near = (struct ts_near){.wanted = wanted, .least = TS_NEAR_PART + 1};
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c == '_' ? '-' : c;
}

static bool is_letter(char c)
{
    return (c >= '0' && c <= '9') || (lower(c) >= 'a' && lower(c) <= 'z') || (c & 0x80);
}

/* Number of letters to change, add, drop or swap with their neighbour to turn a into b; both are short. */
static unsigned distance(struct ts_slice a, struct ts_slice b)
{
    unsigned rows[3][TS_NEAR_MAX_BYTES + 1]; /* of the last three letters of a, by number modulo 3 */
    for (size_t j = 0; j <= b.n; j++)
        rows[0][j] = (unsigned)j;
    for (size_t i = 1; i <= a.n; i++) {
        unsigned *row = rows[i % 3], *last = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= b.n; j++) {
            char x = lower(a.p[i - 1]), y = lower(b.p[j - 1]);
            unsigned change = last[j - 1] + (x != y), drop = last[j] + 1, add = row[j - 1] + 1;
            row[j] = change < drop ? (change < add ? change : add) : (drop < add ? drop : add);
            bool swapped = i > 1 && j > 1 && x == lower(b.p[j - 2]) && lower(a.p[i - 2]) == y;
            if (swapped && before[j - 2] + 1 < row[j])
                row[j] = before[j - 2] + 1;
        }
    }
    return rows[a.n % 3][b.n];
}

/* Does whole contain part, with no letter or digit next to it? */
static bool is_part(struct ts_slice part, struct ts_slice whole)
{
    for (size_t at = 0; part.n >= 3 && at + part.n <= whole.n; at++) {
        size_t i = 0, end = at + part.n;
        while (i < part.n && lower(whole.p[at + i]) == lower(part.p[i]))
            i++;
        if (i == part.n && (!at || !is_letter(whole.p[at - 1])) &&
            (end == whole.n || !is_letter(whole.p[end])))
            return true;
    }
    return false;
}

void ts_near_see(struct ts_near *near, struct ts_slice name)
{
    struct ts_slice wanted = near->wanted;
    size_t longer = name.n > wanted.n ? name.n : wanted.n,
           more = longer - (longer == name.n ? wanted.n : name.n);
    unsigned found = TS_NEAR_PART + 1;
    if (!wanted.n || longer > TS_NEAR_MAX_BYTES)
        return;
    if (more <= NEAR_MAX_CHANGES) {
        found = distance(wanted, name);
        if (found > NEAR_MAX_CHANGES || 3 * found > longer)
            found = TS_NEAR_PART + 1;
    }
    if (found > TS_NEAR_PART && is_part(wanted, name))
        found = TS_NEAR_PART;
    if (found >= near->least)
        return;
    near->least = found;
    near->n = name.n;
    memcpy(near->best, name.p, name.n);
    near->best[name.n] = 0;
}

bool ts_near_list(struct ts_near *near, const char *list)
{
    struct ts_slice rest = ts_slice_str(list);
    while (rest.n) {
        struct ts_slice name = ts_slice_cut(&rest, ' ');
        if (ts_slice_eq(name, near->wanted))
            return true;
        ts_near_see(near, name);
    }
    return false;
}

void ts_near_hint(const struct ts_near *near, struct ts_error *err)
{
    size_t n = err ? strlen(err->text) : 0;
    if (near->n && err)
        (void)snprintf(err->text + n, sizeof(err->text) - n, "; did you mean %s?", near->best);
}
