/*
 * conf.h - configuration keys and command line options as tables; help and --print-config are printed from
 * them.
 *
 * A key has one name (wal_sync), settable in a file (wal_sync = always), as an option (--wal-sync always or
 * --wal-sync=always) and in the environment (TSD_WAL_SYNC). Later wins: default < file < environment <
 * option.
 * Threads    read before threads start; values change later only through keys marked run-time
 */
#ifndef BASE_CONF_H
#define BASE_CONF_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ts_conf_type { TS_CONF_STR, TS_CONF_BOOL, TS_CONF_INT, TS_CONF_BYTES, TS_CONF_CHOICE };

/* One row of a key table; tables are const arrays ended by name == NULL. */
struct ts_conf_key {
    const char *name; /* wal_sync_interval_ms: unit in the name */
    enum ts_conf_type type;
    const char *def;      /* default as text */
    int64_t min, max;     /* INT and BYTES: allowed range, inclusive; both 0 = any */
    const char *choices;  /* CHOICE: "always|interval|none" */
    const char *opentsdb; /* key of an opentsdb.conf that means the same, or NULL */
    const char *help;     /* one or two sentences: what, cost, when to change */
    /* where ts_conf_fill stores the value: see TS_CONF_TO */
    uint16_t to;       /* offset of a member: const char *, bool, or an integer of 4 or 8 bytes */
    uint16_t to_bytes; /* its size; 0 = nowhere */
    uint16_t factor;   /* integers are multiplied by it: 1000 from seconds to ms; 0 = 1 */
};

/* Rows of a table by type. Further members may follow the help: .opentsdb = "...", TS_CONF_TO(...). */
#define TS_KEY_STR(NAME, DEF, ...)             TS_CONF_ROW(STR, NAME, DEF, 0, 0, NULL, __VA_ARGS__)
#define TS_KEY_BOOL(NAME, DEF, ...)            TS_CONF_ROW(BOOL, NAME, DEF, 0, 0, NULL, __VA_ARGS__)
#define TS_KEY_INT(NAME, DEF, MIN, MAX, ...)   TS_CONF_ROW(INT, NAME, DEF, MIN, MAX, NULL, __VA_ARGS__)
#define TS_KEY_BYTES(NAME, DEF, MIN, MAX, ...) TS_CONF_ROW(BYTES, NAME, DEF, MIN, MAX, NULL, __VA_ARGS__)
#define TS_KEY_CHOICE(NAME, CHOICES, DEF, ...) TS_CONF_ROW(CHOICE, NAME, DEF, 0, 0, CHOICES, __VA_ARGS__)
#define TS_CONF_ROW(TYPE, NAME, DEF, MIN, MAX, CHOICES, ...)                                                 \
    {                                                                                                        \
        .name = NAME, .type = TS_CONF_##TYPE, .def = DEF, .min = MIN, .max = MAX, .choices = CHOICES,        \
        .help = __VA_ARGS__                                                                                  \
    }
/* The value goes to this member of a struct. */
#define TS_CONF_TO(STRUCT, MEMBER)                                                                           \
    .to = offsetof(STRUCT, MEMBER), .to_bytes = sizeof(((STRUCT *)NULL)->MEMBER)

struct ts_conf; /* values of one or more tables */
/** New set over tables (array of n_tables pointers, borrowed for life), all at their defaults. */
struct ts_conf *ts_conf_new(const struct ts_conf_key *const *tables, unsigned n_tables);
/** Free it with its values. NULL is harmless. */
void ts_conf_free(struct ts_conf *c);
/** Set one key from text; where ("file x line 3", "option --x", "environment") goes into the error. TS_EINVAL with
 * what is allowed. TS_ENOTFOUND: no such key (text suggests the nearest name). */
int ts_conf_set(struct ts_conf *c, const char *name, struct ts_slice value, const char *where,
                struct ts_error *err);
/** Read a file of `key = value` lines (# comments; value may be quoted). Keys beginning "tsd." are OpenTSDB's: mapped
 * when a row names them (Java properties escapes understood; seconds become ms where our key ends in _ms), a warning
 * each otherwise. So is any key with a dot (hbase.*); unknown keys of ours are TS_EINVAL with file and line. */
int ts_conf_load_file(struct ts_conf *c, const char *path, struct ts_error *err);
/* Receives a property of an opentsdb.conf: its name, its value, and the row that has taken it, or NULL. where is "file x line 3". A
 * result below 0, with *err set, ends the reading. */
typedef int (*ts_conf_property_fn)(void *arg, const char *name, struct ts_slice value,
                                   const struct ts_conf_key *key, const char *where, struct ts_error *err);
/** Read an opentsdb.conf as ts_conf_load_file does, but every line is a property, and each is reported instead of warned about. Keys that
 * are listed without a value are not reported. */
int ts_conf_load_properties(struct ts_conf *c, const char *path, ts_conf_property_fn each, void *arg,
                            struct ts_error *err);
/** Evaluate TSD_<NAME> variables. A variable that looks like a misspelt key is TS_EINVAL with both names;
 * other TSD_ variables are ignored, since they may belong to other programs. */
int ts_conf_load_env(struct ts_conf *c, struct ts_error *err);
/** Keys of these tables (ended by NULL, borrowed for life) may occur in files and in the environment too and are
 * ignored there, since several programs share one file. */
void ts_conf_pass_over(struct ts_conf *c, const struct ts_conf_key *const *tables);
/** Values; a wrong name or type is TS_BUG. */
const char *ts_conf_str(const struct ts_conf *c, const char *name);
/** Value of a key of kind bool. */
bool ts_conf_bool(const struct ts_conf *c, const char *name);
/** Value of a key of kind INT or BYTES. */
int64_t ts_conf_int(const struct ts_conf *c, const char *name);
/** Store the values of the keys of a table that name a member (TS_CONF_TO) in *out, the struct of these members. Texts are
 * borrowed from c. */
void ts_conf_fill(const struct ts_conf *c, const struct ts_conf_key *table, void *out);
/** The commented file with all keys and their present values (--print-config). */
void ts_conf_print(const struct ts_conf *c, struct ts_buf *out);
/** Each key with its value as text, sorted by name (for /api/config). */
void ts_conf_each(const struct ts_conf *c,
                  void (*emit)(void *arg, const struct ts_conf_key *key, const char *value), void *arg);

/* Command line options of one command; const array ended by name == NULL. */
struct ts_opt {
    const char *name; /* "format": --format csv, --format=csv */
    char letter;      /* 'h': -h, 0 = none */
    const char *arg;  /* "FILE": takes a value; NULL = switch */
    const char *help;
};
/* One use of an option or a plain word, in the order given. */
struct ts_opt_use {
    const char *name;  /* option name, NULL = plain word */
    const char *value; /* value or the word; NULL for a switch */
};
/** Split argv[0..n) into uses. Options may stand anywhere; "--" ends them; "-" and what begins with '-' and a
 *  digit are words. Options that are keys of conf (may be NULL) are
 *  set there (with - for _) and not reported; a BOOL key without a truth value behind it means true.
 *  TS_EINVAL "unknown option --x" with the nearest name. out_uses: array of n entries by caller. */
int ts_opt_parse(int n, char *const *argv, const struct ts_opt *opts, struct ts_conf *conf,
                 struct ts_opt_use *out_uses, unsigned *out_n, struct ts_error *err);
/** Option lines of a help page, aligned. */
void ts_opt_print_help(const struct ts_opt *opts, struct ts_buf *out);

#endif
