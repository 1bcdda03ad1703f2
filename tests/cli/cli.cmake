# Each tests/cli/<command>-<case>.sh must print what stands in its .out. The integration tests show races.
if(TARGET tsd AND NOT TSD_RACES)
  file(GLOB CLI_CASES CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/cli/*-*.sh)
  foreach(case ${CLI_CASES})
    get_filename_component(name ${case} NAME_WE)
    add_test(NAME cli_${name} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/cli/run.sh ${name})
    set_tests_properties(cli_${name} PROPERTIES TIMEOUT 900 ENVIRONMENT "TSD=$<TARGET_FILE:tsd>")
  endforeach()
endif()
