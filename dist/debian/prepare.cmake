# Run by cpack when everything is installed in its folder: gives the documents the form that Debian's policy asks for.
set(top ${CPACK_TEMPORARY_INSTALL_DIRECTORY})
set(doc ${top}/usr/share/doc/tsd)

# a licence stands in "copyright", changes in "changelog"
file(REMOVE ${doc}/LICENSE)
file(COPY_FILE ${CPACK_TSD_DEBIAN_DIR}/copyright ${doc}/copyright)
file(RENAME ${doc}/CHANGELOG.md ${doc}/changelog)
if(DEFINED ENV{SOURCE_DATE_EPOCH})
  set(epoch $ENV{SOURCE_DATE_EPOCH})
else()
  string(TIMESTAMP epoch "%s" UTC)
endif()
execute_process(COMMAND env LC_ALL=C date -u -R -d @${epoch} OUTPUT_VARIABLE day OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
set(version ${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})
file(WRITE ${doc}/changelog.Debian "tsd (${version}) unstable; urgency=medium

  * Package of tsd ${CPACK_PACKAGE_VERSION}: changelog.gz says what is new.

 -- ${CPACK_DEBIAN_PACKAGE_MAINTAINER}  ${day}
")
file(MAKE_DIRECTORY ${top}/usr/share/lintian/overrides)
file(COPY_FILE ${CPACK_TSD_DEBIAN_DIR}/lintian-overrides ${top}/usr/share/lintian/overrides/tsd)

# the data folder belongs to the package; postinst gives it to the daemon's user
file(MAKE_DIRECTORY ${top}/var/lib/tsd)
file(GLOB pages ${top}/usr/share/man/*/*)
execute_process(COMMAND gzip -9nf ${doc}/changelog ${doc}/changelog.Debian ${pages} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND chmod -R u=rwX,go=rX ${top} COMMAND_ERROR_IS_FATAL ANY)
