# Golden sorted files: today's program reads them, and the page alone is enough to read them. (Not compared with newly
# written ones: another zstd compresses otherwise.)
if(TSD_RACES) # one thread
  return()
endif()
find_package(Python3 REQUIRED COMPONENTS Interpreter)
tsd_program(make_golden_sst ${CMAKE_SOURCE_DIR}/tests/golden/make_sst.c)
target_link_libraries(make_golden_sst PRIVATE engine)
foreach(version v1 v2 v3)
  add_test(NAME golden_sst_read_${version} COMMAND make_golden_sst --read ${CMAKE_SOURCE_DIR}/tests/golden/${version})
  add_test(NAME golden_sst_page_${version}
    COMMAND ${CMAKE_COMMAND} -DPYTHON=${Python3_EXECUTABLE} -DGOLDEN=${CMAKE_SOURCE_DIR}/tests/golden -DVERSION=${version}
      -DOUT=${CMAKE_BINARY_DIR}/golden_sst_${version}.txt -P ${CMAKE_SOURCE_DIR}/tests/golden/sst.script)
endforeach()
