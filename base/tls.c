/*
 * tls.c - OpenSSL over a socket of ours: its own would raise SIGPIPE.
 *
 * Threads    see tls.h
 */
#include "base/tls.h"

#include "base/connect.h"
#include "base/mem.h"
#include "base/time.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#define RECORD_BYTES 16384 /* the longest record: RFC 8446, section 5.1 */

/* An SSL_CTX, which counts its owners. */
struct ts_tls {
    SSL_CTX *ctx;
    _Atomic unsigned n_owners;
};

struct ts_tls_conn {
    SSL *ssl;
    const char *text; /* what the server is called; owned */
    int want;         /* events of poll that the last call waits for */
    char record[RECORD_BYTES];
};

/* --- the socket --- */

static BIO_METHOD *method; /* one for all; of the process */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static int socket_of(BIO *b)
{
    return (int)(intptr_t)BIO_get_data(b);
}

static bool is_later(void)
{
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

static int bio_write(BIO *b, const char *p, int n)
{
    ssize_t did = send(socket_of(b), p, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT);
    BIO_clear_retry_flags(b);
    if (did < 0 && is_later())
        BIO_set_retry_write(b);
    return (int)did;
}

static int bio_read(BIO *b, char *p, int n)
{
    ssize_t did = recv(socket_of(b), p, (size_t)n, MSG_DONTWAIT);
    BIO_clear_retry_flags(b);
    if (did < 0 && is_later())
        BIO_set_retry_read(b);
    return (int)did;
}

static long bio_ctrl(BIO *b, int what, long number, void *p)
{
    (void)b, (void)number, (void)p;
    return what == BIO_CTRL_FLUSH; /* nothing is held back */
}

static int bio_create(BIO *b)
{
    BIO_set_init(b, 1);
    return 1;
}

static void make_method(void)
{
    method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "tsd socket");
    if (!method)
        return;
    BIO_meth_set_write(method, bio_write);
    BIO_meth_set_read(method, bio_read);
    BIO_meth_set_ctrl(method, bio_ctrl);
    BIO_meth_set_create(method, bio_create);
}

/* --- what connections share --- */

/* The first error of OpenSSL since the last call; the others are dropped. Valid until the next call of this thread. */
static const char *reason(void)
{
    static _Thread_local char buf[80];
    unsigned long e = ERR_get_error();
    const char *text = e ? ERR_reason_error_string(e) : NULL;
    if (ERR_SYSTEM_ERROR(e)) /* has no text of OpenSSL's */
        text = strerror_r(ERR_GET_REASON(e), buf, sizeof buf);
    ERR_clear_error();
    return text ? text : "no reason was given";
}

static bool is_given(const char *file)
{
    return file && *file;
}

static int load(SSL_CTX *ctx, const struct ts_tls_opts *o, struct ts_error *err)
{
    ERR_clear_error();
    if (is_given(o->cert_file) != is_given(o->key_file))
        return ts_error_set(err, TS_EINVAL, "a certificate and its private key are needed together");
    if (!is_given(o->ca_file) && SSL_CTX_set_default_verify_paths(ctx) != 1)
        return ts_error_set(err, TS_EINVAL, "the certificates that the system trusts cannot be read: %s",
                            reason());
    if (is_given(o->ca_file) && SSL_CTX_load_verify_file(ctx, o->ca_file) != 1)
        return ts_error_set(err, TS_EINVAL, "no certificates can be read from %s: %s", o->ca_file, reason());
    if (!is_given(o->cert_file))
        return 0;
    if (SSL_CTX_use_certificate_chain_file(ctx, o->cert_file) != 1)
        return ts_error_set(err, TS_EINVAL, "no certificate can be read from %s: %s", o->cert_file, reason());
    if (SSL_CTX_use_PrivateKey_file(ctx, o->key_file, SSL_FILETYPE_PEM) != 1)
        return ts_error_set(err, TS_EINVAL, "the private key of %s cannot be read from %s: %s", o->cert_file,
                            o->key_file, reason());
    return 0;
}

/* A private key that needs a passphrase is refused instead of asking for it on the terminal. */
static int no_passphrase(char *p, int n, int for_writing, void *arg)
{
    (void)p, (void)n, (void)for_writing, (void)arg;
    return -1;
}

int ts_tls_new(const struct ts_tls_opts *opts, struct ts_tls **out, struct ts_error *err)
{
    *out = NULL;
    pthread_once(&once, make_method);
    SSL_CTX *ctx = method ? SSL_CTX_new(TLS_client_method()) : NULL;
    if (!ctx)
        return ts_error_set(err, TS_ENOMEM, "there is no memory for TLS");
    SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
    SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_default_passwd_cb(ctx, no_passphrase);
    int rc = load(ctx, opts, err);
    if (rc < 0) {
        SSL_CTX_free(ctx);
        return rc;
    }
    *out = ts_xcalloc(1, sizeof(**out));
    (*out)->ctx = ctx;
    atomic_init(&(*out)->n_owners, 1);
    return 0;
}

struct ts_tls *ts_tls_ref(struct ts_tls *t)
{
    if (t)
        atomic_fetch_add_explicit(&t->n_owners, 1, memory_order_relaxed);
    return t;
}

void ts_tls_unref(struct ts_tls *t)
{
    if (!t || atomic_fetch_sub_explicit(&t->n_owners, 1, memory_order_acq_rel) > 1)
        return;
    SSL_CTX_free(t->ctx);
    ts_free(t);
}

/* --- a connection --- */

