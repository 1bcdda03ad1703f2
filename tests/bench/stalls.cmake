# How long puts and small queries wait while everything else is at work; a small one in ctest, the figures by hand: docs/TESTING.md
add_executable(stalls ${CMAKE_SOURCE_DIR}/tests/bench/stalls.c ${CMAKE_SOURCE_DIR}/tests/bench/stalls_watch.c)
target_link_libraries(stalls PRIVATE query)
target_compile_options(stalls PRIVATE -Wno-missing-prototypes)
foreach(fn pthread_mutex_lock pthread_mutex_unlock sto_sync__thread sto_flush__thread sto_compact__thread sto_output__rows sto_output__commit
        sto_version__edit sto_wal_drop sto_catalog_tidy sto_catalog_sync)
  target_link_options(stalls PRIVATE -Wl,--wrap=${fn})
endforeach()
if(NOT TSD_RACES) # it has a mutex of its own around every mutex
  add_test(NAME stalls_short COMMAND stalls --check)
  set_tests_properties(stalls_short PROPERTIES TIMEOUT 900)
endif()
