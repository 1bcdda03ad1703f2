# Queries over a store made on the spot; not part of ctest.
add_executable(bench_query bench/bench_query.c)
target_link_libraries(bench_query PRIVATE query)
target_compile_options(bench_query PRIVATE -Wno-missing-prototypes)
