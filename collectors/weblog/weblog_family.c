/*
 * weblog_family.c - tags, endings, neighbours.
 *
 * Threads    see weblog_family.h
 */
#include "collectors/weblog/weblog_family.h"

#include "base/unpack.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define DATE_DIGITS 6 /* a tag before the ending with so many is a date, not part of a name */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_separator(char c)
{
    return c && strchr(".-_~:+@", c) != NULL;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Where the ending begins: at the last dot, if that is not the first byte; else at the end. */
static size_t stem_bytes(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot && dot > name ? (size_t)(dot - name) : strlen(name);
}

/* Numbers with separators, as dates are: "-20261121_07", ".3", "-2026-11-21T07:00". */
static bool is_number_tag(const char *p, size_t n, unsigned *out_digits)
{
    *out_digits = 0;
    for (size_t i = 0; i < n; i++) {
        *out_digits += is_digit(p[i]);
        if (!is_digit(p[i]) && !is_separator(p[i]) && !strchr("TWZ", p[i]))
            return false;
    }
    return n > 1 && is_separator(p[0]) && *out_digits;
}

/* What may follow the ending: nothing, or one or two endings like ".gz", ".old", ".bz2". */
static bool is_end(const char *p)
{
    for (unsigned n = 0; *p; n++) {
        size_t n_word = strcspn(p + 1, ".");
        if (n == 2 || *p != '.' || !n_word || !(is_letter(p[1]) || !strncmp(p + 1, "7z", n_word)))
            return false;
        for (p++; n_word; n_word--, p++)
            if (!is_letter(*p) && !is_digit(*p))
                return false;
    }
    return true;
}

/* The tag of STEM tag ENDING [end]: its bytes, 0 = the name has not this form. */
static size_t inner_tag(const char *log, size_t n_stem, const char *name)
{
    const char *ending = log + n_stem;
    size_t n_ending = strlen(ending);
    if (!n_ending || strncmp(log, name, n_stem) != 0 || !is_separator(name[n_stem]))
        return 0;
    for (const char *at = name + n_stem; (at = strstr(at, ending)); at++)
        if (at > name + n_stem && is_end(at + n_ending))
            return (size_t)(at - (name + n_stem));
    return 0;
}

/* "-1" of site-1.log, "-443" of access_log-443: too short for a date, and no ".1" either. */
static bool tag_is_weak(const char *tag, size_t n)
{
    unsigned n_digits;
    return is_number_tag(tag, n, &n_digits) && n_digits < DATE_DIGITS &&
           !(tag[0] == '.' && n_digits == n - 1);
}

enum col_web_family col_web_family(const char *log, const char *name)
{
    size_t n = strlen(log), n_stem = stem_bytes(log);
    unsigned n_digits;
    if (!strncmp(name, log, n) && (!name[n] || is_separator(name[n]))) {
        size_t end = strlen(name) - ts_pack_suffix(name);
        if (!name[n])
            return COL_WEB_STRICT;
        if (n_stem == n && end > n && tag_is_weak(name + n, end - n))
            return COL_WEB_LOOSE;
        while (end > n && !is_digit(name[end - 1]))
            end--;
        return end > n ? COL_WEB_STRICT : COL_WEB_LOOSE;
    }
    size_t n_tag = inner_tag(log, n_stem, name);
    if (!n_tag)
        return COL_WEB_STRANGER;
    return is_number_tag(name + n_stem, n_tag, &n_digits) && !tag_is_weak(name + n_stem, n_tag)
               ? COL_WEB_STRICT
               : COL_WEB_LOOSE;
}

size_t col_web_family_prefix(const char *log)
{
    return stem_bytes(log);
}

/* --- neighbours --- */

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

struct judge {
    const char *path;                           /* judged */
    const char *name;                           /* its name in it */
    bool (*there)(void *arg, const char *path); /* as given */
    void *arg;                                  /* for it */
    enum col_web_family how;                    /* at least so sure */
    char text[PATH_MAX];                        /* path of a log it may be made of */
};

/* Is there a log of this name, its first n bytes and an ending, that the path may be made of? */
static bool neighbour(struct judge *j, size_t n, const char *ending, size_t n_ending)
{
    enum col_web_family how;
    int len = snprintf(j->text, sizeof(j->text), "%.*s%.*s%.*s", (int)(j->name - j->path), j->path, (int)n,
                       j->name, (int)n_ending, ending);
    if (len < 1 || (size_t)len >= sizeof(j->text) || !strcmp(j->text, j->path))
        return false;
    how = col_web_family(base_of(j->text), j->name);
    return how >= j->how && j->there && j->there(j->arg, j->text);
}

/* The nearest one: of a-1-20261121.log it is a-1.log, though a.log is there as well. */
static bool has_neighbour(struct judge *j)
{
    for (size_t i = strlen(j->name); i-- > 1;) {
        if (!is_separator(j->name[i]))
            continue;
        if (neighbour(j, i, "", 0))
            return true;
        for (const char *dot = strchr(j->name + i + 1, '.'); dot; dot = strchr(dot + 1, '.'))
            if (neighbour(j, i, dot, strcspn(dot + 1, ".-_~") + 1))
                return true;
    }
    j->text[0] = '\0';
    return false;
}

/* Without a neighbour: ".1" at the end, or a date there or before ".log". */
static bool is_orphan(const char *name)
{
    size_t n = strlen(name), at, n_digits = 0;
    bool log = n > 4 && !strcmp(name + n - 4, ".log");
    n -= log ? 4 : 0;
    for (at = n; at && is_digit(name[at - 1]); at--)
        ;
    if (!log && at < n && at > 1 && name[at - 1] == '.')
        return true;
    for (at = n; at && (is_digit(name[at - 1]) || name[at - 1] == '-'); at--)
        n_digits += is_digit(name[at - 1]);
    return at && n_digits >= DATE_DIGITS && (name[at] == '-' || name[at - 1] == '.');
}

enum col_web_looks col_web_looks(const char *path, bool (*there)(void *arg, const char *path), void *arg,
                                 char *out_neighbour, size_t neighbour_bytes)
{
    struct judge j = {.path = path, .name = base_of(path), .there = there, .arg = arg, .how = COL_WEB_STRICT};
    size_t n = strlen(j.name);
    enum col_web_looks looks = COL_WEB_LOOKS_OWN;
    if (ts_pack_suffix(j.name) || (n && j.name[n - 1] == '~'))
        looks = COL_WEB_LOOKS_ROTATED;
    else if (strpbrk(j.name, "0123456789"))
        looks = has_neighbour(&j)   ? COL_WEB_LOOKS_ROTATED
                : is_orphan(j.name) ? COL_WEB_LOOKS_ORPHAN
                                    : COL_WEB_LOOKS_OWN;
    if (out_neighbour)
        (void)snprintf(out_neighbour, neighbour_bytes, "%s", j.text);
    return looks;
}

bool col_web_owner(const char *path, bool (*there)(void *arg, const char *path), void *arg, char *out,
                   size_t out_bytes)
{
    struct judge j = {.path = path, .name = base_of(path), .there = there, .arg = arg, .how = COL_WEB_LOOSE};
    bool found = has_neighbour(&j);
    (void)snprintf(out, out_bytes, "%s", j.text);
    return found;
}
