# SPDX-License-Identifier: LGPL-3.0-or-later
# The kinds of target there are. A layer sees only the layers it names in DEPS, because each
# layer exposes its headers only through a private include root of its own (see xec_layer).

add_library(xec_options INTERFACE)
target_compile_options(xec_options INTERFACE -Wall -Wextra -Wshadow -Wconversion -Wold-style-cast
                       -Wnon-virtual-dtor -Woverloaded-virtual)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 reports members of coroutine frames as maybe uninitialised and as null: known false alarms.
  target_compile_options(xec_options INTERFACE -Wno-maybe-uninitialized -fcoroutines)
endif()
if(XEC_WERROR)
  target_compile_options(xec_options INTERFACE -Werror)
endif()
# Every file, whether it sees XRootD's headers, which want this, or not: so precompiled headers are the same for all.
target_compile_definitions(xec_options INTERFACE _FILE_OFFSET_BITS=64)
if(XEC_MUTANTS)
  target_compile_definitions(xec_options INTERFACE XEC_MUTANTS=1)
endif()
if(XEC_SANITIZE)
  target_compile_options(xec_options INTERFACE -fsanitize=${XEC_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(xec_options INTERFACE -fsanitize=${XEC_SANITIZE})
  # With them g++ 12 takes the buffer for short strings in a temporary for all of its text.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(xec_options INTERFACE -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
  endif()
endif()
if(XEC_SANITIZE MATCHES "undefined")
  # g++ needs twice the time for a coroutine whose every pointer is checked. Null pointers stop AddressSanitizer as well; where
  # bytes may be read through pointers of another alignment everything is checked.
  set(all_checks xec_base xec_runtime xec_codec xec_archive xec_server xec_placement xec_protocol)
  target_compile_options(xec_options INTERFACE
    "$<$<NOT:$<IN_LIST:$<TARGET_PROPERTY:NAME>,${all_checks}>>:-fno-sanitize=null,alignment>")
endif()

# Tests themselves need not be fast: -O1 takes the compiler less time. What they test is compiled as ever.
set(XEC_TEST_OPTIONS $<$<CONFIG:RelWithDebInfo>:-O1>)

# Headers of the standard library, of fmt and of GoogleTest are read once, not once for each file. None of ours are: what a
# layer may include is not changed by this, and a file compiles without as well (-DXEC_PCH=OFF), so it names what it uses.
# There are two sets, since g++ wants the flags with which a set was made: of libraries, and of programs with tests.
function(xec_header_set name)
  add_library(${name} OBJECT EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/cmake/precompiled.cc)
  target_link_libraries(${name} PRIVATE xec_options fmt::fmt Threads::Threads ${ARGN})
  target_precompile_headers(${name} PRIVATE ${CMAKE_SOURCE_DIR}/cmake/${name}.hh)
  target_compile_options(${name} PRIVATE -fpch-preprocess)
endfunction()
function(xec_use_header_set target name)
  if(XEC_PCH)
    target_precompile_headers(${target} REUSE_FROM ${name})
    # So that ccache sees what of the set matters.
    target_compile_options(${target} PRIVATE -fpch-preprocess)
  endif()
endfunction()
if(XEC_PCH)
  xec_header_set(library_headers)
  xec_header_set(test_headers GTest::gtest GTest::gmock)
  # As the programs, below.
  set_target_properties(test_headers PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(test_headers PRIVATE ${XEC_TEST_OPTIONS})
endif()

# xec_layer(name SOURCES a.cc ... [DEPS layer ...] [INNER layer ...] [LIBS target ...])
#
# Makes the object library xec_<name> from src/<name>. Headers are included as "<name>/x.hh". So that a
# forbidden include does not compile, each layer publishes one directory, <build>/include/<name>, that
# holds only a link <name> -> src/<name>; a layer sees those of its DEPS and of nothing else. INNER layers are
# seen by the layer itself, and not by those that depend on it.
function(xec_layer name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;INNER;LIBS" ${ARGN})
  set(root ${CMAKE_BINARY_DIR}/include/${name})
  file(MAKE_DIRECTORY ${root})
  file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR} ${root}/${name} SYMBOLIC)
  add_library(xec_${name} STATIC ${ARG_SOURCES})
  target_include_directories(xec_${name} PUBLIC ${root})
  target_link_libraries(xec_${name} PRIVATE xec_options PUBLIC fmt::fmt Threads::Threads)
  foreach(dep ${ARG_DEPS})
    target_link_libraries(xec_${name} PUBLIC xec_${dep})
  endforeach()
  foreach(dep ${ARG_INNER})
    target_link_libraries(xec_${name} PRIVATE xec_${dep})
  endforeach()
  if(ARG_LIBS)
    target_link_libraries(xec_${name} PUBLIC ${ARG_LIBS})
  endif()
  xec_use_header_set(xec_${name} library_headers)
endfunction()

# xec_program(name SOURCES main.cc ... [DEPS layer ...] [LIBS target ...])
# A program; its headers are not precompiled, since position-independent libraries need other ones.
function(xec_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;LIBS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE xec_options fmt::fmt ${ARG_LIBS})
  foreach(dep ${ARG_DEPS})
    target_link_libraries(${name} PRIVATE xec_${dep})
  endforeach()
endfunction()

# Sanitizers slow programs down as many times as this, at the worst.
set(XEC_TEST_PATIENCE 1)
if(XEC_SANITIZE)
  set(XEC_TEST_PATIENCE 8)
endif()

# How long CTest waits for a test: `seconds` in an ordinary build.
function(xec_test_limit name seconds)
  math(EXPR limit "${seconds} * ${XEC_TEST_PATIENCE}")
  set_tests_properties(${name} PROPERTIES TIMEOUT ${limit})
endfunction()

# xec_test_support(name SOURCES a.cc ... DEPS layer ...)
# The library xec_<name> of what several test files, or those of several layers, share (xec_test(... DEPS name)).
function(xec_test_support name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_library(xec_${name} STATIC EXCLUDE_FROM_ALL ${ARG_SOURCES})
  set_target_properties(xec_${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(xec_${name} PRIVATE ${XEC_TEST_OPTIONS})
  target_link_libraries(xec_${name} PRIVATE xec_options PUBLIC GTest::gtest)
  foreach(dep ${ARG_DEPS})
    target_link_libraries(xec_${name} PUBLIC xec_${dep})
  endforeach()
  xec_use_header_set(xec_${name} test_headers)
endfunction()

# xec_test(name LABEL unit SOURCES a_test.cc ... [APART b_test.cc ...] [DEPS layer ...] [LIBS target ...])
# A GoogleTest program registered with CTest under LABEL. It checks the order of its locks. Eight of its files at a time are
# compiled as one, which halves the time, since all of them include the same headers of ours (-DXEC_UNITY=OFF: each alone). Those
# that are APART are always compiled alone: a name in them is also one in another file, or hides one of a header from others.
function(xec_test name)
  cmake_parse_arguments(ARG "" "LABEL;TIMEOUT" "SOURCES;APART;DEPS;LIBS" ${ARGN})
  if(NOT ARG_LABEL)
    set(ARG_LABEL unit)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  add_executable(${name} ${ARG_SOURCES} ${ARG_APART})
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF UNITY_BUILD ${XEC_UNITY}
                        UNITY_BUILD_BATCH_SIZE 8)
  set_source_files_properties(${ARG_APART} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  target_compile_options(${name} PRIVATE ${XEC_TEST_OPTIONS})
  target_link_libraries(${name} PRIVATE xec_options xec_lock_order_checked GTest::gtest GTest::gmock GTest::gtest_main ${ARG_LIBS})
  xec_use_header_set(${name} test_headers)
  foreach(dep ${ARG_DEPS})
    target_link_libraries(${name} PRIVATE xec_${dep})
  endforeach()
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS ${ARG_LABEL})
  xec_test_limit(${name} ${ARG_TIMEOUT})
endfunction()
