/*
 * err.h - error codes and the text that travels with them.
 *
 * A function that can fail returns int: 0 or a negative enum ts_err. The text travels in a
 * struct ts_error that the caller passes in (NULL = caller does not want text); it is not in
 * thread-local storage because work changes threads on its way.
 * Threads    a struct ts_error belongs to one thread at a time
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <stddef.h>

enum ts_err {
    TS_OK = 0,
    TS_ENOMEM = -1,      /* no memory for a size that comes from outside */
    TS_EIO = -2,         /* an error of disk or network; saved errno has details */
    TS_ENOSPC = -3,      /* disk or quota full */
    TS_ECORRUPT = -4,    /* bytes read back are not what was written */
    TS_EVERSION = -5,    /* format of a newer or unknown version */
    TS_ENOTFOUND = -6,   /* the named thing does not exist (not logged as an error) */
    TS_EEXIST = -7,      /* the named thing exists already */
    TS_EINVAL = -8,      /* an argument is invalid */
    TS_EPARSE = -9,      /* a text cannot be parsed */
    TS_ELIMIT = -10,     /* a configured limit was hit; the text names the key */
    TS_EBUSY = -11,      /* try again later: queue full, folder locked */
    TS_ETIMEOUT = -12,   /* deadline passed */
    TS_ECANCELLED = -13, /* the client disconnected or cancelled the request */
    TS_EBACKEND = -14,   /* storage server answered with an error */
    TS_EMFILE = -15,     /* no descriptor is left for another open file, in the process or on the machine */
};
#define TS_ERR_COUNT 16 /* codes above with TS_OK; tables that map codes are checked against it */

#define TS_ERROR_TEXT_BYTES 240

/* One error on its way to the code that handles it. Zero-initialise: struct ts_error err = {0}; */
struct ts_error {
    int code;                       /* enum ts_err, 0 = none */
    int sys_errno;                  /* errno of the failed call, 0 = none */
    char text[TS_ERROR_TEXT_BYTES]; /* always terminated */
};

/** Fill err (may be NULL) and return code, so that `return ts_error_set(err, TS_EIO, "...")` works. Overwrites. */
int ts_error_set(struct ts_error *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/** As ts_error_set, and remembers sys_errno and appends its text ("...: No space left on device").
 *  ENOSPC and EDQUOT turn code TS_EIO into TS_ENOSPC; returns the code stored. */
int ts_error_sys(struct ts_error *err, int code, int sys_errno, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/** Put words in front of the text that is there ("while opening x: ..."); returns err->code (TS_EINVAL if err is NULL). */
int ts_error_wrap(struct ts_error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/** Name of a code: "TS_EIO"; "TS_E?" for an unknown one. Static text. */
const char *ts_err_name(int code);
/** One plain word or two for people: "input/output error". Static text. */
const char *ts_err_text(int code);

/* Pass an error on. */
#define TS_TRY(call)                                                                                         \
    do {                                                                                                     \
        int ts_try_rc_ = (call);                                                                             \
        if (ts_try_rc_ < 0)                                                                                  \
            return ts_try_rc_;                                                                               \
    } while (0)

/** Print file, line and text to stderr and abort: for our own mistakes, never for input, disk or network. */
#define TS_BUG(...) ts_bug(__FILE__, __LINE__, __VA_ARGS__)
void ts_bug(const char *file, int line, const char *fmt, ...)
    __attribute__((format(printf, 3, 4), noreturn, cold));

#endif
