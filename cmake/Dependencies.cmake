if(KURYR_STATIC)
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
  set(OPENSSL_USE_STATIC_LIBS ON)
endif()
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(ZLIB REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(spdlog REQUIRED)
# Header-only, fmt too: Debian has neither as a static library.
add_library(spdlog_headers INTERFACE)
target_compile_definitions(spdlog_headers INTERFACE SPDLOG_FMT_EXTERNAL FMT_HEADER_ONLY)
pkg_check_modules(NL REQUIRED IMPORTED_TARGET libnl-route-3.0 libnl-3.0)
pkg_check_modules(CAP_NG REQUIRED IMPORTED_TARGET libcap-ng)
pkg_check_modules(YAML_CPP REQUIRED IMPORTED_TARGET yaml-cpp)
pkg_check_modules(NGHTTP2 REQUIRED IMPORTED_TARGET libnghttp2)
pkg_check_modules(PROTOBUF REQUIRED IMPORTED_TARGET protobuf-lite)
find_program(PROTOC protoc REQUIRED)
if(BUILD_TESTING)
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()

# Libraries that Debian ships as source only: built once into the cache folder, keyed by version and recipe, and found
# again by every later configuration.
function(kuryr_cached_library script out_prefix)
  execute_process(
    COMMAND ${PROJECT_SOURCE_DIR}/cmake/${script} ${KURYR_CACHE_DIR} ${ARGN}
    OUTPUT_VARIABLE prefix OUTPUT_STRIP_TRAILING_WHITESPACE
    RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "cmake/${script} failed; its messages are above")
  endif()
  set(${out_prefix} ${prefix} PARENT_SCOPE)
endfunction()

if(CMAKE_CROSSCOMPILING)
  set(of_other_machine ${CMAKE_LIBRARY_ARCHITECTURE})
endif()
kuryr_cached_library(build-openvswitch OVS_PREFIX ${of_other_machine})
add_library(ovs::openvswitch STATIC IMPORTED)
set_target_properties(ovs::openvswitch PROPERTIES
  IMPORTED_LOCATION ${OVS_PREFIX}/lib/libopenvswitch.a
  INTERFACE_INCLUDE_DIRECTORIES "${OVS_PREFIX}/include;${OVS_PREFIX}/include/lib"
  INTERFACE_LINK_LIBRARIES "OpenSSL::SSL;OpenSSL::Crypto;Threads::Threads;atomic;m")

# Its undefined behaviour is not ours to find, and fuzzing is led by our branches; addresses are checked.
if(KURYR_FUZZ)
  set(KURYR_UNCHECKED -fno-sanitize=undefined ${KURYR_UNGUIDED})
endif()

kuryr_cached_library(unpack-httplib HTTPLIB_PREFIX)
add_library(httplib STATIC ${HTTPLIB_PREFIX}/httplib.cc)
target_include_directories(httplib SYSTEM PUBLIC ${HTTPLIB_PREFIX})
target_compile_definitions(httplib PUBLIC CPPHTTPLIB_OPENSSL_SUPPORT CPPHTTPLIB_ZLIB_SUPPORT
  # select(2) ends at descriptor 1023.
  CPPHTTPLIB_USE_POLL
  # Of a status, a header, or a chunk's size; headers end at 100. For 0.11 httplib.patch has both.
  CPPHTTPLIB_MAX_LINE_LENGTH=8192)
target_link_libraries(httplib PUBLIC OpenSSL::SSL OpenSSL::Crypto ZLIB::ZLIB Threads::Threads)
# std::regex recurses once for each byte, and overflows the stack of a build with sanitizers and without optimisation.
target_compile_options(httplib PRIVATE $<$<CONFIG:Debug>:-O1> ${KURYR_UNCHECKED})
set_target_properties(httplib PROPERTIES CXX_CLANG_TIDY "" COMPILE_WARNING_AS_ERROR OFF)

# Debian 12 has no static one.
find_library(SIMDJSON_STATIC libsimdjson_static.a)
if(SIMDJSON_STATIC)
  add_library(simdjson STATIC IMPORTED)
  set_target_properties(simdjson PROPERTIES IMPORTED_LOCATION ${SIMDJSON_STATIC})
else()
  kuryr_cached_library(unpack-simdjson SIMDJSON_PREFIX)
  add_library(simdjson STATIC EXCLUDE_FROM_ALL ${SIMDJSON_PREFIX}/simdjson.cpp)
  target_include_directories(simdjson SYSTEM PUBLIC ${SIMDJSON_PREFIX})
  # Its speed is its purpose, in debug builds too.
  target_compile_options(simdjson PRIVATE -O2 -w ${KURYR_UNCHECKED})
  set_target_properties(simdjson PROPERTIES CXX_CLANG_TIDY "")
endif()
