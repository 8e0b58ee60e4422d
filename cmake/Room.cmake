# SPDX-License-Identifier: Apache-2.0
# The four kinds of target of this project. Each takes
#   SOURCES  files of the calling directory, listed one by one
#   USES     rooms by name (base, tape, framework/torch ...) or libraries by target (ZLIB::ZLIB)
#
#   memtape_room(NAME ...)   a folder of src/ as a static library; without SOURCES, headers only
#   memtape_test(NAME ...)   a GoogleTest program, run by ctest as NAME
#   memtape_fuzz(NAME ...)   a libFuzzer target over the seeds in tests/corpus/NAME, run by ctest as fuzz.NAME
#   memtape_bench(NAME ...)  a Google Benchmark program
#
# and a test that is a script, memtape_script_test(NAME LABEL SCRIPT words...): SCRIPT from the project's root, python or shell.

# Room names become target names (framework/torch -> memtape_framework_torch); targets with :: stay as they are.
# A room that is used must be there already, which holds the order of MEMTAPE_ROOMS at configure time.
function(memtape_use target visibility)
  foreach(used IN LISTS ARGN)
    if(used MATCHES "::")
      target_link_libraries(${target} ${visibility} ${used})
      continue()
    endif()
    string(REPLACE "/" "_" room "memtape_${used}")
    if(NOT TARGET ${room})
      message(FATAL_ERROR "${target} uses the room ${used}, which does not come before it in MEMTAPE_ROOMS")
    endif()
    target_link_libraries(${target} ${visibility} ${room})
  endforeach()
endfunction()

add_library(memtape_fmt STATIC ${CMAKE_CURRENT_LIST_DIR}/fmt.cpp)
target_include_directories(memtape_fmt SYSTEM PUBLIC $<TARGET_PROPERTY:fmt::fmt-header-only,INTERFACE_INCLUDE_DIRECTORIES>)

# One set of precompiled headers for everything, and one for the tests, which all include GoogleTest:
#   memtape_precompile(TARGET SET HEADERS headers beside the common ones, LIBRARIES theirs)
set(precompiled_header ${CMAKE_CURRENT_LIST_DIR}/precompiled.h)
function(memtape_precompile target headers_of)
  cmake_parse_arguments(PARSE_ARGV 2 PRECOMPILE "" "" "HEADERS;LIBRARIES")
  if(MEMTAPE_PRECOMPILED_HEADERS)
    if(NOT TARGET ${headers_of})
      file(CONFIGURE OUTPUT ${headers_of}.cpp CONTENT "")
      add_library(${headers_of} STATIC ${CMAKE_CURRENT_BINARY_DIR}/${headers_of}.cpp)
      target_link_libraries(${headers_of} PRIVATE memtape_flags memtape_fmt tl::expected ${PRECOMPILE_LIBRARIES})
      target_precompile_headers(${headers_of} PRIVATE ${precompiled_header} ${PRECOMPILE_HEADERS})
    endif()
    target_precompile_headers(${target} REUSE_FROM ${headers_of})
  endif()
endfunction()

# For those who build to use, the files of a target are compiled together, in batches (MEMTAPE_UNITY).
function(memtape_in_batches target)
  if(MEMTAPE_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${MEMTAPE_UNITY_FILES} UNITY_BUILD_UNIQUE_ID "")
  endif()
endfunction()

function(memtape_room NAME)
  cmake_parse_arguments(PARSE_ARGV 1 ROOM "" "" "SOURCES;USES")
  string(REPLACE "/" "_" target "memtape_${NAME}")
  set(visibility PUBLIC)
  if(ROOM_SOURCES)
    add_library(${target} STATIC ${ROOM_SOURCES})
    set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ${MEMTAPE_FUZZ})
    target_link_libraries(${target} PRIVATE memtape_flags memtape_fmt)
    if(MEMTAPE_FUZZ AND NOT NAME IN_LIST MEMTAPE_READING_ROOMS)
      # Clang refuses headers that were precompiled at another level.
      target_compile_options(${target} PRIVATE -O0)
    else()
      if(NOT NAME IN_LIST MEMTAPE_HOT_ROOMS)
        target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
      endif()
      memtape_precompile(${target} memtape_precompiled)
    endif()
    memtape_in_batches(${target})
  else()
    add_library(${target} INTERFACE)
    set(visibility INTERFACE)
  endif()
  target_include_directories(${target} ${visibility} ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${target} ${visibility} tl::expected)
  memtape_use(${target} ${visibility} ${ROOM_USES})
endfunction()

function(memtape_program target)
  cmake_parse_arguments(PARSE_ARGV 1 PROGRAM "" "" "SOURCES;USES")
  add_executable(${target} ${PROGRAM_SOURCES})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${target} PRIVATE memtape_flags memtape_fmt)
  memtape_use(${target} PRIVATE ${PROGRAM_USES})
endfunction()

function(memtape_test NAME)
  memtape_program(${NAME} ${ARGN})
  target_link_libraries(${NAME} PRIVATE GTest::gmock GTest::gtest_main)
  memtape_in_batches(${NAME})
  memtape_precompile(${NAME} memtape_precompiled_tests HEADERS <gmock/gmock.h> <gtest/gtest.h> LIBRARIES GTest::gmock)
  target_compile_definitions(${NAME} PRIVATE MEMTAPE_TEST_DIR="${PROJECT_SOURCE_DIR}/tests")
  add_test(NAME ${NAME} COMMAND ${NAME})
endfunction()

# The fuzz targets live in the build folder of the fuzz preset; any other build only knows how to run them.
function(memtape_fuzz NAME)
  if(MEMTAPE_FUZZ)
    memtape_program(fuzz_${NAME} ${ARGN})
    target_link_options(fuzz_${NAME} PRIVATE -fsanitize=fuzzer)
    set_target_properties(fuzz_${NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  else()
    add_test(NAME fuzz.${NAME} COMMAND ${PROJECT_SOURCE_DIR}/scripts/run_fuzz.sh ${NAME})
    set_tests_properties(fuzz.${NAME} PROPERTIES SKIP_RETURN_CODE 77 LABELS fuzz)
  endif()
endfunction()

# A script whose exit status is the result; 77 stands for "cannot be tried here".
function(memtape_script_test NAME LABEL SCRIPT)
  set(command ${PROJECT_SOURCE_DIR}/${SCRIPT} ${ARGN})
  if(SCRIPT MATCHES "[.]py$")
    list(PREPEND command ${Python3_EXECUTABLE})
  endif()
  add_test(NAME ${NAME} COMMAND ${command})
  set_tests_properties(${NAME} PROPERTIES LABELS ${LABEL} SKIP_RETURN_CODE 77)
endfunction()

function(memtape_bench NAME)
  memtape_program(${NAME} ${ARGN})
  target_link_libraries(${NAME} PRIVATE benchmark::benchmark_main)
endfunction()
