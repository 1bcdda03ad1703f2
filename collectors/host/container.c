/*
 * container.c - an id in a path, and who knows its name.
 *
 *   docker/ID                     system.slice/docker-ID.scope     machine.slice/libpod-ID.scope
 *   kubepods.slice/.../cri-containerd-ID.scope                     .../crio-ID.scope
 *
 * Threads    see container.h
 * Source     files of Docker (config.v2.json), Podman (containers.json) and of the kubelet (/var/log/containers)
 */
#include "collectors/host/container.h"

#include "collectors/core/fields.h"
#include "collectors/core/source.h"

#include <stdio.h>
#include <string.h>

#define ID_BYTES    64u
#define SHORT_BYTES 12

/* The id in the last part of a path. */
static bool container_id(const char *cgroup, char out[ID_BYTES + 1])
{
    const char *slash = strrchr(cgroup, '/'), *last = slash ? slash + 1 : cgroup;
    size_t n = strlen(last);
    if (n > 6 && strcmp(last + n - 6, ".scope") == 0)
        n -= 6;
    if (n < ID_BYTES || (n > ID_BYTES && last[n - ID_BYTES - 1] != '-'))
        return false;
    (void)snprintf(out, ID_BYTES + 1, "%.*s", (int)ID_BYTES, last + n - ID_BYTES);
    return strspn(out, "0123456789abcdef") == ID_BYTES;
}

/* The text in quotes behind `key` in a JSON text, from a place on; a slash in front of it is Docker's. */
static bool quoted_after(struct ts_slice text, const char *key, char *out, size_t out_bytes)
{
    const char *at = text.n ? memmem(text.p, text.n, key, strlen(key)) : NULL;
    if (!at)
        return false;
    at += strlen(key);
    const char *open = memchr(at, '"', (size_t)(text.p + text.n - at));
    if (!open)
        return false;
    open += open + 1 < text.p + text.n && open[1] == '/' ? 2 : 1;
    const char *close = memchr(open, '"', (size_t)(text.p + text.n - open));
    if (!close || close == open)
        return false;
    (void)snprintf(out, out_bytes, "%.*s", (int)(close - open), open);
    return true;
}

static bool docker_name(const char *root, const char *id, struct ts_buf *scratch, char *out, size_t out_bytes)
{
    char path[256];
    (void)snprintf(path, sizeof(path), "/var/lib/docker/containers/%s/config.v2.json", id);
    return col_source_read(root, path, scratch, NULL) == 0 &&
           quoted_after(ts_buf_get(scratch), "\"Name\":", out, out_bytes);
}

static bool podman_name(const char *root, const char *id, struct ts_buf *scratch, char *out, size_t out_bytes)
{
    if (col_source_read(root, "/var/lib/containers/storage/overlay-containers/containers.json", scratch,
                        NULL) < 0)
        return false;
    struct ts_slice text = ts_buf_get(scratch);
    const char *at = text.n ? memmem(text.p, text.n, id, ID_BYTES) : NULL;
    return at &&
           quoted_after((struct ts_slice){at, (size_t)(text.p + text.n - at)}, "\"names\":[", out, out_bytes);
}

/* A look through /var/log/containers. */
struct logs {
    const char *id;   /* wanted */
    char *out;        /* name */
    size_t out_bytes; /* allocated */
    bool found;       /* it is there */
};

/* POD_NAMESPACE_CONTAINER-ID.log */
static int logs_file(void *arg, const char *name)
{
    struct logs *l = arg;
    const char *a = strchr(name, '_'), *b = a ? strchr(a + 1, '_') : NULL, *id = strstr(name, l->id);
    if (l->found || !b || !id || id < b + 2)
        return 0;
    l->found = true;
    (void)snprintf(l->out, l->out_bytes, "%.*s/%.*s/%.*s", (int)(b - a - 1), a + 1, (int)(a - name), name,
                   (int)(id - b - 2), b + 1);
    return 0;
}

bool col_container_name(const char *root, const char *cgroup, struct ts_buf *scratch, char *out,
                        size_t out_bytes)
{
    char id[ID_BYTES + 1];
    struct logs l = {.id = id, .out = out, .out_bytes = out_bytes};
    if (!container_id(cgroup, id))
        return false;
    (void)snprintf(out, out_bytes, "%.*s", SHORT_BYTES, id);
    if (strstr(cgroup, "kubepods"))
        (void)col_source_list(root, "/var/log/containers", logs_file, &l, NULL);
    else if (!docker_name(root, id, scratch, out, out_bytes))
        (void)podman_name(root, id, scratch, out, out_bytes);
    return true;
}
