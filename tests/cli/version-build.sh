# How the program was built: every line names a thing, and every library has a version.
tsd version --build | sed -E '1,2d; s/^(compiler|flags|sanitizers|linking|commit|page) .+/\1 .../; s/[0-9]+\.[0-9]+[0-9a-z.-]*/N.N/'
