# The web page: what is served, how, and how large it is.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
if(TARGET tsd AND TSD_PAGE)
  add_test(NAME integration_page COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/integration/page.py)
  set_tests_properties(integration_page PROPERTIES TIMEOUT 300 ENVIRONMENT "TSD=$<TARGET_FILE:tsd>")
endif()
