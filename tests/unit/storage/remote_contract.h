/*
 * remote_contract.h - what every remote store must do (storage/remote.h), as tests: a remote store's own test
 * runs them over itself.
 */
#ifndef TESTS_UNIT_STORAGE_REMOTE_CONTRACT_H
#define TESTS_UNIT_STORAGE_REMOTE_CONTRACT_H

#include "storage/remote.h"

/** Run all of them. open returns an empty remote store for each test, which is closed after it. Returns the number
 * of tests that failed. */
int remote_contract_run(const char *name, struct sto_remote *(*open)(void));

#endif
