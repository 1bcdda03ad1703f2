# Golden catalog and cells: today's program reads v1, v3 with forgotten series, and v5 with forgotten names; the page alone is enough to read them and
# what is written today.
if(TSD_RACES) # one thread
  return()
endif()
find_package(Python3 REQUIRED COMPONENTS Interpreter)
tsd_program(make_golden_catalog ${CMAKE_SOURCE_DIR}/tests/golden/make_catalog.c)
target_link_libraries(make_golden_catalog PRIVATE storage)
add_test(NAME golden_catalog
  COMMAND ${CMAKE_COMMAND} -DMAKE=$<TARGET_FILE:make_golden_catalog> -DPYTHON=${Python3_EXECUTABLE}
    -DGOLDEN=${CMAKE_SOURCE_DIR}/tests/golden -DOUT=${CMAKE_BINARY_DIR}/golden_catalog
    -P ${CMAKE_SOURCE_DIR}/tests/golden/catalog.script)
