/*
 * one_thread.c - part of test programs that need one thread: a second one ends them (TSD_THREADED in tests/CMakeLists.txt).
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *arg);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *arg)
{
    (void)thread, (void)attr, (void)start, (void)arg;
    (void)fputs(
        "This program starts a thread: add its name to TSD_THREADED in tests/CMakeLists.txt, so that it is\n"
        "also tested by the thread sanitizer.\n",
        stderr);
    abort();
}
