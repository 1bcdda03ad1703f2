# Writes tsd.conf: the text of tsd.conf.in, then every key of the program as a comment.
#   cmake -DTSD=PROGRAM -DHEAD=tsd.conf.in -DOUT=FILE -P conf.cmake
# The environment is left out: TSD_<KEY> would show there as a value.
execute_process(COMMAND env -i ${TSD} serve --print-config OUTPUT_VARIABLE keys RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "${TSD} serve --print-config ended with ${result}")
endif()
string(REGEX REPLACE "\n([a-z])" "\n#\\1" keys "\n${keys}")
file(READ ${HEAD} head)
file(WRITE ${OUT} "${head}${keys}")
