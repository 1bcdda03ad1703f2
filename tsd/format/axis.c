/*
 * axis.c - units, steps of 1, 2 and 5, and digits.
 *
 *   bytes               B, KiB, MiB, ... (1,024 each)        bits     bit, kbit, Mbit, ... (1,000 each)
 *   s, ms, us, ns       ns, µs, ms, s, min, h, d             percent  %
 *   any other, unknown  plain up to a million, then M, G, T; the unit stands beside the axis
 *
 * A unit such as "bytes/s" is formatted like "bytes", followed by "/s". All numbers of an axis have the same unit.
 *
 * Threads    any
 */

#include "tsd/format/picture.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define AXIS_STEPS      6    /* between the numbers of an axis, about */
#define AXIS_MAX_STEPS  20   /* more is a mistake of rounding */
#define AXIS_MAX_DIGITS 4    /* behind the point, before a smaller prefix is taken */
#define AXIS_PLAIN_MIN  1e-3 /* smaller and larger numbers are written with a power of ten */
#define AXIS_PLAIN_MAX  1e21

/* A prefix or unit of numbers. */
struct prefix {
    double from;      /* for values of this size on */
    double scale;     /* what 1 of it is */
    const char *text; /* behind the number */
};
/* Ascending by size; the first one holds for all smaller values. */
static const struct prefix bytes[] = {{0, 1, "B"},
                                      {0x1p10, 0x1p10, "KiB"},
                                      {0x1p20, 0x1p20, "MiB"},
                                      {0x1p30, 0x1p30, "GiB"},
                                      {0x1p40, 0x1p40, "TiB"},
                                      {0x1p50, 0x1p50, "PiB"},
                                      {0x1p60, 0x1p60, "EiB"}};
static const struct prefix bits[] = {{0, 1, "bit"},      {1e3, 1e3, "kbit"},   {1e6, 1e6, "Mbit"},
                                     {1e9, 1e9, "Gbit"}, {1e12, 1e12, "Tbit"}, {1e15, 1e15, "Pbit"}};
static const struct prefix seconds[] = {{0, 1e-9, "ns"},     {1e-6, 1e-6, "µs"}, {1e-3, 1e-3, "ms"},
                                        {1, 1, "s"},         {300, 60, "min"},   {7200, 3600, "h"},
                                        {172800, 86400, "d"}};
static const struct prefix percents[] = {{0, 1, "%"}};
static const struct prefix plain[] = {{0, 1, ""},        {1e6, 1e6, "M"},   {1e9, 1e9, "G"},
                                      {1e12, 1e12, "T"}, {1e15, 1e15, "P"}, {1e18, 1e18, "E"}};

/* A unit that people give metrics. */
struct unit {
    const char *name;
    double factor; /* in units of the prefixes */
    const struct prefix *prefixes;
    size_t n;
};
#define PREFIXES(p) p, sizeof(p) / sizeof(p[0])
static const struct unit units[] = {
    {"bytes", 1, PREFIXES(bytes)},   {"byte", 1, PREFIXES(bytes)},       {"B", 1, PREFIXES(bytes)},
    {"kB", 1e3, PREFIXES(bytes)},    {"KiB", 1024, PREFIXES(bytes)},     {"MiB", 0x1p20, PREFIXES(bytes)},
    {"bits", 1, PREFIXES(bits)},     {"bit", 1, PREFIXES(bits)},         {"s", 1, PREFIXES(seconds)},
    {"sec", 1, PREFIXES(seconds)},   {"seconds", 1, PREFIXES(seconds)},  {"ms", 1e-3, PREFIXES(seconds)},
    {"us", 1e-6, PREFIXES(seconds)}, {"µs", 1e-6, PREFIXES(seconds)},    {"ns", 1e-9, PREFIXES(seconds)},
    {"%", 1, PREFIXES(percents)},    {"percent", 1, PREFIXES(percents)},
};
static const struct unit unit_plain = {"", 1, PREFIXES(plain)};

/* The unit that a text names, and what stands behind it: "/s" of "bytes/s". */
static const struct unit *axis_unit(const char *text, const char **out_per)
{
    size_t n = strcspn(text, "/");
    *out_per = text + n;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]) && strlen(*out_per) < 8; i++)
        if (strlen(units[i].name) == n && memcmp(units[i].name, text, n) == 0 &&
            !(units[i].prefixes == seconds && **out_per)) /* seconds per second are no time */
            return &units[i];
    return &unit_plain;
}

