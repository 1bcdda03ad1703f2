/*
 * method.h - methods of requests, as bits.
 */
#ifndef TSD_META_METHOD_H
#define TSD_META_METHOD_H

enum tsd_method {
    TSD_GET = 1,
    TSD_POST = 2,
    TSD_PUT = 4,
    TSD_DELETE = 8,
    TSD_OPTIONS = 16,
    TSD_OTHER = 32,
};
#define TSD_ANY (TSD_GET | TSD_POST | TSD_PUT | TSD_DELETE | TSD_OTHER) /* the handler checks */

#endif
