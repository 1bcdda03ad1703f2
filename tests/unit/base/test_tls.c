/*
 * test_tls.c - TLS as a client: whose certificate is accepted, bytes there and back, servers that misbehave.
 */
#include "base/tls.h"

#include "base/connect.h"
#include "base/time.h"
#include "tests/unit/base/tls_kit.h"

#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/uio.h>

#define MINUTE_NS 60000000000ll

static char folder[] = "/tmp/test_tls.XXXXXX";
static struct t_cert ours, other; /* of 127.0.0.1 and localhost; of another host */
static struct t_tls_server server;
static struct ts_tls *tls;
static struct ts_tls_conn *conn;
static struct ts_error err;
static _Atomic bool cancel;
static int fd;

static int setup_all(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(folder));
    t_cert_make(&ours, folder, "ours", "DNS:localhost,IP:127.0.0.1");
    t_cert_make(&other, folder, "other", "DNS:other.example,IP:127.0.0.9");
    (void)signal(SIGPIPE, SIG_IGN); /* of the server; tls.c does without */
    return 0;
}

static int teardown_all(void **state)
{
    (void)state;
    t_cert_remove(&ours);
    t_cert_remove(&other);
    assert_int_equal(rmdir(folder), 0);
    return 0;
}

static void begin(enum t_tls_manner manner, const struct t_cert *of_server, struct ts_tls_opts opts,
                  const char *ca)
{
    char port[8];
    err = (struct ts_error){0};
    atomic_store(&cancel, false);
    t_tls_start(&server, manner, of_server, ca);
    (void)snprintf(port, sizeof port, "%d", server.port);
    assert_int_equal(ts_connect("127.0.0.1", port, "here", ts_clock_mono_ns() + MINUTE_NS, NULL, &fd, &err),
                     0);
    assert_int_equal(ts_tls_new(&opts, &tls, &err), 0);
}

static int greet(const char *host, int64_t limit_ns)
{
    return ts_tls_connect(tls, fd, host, "the server", ts_clock_mono_ns() + limit_ns, &cancel, &conn, &err);
}

static void end(void)
{
    ts_tls_close(conn);
    conn = NULL;
    close(fd);
    ts_tls_unref(tls);
    t_tls_stop(&server);
}

static void wait_for(int events)
{
    assert_true(ts_socket_wait(fd, events | ts_tls_events(conn), ts_clock_mono_ns() + MINUTE_NS, NULL) != 0);
}

/* Write all of the pieces, and read as many bytes back. */
static void there_and_back(struct iovec *v, size_t n_pieces, char *back, size_t n_bytes)
{
    size_t n_there = 0, n_back = 0, at = 0, n;
    while (n_back < n_bytes) {
        int wrote = 0;
        if (n_there < n_bytes) {
            wrote = ts_tls_write(conn, v + at, n_pieces - at, &n, &err);
            assert_true(wrote >= 0);
            n_there += n;
            for (; at < n_pieces && n >= v[at].iov_len; at++)
                n -= v[at].iov_len;
            if (at < n_pieces)
                v[at] = (struct iovec){(char *)v[at].iov_base + n, v[at].iov_len - n};
        }
        int got = ts_tls_read(conn, back + n_back, n_bytes - n_back, &n, &err);
        assert_true(got >= 0);
        n_back += n;
        if (!wrote && !got)
            wait_for(n_there < n_bytes ? POLLIN | POLLOUT : POLLIN);
    }
    assert_int_equal(n_there, n_bytes);
}

static void test_tls__bytes_go_there_and_back(void **state)
{
    (void)state;
    enum { N_BYTES = 3000000, N_PIECES = 300 };
    char *bytes = malloc(N_BYTES), *back = malloc(N_BYTES);
    struct iovec v[N_PIECES];
    size_t at = 0;
    for (size_t i = 0; i < N_BYTES; i++)
        bytes[i] = (char)(i * 2654435761u >> 13);
    begin(T_TLS_ECHO, &ours, (struct ts_tls_opts){.ca_file = ours.cert}, NULL);
    assert_int_equal(greet("127.0.0.1", MINUTE_NS), 0);
    assert_int_equal(ts_tls_read(conn, back, 1, &at, &err), 0); /* tickets of TLS are no bytes of ours */
    assert_false(ts_tls_has_input(conn));
    at = 0;
    for (size_t i = 0; i < N_PIECES; i++) { /* short ones and long ones */
        size_t n = i + 1 == N_PIECES ? N_BYTES - at : i % 7 == 0 ? 50000 : i % 3 * 400;
        v[i] = (struct iovec){bytes + at, n};
        at += n;
    }
    there_and_back(v, N_PIECES, back, N_BYTES);
    assert_memory_equal(bytes, back, N_BYTES);
    struct iovec one = {bytes, 1};
    assert_int_equal(ts_tls_write(conn, &one, 1, &at, &err), 1);
    while (!ts_tls_has_input(conn))
        wait_for(POLLIN);
    assert_int_equal(ts_tls_read(conn, back, 100, &at, &err), 1);
    assert_int_equal(at, 1);
    end();
    free(bytes);
    free(back);
}