/* 1, 2 or 5 times a power of ten, not less than v. */
static double axis_nice(double v)
{
    double power = pow(10, floor(log10(v)));
    for (int m = 1; m < 10; m = m == 2 ? 5 : m * 2)
        if (m * power >= v * (1 - 1e-9))
            return m * power;
    return 10 * power;
}

/* Number of decimals needed to distinguish the multiples of a step. */
static int axis_digits(double step)
{
    double d = -floor(log10(step) + 1e-9);
    return d > 0 ? (int)d : 0;
}

static bool axis_is_plain(double size)
{
    return size == 0 || (size >= AXIS_PLAIN_MIN && size < AXIS_PLAIN_MAX);
}

/* Choose scale, digits and suffix for numbers up to size that span range. */
static void axis_write(struct tsd_axis *a, double range, double size, const char *unit)
{
    const char *per;
    const struct unit *u = axis_unit(unit, &per);
    size_t i = u->n - 1;
    while (i && (size * u->factor < u->prefixes[i].from || (u == &unit_plain && size >= AXIS_PLAIN_MAX)))
        i--;
    for (;; i--) { /* a smaller prefix, if this one would need many digits */
        a->scale = u->prefixes[i].scale / u->factor;
        a->step = axis_nice(range / a->scale / AXIS_STEPS) * a->scale;
        a->digits = axis_digits(a->step / a->scale);
        if (i == 0 || a->digits <= AXIS_MAX_DIGITS)
            break;
    }
    const char *text = u->prefixes[i].text;
    a->has_unit = u != &unit_plain;
    (void)snprintf(a->suffix, sizeof(a->suffix), "%s%s%s", *text ? " " : "", text, a->has_unit ? per : "");
    if (!axis_is_plain(size / a->scale) || a->digits > 9) {
        double apart = size / a->step;
        a->digits = -(apart > 1 && apart < 1e15 ? (int)ceil(log10(apart) + 1e-9) + 1 : 3);
    }
}

void tsd_axis_choose(double min, double max, bool from_zero, const char *unit, struct tsd_axis *out)
{
    *out = (struct tsd_axis){.scale = 1};
    if (min > max)
        min = max = 0;
    if (from_zero && min > 0)
        min = 0;
    if (from_zero && max < 0)
        max = 0;
    if (min == max) {
        double room = min == 0 ? 1 : fabs(min) * 0.05;
        max += room;
        min -= from_zero && min == 0 ? 0 : room;
    }
    double size = fmax(fabs(min), fabs(max)), range = max / 2 - min / 2;
    if (!(size < 1e300) || !(range > size * 1e-12) || !(range > 1e-290))
        return;
    range *= 2;
    axis_write(out, range, size, unit);
    out->lo = floor(min / out->step + 1e-9) * out->step;
    out->hi = ceil(max / out->step - 1e-9) * out->step;
}

size_t tsd_axis_print(const struct tsd_axis *a, double v, char out[TSD_AXIS_TEXT_BYTES])
{
    if (fabs(v) < a->step / 1000)
        return (size_t)snprintf(out, TSD_AXIS_TEXT_BYTES, "0");
    int n = a->digits < 0 ? snprintf(out, TSD_AXIS_TEXT_BYTES, "%.*g%s", -a->digits, v / a->scale, a->suffix)
                          : snprintf(out, TSD_AXIS_TEXT_BYTES, "%.*f%s", a->digits, v / a->scale, a->suffix);
    return (size_t)n;
}

void tsd_axis_script(const struct tsd_axis *a, const char *name, struct ts_buf *out)
{
    char text[TSD_AXIS_TEXT_BYTES];
    if (a->step == 0) {
        ts_buf_printf(out, "set format %s '%%.10g'\n", name);
        return;
    }
    ts_buf_printf(out, "set %srange [", name);
    tsd_gnuplot_number(a->lo, out);
    ts_buf_char(out, ':');
    tsd_gnuplot_number(a->hi, out);
    ts_buf_printf(out, "]\nset %stics (", name);
    for (int i = 0; i <= AXIS_MAX_STEPS; i++) {
        double v = a->lo + i * a->step;
        if (v > a->hi + a->step / 2)
            break;
        ts_buf_str(out, i ? ", " : "");
        (void)tsd_axis_print(a, v, text);
        tsd_gnuplot_tic(text, out);
        ts_buf_char(out, ' ');
        tsd_gnuplot_number(v, out);
    }
    ts_buf_str(out, ")\n");
}
