# Programs as collectors below a real tsd collect; with their points a daemon that is away (long variant: --minutes 10). What is collected against
# vmstat, df, ip and ss; the systemd units. Both are skipped (77) where their tools are missing.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
if(TARGET tsd)
  foreach(name programs collect_away collect_compare units)
    add_test(NAME integration_${name} COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/integration/${name}.py)
    set_tests_properties(integration_${name} PROPERTIES TIMEOUT 900 SKIP_RETURN_CODE 77 ENVIRONMENT "TSD=$<TARGET_FILE:tsd>")
  endforeach()
  # programs are stopped when they need seconds to start, and each second has to be measured: neither works beside as many tests as usual
  set_tests_properties(integration_programs integration_collect_away PROPERTIES RUN_SERIAL ON)
endif()
