# The plain model of a store, for the tests that compare with it.
add_library(model_reference STATIC ${CMAKE_SOURCE_DIR}/tests/model/reference.c)
target_link_libraries(model_reference PUBLIC base)
foreach(name test_memstore test_merge test_merge_long test_spread test_total_read test_merge_random test_store_complete test_store_faults test_store_ship test_store_bulk test_store_bulk_left test_store_replace test_store_ship_delete test_store_bulk_cancel test_store_bulk_flush test_store_ship_absolute test_store_ship_sums test_store_ship_hours test_store_ship_marks test_store_ship_orders test_store_ship_sent test_store_fatal
             test_store_days test_versions test_store_interrupts test_store_cost test_store_retention_merge test_store_expiry
             test_store_lost test_fsck test_store_index test_store_windows test_store_remake test_store_reserve
             test_store_threads)
  if(TARGET ${name})
    target_link_libraries(${name} PRIVATE model_reference)
  endif()
endforeach()
# These happen while another step is under way: see the test.
if(TARGET test_store_ship_sent)
  target_link_options(test_store_ship_sent PRIVATE LINKER:--wrap=sto_mem_walk LINKER:--wrap=sto_engine__pump LINKER:--wrap=sto_wal_prepare)
endif()
