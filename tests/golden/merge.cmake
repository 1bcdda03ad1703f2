# Golden record of an unfinished merge: what is written today is what v1 holds, and docs/FORMAT.md alone is enough to read it.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
add_executable(make_golden_merge ${CMAKE_SOURCE_DIR}/tests/golden/make_merge.c)
target_link_libraries(make_golden_merge PRIVATE engine)
add_test(NAME golden_merge
  COMMAND ${CMAKE_COMMAND} -DMAKE=$<TARGET_FILE:make_golden_merge> -DPYTHON=${Python3_EXECUTABLE}
    -DGOLDEN=${CMAKE_SOURCE_DIR}/tests/golden -DOUT=${CMAKE_BINARY_DIR}/golden_merge -DVERSION=v1 -DFILES=MERGE
    -DTEXT=merge.txt -P ${CMAKE_SOURCE_DIR}/tests/golden/compare.script)
