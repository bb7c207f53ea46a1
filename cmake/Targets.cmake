# Warnings and include root shared by every target of the project.
add_library(kuryr_options INTERFACE)
target_include_directories(kuryr_options INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_definitions(kuryr_options INTERFACE KURYR_VERSION="${PROJECT_VERSION}")
target_link_libraries(kuryr_options INTERFACE nlohmann_json::nlohmann_json)
target_compile_options(kuryr_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wcast-qual -Wformat=2 -Wundef
  -Wno-missing-field-initializers
  $<$<COMPILE_LANGUAGE:CXX>:-Wold-style-cast>
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>
  $<$<COMPILE_LANGUAGE:CXX>:-Woverloaded-virtual>
  $<$<COMPILE_LANGUAGE:CXX>:-Wsuggest-override>
  $<$<CXX_COMPILER_ID:GNU>:-Wduplicated-cond>
  $<$<CXX_COMPILER_ID:GNU>:-Wlogical-op>
  # g++ 13 and later take every string argument that is built in a call for what a returned reference refers to.
  $<$<AND:$<COMPILE_LANG_AND_ID:CXX,GNU>,$<VERSION_GREATER_EQUAL:$<CXX_COMPILER_VERSION>,13>>:-Wno-dangling-reference>
  $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wthread-safety>)

# The optimiser's time is for what is shipped; fuzzing is led by its branches, not by a test's.
set(KURYR_TEST_OPTIONS -O0 -U_FORTIFY_SOURCE)
if(KURYR_FUZZ)
  set(KURYR_UNGUIDED -fno-sanitize=fuzzer-no-link -fno-sanitize-coverage=inline-8bit-counters,pc-table)
  list(APPEND KURYR_TEST_OPTIONS ${KURYR_UNGUIDED})
endif()

# kuryr_precompile(NAME HEADER... DEPENDS target... OPTIONS option...): precompiled headers, which the libraries and tests of debug
# builds share: half of a file's compile time.
if(CMAKE_BUILD_TYPE STREQUAL "Debug")
  set(KURYR_PRECOMPILE ON)
endif()
function(kuryr_precompile name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;OPTIONS" ${ARGN})
  if(NOT KURYR_PRECOMPILE)
    return()
  endif()
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/${name}.cc CONTENT "")
  add_library(${name} OBJECT EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/${name}.cc)
  target_link_libraries(${name} PRIVATE kuryr_options ${ARG_DEPENDS})
  target_compile_options(${name} PRIVATE ${ARG_OPTIONS})
  target_precompile_headers(${name} PRIVATE ${ARG_UNPARSED_ARGUMENTS})
endfunction()
function(kuryr_precompiled target name)
  if(KURYR_PRECOMPILE)
    target_precompile_headers(${target} REUSE_FROM ${name})
  endif()
endfunction()

# kuryr_test_options(TARGET): of what is there for tests only.
function(kuryr_test_options target)
  target_compile_options(${target} PRIVATE ${KURYR_TEST_OPTIONS})
  kuryr_precompiled(${target} kuryr_test_headers)
endfunction()

option(KURYR_UNITY "Several files of a target are one to the compiler, which reads their headers once" OFF)

# kuryr_sources(OUT NAME file...): what target NAME compiles: with KURYR_UNITY, a file that includes all of its own. The paths in
# it are those of every clone, so that ccache knows it again; CMAKE_UNITY_BUILD's begin with the clone's folder.
function(kuryr_sources out name)
  set(files ${ARGN})
  list(LENGTH files count)
  if(NOT KURYR_UNITY OR count EQUAL 1)
    set(${out} ${files} PARENT_SCOPE)
    return()
  endif()
  set(compiled ${files})
  list(FILTER compiled EXCLUDE REGEX "\\.cc$")
  list(FILTER files INCLUDE REGEX "\\.cc$")
  file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  list(TRANSFORM files REPLACE "(.+)" "#include \"${folder}/\\1\"\n")
  list(JOIN files "" includes)
  file(CONFIGURE OUTPUT ${name}.cc CONTENT "${includes}" @ONLY)
  set(${out} ${compiled} ${CMAKE_CURRENT_BINARY_DIR}/${name}.cc PARENT_SCOPE)
endfunction()

# kuryr_library(NAME SOURCES file... DEPENDS target...): a folder's library, kuryr::NAME.
function(kuryr_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;PRIVATE" ${ARGN})
  kuryr_sources(sources ${name} ${ARG_SOURCES})
  add_library(kuryr_${name} STATIC ${sources})
  add_library(kuryr::${name} ALIAS kuryr_${name})
  target_link_libraries(kuryr_${name} PUBLIC kuryr_options ${ARG_DEPENDS} PRIVATE ${ARG_PRIVATE})
  kuryr_precompiled(kuryr_${name} kuryr_headers)
endfunction()

# kuryr_test_library(NAME SOURCES file... DEPENDS target...): what test programs share, kuryr::NAME.
function(kuryr_test_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  kuryr_sources(sources ${name} ${ARG_SOURCES})
  add_library(kuryr_${name} STATIC ${sources})
  add_library(kuryr::${name} ALIAS kuryr_${name})
  target_link_libraries(kuryr_${name} PUBLIC kuryr_options ${ARG_DEPENDS} GTest::gtest)
  kuryr_test_options(kuryr_${name})
endfunction()

# kuryr_test_program(NAME SOURCES file... DEPENDS target...): a program in bin/ that tests execute.
function(kuryr_test_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE kuryr_options ${ARG_DEPENDS} GTest::gtest)
  kuryr_test_options(${name})
endfunction()

# What is shipped says nothing of the folders that it was built in: two builds are the same bytes.
if(KURYR_STATIC)
  add_compile_options(-ffile-prefix-map=${KURYR_CACHE_DIR}=/usr/src -ffile-prefix-map=${PROJECT_SOURCE_DIR}=/usr/src/kuryr-cni)
  # What a program calls nowhere goes when it is linked.
  add_compile_options(-ffunction-sections -fdata-sections)
endif()

# gcc links static programs with crtbeginT.o, with which the first exception sorts all unwind tables: 6 ms. With crtbegin.o
# and a header of the tables, as in dynamic programs, it looks up the one it needs.
if(KURYR_STATIC)
  foreach(file IN ITEMS crt1.o crti.o crtbegin.o crtend.o crtn.o)
    execute_process(COMMAND ${CMAKE_CXX_COMPILER} ${KURYR_LIBRARIES_FIRST} -print-file-name=${file}
      OUTPUT_VARIABLE path OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
    if(file MATCHES "end|crtn")
      list(APPEND KURYR_END_FILES ${path})
    else()
      list(APPEND KURYR_START_FILES ${path})
    endif()
  endforeach()
endif()

# The linker writes one list of its inputs: for cmake/sbom, not for CMake 3.27 and later.
set(CMAKE_LINK_DEPENDS_USE_LINKER OFF)

# kuryr_program(NAME SOURCES file... DEPENDS target...): a program in bin/.
function(kuryr_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  kuryr_sources(sources ${name} ${ARG_SOURCES})
  add_executable(${name} ${sources})
  target_link_libraries(${name} PRIVATE kuryr_options ${ARG_DEPENDS})
  if(KURYR_STATIC)
    target_link_options(${name} PRIVATE -static -no-pie -nostartfiles ${KURYR_START_FILES} -Wl,--eh-frame-hdr -Wl,--gc-sections
      -Wl,-z,relro,-z,now -Wl,--dependency-file=$<TARGET_FILE:${name}>.inputs)
    target_link_libraries(${name} PRIVATE ${KURYR_END_FILES})
    # What is shipped is the program; its debug information lies beside it, found by debuggers.
    add_custom_command(TARGET ${name} POST_BUILD
      COMMAND ${CMAKE_OBJCOPY} --only-keep-debug $<TARGET_FILE:${name}> $<TARGET_FILE:${name}>.debug
      COMMAND ${CMAKE_STRIP} --strip-all $<TARGET_FILE:${name}>
      COMMAND ${CMAKE_OBJCOPY} --add-gnu-debuglink=$<TARGET_FILE:${name}>.debug $<TARGET_FILE:${name}>)
  endif()
endfunction()

# Of tests, only those with a label that matches.
set(KURYR_TEST_LABELS "" CACHE STRING "Regular expression: build only tests with such a label")
if(KURYR_STATIC AND BUILD_TESTING)
  add_custom_target(kernel_tests)
endif()

# kuryr_test(NAME LABEL unit|netns|ovs|e2e|kernel|limits|threads... SOURCES file... DEPENDS target... PROGRAMS target... SHARDS n): a
# GoogleTest program, which executes PROGRAMS. ctest, which selects by label, runs each of its tests by itself; with SHARDS, all
# in so many processes; those with label unit in one.
function(kuryr_test name)
  cmake_parse_arguments(ARG "" "SHARDS" "LABEL;SOURCES;DEPENDS;PROGRAMS" ${ARGN})
  if(NOT ARG_LABEL MATCHES "${KURYR_TEST_LABELS}")
    return()
  endif()
  kuryr_sources(sources ${name} ${ARG_SOURCES})
  add_executable(${name} ${sources})
  target_link_libraries(${name} PRIVATE kuryr_options kuryr_ignored_signals ${ARG_DEPENDS} GTest::gmock GTest::gtest_main)
  kuryr_test_options(${name})
  if(ARG_PROGRAMS)
    add_dependencies(${name} ${ARG_PROGRAMS})
  endif()
  # A list would be taken apart; ctest looks for a label by regular expression.
  list(JOIN ARG_LABEL "+" label)
  if(label MATCHES unit AND NOT ARG_SHARDS)
    set(ARG_SHARDS 1)
  endif()
  if(ARG_SHARDS)
    kuryr_shards(${name} ${label} ${ARG_SHARDS})
  else()
    gtest_discover_tests(${name} PROPERTIES LABELS ${label} DISCOVERY_MODE PRE_TEST)
  endif()
  if(KURYR_STATIC)
    add_dependencies(kernel_tests ${name})
  endif()
endfunction()

# With sanitizers a process costs 50 ms, more than most unit tests, and an API server 5 s, which a suite may share. What ctest
# knows as NAME.INDEX tells its tests in gtest/NAME.INDEX.xml. COST: these begin first, as they take longest.
function(kuryr_shards name label count)
  math(EXPR last "${count} - 1")
  foreach(index RANGE ${last})
    set(shard ${name}.${index})
    add_test(NAME ${shard} COMMAND ${name})
    set(environment GTEST_TOTAL_SHARDS=${count} GTEST_SHARD_INDEX=${index} GTEST_OUTPUT=xml:${PROJECT_BINARY_DIR}/gtest/${shard}.xml)
    set_tests_properties(${shard} PROPERTIES LABELS ${label} ENVIRONMENT "${environment}" COST 10 TIMEOUT 1800)
  endforeach()
endfunction()

# kuryr_fuzz(NAME SOURCES file... DEPENDS target...): a libFuzzer program, built by preset fuzz.
function(kuryr_fuzz name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE kuryr_options ${ARG_DEPENDS})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  kuryr_test_options(${name})
endfunction()
