# SPDX-License-Identifier: Apache-2.0
# What every target is compiled with: C++20, no extensions, warnings that are errors on the compilers we test with.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

# A compiler we have not seen may warn about what ours does not: there a warning must not stop a user's first build.
set(tested_compiler OFF)
if((CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION MATCHES "^12\\.")
   OR (CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION MATCHES "^19\\."))
  set(tested_compiler ON)
endif()
option(MEMTAPE_WARNINGS_AS_ERRORS "Warnings stop the build" ${tested_compiler})
set(MEMTAPE_SANITIZE "" CACHE STRING "Sanitizers for every target, e.g. address,undefined")

add_library(memtape_flags INTERFACE)
target_compile_options(memtape_flags INTERFACE -Wall -Wextra -Wnon-virtual-dtor -Woverloaded-virtual
                                               $<$<BOOL:${MEMTAPE_WARNINGS_AS_ERRORS}>:-Werror>)
if(NOT MEMTAPE_UNITY)  # in a batch a local name may be one that another file has for itself
  target_compile_options(memtape_flags INTERFACE -Wshadow)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # False alarms of GCC 12 at -O3, inside its own headers, precompiled ones more: std::string's operator+ (GCC bug
  # 105651) and std::sort of a short array. Clang and the sanitizers still look.
  target_compile_options(memtape_flags INTERFACE -Wno-restrict -Wno-array-bounds -Wno-stringop-overread
                                                 -Wno-stringop-overflow)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # libstdc++'s std::stable_sort uses a function that libstdc++ itself has deprecated.
  target_compile_options(memtape_flags INTERFACE -Wno-deprecated-declarations)
endif()

# Every object can be part of the shared library; what it does not export, nobody can replace.
if(NOT MEMTAPE_WASM)
  add_compile_options(-fPIC)
endif()
add_compile_options(-fvisibility=hidden -fvisibility-inlines-hidden)
if(MEMTAPE_WASM)
  # The rooms do not throw; a throw of the standard library ends the module.
  add_compile_options(-fno-exceptions)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # A batch of files takes a gigabyte: collecting garbage from 128 MB on, as GCC does, costs it a tenth of its time.
  add_compile_options(-fno-semantic-interposition "--param=ggc-min-heapsize=500000")
endif()

# For a folder in which no time is spent (tests, command lines): a fifth less to build it.
macro(memtape_optimize_little)
  add_compile_options($<$<CONFIG:Release>:-O1>)
endmacro()

if(MEMTAPE_SANITIZE)
  add_compile_options(-fsanitize=${MEMTAPE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${MEMTAPE_SANITIZE})
endif()

# Speed of building only: a compiler cache and a fast linker, where they are installed.
find_program(MEMTAPE_CCACHE ccache)
if(MEMTAPE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # ccache keeps what was compiled with a precompiled header under these conditions alone (its manual, "Precompiled headers").
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${MEMTAPE_CCACHE})
  if(MEMTAPE_PRECOMPILED_HEADERS AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-fpch-preprocess)
  endif()
endif()
if(MEMTAPE_ZIG_TARGET)
  # zig links with the linker it carries.
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  find_program(MEMTAPE_LINKER NAMES ld.lld-19 ld.lld)
  if(MEMTAPE_LINKER)
    add_link_options(--ld-path=${MEMTAPE_LINKER})
  endif()
else()
  find_program(MEMTAPE_MOLD mold)
  if(MEMTAPE_MOLD)
    add_link_options(-fuse-ld=mold)
  endif()
endif()
