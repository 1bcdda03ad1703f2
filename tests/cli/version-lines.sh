# Two lines, as the line protocol's version answers.
tsd version | sed -E 's/[0-9]+\.[0-9]+\.[0-9]+/N.N.N/; s/revision .*/revision .../; s/^Built on .*/Built on .../'
tsd --version | wc -l
tsd version now
