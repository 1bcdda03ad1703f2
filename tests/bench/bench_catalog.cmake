# Benchmark of the catalog; built with the tests, run by hand.
add_executable(bench_catalog ${CMAKE_SOURCE_DIR}/tests/bench/bench_catalog.c)
target_link_libraries(bench_catalog PRIVATE catalog)
