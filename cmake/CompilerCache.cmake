# What was compiled before, in this clone or another, comes from ccache where that is installed.
find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  set(cache env CCACHE_DIR=${KURYR_CACHE_DIR}/ccache CCACHE_MAXSIZE=3G CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
    CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_DEPEND=1)
  set(CMAKE_C_COMPILER_LAUNCHER ${cache} ${CCACHE_PROGRAM})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${cache} ${CCACHE_PROGRAM})
  add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    set(CMAKE_CXX_COMPILER_LAUNCHER ${cache} CCACHE_PCH_EXTSUM=1 CCACHE_PREFIX=${PROJECT_SOURCE_DIR}/cmake/with-header
      ${PROJECT_SOURCE_DIR}/cmake/compile)
    # ccache knows a precompiled header by this option alone.
    set(CMAKE_CXX_COMPILE_OPTIONS_USE_PCH -include-pch <PCH_FILE>)
    # The debug information of a cached compilation would name the folder of the clone that it is from.
    add_compile_options(-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=)
  endif()
endif()
