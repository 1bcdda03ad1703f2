# Both protocols against a real daemon.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
if(TARGET tsd)
  foreach(name line_protocol http_api web connections names modes disk_full beyond annotations metadata trees expressions old_points replace retention aged_hours aged_days max_bytes kept_totals versions forgotten unknown_names killed_merge health self_metrics cli_live status metrics_list shared_views)
    add_test(NAME integration_${name} COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/integration/${name}.py)
    set_tests_properties(integration_${name} PROPERTIES TIMEOUT 900 SKIP_RETURN_CODE 77 ENVIRONMENT "TSD=$<TARGET_FILE:tsd>")
  endforeach()
endif()
