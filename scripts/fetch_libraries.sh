#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The sources of zlib, libyaml and libevent in build/libraries, for programs that carry their libraries (scripts/build_web.sh,
# scripts/build_release.sh --static). They come from Debian's archive, where they are kept as their authors wrote them, and are
# checked against the sums below.
set -eu
cd "$(dirname "$0")/.."
mirror=${MEMTAPE_DEBIAN_MIRROR:-https://deb.debian.org/debian}

fetch() {  # PATH SHA256 FOLDER: the archive's only folder becomes FOLDER
  folder=build/libraries/$3
  [ -d "$folder" ] && return
  echo "memtape: fetching $3" >&2
  mkdir -p build/libraries
  archive=build/libraries/${1##*/}
  curl -sSfL -o "$archive" "$mirror/$1" || curl -sSfL -o "$archive" "http${mirror#https}/$1"
  echo "$2  $archive" | sha256sum -c --quiet - >&2
  rm -rf "$folder.part" && mkdir "$folder.part"
  tar -xf "$archive" -C "$folder.part" --strip-components=1
  mv "$folder.part" "$folder"
}

fetch pool/main/z/zlib/zlib_1.2.13.dfsg.orig.tar.bz2 71feb7947e3c00ef125f83b79a4e529bde31171e5babe48b391f06758d1ab0a1 zlib-1.2.13
fetch pool/main/liby/libyaml/libyaml_0.2.5.orig.tar.gz fa240dbf262be053f3898006d502d514936c818e422afdcf33921c63bed9bf2e yaml-0.2.5
fetch pool/main/libe/libevent/libevent_2.1.12-stable.orig.tar.gz 92e6de1be9ec176428fd2367677e61ceffc2ee1cb119035037a27d346b0403bb event-2.1.12
