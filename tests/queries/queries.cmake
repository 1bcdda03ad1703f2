# Query scripts: each *.qt is one test (docs/QUERY.md, "Query scripts"), and more over a store with a remote store behind it: in memory, in
# the fake HBase.
tsd_program(run_queries queries/run_queries.c queries/remotes.c)
target_link_libraries(run_queries PRIVATE query storage_remote live_tables)
file(GLOB SCRIPTS CONFIGURE_DEPENDS queries/*.qt)
foreach(script ${SCRIPTS})
  get_filename_component(name ${script} NAME_WE)
  tsd_program_test(qt_${name} run_queries ${script})
  tsd_core(run_queries qt_${name})
  if(name MATCHES "^local_")
    continue() # what only a store without a remote store answers like this
  endif()
  if(TSD_RACES AND name MATCHES "^agg_")
    continue() # the aggregators differ in nothing that threads could see
  endif()
  tsd_program_test(qt_remote_${name} run_queries --remote ${script})
  tsd_core(run_queries qt_remote_${name})
  tsd_program_test(qt_remote_only_${name} run_queries --remote-only ${script})
  tsd_core(run_queries qt_remote_only_${name})
  tsd_program_test(qt_hbase_${name} fake_hbase_server $<TARGET_FILE:run_queries> --hbase ${script})
  tsd_core(run_queries qt_hbase_${name})
endforeach()
