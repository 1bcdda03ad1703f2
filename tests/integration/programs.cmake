# Programs as collectors below a real tsd collect.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
if(TARGET tsd)
  add_test(NAME integration_programs COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/integration/programs.py)
  set_tests_properties(integration_programs PROPERTIES TIMEOUT 900 ENVIRONMENT "TSD=$<TARGET_FILE:tsd>")
endif()
