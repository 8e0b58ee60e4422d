# SPDX-License-Identifier: Apache-2.0
# The libraries memtape is built with. For this machine they are its packages; for zig's targets (cmake/zig/toolchain.cmake) those
# that are headers come from the same packages, and zlib, libyaml and libevent are compiled from their sources (scripts/fetch_libraries.sh).
if(NOT MEMTAPE_ZIG_TARGET)
  find_package(fmt REQUIRED)
  find_package(tl-expected REQUIRED)
  find_package(nlohmann_json REQUIRED)
  find_package(ZLIB REQUIRED)
  find_path(YAML_INCLUDE_DIR yaml.h REQUIRED)
  find_path(TOML_INCLUDE_DIR toml++/toml.h REQUIRED)
  find_library(YAML_LIBRARY NAMES libyaml.a yaml REQUIRED)
  # Statically: two libraries more to bind would be felt at every start.
  find_path(EVENT_INCLUDE_DIR event2/http.h REQUIRED)
  find_library(EVENT_EXTRA_LIBRARY NAMES libevent_extra.a event_extra REQUIRED)
  find_library(EVENT_CORE_LIBRARY NAMES libevent_core.a event_core REQUIRED)
  set(EVENT_LIBRARIES ${EVENT_EXTRA_LIBRARY} ${EVENT_CORE_LIBRARY})
  return()
endif()

# A folder with these headers and nothing else of this machine's: its C library is not the target's.
set(portable_headers ${CMAKE_BINARY_DIR}/headers)
file(MAKE_DIRECTORY ${portable_headers})
foreach(library fmt tl nlohmann toml++)
  find_path(${library}_headers ${library} PATHS /usr/include /usr/local/include /opt/homebrew/include
            NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH REQUIRED)
  file(CREATE_LINK ${${library}_headers}/${library} ${portable_headers}/${library} SYMBOLIC)
endforeach()
set(TOML_INCLUDE_DIR ${portable_headers})
if(MEMTAPE_ZIG_TARGET MATCHES "macos")
  set(TOML_DEFINITIONS TOML_DISABLE_ENVIRONMENT_CHECKS)  # zig's <cfloat> for macOS loses FLT_RADIX behind other headers
endif()
foreach(library fmt::fmt-header-only tl::expected nlohmann_json::nlohmann_json)
  add_library(${library} INTERFACE IMPORTED GLOBAL)
  target_include_directories(${library} INTERFACE ${portable_headers})
endforeach()

enable_language(C)
set(MEMTAPE_LIBRARY_SOURCES ${PROJECT_SOURCE_DIR}/build/libraries CACHE PATH "Where scripts/fetch_libraries.sh puts them")
set(zlib ${MEMTAPE_LIBRARY_SOURCES}/zlib-1.2.13)
set(yaml ${MEMTAPE_LIBRARY_SOURCES}/yaml-0.2.5)
set(event ${MEMTAPE_LIBRARY_SOURCES}/event-2.1.12)
foreach(file ${zlib}/zlib.h ${yaml}/include/yaml.h ${event}/CMakeLists.txt)
  if(NOT EXISTS ${file})
    message(FATAL_ERROR "${file} is not there; run scripts/fetch_libraries.sh")
  endif()
endforeach()

add_library(memtape_yaml STATIC EXCLUDE_FROM_ALL ${yaml}/src/api.c ${yaml}/src/parser.c ${yaml}/src/reader.c ${yaml}/src/scanner.c)
target_compile_definitions(memtape_yaml PRIVATE YAML_VERSION_MAJOR=0 YAML_VERSION_MINOR=2 YAML_VERSION_PATCH=5
  YAML_VERSION_STRING="0.2.5" PUBLIC YAML_DECLARE_STATIC)
target_include_directories(memtape_yaml SYSTEM PUBLIC ${yaml}/include)
set(YAML_INCLUDE_DIR ${yaml}/include)
set(YAML_LIBRARY memtape_yaml)

add_library(memtape_zlib STATIC EXCLUDE_FROM_ALL ${zlib}/adler32.c ${zlib}/crc32.c ${zlib}/deflate.c ${zlib}/gzclose.c ${zlib}/gzlib.c
  ${zlib}/gzread.c ${zlib}/gzwrite.c ${zlib}/inffast.c ${zlib}/inflate.c ${zlib}/inftrees.c ${zlib}/trees.c ${zlib}/zutil.c)
# It takes a Mac for one of before 2001, and defines fdopen away where that is no macro.
target_compile_definitions(memtape_zlib PRIVATE HAVE_UNISTD_H fdopen=fdopen)
target_include_directories(memtape_zlib SYSTEM PUBLIC ${zlib})
add_library(ZLIB::ZLIB ALIAS memtape_zlib)

if(NOT MEMTAPE_WASM)
  set(EVENT__LIBRARY_TYPE STATIC CACHE STRING "Its own default names libraries that it does not make here" FORCE)
  foreach(left_out OPENSSL MBEDTLS BENCHMARK TESTS SAMPLES REGRESS THREAD_SUPPORT DEBUG_MODE)
    set(EVENT__DISABLE_${left_out} ON)
  endforeach()
  set(CMAKE_POLICY_DEFAULT_CMP0077 NEW)  # these are its options
  add_subdirectory(${event} ${CMAKE_BINARY_DIR}/event EXCLUDE_FROM_ALL SYSTEM)
  set(EVENT_INCLUDE_DIR ${event}/include ${CMAKE_BINARY_DIR}/event/include)
  set(EVENT_LIBRARIES event_extra_static event_core_static)
endif()
