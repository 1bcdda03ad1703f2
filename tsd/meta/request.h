/*
 * request.h - a request about annotations, trees and metadata, and its answer: the same for HTTP and for a command with
 * a stopped store.
 *
 *   HTTP        ep_meta.c > struct tsd_meta_req > tsd_meta_req_run > sink of the job
 *   tsd uid ..  meta_client.c > a daemon; or with --data: struct tsd_meta_req > tsd_meta_req_run > a buffer
 *
 * Threads    one for each request; it may block
 * Source     docs/OPENTSDB.md, sections 2.8, 2.10, 2.15 to 2.19
 */
#ifndef TSD_META_REQUEST_H
#define TSD_META_REQUEST_H

#include "base/json.h"
#include "query/ids.h"
#include "query/query.h"
#include "tsd/meta/method.h"
#include "tsd/meta/fields.h"
#include "base/sink.h"
#include "tsd/ingest/rules.h"

#define TSD_ASK_DETAILS_BYTES 256

struct tsd_meta_req {
    struct sto_store *store;               /* where */
    const struct tsd_rules *rules;         /* of new names; compat */
    bool meta_series;                      /* series are known without a stored record */
    bool search;                           /* searches are answered */
    uint64_t tree_max_rules;               /* of a tree; 0 = no limit */
    enum tsd_method method;                /* after method_override */
    const char *method_name;               /* for messages */
    struct ts_slice path;                  /* "api/uid/assign" */
    const struct qry_param *params;        /* of the query string, decoded */
    size_t n_params;                       /* how many */
    struct ts_slice body;                  /* may be empty */
    struct ts_arena *arena;                /* for the life of the request */
    struct qry_limit *limit;               /* when to give up; may be NULL */
    struct ts_sink *sink;                  /* where the answer goes */
    void (*begins)(void *arg, int status); /* called with the status before the first byte; may be NULL */
    void *arg;                             /* of begins */

    struct qry_view view; /* names and ids of the request; open while it runs */
    struct ts_buf text;   /* the answer or its next part: tsd_meta_req_json, tsd_meta_req_write */

    /* filled while it runs, before the first byte of the answer: */
    int status;                          /* of success: 200; 204 and 304 have no body */
    int error_status;                    /* of an error; 0 = by its code */
    char details[TSD_ASK_DETAILS_BYTES]; /* of an error */
};

/** Answer a request. Errors: text is the message; error_status and details may be set too. */
int tsd_meta_req_run(struct tsd_meta_req *a, struct ts_error *err);

/* --- for handlers --- */
/** Last value of a parameter; false, and "", if it is not there. */
bool tsd_meta_req_param(const struct tsd_meta_req *a, const char *name, struct ts_slice *out);
/** The body as JSON, the caller's; "Missing message content" if there is none. */
int tsd_meta_req_body(const struct tsd_meta_req *a, json_t **out, struct ts_error *err);
/** May a text be a new name of this kind? 0; TS_EINVAL with a text that says why not. */
int tsd_meta_req_name(const struct tsd_meta_req *a, enum sto_uid_kind kind, struct ts_slice name,
                      struct ts_error *err);
/**
 * Refuse members of an object that resemble a known name, since they are probably misspelt. Others are
 * ignored; with compat all are.
 * @param fields  table of a record whose names are known; NULL: none
 * @param others  further names, with blanks between
 * @return 0; TS_EINVAL
 */
int tsd_meta_req_known(const struct tsd_meta_req *a, const json_t *obj, const struct tsd_field *fields,
                       const char *others, struct ts_error *err);
/** Text of a JSON string, copied into the arena; "" for anything else. */
struct ts_slice tsd_meta_req_text(const struct tsd_meta_req *a, const json_t *v);
/** Turn an error into a 404; its text becomes the details. */
int tsd_meta_req_not_found(struct tsd_meta_req *a, const char *message, struct ts_error *err);
/** Begin the answer, or a part of it, in a->text: `before`, then what is printed to j. */
void tsd_meta_req_json(struct tsd_meta_req *a, const char *before, struct ts_json *j);
/** Write a->text, which is free for the next part then. */
int tsd_meta_req_write(struct tsd_meta_req *a, struct ts_error *err);

/* annotation_handlers.c */
int tsd_handle_annotation(struct tsd_meta_req *a, struct ts_error *err);
int tsd_handle_annotation_bulk(struct tsd_meta_req *a, struct ts_error *err);
int tsd_handle_annotations(struct tsd_meta_req *a, struct ts_error *err);
/* uid_handlers.c */
int tsd_handle_uid_assign(struct tsd_meta_req *a, struct ts_error *err);
int tsd_handle_uid_rename(struct tsd_meta_req *a, struct ts_error *err);
int tsd_handle_uid_delete(struct tsd_meta_req *a, struct ts_error *err);
int tsd_handle_uid_other(struct tsd_meta_req *a, struct ts_error *err);
/* uid_check.c */
int tsd_handle_uid_fsck(struct tsd_meta_req *a, struct ts_error *err);
/* meta_handlers.c */
int tsd_handle_uidmeta(struct tsd_meta_req *a, struct ts_error *err);
int tsd_handle_tsmeta(struct tsd_meta_req *a, struct ts_error *err);
/* retention.c */
int tsd_handle_retention(struct tsd_meta_req *a, struct ts_error *err);
/* total.c */
int tsd_handle_total(struct tsd_meta_req *a, struct ts_error *err);
int tsd_handle_versions(struct tsd_meta_req *a, struct ts_error *err);
/* kind.c */
int tsd_handle_metric(struct tsd_meta_req *a, struct ts_error *err);
/* search_handlers.c */
int tsd_handle_search(struct tsd_meta_req *a, struct ts_error *err);
int tsd_meta_req_find(struct tsd_meta_req *a, struct ts_error *err);
/* tree_handlers.c */
int tsd_handle_tree(struct tsd_meta_req *a, struct ts_error *err);
int tsd_handle_tree_branch(struct tsd_meta_req *a, struct ts_error *err);
/* tree_rule_handlers.c */
int tsd_handle_tree_rule(struct tsd_meta_req *a, struct ts_error *err);
int tsd_handle_tree_rules(struct tsd_meta_req *a, struct ts_error *err);
/* tree_test_handlers.c */
int tsd_handle_tree_test(struct tsd_meta_req *a, struct ts_error *err);
int tsd_handle_tree_collisions(struct tsd_meta_req *a, struct ts_error *err);
int tsd_handle_tree_notmatched(struct tsd_meta_req *a, struct ts_error *err);

#endif
