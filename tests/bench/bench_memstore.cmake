# Benchmark of the memstore; built with the tests, run by hand.
add_executable(bench_memstore ${CMAKE_SOURCE_DIR}/tests/bench/bench_memstore.c)
target_link_libraries(bench_memstore PRIVATE engine)
