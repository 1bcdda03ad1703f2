# Golden records of a bulk load: what is written today is what v1 holds, and docs/FORMAT.md alone is enough to read it.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
add_executable(make_golden_bulk ${CMAKE_SOURCE_DIR}/tests/golden/make_bulk.c)
target_link_libraries(make_golden_bulk PRIVATE engine)
add_test(NAME golden_bulk
  COMMAND ${CMAKE_COMMAND} -DMAKE=$<TARGET_FILE:make_golden_bulk> -DPYTHON=${Python3_EXECUTABLE}
    -DGOLDEN=${CMAKE_SOURCE_DIR}/tests/golden -DOUT=${CMAKE_BINARY_DIR}/golden_bulk -DVERSION=v1 "-DFILES=STATE;BULK"
    -DTEXT=bulk.txt -P ${CMAKE_SOURCE_DIR}/tests/golden/compare.script)
