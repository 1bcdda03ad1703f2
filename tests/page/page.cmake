# Pure functions of the web page, run by node: with the system's zone in UTC, in a zone of the tests, and in one with odd quarters of an hour.
if(TSD_PAGE)
  find_program(NODE NAMES node nodejs)
  if(NOT NODE)
    message(FATAL_ERROR "The tests of the web page take node: install nodejs (scripts/setup test), or configure with -DTSD_PAGE=OFF")
  endif()
endif()
if(TSD_PAGE AND NOT TSD_RACES)
  file(GLOB PAGE_UNIT CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/page/unit/*.mjs)
  foreach(zone UTC Europe/Paris Asia/Kathmandu)
    string(REPLACE "/" "_" name ${zone})
    string(TOLOWER ${name} name)
    add_test(NAME page_unit_${name} COMMAND ${NODE} --test ${PAGE_UNIT})
    set_tests_properties(page_unit_${name} PROPERTIES TIMEOUT 120 ENVIRONMENT "TZ=${zone};LC_ALL=en_US.UTF-8")
  endforeach()
endif()

find_package(Python3 REQUIRED COMPONENTS Interpreter)

# What brings uPlot where npm is missing.
add_test(NAME integration_npm_fetch COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/page/npm_fetch.py)

# What is left out of the page's files when they are put into the program.
add_test(NAME integration_page_embed COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/page/embed.py)
set_tests_properties(integration_page_embed PROPERTIES TIMEOUT 120 ENVIRONMENT "NODE=${NODE}")

# The numbers of the view Totals against those of the points, asked of a real daemon.
if(TSD_PAGE AND TARGET tsd)
  add_test(NAME integration_page_totals COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/page/totals.py)
  set_tests_properties(integration_page_totals PROPERTIES TIMEOUT 280 ENVIRONMENT "TSD=$<TARGET_FILE:tsd>;NODE=${NODE}")
endif()
