# Benchmark of scans; built with the tests, run by hand.
add_executable(bench_merge ${CMAKE_SOURCE_DIR}/tests/bench/bench_merge.c)
target_link_libraries(bench_merge PRIVATE engine)
