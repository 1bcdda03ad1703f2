/*
 * cmd.h - what a command of the program is: a row with its texts and options, and a function.
 *
 * The table stands in main.c; help pages are printed from it. A command reads its arguments through struct
 * tsd_args, writes results to stdout and everything else to stderr as "tsd: ...".
 *
 * Threads    the main thread
 * Not here   splitting options (base/conf.h), what a command does (its file)
 */
#ifndef TSD_COMMANDS_CMD_H
#define TSD_COMMANDS_CMD_H

#include "base/buf.h"
#include "base/conf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* How the program ends. */
enum tsd_exit {
    TSD_EXIT_OK = 0,     /* success */
    TSD_EXIT_FAILED = 1, /* it failed, at least in part */
    TSD_EXIT_USAGE = 2,  /* wrong usage */
    TSD_EXIT_DAMAGE = 3, /* bytes on disk are not what was written */
};
/** Exit code for an error code (enum ts_err); -1 for a number that is not an error code. */
int tsd_exit_of(int code);

struct tsd_cmd;

/* The arguments of one run of a command. */
struct tsd_args {
    const struct tsd_cmd *cmd;   /* the row that runs */
    const struct tsd_cmd *table; /* all commands, ended by name == NULL */
    struct ts_opt_use *uses;     /* options and words in the order given */
    unsigned n_uses;             /* entries of uses */
    const char **words;          /* the words that are not options */
    size_t n_words;              /* entries of words */
    struct ts_conf *conf;        /* values of the row's keys; NULL if it has none */
};

/* One command. */
struct tsd_cmd {
    const char *name;          /* as typed */
    const char *also;          /* other words for it, with blanks between; NULL = none */
    const char *summary;       /* one sentence */
    const char *usage;         /* usage, one form a line, without "tsd NAME" */
    const struct ts_opt *opts; /* ended by name == NULL; NULL = none but --help */
    const struct ts_conf_key *const
        *tables; /* key tables whose keys are options too, ended by NULL; NULL = none */
    const struct ts_conf_key *const
        *other_tables;    /* keys that may stand in its file for other commands; ended by NULL, or NULL */
    const char *details;  /* paragraphs below the options; NULL = none */
    const char *exits;    /* what its exit codes mean; NULL = those of enum tsd_exit */
    const char *examples; /* two, one a line */
    int (*run)(const struct tsd_args *args); /* returns an exit code */
    int (*refuse)(
        const char *
            text); /* says what is wrong with the words and options; returns an exit code. NULL: on standard error, TSD_EXIT_USAGE */
};

/** Run the program: find the command in table, split its options, answer --help, run it. Returns the exit
 * code. */
int tsd_cmd_main(const struct tsd_cmd *table, int argc, char *const *argv);
/** The help page of a command. */
void tsd_cmd_page(const struct tsd_cmd *cmd, struct ts_buf *out);
/** The list of all commands. */
void tsd_cmd_list(const struct tsd_cmd *table, struct ts_buf *out);
/** Call each for every option of a command: its own, --help, and its keys as options (then key is their row, else NULL). The texts of opt are
 * valid during the call. */
void tsd_cmd_each_opt(const struct tsd_cmd *cmd,
                      void (*each)(void *arg, const struct ts_opt *opt, const struct ts_conf_key *key),
                      void *arg);
/** Row of a command by name; NULL. */
const struct tsd_cmd *tsd_cmd_find(const struct tsd_cmd *table, const char *name);
/** The row that a wrong name probably means: by another word for it, by the first word of one of its forms,
 * such as weblog-import of collect (then *out_is_word is true; it may be NULL), or by a similar name. NULL if
 * there is none. */
const struct tsd_cmd *tsd_cmd_near(const struct tsd_cmd *table, const char *name, bool *out_is_word);

/** Value of an option's last use ("" for a switch); NULL if it was not given. */
const char *tsd_args_get(const struct tsd_args *args, const char *name);
/** Is the value of an option none of these? False if it is one of them, or the option was not given.
 *  @param names     allowed values, "text|csv"
 *  @param out_code  [out] if true is returned: the exit code of the usage error, which has been printed with the nearest name */
bool tsd_args_choice(const struct tsd_args *args, const char *name, const char *names, int *out_code);
/** Was an option given? */
bool tsd_args_has(const struct tsd_args *args, const char *name);

