/*
 * ask.h - a request about annotations, trees and metadata, and its answer: the same for HTTP and for a command with
 * a stopped store.
 *
 *   HTTP        ep_meta.c > struct tsd_ask > tsd_ask_run > sink of the job
 *   tsd uid ..  metacli.c > a daemon; or with --data: struct tsd_ask > tsd_ask_run > a buffer
 *
 * Threads    one for each request; it may block
 * Source     protocols-and-queries 2.8, 2.10, 2.15 to 2.19
 */
#ifndef TSD_META_ASK_H
#define TSD_META_ASK_H

#include "base/json.h"
#include "query/query.h"
#include "tsd/meta/method.h"
#include "tsd/meta/fields.h"
#include "base/sink.h"
#include "tsd/ingest/rules.h"

#define TSD_ASK_DETAILS_BYTES 256

struct tsd_ask {
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
    void (*begins)(void *arg, int status); /* told the status before the first byte; may be NULL */
    void *arg;                             /* of begins */

    /* filled while it runs, before the first byte of the answer: */
    int status;                          /* of success: 200; 204 and 304 have no body */
    int error_status;                    /* of an error; 0 = by its code */
    char details[TSD_ASK_DETAILS_BYTES]; /* of an error */
};

/** Answer a request. Errors: text is the message; error_status and details may be set too. */
int tsd_ask_run(struct tsd_ask *a, struct ts_error *err);

/* --- for those who answer --- */
/** Last value of a parameter; false, and "", if it is not there. */
bool tsd_ask_param(const struct tsd_ask *a, const char *name, struct ts_slice *out);
/** The body as JSON, the caller's; "Missing message content" if there is none. */
int tsd_ask_body(const struct tsd_ask *a, json_t **out, struct ts_error *err);
/**
 * Refuse members of an object that are nearly known: they are misspelt. Others are passed over, with compat all are.
 * @param fields  table of a record whose names are known; NULL: none
 * @param others  further names, with blanks between
 * @return 0; TS_EINVAL
 */
int tsd_ask_known(const struct tsd_ask *a, const json_t *obj, const struct tsd_field *fields,
                  const char *others, struct ts_error *err);
/** Text of a JSON string, copied into the arena; "" for anything else. */
struct ts_slice tsd_ask_text(const struct tsd_ask *a, const json_t *v);
/** An error that is a 404, what its text is now becoming the details. */
int tsd_ask_not_found(struct tsd_ask *a, const char *message, struct ts_error *err);
/** Write what a buffer holds. */
int tsd_ask_write(struct tsd_ask *a, const struct ts_buf *text, struct ts_error *err);

/* annotation_ask.c */
int tsd_ask_annotation(struct tsd_ask *a, struct ts_error *err);
int tsd_ask_annotation_bulk(struct tsd_ask *a, struct ts_error *err);
int tsd_ask_annotations(struct tsd_ask *a, struct ts_error *err);
/* uid_ask.c */
int tsd_ask_uid_assign(struct tsd_ask *a, struct ts_error *err);
int tsd_ask_uid_rename(struct tsd_ask *a, struct ts_error *err);
int tsd_ask_uid_delete(struct tsd_ask *a, struct ts_error *err);
int tsd_ask_uid_other(struct tsd_ask *a, struct ts_error *err);
/* uid_check.c */
int tsd_ask_uid_fsck(struct tsd_ask *a, struct ts_error *err);
/* uidmeta_ask.c */
int tsd_ask_uidmeta(struct tsd_ask *a, struct ts_error *err);
/* tsmeta_ask.c */
int tsd_ask_tsmeta(struct tsd_ask *a, struct ts_error *err);
/* kind.c */
int tsd_ask_metric(struct tsd_ask *a, struct ts_error *err);
/* search_ask.c */
int tsd_ask_search(struct tsd_ask *a, struct ts_error *err);
int tsd_ask_find(struct tsd_ask *a, struct ts_error *err);
/* tree_ask.c */
int tsd_ask_tree(struct tsd_ask *a, struct ts_error *err);
int tsd_ask_tree_branch(struct tsd_ask *a, struct ts_error *err);
/* tree_rule_ask.c */
int tsd_ask_tree_rule(struct tsd_ask *a, struct ts_error *err);
int tsd_ask_tree_rules(struct tsd_ask *a, struct ts_error *err);
/* tree_test_ask.c */
int tsd_ask_tree_test(struct tsd_ask *a, struct ts_error *err);
int tsd_ask_tree_collisions(struct tsd_ask *a, struct ts_error *err);
int tsd_ask_tree_notmatched(struct tsd_ask *a, struct ts_error *err);

#endif
