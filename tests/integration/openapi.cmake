# The description of the HTTP API against the table of endpoints.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
add_test(NAME integration_openapi COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/integration/openapi.py)
