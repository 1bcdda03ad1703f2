# The Debian package: cpack -G DEB in a build with the prefix /usr; scripts/package does all of it. Included by CMakeLists.txt.
set(TSD_DEBIAN_REVISION 1 CACHE STRING "the Debian revision of the package")
set(TSD_MAINTAINER "tsd maintainers <maintainers@tsd.invalid>" CACHE STRING "who answers for the package: NAME <ADDRESS>")

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tsd)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "time series database compatible with OpenTSDB")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "tsd stores points (a metric, a time, a value, tags) in its own files and
answers OpenTSDB's queries as well as totals by day, hour and tag. It accepts
OpenTSDB's put lines and HTTP API on one port, so collectors and dashboards
that were made for OpenTSDB work unchanged.
.
This package contains the daemon with its systemd unit, the command line, and
the collectors of tsd collect.")
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR})
set(CPACK_STRIP_FILES ON)
# /etc and the prefix are both below the package's folder
set(CPACK_SET_DESTDIR ON)
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_SOURCE_DIR}/dist/debian/prepare.cmake)
set(CPACK_TSD_DEBIAN_DIR ${CMAKE_SOURCE_DIR}/dist/debian)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE ${TSD_DEBIAN_REVISION})
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "${TSD_MAINTAINER}")
set(CPACK_DEBIAN_PACKAGE_SECTION database)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
# libraries are found by dpkg-shlibdeps
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "systemd | systemd-standalone-sysusers | systemd-sysusers, tzdata")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "gnuplot-nox")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "smartmontools")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA "")
foreach(file conffiles postinst prerm postrm)
  list(APPEND CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${CMAKE_SOURCE_DIR}/dist/debian/${file})
endforeach()
include(CPack)
