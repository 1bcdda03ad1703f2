/*
 * fake_hbase.c - the gateway: connections, one thread each, faults, counters.
 *
 * Threads    a thread accepts; f->mu protects everything but the port and the sockets of their threads, and is not held while bytes are sent or the
 *            function before a request runs
 */
#include "tests/hbase/fake_int.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/array.h"

#define MAX_REQUEST ((size_t)1 << 30)

/* --- faults --- */

/* What happens to the next request of a kind. Under mu. */
static bool planned(struct fake_hbase *f, enum sto_thrift_call call, struct fake_hbase_plan *out)
{
    for (size_t i = 0; i < f->n_plans; i++) {
        struct fake_hbase_plan *p = &f->plans[i];
        if (p->of_call && p->call != call)
            continue;
        if (p->skip) {
            p->skip--;
            continue;
        }
        *out = *p;
        if (p->n != UINT_MAX && --p->n == 0) {
            memmove(p, p + 1, (f->n_plans - i - 1) * sizeof *p);
            f->n_plans--;
        }
        return true;
    }
    return false;
}

static void happened(struct fake_hbase *f)
{
    f->n_faults++;
    pthread_cond_broadcast(&f->changed);
}

/* --- one request --- */

/* A request on its way through a connection. */
struct exchange {
    struct ts_slice message; /* whole */
    struct ts_slice name;    /* of the call */
    int32_t seq;
    struct ts_arena arena;
    struct fake_args args;
    struct ts_buf out; /* the reply, with its frame */
    bool has_fault;
    struct fake_hbase_plan plan;
};

static void put_reply(const struct fake_hbase *f, struct exchange *x, struct ts_slice result,
                      const struct fake_error *e)
{
    struct ts_buf *out = &x->out;
    ts_buf_clear(out);
    if (f->transport == STO_THRIFT_FRAMED)
        ts_buf_append(out, "\0\0\0\0", 4);
    sto_thrift_put_message(out, e->kind == FAKE_APPLICATION ? STO_THRIFT_EXCEPTION : STO_THRIFT_REPLY,
                           x->name, x->seq);
    if (e->kind == FAKE_FINE)
        ts_buf_slice(out, result);
    if (e->kind == FAKE_IO || e->kind == FAKE_ARGUMENT)
        sto_thrift_put_field(out, STO_THRIFT_STRUCT, e->kind == FAKE_IO ? 1 : 2);
    if (e->kind != FAKE_FINE)
        sto_thrift_put_bytes(out, 1, ts_slice_str(e->text));
    if (e->kind == FAKE_IO)
        sto_thrift_put_bool(out, 2, e->can_retry);
    if (e->kind == FAKE_APPLICATION)
        sto_thrift_put_i32(out, 2, 6); /* INTERNAL_ERROR */
    if (e->kind == FAKE_IO || e->kind == FAKE_ARGUMENT)
        sto_thrift_put_stop(out);
    sto_thrift_put_stop(out);
    if (f->transport == STO_THRIFT_FRAMED)
        sto_thrift_set_i32(out, 0, (int32_t)(out->n - 4));
}

static bool fails_before(enum fake_hbase_fault fault)
{
    return fault == FAKE_HBASE_IO_ERROR || fault == FAKE_HBASE_FINAL_ERROR ||
           fault == FAKE_HBASE_ILLEGAL_ARGUMENT || fault == FAKE_HBASE_HANG || fault == FAKE_HBASE_DROP;
}

