/*
 * opt.c - command line options from tables, configuration keys included.
 *
 * Threads    one, at the start of a command
 * Not here   what an option means (its command), values of keys (conf.c)
 */
#include "base/conf.h"

#include "base/conf_int.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>

#define OPT_NAME_MAX   64
#define OPT_HELP_WIDTH 100 /* columns of a help page */
#define OPT_LEFT_MAX   30  /* an option with a longer left side gets its text on the next line */

/* Where the parser stands. */
struct opt_state {
    int n, i;                  /* arguments and the next one */
    char *const *argv;         /* borrowed */
    const struct ts_opt *opts; /* table */
    struct ts_conf *conf;      /* may be NULL */
    struct ts_opt_use *uses;   /* out */
    unsigned n_uses;           /* filled */
    struct ts_error *err;      /* may be NULL */
};

static void opt_add(struct opt_state *s, const char *name, const char *value)
{
    s->uses[s->n_uses++] = (struct ts_opt_use){name, value};
}

/* Name of an option as it is typed: '-' where a key has '_'. */
static void opt_dashes(char *p)
{
    for (; *p; p++)
        if (*p == '_')
            *p = '-';
}

/* dashes: as they were typed */
static int opt_unknown(struct opt_state *s, const char *dashes, struct ts_slice name)
{
    struct ts_near near;
    int n = name.n > 80 ? 80 : (int)name.n;
    ts_near_init(&near, name);
    for (const struct ts_opt *o = s->opts; o && o->name; o++)
        ts_near_see(&near, ts_slice_str(o->name));
    if (s->conf)
        ts_conf__near_keys(&near, s->conf, false);
    if (!near.n)
        return ts_error_set(s->err, TS_EINVAL, "unknown option %s%.*s", dashes, n, name.p);
    opt_dashes(near.best);
    return ts_error_set(s->err, TS_EINVAL, "unknown option %s%.*s; did you mean --%s?", dashes, n, name.p,
                        near.best);
}

/* Give a key its value: after '=', or the next argument; a boolean key alone means true. */
static int opt_take_key(struct opt_state *s, const struct ts_conf_key *key, struct ts_slice name,
                        const char *value)
{
    char where[OPT_NAME_MAX + 16];
    bool flag;
    snprintf(where, sizeof(where), "option --%.*s", (int)name.n, name.p);
    if (!value) {
        const char *next = s->i < s->n ? s->argv[s->i] : NULL;
        if (key->type == TS_CONF_BOOL && !(next && ts_conf__is_bool(ts_slice_str(next), &flag)))
            value = "true";
        else if (!next)
            return ts_error_set(s->err, TS_EINVAL, "%s needs a value", where);
        else
            value = s->argv[s->i++];
    }
    return ts_conf_set(s->conf, key->name, ts_slice_str(value), where, s->err);
}

static int opt_take_long(struct opt_state *s, const char *arg)
{
    const char *eq = strchr(arg, '=');
    struct ts_slice name = {arg, eq ? (size_t)(eq - arg) : strlen(arg)};
    const char *value = eq ? eq + 1 : NULL;
    for (const struct ts_opt *o = s->opts; o && o->name; o++) {
        if (!ts_slice_is(name, o->name))
            continue;
        if (o->arg && !value) {
            if (s->i >= s->n)
                return ts_error_set(s->err, TS_EINVAL, "option --%s needs a value: %s", o->name, o->arg);
            value = s->argv[s->i++];
        } else if (!o->arg && value) {
            return ts_error_set(s->err, TS_EINVAL, "option --%s takes no value", o->name);
        }
        opt_add(s, o->name, value);
        return 0;
    }
    if (s->conf && name.n <= OPT_NAME_MAX && !memchr(name.p, '_', name.n)) {
        char key_name[OPT_NAME_MAX + 1];
        for (size_t i = 0; i < name.n; i++)
            key_name[i] = name.p[i] == '-' ? '_' : name.p[i];
        key_name[name.n] = 0;
        const struct ts_conf_key *key = ts_conf__find(s->conf, key_name);
        if (key)
            return opt_take_key(s, key, name, value);
    }
    return opt_unknown(s, "--", name);
}

/* -v, -f FILE, -fFILE. Switches are not put together (-vq): each argument is one use. */
static int opt_take_short(struct opt_state *s, const char *arg)
{
    const struct ts_opt *o = s->opts;
    for (const struct ts_opt *long_form = s->opts; long_form && long_form->name; long_form++)
        if (arg[1] && strcmp(long_form->name, arg) == 0) /* -format is not the form "ormat" */
            return opt_unknown(s, "-", ts_slice_str(arg));
    while (o && o->name && o->letter != arg[0])
        o++;
    if (!o || !o->name || (!o->arg && arg[1]))
        return opt_unknown(s, "-", ts_slice_str(arg));
    const char *value = o->arg && arg[1] ? arg + 1 : NULL;
    if (o->arg && !value) {
        if (s->i >= s->n)
            return ts_error_set(s->err, TS_EINVAL, "option -%c needs a value: %s", arg[0], o->arg);
        value = s->argv[s->i++];
    }
    opt_add(s, o->name, value);
    return 0;
}

int ts_opt_parse(int n, char *const *argv, const struct ts_opt *opts, struct ts_conf *conf,
                 struct ts_opt_use *out_uses, unsigned *out_n, struct ts_error *err)
{
    struct opt_state s = {.n = n, .argv = argv, .opts = opts, .conf = conf, .uses = out_uses, .err = err};
    bool only_words = false;
    *out_n = 0;
    while (s.i < n) {
        const char *arg = argv[s.i++];
        if (only_words || arg[0] != '-' || !arg[1] || (arg[1] >= '0' && arg[1] <= '9')) /* -1d is a time */
            opt_add(&s, NULL, arg);
        else if (strcmp(arg, "--") == 0)
            only_words = true;
        else if (arg[1] == '-')
            TS_TRY(opt_take_long(&s, arg + 2));
        else
            TS_TRY(opt_take_short(&s, arg + 1));
    }
    *out_n = s.n_uses;
    return 0;
}

/* "  -h, --help" or "      --format FORMAT". */
static unsigned opt_put_left(struct ts_buf *out, const struct ts_opt *o)
{
    size_t before = out->n;
    if (o->letter)
        ts_buf_printf(out, "  -%c, --%s", o->letter, o->name);
    else
        ts_buf_printf(out, "      --%s", o->name);
    if (o->arg)
        ts_buf_printf(out, " %s", o->arg);
    return (unsigned)(out->n - before);
}

void ts_opt_print_help(const struct ts_opt *opts, struct ts_buf *out)
{
    struct ts_buf probe;
    unsigned left = 0;
    ts_buf_init(&probe, 0);
    for (const struct ts_opt *o = opts; o->name; o++) {
        unsigned n = opt_put_left(&probe, o);
        if (n > left && n <= OPT_LEFT_MAX)
            left = n;
    }
    ts_buf_release(&probe);
    left += 2;
    char pad[OPT_LEFT_MAX + 4];
    snprintf(pad, sizeof(pad), "%*s", (int)left, "");
    for (const struct ts_opt *o = opts; o->name; o++) {
        unsigned n = opt_put_left(out, o);
        if (n + 2 > left) {
            ts_buf_char(out, '\n');
            n = 0;
        }
        ts_buf_append(out, pad, left - n);
        ts_conf__wrap(out, o->help, pad, left, OPT_HELP_WIDTH);
        ts_buf_char(out, '\n');
    }
}
