/*
 * version.h - name and version of this program; the build may define each of these.
 */
#ifndef TSD_DAEMON_VERSION_H
#define TSD_DAEMON_VERSION_H

#include "base/buf.h"

#ifndef TSD_VERSION
#define TSD_VERSION "unknown" /* CMakeLists.txt has the number */
#endif
#ifndef TSD_REVISION
#define TSD_REVISION "release"
#endif
#ifndef TSD_REPO_STATUS
#define TSD_REPO_STATUS "MINT"
#endif
#ifndef TSD_BUILD_DATE
#define TSD_BUILD_DATE "unknown"
#endif
#ifndef TSD_BUILD_USER
#define TSD_BUILD_USER "tsd"
#endif
#ifndef TSD_BUILD_HOST
#define TSD_BUILD_HOST "localhost"
#endif
#ifndef TSD_BUILD_TIME
#define TSD_BUILD_TIME "0" /* seconds since the epoch */
#endif
#ifndef TSD_BUILD_BRANCH
#define TSD_BUILD_BRANCH "main"
#endif
#ifndef TSD_BUILD_REPO
#define TSD_BUILD_REPO "tsd"
#endif

/** The two lines of version. */
void tsd_version_text(bool compat, struct ts_buf *out);

#endif
