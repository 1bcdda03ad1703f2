# Golden sorted files: today's program reads them, and the page alone is enough to read them. (Not compared with newly
# written ones: another zstd compresses otherwise.)
find_package(Python3 REQUIRED COMPONENTS Interpreter)
add_executable(make_golden_sst ${CMAKE_SOURCE_DIR}/tests/golden/make_sst.c)
target_link_libraries(make_golden_sst PRIVATE engine)
add_test(NAME golden_sst_read COMMAND make_golden_sst --read ${CMAKE_SOURCE_DIR}/tests/golden/v1)
add_test(NAME golden_sst_page
  COMMAND ${CMAKE_COMMAND} -DPYTHON=${Python3_EXECUTABLE} -DGOLDEN=${CMAKE_SOURCE_DIR}/tests/golden
    -DOUT=${CMAKE_BINARY_DIR}/golden_sst.txt -P ${CMAKE_SOURCE_DIR}/tests/golden/sst.script)
