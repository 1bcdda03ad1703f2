# Benchmark of the write-ahead log; built with the tests, run by hand.
add_executable(bench_wal ${CMAKE_SOURCE_DIR}/tests/bench/bench_wal.c)
target_link_libraries(bench_wal PRIVATE engine)