/** Print "tsd: text" on stderr. */
void tsd_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/** Print an error ("tsd: text") and return its exit code. */
int tsd_fail(const struct ts_error *err);
/** Print what is wrong with the words of a command and where its page is; returns TSD_EXIT_USAGE, or what the row's member refuse returns. */
int tsd_usage(const struct tsd_args *args, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/** The same for a word that must be one of some: prints them and the nearest one.
 *  @param names  the words, with blanks between */
int tsd_usage_word(const struct tsd_args *args, const char *word, const char *names);
/** Write bytes to stdout; TS_EIO if stdout takes no more (full disk, closed pipe). */
int tsd_print(struct ts_slice text, struct ts_error *err);
/** Flush stdout; TS_EIO as above. Call at the end of a command. */
int tsd_print_end(struct ts_error *err);
/** Write a text and flush: for commands that print nothing else. */
int tsd_print_all(struct ts_slice text, struct ts_error *err);
/** Print the whole output of a command, and release it. Returns an exit code; if it is not TSD_EXIT_OK, the
 * error has been printed. */
int tsd_print_page(struct ts_buf *text);

/** Read an opentsdb.conf, and log which of its keys were taken, which have no meaning here, and which cannot be honoured. TS_EINVAL: a value is
 * wrong, or it would be wrong to ignore a key. */
int tsd_opentsdb_conf(struct ts_conf *conf, const char *path, struct ts_error *err);

/* The commands, one a file. */
int tsd_serve_run(const struct tsd_args *args);
int tsd_metrics_run(const struct tsd_args *args);
int tsd_status_run(const struct tsd_args *args);
int tsd_top_run(const struct tsd_args *args);
int tsd_completion_run(const struct tsd_args *args);
int tsd_check_run(const struct tsd_args *args);
int tsd_check_refuse(const char *text);
int tsd_query_run(const struct tsd_args *args);
int tsd_import_run(const struct tsd_args *args);
int tsd_replace_run(const struct tsd_args *args);
int tsd_export_run(const struct tsd_args *args);
int tsd_scan_cmd_run(const struct tsd_args *args);
int tsd_delete_cmd_run(const struct tsd_args *args);
int tsd_uid_run(const struct tsd_args *args);
int tsd_metric_run(const struct tsd_args *args);
int tsd_retention_run(const struct tsd_args *args);
int tsd_total_run(const struct tsd_args *args);
int tsd_versions_run(const struct tsd_args *args);
int tsd_mkmetric_run(const struct tsd_args *args);
int tsd_last_run(const struct tsd_args *args);
int tsd_search_run(const struct tsd_args *args);
int tsd_annotate_run(const struct tsd_args *args);
int tsd_flush_run(const struct tsd_args *args);
int tsd_compact_run(const struct tsd_args *args);
int tsd_rebalance_run(const struct tsd_args *args);
int tsd_hbase_cmd_run(const struct tsd_args *args);
int tsd_copy_run(const struct tsd_args *args);
int tsd_fsck_run(const struct tsd_args *args);
int tsd_collect_run(const struct tsd_args *args);
int tsd_version_run(const struct tsd_args *args);
int tsd_help_run(const struct tsd_args *args);

/* Their options. */
extern const struct ts_opt tsd_serve_opts[], tsd_query_opts[], tsd_import_opts[], tsd_replace_opts[],
    tsd_export_opts[], tsd_scan_opts[], tsd_delete_opts[], tsd_uid_opts[], tsd_mkmetric_opts[],
    tsd_search_opts[], tsd_last_opts[], tsd_annotate_opts[], tsd_flush_opts[], tsd_fsck_opts[],
    tsd_collect_opts[], tsd_retention_opts[], tsd_total_opts[], tsd_versions_opts[], tsd_hbase_opts[],
    tsd_copy_opts[], tsd_check_opts[], tsd_metrics_opts[], tsd_status_opts[], tsd_top_opts[],
    tsd_version_opts[], tsd_help_opts[], tsd_compact_opts[], tsd_rebalance_opts[];
/* Long parts of pages. */
extern const char tsd_fsck_details[], tsd_compact_details[], tsd_rebalance_details[];

#endif
