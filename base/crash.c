/*
 * crash.c - the handler of fatal signals: nothing but write(2), prctl(2) and arithmetic (signal-safety(7)).
 *
 * Threads    see crash.h
 */
#include "base/crash.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <ucontext.h>
#include <unistd.h>

#define CRASH_NAME_BYTES 32
#define CRASH_LINE_BYTES 256

const int ts_crash_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS, 0};

static const char *const crash_names[] = {"SIGSEGV", "SIGBUS",  "SIGFPE", "SIGILL",
                                          "SIGABRT", "SIGTRAP", "SIGSYS"}; /* of ts_crash_signals */

/* Set before the handlers are, constant afterwards. */
static char crash_program[CRASH_NAME_BYTES], crash_version[CRASH_NAME_BYTES];

/* The start of the program's image in memory; the linker defines it. */
extern const char __ehdr_start[];

/* The line being made. */
struct crash_line {
    char p[CRASH_LINE_BYTES];
    size_t n;
};

static void crash_str(struct crash_line *l, const char *s)
{
    while (*s && l->n < sizeof(l->p) - 1)
        l->p[l->n++] = *s++;
}

static void crash_number(struct crash_line *l, uint64_t v, unsigned base)
{
    char digits[24];
    size_t n = sizeof(digits) - 1;
    digits[n] = 0;
    do {
        digits[--n] = "0123456789abcdef"[v % base];
        v /= base;
    } while (v);
    if (base == 16)
        crash_str(l, "0x");
    crash_str(l, digits + n);
}

/* Where the program was, 0 if unknown. */
static uintptr_t crash_pc(const ucontext_t *u)
{
#if defined(__x86_64__)
    return (uintptr_t)u->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return (uintptr_t)u->uc_mcontext.pc;
#else
    (void)u;
    return 0;
#endif
}

static void crash_handler(int sig, siginfo_t *info, void *context)
{
    struct crash_line l = {.n = 0};
    char thread[17] = "";
    size_t i = 0;
    while (ts_crash_signals[i] && ts_crash_signals[i] != sig)
        i++;
    crash_str(&l, crash_program);
    crash_str(&l, ": fatal signal ");
    crash_number(&l, (uint64_t)sig, 10);
    crash_str(&l, " (");
    crash_str(&l, ts_crash_signals[i] ? crash_names[i] : "?");
    if (info->si_code <= 0 && sig != SIGABRT) { /* kill(2), tgkill(2) and the like */
        crash_str(&l, ") sent by process ");
        crash_number(&l, (uint64_t)info->si_pid, 10);
    } else {
        crash_str(&l, ") at address ");
        crash_number(&l, sig == SIGABRT ? 0 : (uintptr_t)info->si_addr, 16);
    }
    crash_str(&l, ", code ");
    crash_number(&l, crash_pc(context) - (uintptr_t)__ehdr_start, 16);
    if (prctl(PR_GET_NAME, thread, 0, 0, 0) == 0) {
        crash_str(&l, ", thread ");
        crash_str(&l, thread);
    }
    crash_str(&l, ", version ");
    crash_str(&l, crash_version);
    l.p[l.n++] = '\n';
    ssize_t ignored = write(STDERR_FILENO, l.p, l.n);
    (void)ignored;
    /* SA_RESETHAND restored the default action, and the signal is blocked until we return: it ends us then. A fault
     * would happen again by itself; one that was sent would not. */
    (void)raise(sig);
}

void ts_crash_install(const char *program, const char *version)
{
    struct sigaction sa = {.sa_sigaction = crash_handler,
                           .sa_flags = (int)(SA_SIGINFO | SA_ONSTACK | SA_RESETHAND)};
    struct sigaction old;
    static char stack[TS_CRASH_STACK_BYTES]; /* of the main thread */
    (void)snprintf(crash_program, sizeof(crash_program), "%s", program);
    (void)snprintf(crash_version, sizeof(crash_version), "%s", version);
    sigfillset(&sa.sa_mask);
    (void)ts_crash_stack_set(stack, sizeof(stack));
    for (const int *sig = ts_crash_signals; *sig; sig++)
        if (sigaction(*sig, NULL, &old) == 0 && !(old.sa_flags & SA_SIGINFO) && old.sa_handler == SIG_DFL)
            (void)sigaction(*sig, &sa, NULL);
}

bool ts_crash_stack_set(char *stack, size_t bytes)
{
    stack_t now, ours = {.ss_sp = stack, .ss_size = bytes};
    if (sigaltstack(NULL, &now) < 0 || !(now.ss_flags & SS_DISABLE))
        return false;
    return sigaltstack(&ours, NULL) == 0;
}

void ts_crash_stack_clear(void)
{
    stack_t none = {.ss_flags = SS_DISABLE};
    (void)sigaltstack(&none, NULL);
}
