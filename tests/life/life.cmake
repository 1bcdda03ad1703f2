# A store's life in fast motion: a short one in ctest; a year: docs/TESTING.md
tsd_program(life ${CMAKE_SOURCE_DIR}/tests/life/life.c)
target_link_libraries(life PRIVATE storage)
tsd_program_test(life_short life --days 40 --series 4 --churn 50 --deletes 96 --retention 10)
