/*
 * collect.c - tsd collect: measures this host and sends the points, or prints them, or lists collectors and
 * metrics.
 *
 * Threads    the main thread; the threads of collectors, which print under a lock
 * Not here   collectors and sending (collectors/)
 */
#include "base/log.h"
#include "base/mem.h"
#include "base/openfiles.h"
#include "collectors/collect.h"
#include "tsd/commands/cmd.h"
#include "tsd/commands/markdown.h"
#include "tsd/commands/weblogimport.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

const struct ts_opt tsd_collect_opts[] = {
    {.name = "server",
     .arg = "HOST:PORT",
     .help = "Send to this daemon, or the first of several (comma separated) that answers."},
    {.name = "port",
     .letter = 'p',
     .arg = "PORT",
     .help = "Send to the daemon on this machine at that port: short for --server 127.0.0.1:PORT."},
    {.name = "host", .arg = "NAME", .help = "Value of the tag host; the name of this machine if not given."},
    {.name = "only", .arg = "NAMES", .help = "Run these collectors, comma separated, * and ? allowed."},
    {.name = "skip", .arg = "NAMES", .help = "Do not run these."},
    {.name = "once",
     .help = "Read every collector once, deliver the points, and end (collectors that need two reads take a "
             "second)."},
    {.name = "format",
     .arg = "text",
     .help = "Print put lines on standard output instead of sending. With --list: text, csv or markdown."},
    {.name = "replace",
     .help = "With weblog-import: count files again that were imported with other keys, and set their "
             "earlier counts to 0."},
    {.name = "max-errors",
     .arg = "N",
     .help = "With weblog-import: most bad lines to list; all are counted. Default 20."},
    {.name = "list", .help = "Print every collector and metric with its unit, and end."},
    {.name = "print-config",
     .help = "Print all keys with their present values as a file for --config, and end."},
    {.name = "config", .arg = "FILE", .help = "Read keys from this file: lines \"key = value\"."},
    {.name = NULL},
};

/* Short options for keys. */
static const struct {
    const char *option, *key;
} aliases[] = {{"server", "collect_server"},
               {"host", "collect_host"},
               {"only", "collect_only"},
               {"skip", "collect_skip"}};

static int collect_aliases(const struct tsd_args *args, struct ts_error *err)
{
    const char *port = tsd_args_get(args, "port");
    char local[64];
    if (port && tsd_args_get(args, "server"))
        return ts_error_set(err, TS_EINVAL,
                            "--port is for the daemon on this machine; write --server HOST:PORT for another");
    if (port) {
        (void)snprintf(local, sizeof(local), "127.0.0.1:%s", port);
        TS_TRY(ts_conf_set(args->conf, "collect_server", ts_slice_str(local), "option --port", err));
    }
    for (size_t i = 0; i < sizeof(aliases) / sizeof(*aliases); i++) {
        const char *value = tsd_args_get(args, aliases[i].option);
        char where[32];
        (void)snprintf(where, sizeof(where), "option --%s", aliases[i].option);
        if (value)
            TS_TRY(ts_conf_set(args->conf, aliases[i].key, ts_slice_str(value), where, err));
    }
    return 0;
}

/* --- printing --- */

static pthread_mutex_t print_mutex = PTHREAD_MUTEX_INITIALIZER;

static int collect_print(void *arg, struct ts_slice lines, uint32_t n_points, bool durable,
                         struct ts_error *err)
{
    (void)arg;
    (void)n_points;
    (void)durable;
    pthread_mutex_lock(&print_mutex);
    int rc = tsd_print_all(lines, err);
    pthread_mutex_unlock(&print_mutex);
    return rc;
}

static int collect_show(const struct tsd_args *args)
{
    struct ts_buf text;
    const char *format = tsd_args_get(args, "format");
    ts_buf_init(&text, 0);
    if (tsd_args_has(args, "list") && format && !strcmp(format, "markdown")) {
        struct ts_buf csv;
        ts_buf_init(&csv, 0);
        col_list(true, &csv);
        tsd_markdown_csv(ts_buf_get(&csv), &text);
        ts_buf_release(&csv);
    } else if (tsd_args_has(args, "list")) {
        col_list(format && !strcmp(format, "csv"), &text);
    } else {
        ts_conf_print(args->conf, &text);
    }
    return tsd_print_page(&text);
}

/* --- running --- */

/* Readable when a signal ends the program; threads started after it do not receive these signals. */
static int collect_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    (void)signal(SIGPIPE, SIG_IGN);
    if (pthread_sigmask(SIG_BLOCK, &set, NULL) != 0)
        TS_BUG("can't block signals");
    int fd = signalfd(-1, &set, SFD_CLOEXEC);
    if (fd < 0)
        TS_BUG("no descriptor for signals");
    return fd;
}

static void collect_wait(int stop_fd)
{
    struct signalfd_siginfo info;
    ssize_t n;
    do
        n = read(stop_fd, &info, sizeof(info));
    while (n < 0 && errno == EINTR);
    if (n == (ssize_t)sizeof(info))
        ts_log(TS_LOG_INFO, "stopping signal=%s", info.ssi_signo == SIGINT ? "SIGINT" : "SIGTERM");
}

static int collect_run(const struct tsd_args *args, int stop_fd, struct ts_error *err)
{
    struct col_run_opts opts = {.conf = args->conf, .once = tsd_args_has(args, "once")};
    struct col_run *run;
    TS_TRY(col_run_start(&opts, &run, err));
    if (opts.once)
        return col_run_finish(run, err);
    ts_log(TS_LOG_INFO, "collecting server=%s", ts_conf_str(args->conf, "collect_server"));
    collect_wait(stop_fd);
    if (col_run_stop(run))
        _exit(TSD_EXIT_FAILED); /* a collector hangs in the kernel; its thread can't be joined */
    ts_log(TS_LOG_INFO, "stopped");
    return 0;
}

int tsd_collect_run(const struct tsd_args *args)
{
    struct ts_error err = {0};
    struct col_out print = {.put = collect_print};
    const char *format = tsd_args_get(args, "format");
    int rc;
    bool logs = args->n_words && !strcmp(args->words[0], "weblog-import");
    bool preview = args->n_words && !strcmp(args->words[0], "weblog-try");
    if (args->n_words && !logs && !preview)
        return tsd_usage_word(args, args->words[0], "weblog-import weblog-try");
    bool table =
        format && tsd_args_has(args, "list") && (!strcmp(format, "csv") || !strcmp(format, "markdown"));
    if (format && strcmp(format, "text") != 0 && !table)
        return tsd_usage(args, "--format is text (or csv or markdown with --list), not \"%s\"", format);
    (void)mallopt(M_ARENA_MAX, 1); /* threads that work some ms a minute share one heap */
    if (collect_aliases(args, &err) < 0)
        return tsd_fail(&err);
    if (tsd_args_has(args, "list") || tsd_args_has(args, "print-config"))
        return collect_show(args);
    if (logs)
        return tsd_weblog_import(args);
    if (preview)
        return tsd_weblog_try(args);
    (void)ts_open_files_raise(); /* followed logs need one each */
    int stop_fd = collect_signals();
    if (format && tsd_args_has(args, "once"))
        rc = col_once(args->conf, print, &err);
    else if (format)
        rc = col_watch(args->conf, print, stop_fd, &err);
    else
        rc = collect_run(args, stop_fd, &err);
    close(stop_fd);
    return rc < 0 ? tsd_fail(&err) : TSD_EXIT_OK;
}
