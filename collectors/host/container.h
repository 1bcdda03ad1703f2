/*
 * container.h - names of containers, from the paths of their control groups.
 *
 * Threads    any; nothing is shared
 */
#ifndef COLLECTORS_HOST_CONTAINER_H
#define COLLECTORS_HOST_CONTAINER_H

#include "base/buf.h"

#include <stdbool.h>

/** Is it the control group of a container of Docker, Podman, containerd or CRI-O? Then its name goes to out: as Docker or Podman have it,
 *  NAMESPACE/POD/CONTAINER of Kubernetes, else the first 12 characters of its id. Cost: a small file or two. scratch is any buffer. */
bool col_container_name(const char *root, const char *cgroup, struct ts_buf *scratch, char *out,
                        size_t out_bytes);

#endif
