/*
 * crash.h - one line on standard error when a fatal signal ends the program.
 *
 *   tsd: fatal signal 11 (SIGSEGV) at address 0x10, code 0x7f31, thread tsd-worker-0, version 0.2.0
 *
 * Without it a crash leaves no trace in the log. "code" is the instruction's distance from the start of the program's
 * image: addr2line -e tsd CODE finds the source line. A signal that another process sent has "sent by process N"
 * instead of the address.
 *
 * Threads    every function from any thread
 */
#ifndef BASE_CRASH_H
#define BASE_CRASH_H

#include <stdbool.h>
#include <stddef.h>

#define TS_CRASH_STACK_BYTES                                                                                 \
    16384 /* alternate stack of a thread: the handler needs about 1 KiB, a frame of AVX-512 3 KiB */

/** Fatal signals: SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS; terminated by 0. No thread may block them. */
extern const int ts_crash_signals[];
/** Print the line above for each fatal signal, then let the signal end the program as it does without the handler (a core file, an
 * exit status that names the signal). Signals that already have a handler, such as those of sanitizers, keep it.
 *  @param program, version  for the line; copied, cut at 31 bytes each */
void ts_crash_install(const char *program, const char *version);
/** Give the calling thread an alternate stack for the handler. The memory is borrowed until ts_crash_stack_clear.
 *  @return false if the thread has one already, as under sanitizers; nothing changed then */
bool ts_crash_stack_set(char *stack, size_t bytes);
/** Remove the stack; call it before the thread ends or the memory is freed. */
void ts_crash_stack_clear(void);

#endif
