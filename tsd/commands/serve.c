/*
 * serve.c - tsd serve: configuration, then the daemon.
 *
 * Threads    the main thread; the daemon starts the others
 * Not here   sockets and threads (server.c)
 */
#include "base/log.h"
#include "tsd/commands/cmd.h"
#include "tsd/server.h"

const struct ts_opt tsd_serve_opts[] = {
    {.name = "config",
     .arg = "FILE",
     .help = "Read keys from this file: lines \"key = value\". An opentsdb.conf is understood."},
    {.name = "opentsdb-config",
     .arg = "FILE",
     .help = "Before it, read an opentsdb.conf; the log says which of its keys were taken, which have no "
             "meaning here, and which "
             "cannot be honoured."},
    {.name = "port", .letter = 'p', .arg = "PORT", .help = "TCP port to listen on: key port, default 4242."},
    {.name = "print-config",
     .help = "Print all keys with their present values as a file for --config, and end."},
    {.name = NULL},
};

static int serve_print_config(const struct tsd_args *args)
{
    struct ts_buf text;
    ts_buf_init(&text, 0);
    ts_conf_print(args->conf, &text);
    return tsd_print_page(&text);
}

int tsd_serve_run(const struct tsd_args *args)
{
    struct ts_error err = {0};
    const char *port = tsd_args_get(args, "port"); /* an option of its own, for -p as everywhere */
    if (port && ts_conf_set(args->conf, "port", ts_slice_str(port), "option --port", &err) < 0)
        return tsd_usage(args, "%s", err.text);
    if (args->n_words)
        return tsd_usage(args, "\"%s\" is not an option; name the folder with --data", args->words[0]);
    if (tsd_args_has(args, "print-config"))
        return serve_print_config(args);
    if (!*ts_conf_str(args->conf, "data"))
        return tsd_usage(
            args,
            "--data DIR is missing: name the folder for the points; it is created if it does not exist");
    return tsd_server_run(args->conf, &err) < 0 ? tsd_fail(&err) : TSD_EXIT_OK;
}
