# tsd import against a daemon that is played: errors of sync, connections that end, lines refused once.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
if(TARGET tsd)
  add_test(NAME integration_import_answers COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/integration/import_answers.py)
  set_tests_properties(integration_import_answers PROPERTIES TIMEOUT 900 ENVIRONMENT "TSD=$<TARGET_FILE:tsd>")
endif()
