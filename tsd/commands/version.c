/*
 * version.c - tsd version: the version, and with --build how this program was made.
 *
 * Threads    the main thread
 * Not here   the two lines themselves, which the line protocol answers too (tsd/daemon/version.c)
 */
#include <bzlib.h>
#include <event2/event.h>
#include <jansson.h>
#include <lzma.h>
#include <openssl/crypto.h>
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <roaring/roaring_version.h>
#include <unicode/uversion.h>
#include <xxhash.h>
#include <zlib.h>
#include <zstd.h>

#include "tsd/commands/cmd.h"
#include "tsd/daemon/version.h"

/* The build defines these from its configuration. */
#ifndef TSD_BUILD_COMPILER
#define TSD_BUILD_COMPILER "unknown"
#endif
#ifndef TSD_BUILD_FLAGS
#define TSD_BUILD_FLAGS ""
#endif
#ifndef TSD_BUILD_SANITIZERS
#define TSD_BUILD_SANITIZERS ""
#endif
#ifndef TSD_BUILD_PAGE
#define TSD_BUILD_PAGE "no"
#endif
#ifndef TSD_BUILD_LINKING
#define TSD_BUILD_LINKING "dynamic"
#endif

const struct ts_opt tsd_version_opts[] = {
    {.name = "build",
     .help = "Also print compiler, flags, commit and the versions of all libraries that are in use."},
    {.name = NULL},
};

static void version_line(struct ts_buf *out, const char *name, const char *value)
{
    ts_buf_printf(out, "%-12s %s\n", name, *value ? value : "none");
}

/* A library's line. What is loaded counts; roaring is the only one that does not say, so its header does. */
static void version_libraries(struct ts_buf *out)
{
    char text[64];
    UVersionInfo icu;
    version_line(out, "bzip2", BZ2_bzlibVersion());
    u_getVersion(icu);
    u_versionToString(icu, text);
    version_line(out, "icu", text);
    version_line(out, "jansson", jansson_version_str());
    version_line(out, "libevent", event_get_version());
    version_line(out, "lzma", lzma_version_string());
    version_line(out, "openssl", OpenSSL_version(OPENSSL_VERSION_STRING));
    if (pcre2_config(PCRE2_CONFIG_VERSION, NULL) > (int)sizeof text ||
        pcre2_config(PCRE2_CONFIG_VERSION, text) < 0)
        text[0] = 0;
    version_line(out, "pcre2", text);
    snprintf(text, sizeof text, "%d.%d.%d", ROARING_VERSION_MAJOR, ROARING_VERSION_MINOR,
             ROARING_VERSION_REVISION);
    version_line(out, "roaring", text);
    unsigned xxh = XXH_versionNumber();
    snprintf(text, sizeof text, "%u.%u.%u", xxh / 10000, xxh / 100 % 100, xxh % 100);
    version_line(out, "xxhash", text);
    version_line(out, "zlib", zlibVersion());
    version_line(out, "zstd", ZSTD_versionString());
}

int tsd_version_run(const struct tsd_args *args)
{
    if (args->n_words)
        return tsd_usage(args, "version takes no words");
    struct ts_buf text;
    ts_buf_init(&text, 0);
    tsd_version_text(false, &text);
    if (tsd_args_has(args, "build")) {
        version_line(&text, "compiler", TSD_BUILD_COMPILER);
        version_line(&text, "flags", TSD_BUILD_FLAGS);
        version_line(&text, "sanitizers", TSD_BUILD_SANITIZERS);
        version_line(&text, "linking", TSD_BUILD_LINKING);
        version_line(&text, "commit", strcmp(TSD_REVISION, "release") ? TSD_REVISION : "unknown");
        version_line(&text, "page", TSD_BUILD_PAGE);
        version_libraries(&text);
    }
    return tsd_print_page(&text);
}
