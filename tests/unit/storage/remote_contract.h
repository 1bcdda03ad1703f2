/*
 * remote_contract.h - what every remote store must do (storage/remote.h), as tests: a remote store's own test
 * runs them over itself.
 */
#ifndef TESTS_UNIT_STORAGE_REMOTE_CONTRACT_H
#define TESTS_UNIT_STORAGE_REMOTE_CONTRACT_H

#include "storage/remote.h"

/* What the remote store lacks; tests of it are reported as skipped. */
struct remote_contract_opts {
    bool no_small_cells; /* cells with keys of any form; shipping at the same time is tested all the same */
    bool no_check;       /* check */
};
/** Run all of them. open returns an empty remote store for each test, which is closed after it; opts may be NULL. Returns
 * the number of tests that failed. */
int remote_contract_run(const char *name, struct sto_remote *(*open)(void),
                        const struct remote_contract_opts *opts);

#endif
