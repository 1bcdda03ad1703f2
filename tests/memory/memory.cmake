# What happens when memory is gone, and how much is used at all.
tsd_test(test_no_memory ${CMAKE_CURRENT_SOURCE_DIR}/memory/test_no_memory.c tsdlib model_reference)
tsd_test(test_query_memory ${CMAKE_CURRENT_SOURCE_DIR}/memory/test_query_memory.c query)
find_package(Python3 REQUIRED COMPONENTS Interpreter)
if(TARGET tsd AND NOT TSD_SANITIZE) # sanitizers keep freed memory
  add_test(NAME memory_budget COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/memory/budget.py)
  add_test(NAME memory_steady COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/memory/steady.py)
  set_tests_properties(memory_budget memory_steady PROPERTIES TIMEOUT 900 ENVIRONMENT "TSD=$<TARGET_FILE:tsd>")
endif()
