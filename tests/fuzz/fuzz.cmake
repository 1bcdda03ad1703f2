# Fuzzers: tests/fuzz/fuzz_<name>.c with LLVMFuzzerTestOneInput, seeds in tests/fuzz/corpus/<name>/.
#   -DTSD_FUZZ=ON with clang (preset fuzz): libFuzzer programs;   fuzz_wal corpus/wal
#   otherwise: programs that replay the seeds and some changes of each, run by ctest
# A new one: its file, its seeds, a line at the end of this file.
option(TSD_FUZZ "build libFuzzer programs (needs clang and TSD_SANITIZE)" OFF)

if(TSD_FUZZ)
  if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang" OR NOT TSD_SANITIZE)
    message(FATAL_ERROR "TSD_FUZZ needs clang and TSD_SANITIZE=address,undefined")
  endif()
  foreach(lib base points codecs catalog engine storage query tsdlib testkit)
    get_target_property(type ${lib} TYPE)
    if(type STREQUAL "STATIC_LIBRARY")
      target_compile_options(${lib} PRIVATE -fsanitize=fuzzer-no-link)
    endif()
  endforeach()
endif()

function(tsd_fuzz name)
  set(source ${CMAKE_SOURCE_DIR}/tests/fuzz/fuzz_${name}.c)
  set(corpus ${CMAKE_SOURCE_DIR}/tests/fuzz/corpus/${name})
  if(TSD_FUZZ)
    add_executable(fuzz_${name} ${source})
    target_compile_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
    add_test(NAME fuzz_${name} COMMAND fuzz_${name} -runs=20000 -seed=1 -rss_limit_mb=2048 ${corpus})
  else()
    add_executable(fuzz_${name} ${source} ${CMAKE_SOURCE_DIR}/tests/fuzz/replay_main.c)
    add_test(NAME fuzz_${name} COMMAND fuzz_${name} --changes 300 ${corpus})
  endif()
  target_link_libraries(fuzz_${name} PRIVATE testkit ${ARGN})
  target_compile_options(fuzz_${name} PRIVATE -Wno-missing-prototypes)
  set_tests_properties(fuzz_${name} PROPERTIES TIMEOUT 300)
endfunction()

tsd_fuzz(wal engine)
tsd_fuzz(reclog engine)
tsd_fuzz(block codecs)