static void test_tls__names_are_checked_as_addresses_are(void **state)
{
    (void)state;
    begin(T_TLS_ECHO, &ours, (struct ts_tls_opts){.ca_file = ours.cert}, NULL);
    assert_int_equal(greet("localhost", MINUTE_NS), 0);
    end();
    static const char *const wrong[] = {"other.example", "127.0.0.2", "::1", "localhos"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        begin(T_TLS_ECHO, &ours, (struct ts_tls_opts){.ca_file = ours.cert}, NULL);
        assert_int_equal(greet(wrong[i], MINUTE_NS), TS_EIO);
        assert_non_null(strstr(err.text, "the certificate of the server is not accepted"));
        assert_non_null(strstr(err.text, "mismatch"));
        assert_null(conn);
        end();
    }
}

static void test_tls__only_trusted_certificates_are_accepted(void **state)
{
    (void)state;
    const char *const cas[] = {other.cert, NULL, ""}; /* another one; those of the system */
    for (size_t i = 0; i < 3; i++) {
        begin(T_TLS_ECHO, &ours, (struct ts_tls_opts){.ca_file = cas[i]}, NULL);
        assert_int_equal(greet("127.0.0.1", MINUTE_NS), TS_EIO);
        assert_non_null(strstr(err.text, "is not accepted"));
        end();
    }
}

static void test_tls__servers_may_ask_for_a_certificate(void **state)
{
    (void)state;
    char byte = 'x';
    struct iovec v = {&byte, 1};
    begin(T_TLS_ECHO, &ours,
          (struct ts_tls_opts){.ca_file = ours.cert, .cert_file = other.cert, .key_file = other.key},
          other.cert);
    assert_int_equal(greet("127.0.0.1", MINUTE_NS), 0);
    there_and_back(&v, 1, &byte, 1);
    end();
    begin(T_TLS_ECHO, &ours, (struct ts_tls_opts){.ca_file = ours.cert}, other.cert);
    int rc = greet("127.0.0.1", MINUTE_NS); /* with TLS 1.3 the refusal comes after the client is done */
    size_t n = 0;
    while (rc == 0 && (rc = ts_tls_read(conn, &byte, 1, &n, &err)) == 0)
        wait_for(POLLIN);
    assert_true(rc == TS_EIO || (rc == 1 && n == 0));
    end();
}

static void test_tls__servers_that_misbehave(void **state)
{
    (void)state;
    struct ts_tls_opts opts = {.ca_file = ours.cert};
    begin(T_TLS_CLOSE, &ours, opts, NULL);
    assert_int_equal(greet("127.0.0.1", MINUTE_NS), TS_EIO);
    assert_non_null(strstr(err.text, "the server"));
    end();
    begin(T_TLS_GARBAGE, &ours, opts, NULL);
    assert_int_equal(greet("127.0.0.1", MINUTE_NS), TS_EIO);
    assert_non_null(strstr(err.text, "wrong version number"));
    end();
    begin(T_TLS_SILENT, &ours, opts, NULL);
    assert_int_equal(greet("127.0.0.1", 50000000), TS_ETIMEOUT);
    end();
    begin(T_TLS_SILENT, &ours, opts, NULL);
    atomic_store(&cancel, true);
    assert_int_equal(greet("127.0.0.1", MINUTE_NS), TS_ECANCELLED);
    end();
    begin(T_TLS_BYE, &ours, opts, NULL);
    assert_int_equal(greet("127.0.0.1", MINUTE_NS), 0);
    char byte;
    size_t n = 1;
    int rc;
    while ((rc = ts_tls_read(conn, &byte, 1, &n, &err)) == 0)
        wait_for(POLLIN);
    assert_int_equal(rc, 1);
    assert_int_equal(n, 0);
    assert_true(ts_tls_has_input(conn));
    end();
}

static void test_tls__files_are_checked(void **state)
{
    (void)state;
    struct ts_tls_opts wrong[] = {{.ca_file = "/nowhere"},
                                  {.ca_file = ours.key},
                                  {.cert_file = ours.cert},
                                  {.key_file = ours.key},
                                  {.cert_file = ours.key, .key_file = ours.key},
                                  {.cert_file = ours.cert, .key_file = other.key},
                                  {.cert_file = ours.cert, .key_file = "/nowhere"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        err = (struct ts_error){0};
        assert_int_equal(ts_tls_new(&wrong[i], &tls, &err), TS_EINVAL);
        assert_null(tls);
        assert_true(strlen(err.text) > 20);
    }
    struct ts_tls_opts right = {.ca_file = ours.cert, .cert_file = ours.cert, .key_file = ours.key};
    assert_int_equal(ts_tls_new(&right, &tls, &err), 0);
    assert_ptr_equal(ts_tls_ref(tls), tls);
    ts_tls_unref(tls);
    ts_tls_unref(tls);
    ts_tls_unref(NULL);
    assert_null(ts_tls_ref(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tls__bytes_go_there_and_back),
        cmocka_unit_test(test_tls__names_are_checked_as_addresses_are),
        cmocka_unit_test(test_tls__only_trusted_certificates_are_accepted),
        cmocka_unit_test(test_tls__servers_may_ask_for_a_certificate),
        cmocka_unit_test(test_tls__servers_that_misbehave),
        cmocka_unit_test(test_tls__files_are_checked),
    };
    return cmocka_run_group_tests(tests, setup_all, teardown_all);
}
