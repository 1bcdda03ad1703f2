/*
 * tls.h - TLS over a connected socket, as a client: the server's certificate is always checked.
 *
 * A struct ts_tls is what all connections share: the certificates that are trusted, and one of our own if the server asks for it.
 * A struct ts_tls_conn is TLS on one socket that does not block; the caller keeps the socket and closes it.
 *
 * Source     OpenSSL 3.0, SSL_CTX_new(3), SSL_set1_host(3); TLS 1.2 at least (RFC 8446, RFC 9325)
 * Threads    a struct ts_tls: any; a connection: one at a time
 * Memory     about 50 KB a connection
 */
#ifndef BASE_TLS_H
#define BASE_TLS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct iovec;
struct ts_tls;
struct ts_tls_conn;

/* Files in PEM form; NULL and "" are the same. Borrowed for the call. */
struct ts_tls_opts {
    const char *ca_file;   /* certificates that sign those of servers; none: those that the system trusts */
    const char *cert_file; /* our certificate, with the chain behind it; none: no certificate is sent */
    const char *key_file;  /* its private key, without a passphrase; needed with cert_file */
};

/**
 * Read the certificates.
 *
 * @param out  [out] released by ts_tls_unref; NULL after an error
 * @return 0; TS_EINVAL with a sentence that names the file; TS_ENOMEM
 */
int ts_tls_new(const struct ts_tls_opts *opts, struct ts_tls **out, struct ts_error *err);
/** One more owner; returns t, which may be NULL. */
struct ts_tls *ts_tls_ref(struct ts_tls *t);
/** One owner less. NULL is harmless. */
void ts_tls_unref(struct ts_tls *t);

/**
 * Agree with the server on keys, and check that its certificate is of this host and signed by a trusted one.
 *
 * @param fd        a connected socket that does not block; borrowed until ts_tls_close
 * @param host      the name or the address in digits that was connected to
 * @param text      what the server is called in messages
 * @param until_ns  deadline by the monotonic clock
 * @param cancel    the call ends within 100 ms after this becomes true; NULL = it cannot be cancelled
 * @param out       [out] NULL after an error
 * @return 0
 *         TS_EIO         no agreement, or the certificate is not accepted: the text says why
 *         TS_ETIMEOUT    the deadline has passed
 *         TS_ECANCELLED  cancelled
 *         TS_ENOMEM
 */
int ts_tls_connect(struct ts_tls *t, int fd, const char *host, const char *text, int64_t until_ns,
                   const _Atomic bool *cancel, struct ts_tls_conn **out, struct ts_error *err);
/** Say good-bye if the socket takes it, and free c. NULL is harmless. */
void ts_tls_close(struct ts_tls_conn *c);

/**
 * Read what has arrived.
 *
 * @param out_n  [out] bytes in p; 0 with a result of 1: the server has closed the connection
 * @return 1; 0: nothing now, wait for ts_tls_events; TS_EIO: the connection is broken
 */
int ts_tls_read(struct ts_tls_conn *c, void *p, size_t n, size_t *out_n, struct ts_error *err);
/**
 * Write some of these pieces, in their order. After a result of 0, the next call has to begin with the same bytes.
 *
 * @param v      n pieces
 * @param out_n  [out] bytes that are written, perhaps fewer than there are
 * @return 1; 0: nothing now, wait for ts_tls_events; TS_EIO: the connection is broken
 */
int ts_tls_write(struct ts_tls_conn *c, const struct iovec *v, size_t n, size_t *out_n, struct ts_error *err);
/** What poll has to wait for before the last read or write that returned 0 can go on: POLLIN, POLLOUT, both or 0. */
int ts_tls_events(const struct ts_tls_conn *c);
/** Has the server sent anything that was not read, or closed the connection? Messages of TLS itself do not count. */
bool ts_tls_has_input(struct ts_tls_conn *c);

#endif
