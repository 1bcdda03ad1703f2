/*
 * remote_contract_int.h - cases of the contract of remote stores that stand in files of their own.
 */
#ifndef TESTS_UNIT_STORAGE_REMOTE_CONTRACT_INT_H
#define TESTS_UNIT_STORAGE_REMOTE_CONTRACT_INT_H

/* remote_contract_notes.c */
void remote_contract__a_fetch_reads_annotations(void **state);
void remote_contract__a_fetch_ends_when_annotations_are_refused(void **state);
/* remote_contract_buckets.c */
void remote_contract__buckets_of_histograms(void **state);

#endif
