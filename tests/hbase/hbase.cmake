# An HBase for tests, in memory, behind a Thrift2 gateway.
add_library(fake_hbase STATIC hbase/fake_access.c hbase/fake_decode.c hbase/fake_exec.c hbase/fake_filter.c hbase/fake_hbase.c
  hbase/fake_scan.c hbase/fake_table.c)
target_link_libraries(fake_hbase PUBLIC hbase_thrift)
tsd_program(fake_hbase_server ${CMAKE_SOURCE_DIR}/tests/hbase/fake_hbase_server.c)
target_link_libraries(fake_hbase_server PRIVATE fake_hbase)
tsd_core(fake_hbase_server fake_hbase_server)

# Programs for a real HBase (tests/hbase/run.sh, called by ./check --hbase, runs all *_live) that ctest runs against the fake one, with both
# transports
add_library(live_tables STATIC hbase/live_tables.c)
target_link_libraries(live_tables PUBLIC hbase_remote)
foreach(name thrift_live hbase_rules contract_live)
  tsd_program(${name} ${CMAKE_SOURCE_DIR}/tests/hbase/${name}.c)
  target_link_libraries(${name} PRIVATE PkgConfig::CMOCKA live_tables)
  foreach(framed 0 1)
    set(rows $<$<STREQUAL:${name},thrift_live>:200>)
    if(NOT TSD_RACES OR name IN_LIST TSD_THREADED)
      tsd_program_test(fake_${name}_${framed} fake_hbase_server $<TARGET_FILE:${name}> ${rows})
    endif()
    if(TEST fake_${name}_${framed})
      set_tests_properties(fake_${name}_${framed} PROPERTIES ENVIRONMENT "TSD_HBASE_FRAMED=${framed}" LABELS core)
    endif()
  endforeach()
  add_dependencies(core_tests ${name})
endforeach()
target_sources(contract_live PRIVATE unit/storage/remote_contract.c)

# Programs for a real HBase only (docs/TESTING.md, "Real HBase" and "Long tier")
foreach(name ids_live bench_fetch bench_ship)
  tsd_program(${name} ${CMAKE_SOURCE_DIR}/tests/hbase/${name}.c)
  target_link_libraries(${name} PRIVATE hbase_remote)
endforeach()
tsd_program(schema hbase/schema.c hbase/hits.c)
target_link_libraries(schema PRIVATE hbase_thrift m)

# A daemon over the fake one
find_package(Python3 REQUIRED COMPONENTS Interpreter)
if(TARGET tsd)
  tsd_program_test(integration_hbase fake_hbase_server ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/integration/hbase.py)
  if(TEST integration_hbase)
    set_tests_properties(integration_hbase PROPERTIES ENVIRONMENT "TSD=$<TARGET_FILE:tsd>;TEST_SANITIZE=${TSD_SANITIZE}")
  endif()
  # Kills of the daemon and faults on the way to HBase; more rounds, and a real HBase: docs/TESTING.md
  tsd_program_test(hbase_kill fake_hbase_server ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/hbase/kill.py --rounds 3 --points 60000)
  if(TEST hbase_kill)
    set_tests_properties(hbase_kill PROPERTIES ENVIRONMENT "TSD=$<TARGET_FILE:tsd>")
  endif()
endif()
