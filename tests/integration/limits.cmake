# Limits of queries and of memory against a real daemon.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
if(TARGET tsd)
  foreach(name at_once counters counters_once limits memory_limit rebalance scan_pages series_limit shares slow_clients)
    add_test(NAME integration_${name} COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/integration/${name}.py)
    set_tests_properties(integration_${name} PROPERTIES TIMEOUT 900 ENVIRONMENT "TSD=$<TARGET_FILE:tsd>;TEST_SANITIZE=${TSD_SANITIZE}")
  endforeach()
endif()
