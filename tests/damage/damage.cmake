# Bits flipped, files cut and removed at random: a short run of fixed seeds; 10,000 and more: docs/TESTING.md
tsd_program(flips damage/flips.c damage/shapes.c damage/content.c)
target_link_libraries(flips PRIVATE storage testkit)
foreach(mode flip cut remove pair)
  tsd_program_test(damage_${mode} flips --mode ${mode} --rounds 60 --seed 1)
endforeach()
