# Passes that make summaries of what expires. Not part of ctest.
add_executable(bench_aged bench/bench_aged.c)
target_link_libraries(bench_aged PRIVATE storage)
target_compile_options(bench_aged PRIVATE -Wno-missing-prototypes)