/* Execute, unless a fault comes before, and make the reply. Under mu. */
static void run(struct fake_hbase *f, struct exchange *x)
{
    struct ts_buf result;
    struct fake_error e = {0};
    enum fake_hbase_fault fault = x->plan.fault;
    size_t max_rows = x->has_fault && fault == FAKE_HBASE_SOME_ROWS ? x->plan.n_rows : SIZE_MAX;
    ts_buf_init(&result, 0);
    if (x->has_fault && fault == FAKE_HBASE_FEWER_ROWS && x->args.n_gets > x->plan.n_rows)
        x->args.n_gets = x->plan.n_rows;
    for (size_t i = 0; x->has_fault && fault == FAKE_HBASE_OTHER_ORDER && i < x->args.n_gets / 2; i++) {
        struct sto_thrift_get swap = x->args.gets[i];
        x->args.gets[i] = x->args.gets[x->args.n_gets - 1 - i];
        x->args.gets[x->args.n_gets - 1 - i] = swap;
    }
    f->same_page = x->has_fault && fault == FAKE_HBASE_SAME_PAGE;
    if (!x->has_fault || !fails_before(fault))
        fake__execute(f, &x->args, max_rows, x->message, &result, &e);
    if (x->has_fault && fault == FAKE_HBASE_NO_STOP && f->n_scanners)
        f->scanners[f->n_scanners - 1]->args.scan.stop = (struct ts_slice){0};
    if (x->has_fault && fault == FAKE_HBASE_ILLEGAL_ARGUMENT) {
        e.kind = FAKE_ARGUMENT;
        (void)snprintf(e.text, sizeof e.text, "a fault of the test");
    } else if (x->has_fault && fault == FAKE_HBASE_FINAL_ERROR) {
        fake__io_error(&e, false, "org.apache.hadoop.hbase.DoNotRetryIOException: a fault of the test");
    } else if (x->has_fault && (fault == FAKE_HBASE_IO_ERROR || fault == FAKE_HBASE_IO_ERROR_AFTER ||
                                fault == FAKE_HBASE_SOME_ROWS)) {
        fake__io_error(
            &e, true, "Failed 1 action: a fault of the test: 1 time, servers with issues: 127.0.0.1,16020,1");
    }
    put_reply(f, x, ts_buf_get(&result), &e);
    ts_buf_release(&result);
}

/* Wait until fake_hbase_release, or the end. Under mu. */
static void hold_back(struct fake_hbase *f)
{
    uint64_t n = f->n_released;
    happened(f);
    while (f->n_released == n && !f->is_stopping)
        pthread_cond_wait(&f->changed, &f->mu);
}

static void see_before(struct fake_hbase *f, const struct fake_args *a)
{
    pthread_mutex_lock(&f->mu);
    f->n_calls[a->call]++;
    f->n_calls[STO_THRIFT_N_CALLS]++;
    f->n_rows[a->call] += fake__n_rows(a);
    f->n_rows[STO_THRIFT_N_CALLS] += fake__n_rows(a);
    struct fake_hbase_request r = {.call = a->call,
                                   .n = f->n_calls[a->call],
                                   .table = a->table,
                                   .row = a->row,
                                   .family = a->check.family,
                                   .qualifier = a->check.qualifier};
    void (*before)(void *, const struct fake_hbase_request *) = f->before;
    void *arg = f->before_arg;
    pthread_mutex_unlock(&f->mu);
    if (before)
        before(arg, &r);
}

/* --- connections --- */

static bool send_all(int fd, struct ts_slice s)
{
    while (s.n) {
        ssize_t k = send(fd, s.p, s.n, MSG_NOSIGNAL);
        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0)
            return false;
        s.p += k;
        s.n -= (size_t)k;
    }
    return true;
}

static void until_closed(int fd)
{
    char bytes[4096];
    while (recv(fd, bytes, sizeof bytes, 0) > 0)
        ;
}

/* Answer as planned. False: the connection ends. */
static bool answer(struct fake_conn *c, const struct exchange *x)
{
    struct ts_slice reply = ts_buf_get(&x->out);
    if (!x->has_fault)
        return send_all(c->fd, reply);
    switch (x->plan.fault) {
    case FAKE_HBASE_HANG:
        until_closed(c->fd);
        return false;
    case FAKE_HBASE_DROP:
    case FAKE_HBASE_DROP_AFTER:
        return false;
    case FAKE_HBASE_GARBAGE:
        (void)send_all(c->fd, TS_SLICE_LIT("HTTP/1.1 400 Bad Request\r\n\r\n"));
        return false;
    case FAKE_HBASE_HALF:
        (void)send_all(c->fd, (struct ts_slice){reply.p, reply.n / 2});
        return false;
    default:
        return send_all(c->fd, reply);
    }
}

static bool find_call(struct ts_slice name, enum sto_thrift_call *out)
{
    for (int i = 0; i < STO_THRIFT_N_CALLS; i++)
        if (ts_slice_is(name, sto_thrift_call_info((enum sto_thrift_call)i)->name)) {
            *out = (enum sto_thrift_call)i;
            return true;
        }
    return false;
}

