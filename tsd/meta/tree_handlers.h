/*
 * tree_handlers.h - what the requests below /api/tree share.
 *
 * Threads    see request.h
 */
#ifndef TSD_META_TREE_HANDLERS_H
#define TSD_META_TREE_HANDLERS_H

#include "tsd/meta/request.h"
#include "tsd/meta/tree_walk.h"

/* What a request says. */
struct tsd_tree_request {
    json_t *root;         /* the body, owned; NULL = none: parameters count */
    bool has_id;          /* a tree is named */
    uint16_t id;          /* which */
    struct tsd_tree tree; /* it, after tsd_tree_request_load */
};
/** Check the method, read body and tree id, then call answer. TS_EINVAL, TS_EPARSE, what answer says. */
int tsd_tree_request_run(struct tsd_meta_req *a, unsigned methods,
                         int (*answer)(struct tsd_meta_req *a, struct tsd_tree_request *r,
                                       struct ts_error *err),
                         struct ts_error *err);
/** Load the tree. TS_EINVAL "Missing tree ID"; 404 "Unable to locate tree: 7". */
int tsd_tree_request_load(struct tsd_meta_req *a, struct tsd_tree_request *r, struct ts_error *err);
/** The tree id of an object: a number or a text of digits; 0 and none: *out stays. TS_EINVAL. */
int tsd_tree_id_of(const json_t *obj, uint16_t *out, struct ts_error *err);

/** Write the members of a branch in an object that is open: of the names down to it, and of one below them
 * unless it is NULL. */
void tsd_tree_branch_members(uint16_t tree, const struct ts_slice *names, const uint32_t *hashes,
                             size_t depth, const struct tsd_tree_child *last, struct ts_json *j);
/** Write a leaf as an object. */
int tsd_tree_leaf_json(struct qry_view *view, const struct sto_series *s, struct ts_slice name,
                       struct ts_json *j, struct ts_error *err);

#endif
