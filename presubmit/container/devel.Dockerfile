# A devel image for Python and Python/C++ projects that bring none of their own.
# Used by `presubmit image build`; another base is chosen with `--build-arg BASE=...` (Debian or Ubuntu).
ARG BASE=debian:bookworm
FROM ${BASE}

# Further packages, by name: those that the project's CI installs.
ARG PACKAGES=""

RUN apt-get update -qq \
 && DEBIAN_FRONTEND=noninteractive apt-get install -yqq --no-install-recommends \
      build-essential \
      ca-certificates \
      ccache \
      cmake \
      git \
      ninja-build \
      procps \
      python3-dev \
      python3-venv \
      ${PACKAGES} \
 && rm -rf /var/lib/apt/lists/*

# ccache's links come first, so that every build goes through it.
ENV PATH=/usr/lib/ccache:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    LANG=C.UTF-8
