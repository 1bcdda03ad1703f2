# A third of the attacks for a few seconds each, another third for each commit; all of them for a minute: docs/TESTING.md. Sanitizers keep freed
# memory, so that limits of memory mean nothing there.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
if(TARGET tsd AND NOT TSD_SANITIZE)
  add_test(NAME attack_third COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/attack/attack.py --third turn --seconds 3 --clients 20 --tolerate 0.1)
  set_tests_properties(attack_third PROPERTIES TIMEOUT 900 PROCESSORS 2 COST 60 ENVIRONMENT "TSD=$<TARGET_FILE:tsd>")
endif()
