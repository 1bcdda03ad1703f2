# Totals and thinned series against plain counts, documents, completions of shells, and dashboards, with a real daemon.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
if(TARGET tsd)
  foreach(name totals thin zones documents configuration completions dashboards)
    add_test(NAME integration_${name} COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/integration/${name}.py)
    set_tests_properties(integration_${name} PROPERTIES TIMEOUT 900 SKIP_RETURN_CODE 77 ENVIRONMENT "TSD=$<TARGET_FILE:tsd>")
  endforeach()
endif()

# The site of the documents.
add_test(NAME integration_site COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/integration/site.py)
set_tests_properties(integration_site PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77)

# Time zones: the system's files as tsd reads them, against Python's reader.
tsd_program(zonedump integration/zonedump.c)
target_link_libraries(zonedump PRIVATE base)
if(NOT TSD_RACES)
  add_test(NAME integration_zone_files COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/integration/zone_files.py)
  set_tests_properties(integration_zone_files PROPERTIES TIMEOUT 900 ENVIRONMENT "ZONEDUMP=$<TARGET_FILE:zonedump>")
endif()
