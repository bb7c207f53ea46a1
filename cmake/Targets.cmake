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
  $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wthread-safety>)

# kuryr_precompile(NAME HEADER... DEPENDS target...): precompiled headers, which the libraries and tests of debug builds share:
# half of a file's compile time.
if(CMAKE_BUILD_TYPE STREQUAL "Debug")
  set(KURYR_PRECOMPILE ON)
endif()
function(kuryr_precompile name)
  cmake_parse_arguments(ARG "" "" "DEPENDS" ${ARGN})
  if(NOT KURYR_PRECOMPILE)
    return()
  endif()
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/${name}.cc CONTENT "")
  add_library(${name} OBJECT EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/${name}.cc)
  target_link_libraries(${name} PRIVATE kuryr_options ${ARG_DEPENDS})
  target_precompile_headers(${name} PRIVATE ${ARG_UNPARSED_ARGUMENTS})
endfunction()
function(kuryr_precompiled target name)
  if(KURYR_PRECOMPILE)
    target_precompile_headers(${target} REUSE_FROM ${name})
  endif()
endfunction()

# In a unity build a library or program is one file to the compiler.
set(KURYR_ALL_IN_ONE UNITY_BUILD_BATCH_SIZE 0)

# kuryr_library(NAME SOURCES file... DEPENDS target...): a folder's library, kuryr::NAME.
function(kuryr_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;PRIVATE" ${ARGN})
  add_library(kuryr_${name} STATIC ${ARG_SOURCES})
  add_library(kuryr::${name} ALIAS kuryr_${name})
  set_target_properties(kuryr_${name} PROPERTIES ${KURYR_ALL_IN_ONE})
  target_link_libraries(kuryr_${name} PUBLIC kuryr_options ${ARG_DEPENDS} PRIVATE ${ARG_PRIVATE})
  kuryr_precompiled(kuryr_${name} kuryr_headers)
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
    execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=${file}
      OUTPUT_VARIABLE path OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
    if(file MATCHES "end|crtn")
      list(APPEND KURYR_END_FILES ${path})
    else()
      list(APPEND KURYR_START_FILES ${path})
    endif()
  endforeach()
endif()

# kuryr_program(NAME SOURCES file... DEPENDS target...): a program in bin/.
function(kuryr_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  set_target_properties(${name} PROPERTIES ${KURYR_ALL_IN_ONE})
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

# kuryr_test(NAME LABEL unit|netns|ovs|e2e|limits|threads... SOURCES file... DEPENDS target... PROGRAMS target...): a GoogleTest
# program, which executes PROGRAMS; ctest runs each of its tests by itself, selected by label.
function(kuryr_test name)
  cmake_parse_arguments(ARG "" "" "LABEL;SOURCES;DEPENDS;PROGRAMS" ${ARGN})
  if(NOT ARG_LABEL MATCHES "${KURYR_TEST_LABELS}")
    return()
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE kuryr_options ${ARG_DEPENDS} GTest::gmock GTest::gtest_main)
  if(ARG_PROGRAMS)
    add_dependencies(${name} ${ARG_PROGRAMS})
  endif()
  kuryr_precompiled(${name} kuryr_test_headers)
  # A list would be taken apart; ctest looks for a label by regular expression.
  list(JOIN ARG_LABEL "+" label)
  gtest_discover_tests(${name} PROPERTIES LABELS ${label} DISCOVERY_MODE PRE_TEST)
  if(KURYR_STATIC)
    # The optimiser's time is for what is shipped.
    target_compile_options(${name} PRIVATE -O0 -U_FORTIFY_SOURCE)
    add_dependencies(kernel_tests ${name})
  endif()
endfunction()

# kuryr_fuzz(NAME SOURCES file... DEPENDS target...): a libFuzzer program, built by preset fuzz.
function(kuryr_fuzz name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE kuryr_options ${ARG_DEPENDS})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
endfunction()
