/*
 * version.c - version and build as text.
 */
#include "tsd/daemon/version.h"

void tsd_version_text(bool compat, struct ts_buf *out)
{
    ts_buf_printf(out, "%s %s built at revision %s (%s)\n", compat ? "net.opentsdb.tools" : "tsd",
                  TSD_VERSION, TSD_REVISION, TSD_REPO_STATUS);
    ts_buf_printf(out, "Built on %s by %s@%s:%s\n", TSD_BUILD_DATE, TSD_BUILD_USER, TSD_BUILD_HOST,
                  TSD_BUILD_REPO);
}