/* One whole request. False: the connection ends. */
static bool serve(struct fake_conn *c, struct exchange *x)
{
    struct fake_hbase *f = c->f;
    struct sto_thrift_in in = sto_thrift_in(x->message);
    enum sto_thrift_message type;
    enum sto_thrift_call call;
    if (!sto_thrift_get_message(&in, &type, &x->name, &x->seq) || type != STO_THRIFT_CALL)
        return false;
    x->has_fault = false;
    if (!find_call(x->name, &call)) {
        struct fake_error e = {.kind = FAKE_APPLICATION};
        (void)snprintf(e.text, sizeof e.text, "Invalid method name: '%.*s'", (int)x->name.n, x->name.p);
        put_reply(f, x, (struct ts_slice){0}, &e);
        return send_all(c->fd, ts_buf_get(&x->out));
    }
    if (!fake__decode(&in, call, &x->arena, &x->args))
        return false;
    see_before(f, &x->args);
    pthread_mutex_lock(&f->mu);
    x->has_fault = planned(f, call, &x->plan);
    run(f, x);
    if (x->has_fault && x->plan.fault == FAKE_HBASE_LATE)
        hold_back(f);
    else if (x->has_fault)
        happened(f);
    pthread_mutex_unlock(&f->mu);
    return answer(c, x);
}

static void *talk(void *arg)
{
    struct fake_conn *c = arg;
    struct ts_buf in;
    struct exchange x = {.seq = 0};
    bool goes_on = true;
    ts_buf_init(&in, 0);
    ts_buf_init(&x.out, 0);
    ts_arena_init(&x.arena, 0);
    while (goes_on) {
        struct sto_thrift_framer framer;
        size_t used = 0;
        int rc;
        sto_thrift_framer_init(&framer, c->f->transport, MAX_REQUEST);
        while ((rc = sto_thrift_framer_walk(&framer, ts_buf_get(&in), &used, &x.message, NULL)) == 0) {
            char *p = ts_buf_reserve(&in, 65536);
            ssize_t n = recv(c->fd, p, 65536, 0);
            if (n <= 0)
                break;
            in.n += (size_t)n;
        }
        goes_on = rc == 1 && serve(c, &x);
        ts_arena_release(&x.arena);
        if (goes_on) {
            memmove(in.p, in.p + used, in.n - used);
            in.n -= used;
        }
    }
    shutdown(c->fd,
             SHUT_RDWR); /* closed when the thread is joined, so that its number is not used again before */
    ts_buf_release(&in);
    ts_buf_release(&x.out);
    pthread_mutex_lock(&c->f->mu);
    c->has_ended = true;
    pthread_mutex_unlock(&c->f->mu);
    return NULL;
}

/* Join connections: those that have ended, or all, which are closed first. */
static void join(struct fake_hbase *f, bool all)
{
    for (;;) {
        pthread_mutex_lock(&f->mu);
        struct fake_conn **at = &f->conns;
        for (struct fake_conn *c = *at; all && c; c = c->next)
            shutdown(c->fd, SHUT_RDWR);
        while (*at && !all && !(*at)->has_ended)
            at = &(*at)->next;
        struct fake_conn *c = *at;
        if (c)
            *at = c->next;
        pthread_mutex_unlock(&f->mu);
        if (!c)
            return;
        pthread_join(c->thread, NULL);
        close(c->fd);
        ts_free(c);
    }
}

static void *accept_all(void *arg)
{
    struct fake_hbase *f = arg;
    int one = 1;
    for (;;) {
        int fd = accept(f->fd, NULL, NULL);
        if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
            continue;
        if (fd < 0)
            return NULL;
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        join(f, false);
        struct fake_conn *c = ts_xcalloc(1, sizeof *c);
        c->f = f;
        c->fd = fd;
        pthread_mutex_lock(&f->mu);
        f->n_conns++;
        if (f->is_stopping || pthread_create(&c->thread, NULL, talk, c) != 0) {
            close(fd);
            ts_free(c);
        } else {
            c->next = f->conns;
            f->conns = c;
        }
        pthread_mutex_unlock(&f->mu);
    }
}

/* --- starting and stopping --- */

