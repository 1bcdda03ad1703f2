# A damaged block below a running daemon.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
if(TARGET tsd)
  add_test(NAME integration_damaged COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/integration/damaged.py)
  set_tests_properties(integration_damaged PROPERTIES TIMEOUT 900 ENVIRONMENT "TSD=$<TARGET_FILE:tsd>")
endif()
