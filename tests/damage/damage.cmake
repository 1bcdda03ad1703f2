# Bits flipped, files cut and removed at random: a short run of fixed seeds; 10,000 and more: docs/TESTING.md
add_executable(flips damage/flips.c damage/shapes.c damage/content.c)
target_link_libraries(flips PRIVATE storage testkit)
target_compile_options(flips PRIVATE -Wno-missing-prototypes)
foreach(mode flip cut remove pair)
  add_test(NAME damage_${mode} COMMAND flips --mode ${mode} --rounds 60 --seed 1)
  set_tests_properties(damage_${mode} PROPERTIES TIMEOUT 900)
endforeach()
