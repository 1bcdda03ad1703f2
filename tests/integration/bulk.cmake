# tsd import --bulk: equal to a live import, none or all, killed, refused.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
if(TARGET tsd)
  add_test(NAME integration_bulk COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/integration/bulk.py)
  set_tests_properties(integration_bulk PROPERTIES TIMEOUT 1800 ENVIRONMENT "TSD=$<TARGET_FILE:tsd>;TEST_SANITIZE=${TSD_SANITIZE}")
endif()
