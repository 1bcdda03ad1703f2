# The simulation (docs/TESTING.md): 300 seeds in ctest, 10,000 by hand; seeds that failed once are in seeds.txt.
tsd_program(sim sim/sim.c sim/sim_life.c sim/sim_ops.c sim/sim_check.c sim/sim_names.c sim/sim_cells.c
               sim/sim_forget.c sim/sim_clock.c sim/sim_remote.c sim/sim_ship.c)
target_link_libraries(sim PRIVATE storage storage_remote testkit model_reference)
target_link_options(sim PRIVATE -Wl,--wrap=pthread_cond_wait)
if(TSD_SANITIZE)
  set(SIM_SEEDS 1..60)
else()
  set(SIM_SEEDS 1..300)
endif()
tsd_program_test(sim_short sim --seeds ${SIM_SEEDS} --file ${CMAKE_CURRENT_SOURCE_DIR}/sim/seeds.txt)
tsd_core(sim sim_short)
# The real file system with a kernel that does less than it is asked.
if(TARGET test_fs_interrupted)
  target_link_options(test_fs_interrupted PRIVATE -Wl,--wrap=write,--wrap=pread,--wrap=fdatasync,--wrap=ftruncate,--wrap=close)
endif()
