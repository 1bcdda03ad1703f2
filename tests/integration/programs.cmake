# Programs as collectors below a real tsd collect; with their points a daemon that is away (long variant: --minutes 10).
find_package(Python3 REQUIRED COMPONENTS Interpreter)
if(TARGET tsd)
  foreach(name programs collect_away)
    add_test(NAME integration_${name} COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/integration/${name}.py)
    set_tests_properties(integration_${name} PROPERTIES TIMEOUT 900 ENVIRONMENT "TSD=$<TARGET_FILE:tsd>")
  endforeach()
endif()
