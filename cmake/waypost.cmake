# Flags and the three ways to declare something: a room (library), a test of a room, a program.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1")
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g1")
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

set(WAYPOST_SANITIZE "" CACHE STRING "Sanitizers to build with, e.g. address,undefined or thread")
# Where a preset compiles several files as one (the sanitizers' builds, in half the time); names in their
# anonymous namespaces must then differ within a folder.
set(CMAKE_UNITY_BUILD_BATCH_SIZE 6)
option(WAYPOST_FUZZ "Build the libFuzzer targets (clang)" OFF)
option(WAYPOST_MUTANTS "Compile the planted bugs of tests/mutants in, each off until named" OFF)

find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # ccache must be told that a precompiled header does not make a file uncacheable.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      "${CMAKE_COMMAND};-E;env;CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime;${CCACHE}")
endif()
find_program(MOLD mold)
if(MOLD)
  add_link_options(-fuse-ld=mold)
endif()

add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Werror
                    -fno-omit-frame-pointer -ffile-prefix-map=${CMAKE_SOURCE_DIR}=.)
if(WAYPOST_SANITIZE)
  add_compile_options(-fsanitize=${WAYPOST_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${WAYPOST_SANITIZE})
  if(WAYPOST_SANITIZE MATCHES "thread")
    # TSan does not model Asio's fences; Asio's own mutexes order what they order.
    add_compile_options(-Wno-tsan)
  endif()
endif()
if(WAYPOST_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all)
  add_link_options(-fsanitize=address,undefined)
endif()
if(WAYPOST_MUTANTS)
  add_compile_definitions(WAYPOST_MUTANTS=1)
endif()

find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(Protobuf REQUIRED)
find_package(RocksDB REQUIRED)
find_package(Boost 1.74 REQUIRED)
find_package(spdlog REQUIRED)
find_package(GTest REQUIRED)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(systemd REQUIRED IMPORTED_TARGET libsystemd)
pkg_check_modules(prometheus REQUIRED IMPORTED_TARGET prometheus-cpp-core)
pkg_check_modules(tomlplusplus REQUIRED IMPORTED_TARGET tomlplusplus)
pkg_check_modules(grpc REQUIRED IMPORTED_TARGET grpc++)

# One precompiled header for all rooms and one for all tests. Not in release builds: there g++ 12 warns of moved
# strings that come out of one, wrongly, and no warning is switched off for that.
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-fpch-preprocess)
endif()
foreach(kind room test)
  add_library(waypost_pch_${kind} OBJECT "${CMAKE_SOURCE_DIR}/cmake/pch_${kind}.cc")
  target_include_directories(waypost_pch_${kind} PRIVATE "${CMAKE_SOURCE_DIR}")
  target_precompile_headers(waypost_pch_${kind} PRIVATE "${CMAKE_SOURCE_DIR}/cmake/pch_${kind}.h")
endforeach()
target_link_libraries(waypost_pch_test PRIVATE GTest::gtest GTest::gmock)

# waypost_protos(TARGET FILE...): generates C++ for the .proto files of this folder into TARGET.
# Includes are written from the top: #include "model/transaction.pb.h".
function(waypost_protos target)
  foreach(proto ${ARGN})
    string(REGEX REPLACE "\\.proto$" "" name "${proto}")
    file(RELATIVE_PATH dir "${CMAKE_SOURCE_DIR}" "${CMAKE_CURRENT_SOURCE_DIR}")
    set(out "${CMAKE_BINARY_DIR}/generated/${dir}/${name}")
    add_custom_command(
      OUTPUT "${out}.pb.cc" "${out}.pb.h"
      COMMAND ${CMAKE_COMMAND} -E make_directory "${CMAKE_BINARY_DIR}/generated"
      COMMAND protobuf::protoc --cpp_out=${CMAKE_BINARY_DIR}/generated -I ${CMAKE_SOURCE_DIR}
              "${CMAKE_CURRENT_SOURCE_DIR}/${proto}"
      DEPENDS "${proto}" VERBATIM)
    target_sources(${target} PRIVATE "${out}.pb.cc")
    set_source_files_properties("${out}.pb.cc" PROPERTIES COMPILE_OPTIONS "-w")
  endforeach()
  target_include_directories(${target} SYSTEM PUBLIC "${CMAKE_BINARY_DIR}/generated")
  target_link_libraries(${target} PUBLIC protobuf::libprotobuf)
endfunction()

# waypost_room(NAME LINK...): the library waypost_NAME of every .cc of this folder (and below it).
function(waypost_room name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cc")
  list(FILTER sources EXCLUDE REGEX "/main\\.cc$")
  if(NOT sources)  # a room that has headers only, so far
    file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/empty.cc" "")
    set(sources "${CMAKE_CURRENT_BINARY_DIR}/empty.cc")
  endif()
  add_library(waypost_${name} STATIC ${sources})
  target_include_directories(waypost_${name} PUBLIC "${CMAKE_SOURCE_DIR}")
  target_link_libraries(waypost_${name} PUBLIC ${ARGN} Threads::Threads)
  target_precompile_headers(waypost_${name} REUSE_FROM waypost_pch_room)
endfunction()

# waypost_test(NAME LINK...): one GoogleTest program NAME of every *_test.cc of this folder; its
# other .cc files are helpers. One program a folder keeps the number of links small.
function(waypost_test name)
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cc")
  add_executable(${name} ${sources})
  target_link_libraries(${name} PRIVATE ${ARGN} GTest::gtest GTest::gmock GTest::gtest_main)
  target_precompile_headers(${name} REUSE_FROM waypost_pch_test)
  target_compile_definitions(${name} PRIVATE
    WAYPOST_SOURCE_DIR="${CMAKE_SOURCE_DIR}" WAYPOST_BINARY_DIR="${CMAKE_BINARY_DIR}")
  add_test(NAME ${name} COMMAND ${name})
  # Unit tests run under ASan+UBSan too; what needs the kernel or a cluster runs in the release build alone.
  if(NOT CMAKE_CURRENT_SOURCE_DIR MATCHES "/tests/(kernel|cluster|bench)$")
    set_property(TEST ${name} APPEND PROPERTY LABELS asan)
    add_dependencies(asan_tests ${name})
  endif()
endfunction()

# waypost_threads(NAME): threads meet in this test, so it runs under TSan too.
function(waypost_threads name)
  set_property(TEST ${name} APPEND PROPERTY LABELS tsan)
  add_dependencies(tsan_tests ${name})
endfunction()
