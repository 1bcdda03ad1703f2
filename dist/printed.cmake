# Writes the completions of shells and the manual pages, which the program prints from its own tables.
#   cmake -DTSD=PROGRAM -DMAIN=tsd/main.c -DOUT=FOLDER -P printed.cmake
# At installation, since a program with a sanitizer cannot run during every build.
function(printed file)
  get_filename_component(folder ${OUT}/${file} DIRECTORY)
  file(MAKE_DIRECTORY ${folder})
  execute_process(COMMAND ${TSD} ${ARGN} OUTPUT_FILE ${OUT}/${file} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

printed(bash-completion/completions/tsd completion bash)
printed(zsh/vendor-completions/_tsd completion zsh)
printed(fish/vendor_completions.d/tsd.fish completion fish)
printed(man/man1/tsd.1 help --man)
printed(man/man5/tsd.conf.5 help --man tsd.conf)
file(STRINGS ${MAIN} rows REGEX "^    {\\.name = \"")
list(TRANSFORM rows REPLACE ".*name = \"([^\"]*)\".*" "\\1")
foreach(row ${rows})
  printed(man/man1/tsd-${row}.1 help --man ${row})
endforeach()
