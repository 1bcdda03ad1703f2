# Benchmark of the line parser; built with the tests, run by hand.
add_executable(bench_line ${CMAKE_SOURCE_DIR}/tests/bench/bench_line.c)
target_link_libraries(bench_line PRIVATE tsdlib)
