# What cmake --install writes besides the program: documents, dashboards, units, the daemon's user, the configuration. Included by CMakeLists.txt.
file(GLOB TSD_DOCUMENTS CONFIGURE_DEPENDS docs/*.md)
install(FILES README.md LICENSE CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES ${TSD_DOCUMENTS} docs/openapi.yaml DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs)
install(DIRECTORY docs/pictures docs/scaling DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs)
install(DIRECTORY dist/grafana DESTINATION ${CMAKE_INSTALL_DATADIR}/tsd)

set(TSD_BIN ${CMAKE_INSTALL_FULL_BINDIR}/tsd)
foreach(unit tsd tsd-collect)
  configure_file(dist/${unit}.service ${CMAKE_BINARY_DIR}/dist/${unit}.service @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/dist/${unit}.service DESTINATION lib/systemd/system)
endforeach()
install(FILES dist/tsd.sysusers DESTINATION lib/sysusers.d RENAME tsd.conf)

# what an administrator wrote stays
install(CODE "if(NOT EXISTS \"\$ENV{DESTDIR}/etc/tsd.conf\")
  execute_process(COMMAND \"${CMAKE_COMMAND}\" \"-DTSD=$<TARGET_FILE:tsd>\" \"-DHEAD=${CMAKE_SOURCE_DIR}/dist/tsd.conf.in\"
    \"-DOUT=${CMAKE_BINARY_DIR}/dist/tsd.conf\" -P \"${CMAKE_SOURCE_DIR}/dist/conf.cmake\" COMMAND_ERROR_IS_FATAL ANY)
  file(INSTALL \"${CMAKE_BINARY_DIR}/dist/tsd.conf\" DESTINATION /etc)
endif()")

# completions and manual pages
install(CODE "execute_process(COMMAND \"${CMAKE_COMMAND}\" \"-DTSD=$<TARGET_FILE:tsd>\" \"-DMAIN=${CMAKE_SOURCE_DIR}/tsd/main.c\"
  \"-DOUT=${CMAKE_BINARY_DIR}/dist/share\" -P \"${CMAKE_SOURCE_DIR}/dist/printed.cmake\" COMMAND_ERROR_IS_FATAL ANY)")
install(DIRECTORY ${CMAKE_BINARY_DIR}/dist/share/ DESTINATION ${CMAKE_INSTALL_DATADIR})
