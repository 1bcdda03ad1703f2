# The simulation behind docs/SCALING.md: its sums and bounds, and its regions against those of real keys. numpy comes from Debian (scripts/setup), for
# Debian's Python.
find_program(TSD_DEBIAN_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH REQUIRED)
if(NOT TSD_RACES)
  add_test(NAME scaling_rowkeys COMMAND ${TSD_DEBIAN_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/scaling/check.py)
  set_tests_properties(scaling_rowkeys PROPERTIES TIMEOUT 900)
endif()
