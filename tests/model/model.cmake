# The model test: a short run of one printed seed in ctest; long runs: docs/TESTING.md
tsd_program(model model/model.c model/reference.c)
target_link_libraries(model PRIVATE storage)
tsd_program_test(model_short model --seed 1 --ops 60000)
tsd_core(model model_short)
