# Totals over a year; days_rate.py runs it. Not part of ctest.
add_executable(bench_days bench/bench_days.c)
target_link_libraries(bench_days PRIVATE query)
target_compile_options(bench_days PRIVATE -Wno-missing-prototypes)
