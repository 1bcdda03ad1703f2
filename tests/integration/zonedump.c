/*
 * zonedump.c - prints the offsets of time zones for zone_files.py: names on standard input, one a line.
 *
 * Output     a line "NAME", then "FROM_S OFFSET_S" for each stretch of constant offset from 1800 to 3000
 */
#include "base/time.h"

#include <stdio.h>
#include <string.h>

int main(void)
{
    char name[128];
    while (fgets(name, sizeof(name), stdin)) {
        const struct ts_tz *tz;
        struct ts_error err = {0};
        name[strcspn(name, "\n")] = '\0';
        if (ts_tz_open(ts_slice_str(name), &tz, &err) < 0) {
            printf("%s: %s\n", name, err.text);
            continue;
        }
        printf("%s\n", name);
        int64_t from, to = ts_civil_to_ms(1800, 1, 1, 0, 0, 0), end = ts_civil_to_ms(3000, 1, 1, 0, 0, 0);
        while (to < end) {
            int64_t begin = to, offset = ts_tz_span(tz, to, &from, &to);
            printf("%lld %lld\n", (long long)begin / 1000, (long long)offset / 1000);
        }
    }
    return 0;
}
