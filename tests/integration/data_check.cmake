# Weather and servers against a plain script against a real daemon.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
if(TARGET tsd)
  add_test(NAME integration_data_check COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/integration/data_check.py)
  set_tests_properties(integration_data_check PROPERTIES TIMEOUT 900 ENVIRONMENT "TSD=$<TARGET_FILE:tsd>")
endif()
