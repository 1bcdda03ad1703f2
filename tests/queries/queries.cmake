# Query scripts: each *.qt is one test (docs/QUERY.md, "Query scripts").
tsd_program(run_queries queries/run_queries.c)
target_link_libraries(run_queries PRIVATE query)
file(GLOB SCRIPTS CONFIGURE_DEPENDS queries/*.qt)
foreach(script ${SCRIPTS})
  get_filename_component(name ${script} NAME_WE)
  tsd_program_test(qt_${name} run_queries ${script})
  tsd_core(run_queries qt_${name})
endforeach()
