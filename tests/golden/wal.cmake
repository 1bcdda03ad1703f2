# Golden write-ahead log and manifest: what is written today is what v5 (the log) and v2 (the manifest) hold, and the page
# alone is enough to read it. Logs of versions 1 to 4 and manifests of version 1 are still read.
if(TSD_RACES) # one thread
  return()
endif()
find_package(Python3 REQUIRED COMPONENTS Interpreter)
tsd_program(make_golden_wal ${CMAKE_SOURCE_DIR}/tests/golden/make_wal.c)
target_link_libraries(make_golden_wal PRIVATE engine)
foreach(kind wal manifest)
  if(kind STREQUAL wal)
    set(files 00000001-00000001-000-0000.log 00000001-00000002-000-0001.log)
    set(version v5)
  else()
    set(files MANIFEST)
    set(version v2)
  endif()
  add_test(NAME golden_${kind}
    COMMAND ${CMAKE_COMMAND} -DMAKE=$<TARGET_FILE:make_golden_wal> -DPYTHON=${Python3_EXECUTABLE}
      -DGOLDEN=${CMAKE_SOURCE_DIR}/tests/golden -DOUT=${CMAKE_BINARY_DIR}/golden_${kind}
      -DVERSION=${version} "-DFILES=${files}" -DTEXT=${kind}.txt -P ${CMAKE_SOURCE_DIR}/tests/golden/compare.script)
endforeach()
foreach(kind marks ids)
  add_test(NAME golden_manifest_${kind}
    COMMAND ${CMAKE_COMMAND} -DMAKE=$<TARGET_FILE:make_golden_wal> -DPYTHON=${Python3_EXECUTABLE}
      -DGOLDEN=${CMAKE_SOURCE_DIR}/tests/golden -DOUT=${CMAKE_BINARY_DIR}/golden_manifest_${kind} -DVERSION=v2
      -DFILES=${kind}/MANIFEST -DTEXT=${kind}.txt -P ${CMAKE_SOURCE_DIR}/tests/golden/compare.script)
endforeach()
foreach(old v1 v2 v3 v4)
  add_test(NAME golden_wal_${old}
    COMMAND ${CMAKE_COMMAND} -DMAKE=$<TARGET_FILE:make_golden_wal> -DPYTHON=${Python3_EXECUTABLE} -DREAD_ONLY=1
      -DGOLDEN=${CMAKE_SOURCE_DIR}/tests/golden -DOUT=${CMAKE_BINARY_DIR}/golden_wal_${old} -DVERSION=${old}
      "-DFILES=00000001-00000001-000-0000.log;00000001-00000002-000-0001.log" -DTEXT=wal.txt
      -P ${CMAKE_SOURCE_DIR}/tests/golden/compare.script)
endforeach()
add_test(NAME golden_manifest_v1
  COMMAND ${CMAKE_COMMAND} -DMAKE=$<TARGET_FILE:make_golden_wal> -DPYTHON=${Python3_EXECUTABLE} -DREAD_ONLY=1
    -DGOLDEN=${CMAKE_SOURCE_DIR}/tests/golden -DOUT=${CMAKE_BINARY_DIR}/golden_manifest_v1 -DVERSION=v1
    -DFILES=MANIFEST -DTEXT=manifest.txt -P ${CMAKE_SOURCE_DIR}/tests/golden/compare.script)
