# SPDX-License-Identifier: Apache-2.0
# Builds for another system, or for any Linux, with zig as the compiler: it carries clang, libc++ and the C libraries of its
# targets. MEMTAPE_ZIG_TARGET says which, as zig spells it: wasm32-wasi, x86_64-linux-musl, aarch64-linux-musl, aarch64-macos.
set(MEMTAPE_ZIG_TARGET "x86_64-linux-musl" CACHE STRING "What zig compiles for")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES MEMTAPE_ZIG_TARGET)

string(REGEX MATCH "^[^-]+" CMAKE_SYSTEM_PROCESSOR "${MEMTAPE_ZIG_TARGET}")
set(CMAKE_SYSTEM_NAME Linux)
if(MEMTAPE_ZIG_TARGET MATCHES "wasi")
  set(CMAKE_SYSTEM_NAME Generic)  # CMake 3.25 does not know WASI
  set(CMAKE_EXECUTABLE_SUFFIX ".wasm")
elseif(MEMTAPE_ZIG_TARGET MATCHES "macos")
  set(CMAKE_SYSTEM_NAME Darwin)
  set(CMAKE_OSX_SYSROOT "" CACHE STRING "zig brings the headers")
  # Linked by their final names, so that Apple's install_name_tool has nothing to do.
  set(CMAKE_INSTALL_NAME_TOOL /bin/false CACHE FILEPATH "")
  set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
  set(CMAKE_INSTALL_NAME_DIR "@rpath")
  set(CMAKE_BUILD_WITH_INSTALL_NAME_DIR ON)
endif()

foreach(language C CXX)
  set(CMAKE_${language}_FLAGS_INIT "-target ${MEMTAPE_ZIG_TARGET}")
endforeach()
set(CMAKE_C_COMPILER ${CMAKE_CURRENT_LIST_DIR}/zig-cc)
set(CMAKE_CXX_COMPILER ${CMAKE_CURRENT_LIST_DIR}/zig-c++)
set(CMAKE_AR ${CMAKE_CURRENT_LIST_DIR}/zig-ar CACHE FILEPATH "")
set(CMAKE_RANLIB ${CMAKE_CURRENT_LIST_DIR}/zig-ranlib CACHE FILEPATH "")

# This machine's libraries are for this machine; its programs are those that build.
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