static bool listens(struct fake_hbase *f)
{
    socklen_t n = sizeof f->addr;
    int one = 1;
    f->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (f->fd >= 0 && setsockopt(f->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) == 0 &&
        bind(f->fd, (struct sockaddr *)&f->addr, sizeof f->addr) == 0 && listen(f->fd, 128) == 0 &&
        getsockname(f->fd, (struct sockaddr *)&f->addr, &n) == 0 &&
        pthread_create(&f->accepting, NULL, accept_all, f) == 0)
        return true;
    if (f->fd >= 0)
        close(f->fd);
    f->fd = -1;
    return false;
}

struct fake_hbase *fake_hbase_start(enum sto_thrift_transport transport, unsigned port)
{
    struct fake_hbase *f = ts_xcalloc(1, sizeof *f);
    f->transport = transport;
    f->addr = (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    pthread_mutex_init(&f->mu, NULL);
    pthread_cond_init(&f->changed, NULL);
    if (!listens(f)) {
        fake_hbase_stop(f);
        return NULL;
    }
    (void)snprintf(f->port, sizeof f->port, "%u", ntohs(f->addr.sin_port));
    return f;
}

const char *fake_hbase_port(const struct fake_hbase *f)
{
    return f->port;
}

static void forget_scanners(struct fake_hbase *f)
{
    while (f->n_scanners)
        fake__scanner_free(f->scanners[--f->n_scanners]);
}

void fake_hbase_down(struct fake_hbase *f)
{
    if (f->fd < 0)
        return;
    pthread_mutex_lock(&f->mu);
    f->is_stopping = true;
    pthread_cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->mu);
    shutdown(f->fd, SHUT_RDWR);
    pthread_join(f->accepting, NULL);
    close(f->fd);
    f->fd = -1;
    join(f, true);
    pthread_mutex_lock(&f->mu);
    forget_scanners(f);
    f->next_scanner = 0;
    pthread_mutex_unlock(&f->mu);
}

void fake_hbase_up(struct fake_hbase *f)
{
    pthread_mutex_lock(&f->mu);
    f->is_stopping = false;
    pthread_mutex_unlock(&f->mu);
    if (f->fd < 0 && !listens(f))
        TS_BUG("the fake HBase cannot listen at port %s again: %s", f->port, strerror(errno));
}

void fake_hbase_stop(struct fake_hbase *f)
{
    if (!f)
        return;
    fake_hbase_down(f);
    fake__tables_free(f);
    ts_free(f->scanners);
    ts_free(f->plans);
    pthread_cond_destroy(&f->changed);
    pthread_mutex_destroy(&f->mu);
    ts_free(f);
}

/* --- under control of the test --- */

void fake_hbase_inject(struct fake_hbase *f, struct fake_hbase_plan plan)
{
    pthread_mutex_lock(&f->mu);
    plan.n = plan.n ? plan.n : 1;
    TS_ARRAY_GROW(f->plans, f->n_plans, f->cap_plans, 4);
    f->plans[f->n_plans++] = plan;
    pthread_mutex_unlock(&f->mu);
}

void fake_hbase_heal(struct fake_hbase *f)
{
    pthread_mutex_lock(&f->mu);
    f->n_plans = 0;
    pthread_mutex_unlock(&f->mu);
}

void fake_hbase_release(struct fake_hbase *f)
{
    pthread_mutex_lock(&f->mu);
    f->n_released++;
    pthread_cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->mu);
}

void fake_hbase_wait_faults(struct fake_hbase *f, uint64_t n)
{
    pthread_mutex_lock(&f->mu);
    while (f->n_faults < n)
        pthread_cond_wait(&f->changed, &f->mu);
    pthread_mutex_unlock(&f->mu);
}

uint64_t fake_hbase_faults(struct fake_hbase *f)
{
    pthread_mutex_lock(&f->mu);
    uint64_t n = f->n_faults;
    pthread_mutex_unlock(&f->mu);
    return n;
}

void fake_hbase_set_before(struct fake_hbase *f, void (*fn)(void *arg, const struct fake_hbase_request *r),
                           void *arg)
{
    pthread_mutex_lock(&f->mu);
    f->before = fn;
    f->before_arg = arg;
    pthread_mutex_unlock(&f->mu);
}

void fake_hbase_expire_scanners(struct fake_hbase *f)
{
    pthread_mutex_lock(&f->mu);
    forget_scanners(f);
    pthread_mutex_unlock(&f->mu);
}
