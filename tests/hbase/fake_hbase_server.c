/*
 * fake_hbase_server.c - the fake HBase as a program.
 *
 *   fake_hbase_server PORT             listens on 127.0.0.1:PORT until SIGTERM or SIGINT; TSD_HBASE_FRAMED=1: with framed transport
 *   fake_hbase_server PROGRAM [ARG..]  listens at a free port, which the program finds as TSD_HBASE_GATEWAY=HOST:PORT in its environment, and
 *                                      ends with it, and with its exit code
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/hbase/fake_hbase.h"

static int run(char **argv, const struct fake_hbase *f)
{
    char where[40];
    int status = 0;
    (void)snprintf(where, sizeof where, "127.0.0.1:%s", fake_hbase_port(f));
    pid_t pid = fork();
    if (pid == 0) {
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        setenv("TSD_HBASE_GATEWAY", where, 1);
        execv(argv[1], argv + 1);
        perror(argv[1]);
        _exit(127);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return 1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int argc, char **argv)
{
    const char *framed = getenv("TSD_HBASE_FRAMED");
    char *end = NULL;
    long port = argc > 1 ? strtol(argv[1], &end, 10) : -1;
    bool serves = end && !*end && port >= 0 && port <= 65535;
    sigset_t ends;
    int which = 0;
    if (argc < 2) {
        (void)fprintf(stderr, "usage: fake_hbase_server PORT | PROGRAM [ARG...]\n");
        return 2;
    }
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    sigprocmask(SIG_BLOCK, &ends, NULL);
    struct fake_hbase *f = fake_hbase_start(
        framed && *framed == '1' ? STO_THRIFT_FRAMED : STO_THRIFT_BUFFERED, serves ? (unsigned)port : 0);
    if (!f) {
        perror("cannot listen");
        return 1;
    }
    int rc = 0;
    if (serves) {
        fake_hbase_create_opentsdb(f);
        printf("listening on 127.0.0.1:%s\n", fake_hbase_port(f));
        (void)fflush(stdout);
        sigwait(&ends, &which);
    } else {
        rc = run(argv, f);
    }
    fake_hbase_stop(f);
    return rc;
}
