# The model test: a short run of one printed seed in ctest; long runs: docs/TESTING.md
add_executable(model model/model.c model/reference.c)
target_link_libraries(model PRIVATE storage)
target_compile_options(model PRIVATE -Wno-missing-prototypes)
add_test(NAME model_short COMMAND model --seed 1 --ops 60000)
set_tests_properties(model_short PROPERTIES TIMEOUT 900)
