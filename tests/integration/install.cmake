# What cmake --install writes, and where.
if(TARGET tsd)
  add_test(NAME integration_install COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/integration/install.sh ${CMAKE_COMMAND} ${CMAKE_BINARY_DIR})
  set_tests_properties(integration_install PROPERTIES TIMEOUT 300)
endif()
