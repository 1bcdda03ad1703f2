# A store's life in fast motion: a short one in ctest; a year: docs/TESTING.md
add_executable(life ${CMAKE_SOURCE_DIR}/tests/life/life.c)
target_link_libraries(life PRIVATE storage)
target_compile_options(life PRIVATE -Wno-missing-prototypes)
add_test(NAME life_short COMMAND life --days 40 --series 4 --churn 50 --deletes 96 --retention 10)
set_tests_properties(life_short PROPERTIES TIMEOUT 900)
