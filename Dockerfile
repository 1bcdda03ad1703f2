# An image of the daemon, from the Debian package.   docker build -t tsd . && docker run -p 4242:4242 -v tsd:/var/lib/tsd tsd
# Keys are set by the environment (-e TSD_TIMEZONE=Europe/Berlin) or by a file mounted as /etc/tsd.conf. tests/package/image.py reads this file.
FROM debian:12-slim AS build
COPY scripts/setup /src/scripts/setup
RUN apt-get update && /src/scripts/setup package
COPY . /src
RUN cd /src && cp "$(scripts/package)" /tsd.deb

FROM debian:12-slim
COPY --from=build /tsd.deb /tmp/tsd.deb
# the numbers are fixed so that files of a volume keep their owner from image to image
RUN groupadd --system --gid 4242 tsd && useradd --system --uid 4242 --gid tsd --home-dir /var/lib/tsd --no-create-home tsd
RUN apt-get update && apt-get install -y --no-install-recommends systemd-standalone-sysusers /tmp/tsd.deb && rm -rf /var/lib/apt/lists/* /tmp/tsd.deb
ENV TSD_BIND=0.0.0.0 TSD_DATA=/var/lib/tsd
USER tsd
VOLUME /var/lib/tsd
EXPOSE 4242
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s CMD ["tsd", "check", "-t", "4"]
ENTRYPOINT ["tsd"]
CMD ["serve", "--config", "/etc/tsd.conf"]
