/*
 * num_int.h - what num.c, numprint.c and numshort.c share. Private to base/.
 */
#ifndef BASE_NUM_INT_H
#define BASE_NUM_INT_H

#include <locale.h>
#include <stdint.h>

/** Decimal m x 10^*out_exp10 with the fewest digits that reads back as a, and of those the nearest to a. May
 * end in zeros. a is a normal number > 0. Threads: any. */
uint64_t ts_num__shortest(double a, int *out_exp10);

/** The C locale, whatever the process has set. Static. */
locale_t ts_num__c_locale(void);

#endif
