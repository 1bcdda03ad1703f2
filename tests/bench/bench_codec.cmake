# Benchmark of the block codec; built with the tests, run by hand.
add_executable(bench_codec ${CMAKE_SOURCE_DIR}/tests/bench/bench_codec.c)
target_link_libraries(bench_codec PRIVATE codecs m)
