/*
 * programs_env.h - the environment of programs: that of tsd, with a PYTHONPATH to the modules that collectors share.
 *
 * Threads    any
 * Source     docs/OPENTSDB.md, section 12.1 (PYTHONPATH)
 */
#ifndef COLLECTORS_PROGRAMS_PROGRAMS_ENV_H
#define COLLECTORS_PROGRAMS_PROGRAMS_ENV_H

#include "base/buf.h"

/* An environment. {0} = none. */
struct col_env {
    char **vars;          /* ended by NULL; owned, its texts are the process' own but for python */
    struct ts_buf python; /* "PYTHONPATH=..." */
};
/** Our environment, with the folder `lib` of the collectors (below the folder of programs, or beside it) and the folder above
 *  that of the collectors behind what PYTHONPATH has already: `import utils` and `from collectors.lib import utils` both work, as
 *  with tcollector. Without such a folder it is our environment. folder may be "". */
void col_env_make(struct col_env *env, const char *folder);
/** Free it. Idempotent. */
void col_env_release(struct col_env *env);

#endif
