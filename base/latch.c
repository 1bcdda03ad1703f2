/*
 * latch.c - a mutex, a condition and a count.
 *
 * Threads    latch.h
 */
#include "base/latch.h"

void ts_latch_init(struct ts_latch *l, unsigned n)
{
    pthread_mutex_init(&l->mu, NULL);
    pthread_cond_init(&l->cond, NULL);
    l->left = n;
}

void ts_latch_count_down(struct ts_latch *l)
{
    pthread_mutex_lock(&l->mu);
    if (--l->left == 0)
        pthread_cond_broadcast(&l->cond);
    pthread_mutex_unlock(&l->mu);
}

void ts_latch_wait(struct ts_latch *l)
{
    pthread_mutex_lock(&l->mu);
    while (l->left)
        pthread_cond_wait(&l->cond, &l->mu);
    pthread_mutex_unlock(&l->mu);
}

void ts_latch_release(struct ts_latch *l)
{
    pthread_mutex_destroy(&l->mu);
    pthread_cond_destroy(&l->cond);
}
