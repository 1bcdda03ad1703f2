/*
 * tls_kit.h - certificates made for a test, and a server that speaks TLS with one of them.
 */
#ifndef TESTS_TLS_KIT_H
#define TESTS_TLS_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A certificate that signs itself, and its key, as files. */
struct t_cert {
    char cert[64], key[64];
};

static inline void t_cert_write(const char *path, X509 *x, EVP_PKEY *key)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    if (x)
        assert_int_equal(PEM_write_X509(f, x), 1);
    else
        assert_int_equal(PEM_write_PrivateKey(f, key, NULL, NULL, 0, NULL, NULL), 1);
    assert_int_equal(fclose(f), 0);
}

/* names: "DNS:localhost,IP:127.0.0.1". */
static inline void t_cert_make(struct t_cert *out, const char *folder, const char *name, const char *names)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *x = X509_new();
    X509_NAME *subject = X509_get_subject_name(x);
    (void)snprintf(out->cert, sizeof out->cert, "%s/%s.pem", folder, name);
    (void)snprintf(out->key, sizeof out->key, "%s/%s.key", folder, name);
    assert_int_equal(X509_set_version(x, 2), 1);
    ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
    X509_gmtime_adj(X509_getm_notBefore(x), -86400);
    X509_gmtime_adj(X509_getm_notAfter(x), 86400);
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)name, -1, -1, 0);
    assert_int_equal(X509_set_issuer_name(x, subject), 1);
    assert_int_equal(X509_set_pubkey(x, key), 1);
    X509_EXTENSION *also = X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, names);
    assert_non_null(also);
    assert_int_equal(X509_add_ext(x, also, -1), 1);
    X509_EXTENSION_free(also);
    assert_true(X509_sign(x, key, EVP_sha256()) > 0);
    t_cert_write(out->cert, x, NULL);
    t_cert_write(out->key, NULL, key);
    X509_free(x);
    EVP_PKEY_free(key);
}

static inline void t_cert_remove(const struct t_cert *c)
{
    unlink(c->cert);
    unlink(c->key);
}

/* What the server does with its one connection. */
enum t_tls_manner {
    T_TLS_ECHO,    /* sends back what it reads */
    T_TLS_SILENT,  /* accepts the connection and says nothing, not even in TLS */
    T_TLS_GARBAGE, /* answers in plain text */
    T_TLS_CLOSE,   /* closes at once */
    T_TLS_BYE,     /* agrees on keys, then ends TLS and closes */
};

struct t_tls_server {
    int fd, port;
    enum t_tls_manner manner;
    SSL_CTX *ctx;
    pthread_t thread;
};

static inline void t_tls_echo(struct t_tls_server *s, int fd)
{
    SSL *ssl = SSL_new(s->ctx);
    char bytes[20000];
    int n;
    SSL_set_fd(ssl, fd);
    if (SSL_accept(ssl) == 1) {
        while (s->manner == T_TLS_ECHO && (n = SSL_read(ssl, bytes, sizeof bytes)) > 0)
            if (SSL_write(ssl, bytes, n) != n)
                break;
        (void)SSL_shutdown(ssl);
    }
    SSL_free(ssl);
}

static inline void *t_tls_serve(void *arg)
{
    struct t_tls_server *s = arg;
    char bytes[1000];
    int fd = accept(s->fd, NULL, NULL);
    if (fd < 0)
        return NULL;
    if (s->manner == T_TLS_ECHO || s->manner == T_TLS_BYE)
        t_tls_echo(s, fd);
    else if (s->manner == T_TLS_GARBAGE)
        (void)send(fd, "SSH-2.0-x\r\n", 11, MSG_NOSIGNAL);
    while (s->manner != T_TLS_CLOSE && recv(fd, bytes, sizeof bytes, 0) > 0)
        if (s->manner == T_TLS_BYE)
            break;
    close(fd);
    return NULL;
}

/* With ca the client has to show a certificate that ca has signed. */
static inline void t_tls_start(struct t_tls_server *s, enum t_tls_manner manner, const struct t_cert *own,
                               const char *ca)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof at;
    s->manner = manner;
    s->ctx = SSL_CTX_new(TLS_server_method());
    assert_int_equal(SSL_CTX_use_certificate_chain_file(s->ctx, own->cert), 1);
    assert_int_equal(SSL_CTX_use_PrivateKey_file(s->ctx, own->key, SSL_FILETYPE_PEM), 1);
    if (ca) {
        assert_int_equal(SSL_CTX_load_verify_file(s->ctx, ca), 1);
        SSL_CTX_set_verify(s->ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    }
    s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(s->fd, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(s->fd, 4), 0);
    assert_int_equal(getsockname(s->fd, (struct sockaddr *)&at, &n), 0);
    s->port = ntohs(at.sin_port);
    assert_int_equal(pthread_create(&s->thread, NULL, t_tls_serve, s), 0);
}

/* The connection must have been closed before. */
static inline void t_tls_stop(struct t_tls_server *s)
{
    shutdown(s->fd, SHUT_RDWR);
    pthread_join(s->thread, NULL);
    close(s->fd);
    SSL_CTX_free(s->ctx);
}

#endif