/* What a call with result rc means: 0 = not now, and c->want says what to wait for; TS_EIO. */
static int explain(struct ts_tls_conn *c, int rc, const char *what, struct ts_error *err)
{
    int e = errno, kind = SSL_get_error(c->ssl, rc);
    long verified = SSL_get_verify_result(c->ssl);
    c->want = kind == SSL_ERROR_WANT_READ ? POLLIN : kind == SSL_ERROR_WANT_WRITE ? POLLOUT : 0;
    if (c->want)
        return 0;
    if (verified != X509_V_OK) {
        ERR_clear_error();
        return ts_error_set(err, TS_EIO, "the certificate of %s is not accepted: %s", c->text,
                            X509_verify_cert_error_string(verified));
    }
    if (kind == SSL_ERROR_SYSCALL && e && !ERR_peek_error())
        return ts_error_sys(err, TS_EIO, e, "%s %s", what, c->text);
    if (kind == SSL_ERROR_SYSCALL || kind == SSL_ERROR_ZERO_RETURN)
        return ts_error_set(err, TS_EIO, "%s %s: the connection was closed", what, c->text);
    return ts_error_set(err, TS_EIO, "%s %s: %s", what, c->text, reason());
}

static bool name_host(SSL *ssl, const char *host)
{
    struct in6_addr any;
    if (inet_pton(AF_INET, host, &any) == 1 || inet_pton(AF_INET6, host, &any) == 1)
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1;
    return SSL_set_tlsext_host_name(ssl, host) == 1 && SSL_set1_host(ssl, host) == 1;
}

static int shake_hands(struct ts_tls_conn *c, int fd, int64_t until_ns, const _Atomic bool *cancel,
                       struct ts_error *err)
{
    for (;;) {
        ERR_clear_error();
        errno = 0;
        int rc = SSL_connect(c->ssl);
        if (rc == 1)
            return 0;
        TS_TRY(explain(c, rc, "no TLS connection to", err));
        (void)ts_socket_wait(fd, c->want, until_ns, cancel);
        if (cancel && atomic_load_explicit(cancel, memory_order_relaxed))
            return ts_error_set(err, TS_ECANCELLED, "connecting to %s was cancelled", c->text);
        if (ts_clock_mono_ns() >= until_ns)
            return ts_error_set(err, TS_ETIMEOUT, "no TLS connection to %s before the deadline", c->text);
    }
}

int ts_tls_connect(struct ts_tls *t, int fd, const char *host, const char *text, int64_t until_ns,
                   const _Atomic bool *cancel, struct ts_tls_conn **out, struct ts_error *err)
{
    struct ts_tls_conn *c = ts_xcalloc(1, sizeof(*c));
    BIO *b = BIO_new(method);
    *out = NULL;
    c->ssl = SSL_new(t->ctx);
    c->text = ts_xstrdup(text);
    if (!b || !c->ssl) {
        BIO_free(b);
        ts_tls_close(c);
        return ts_error_set(err, TS_ENOMEM, "there is no memory for a TLS connection to %s", text);
    }
    BIO_set_data(b, (void *)(intptr_t)fd);
    SSL_set_bio(c->ssl, b, b);
    int rc = name_host(c->ssl, host)
                 ? shake_hands(c, fd, until_ns, cancel, err)
                 : ts_error_set(err, TS_EIO, "%s: TLS cannot check the name of this host", text);
    if (rc == 0)
        *out = c;
    else
        ts_tls_close(c);
    return rc;
}

void ts_tls_close(struct ts_tls_conn *c)
{
    if (!c)
        return;
    if (c->ssl && SSL_is_init_finished(c->ssl))
        (void)SSL_shutdown(c->ssl);
    ERR_clear_error();
    SSL_free(c->ssl);
    ts_free((char *)(uintptr_t)c->text);
    ts_free(c);
}

/* --- bytes --- */

int ts_tls_read(struct ts_tls_conn *c, void *p, size_t n, size_t *out_n, struct ts_error *err)
{
    *out_n = 0;
    ERR_clear_error();
    errno = 0;
    int rc = SSL_read_ex(c->ssl, p, n, out_n);
    c->want = 0;
    if (rc == 1 || SSL_get_error(c->ssl, rc) == SSL_ERROR_ZERO_RETURN)
        return 1;
    return explain(c, rc, "can't read from", err);
}

/* The first bytes of the pieces, as one piece: theirs if the first one is long enough, otherwise a copy. */
static const void *join(struct ts_tls_conn *c, const struct iovec *v, size_t n, size_t *out_n)
{
    *out_n = 0;
    if (n == 1 || v[0].iov_len >= RECORD_BYTES) {
        *out_n = v[0].iov_len;
        return v[0].iov_base;
    }
    for (size_t i = 0; i < n && *out_n < RECORD_BYTES; i++) {
        size_t room = RECORD_BYTES - *out_n, part = v[i].iov_len < room ? v[i].iov_len : room;
        memcpy(c->record + *out_n, v[i].iov_base, part);
        *out_n += part;
    }
    return c->record;
}

int ts_tls_write(struct ts_tls_conn *c, const struct iovec *v, size_t n, size_t *out_n, struct ts_error *err)
{
    size_t n_bytes;
    const void *p = join(c, v, n, &n_bytes);
    *out_n = 0;
    ERR_clear_error();
    errno = 0;
    int rc = n_bytes ? SSL_write_ex(c->ssl, p, n_bytes, out_n) : 1;
    c->want = 0;
    return rc == 1 ? 1 : explain(c, rc, "can't send to", err);
}

int ts_tls_events(const struct ts_tls_conn *c)
{
    return c->want;
}

bool ts_tls_has_input(struct ts_tls_conn *c)
{
    char byte;
    size_t n;
    ERR_clear_error();
    int rc = SSL_peek_ex(c->ssl, &byte, 1, &n);
    bool none = rc != 1 && SSL_get_error(c->ssl, rc) == SSL_ERROR_WANT_READ;
    ERR_clear_error();
    return !none;
}
