# kill -9 rounds against the real daemon; 200 and more: docs/TESTING.md
find_package(Python3 REQUIRED COMPONENTS Interpreter)
if(TARGET tsd)
  add_test(NAME crash_kill COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/crash/kill.py --rounds 8 --seed 1)
  set_tests_properties(crash_kill PROPERTIES TIMEOUT 900 ENVIRONMENT "TSD=$<TARGET_FILE:tsd>")
endif()
