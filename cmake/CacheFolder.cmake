# What is built or compiled once for all clones of a user.
if(DEFINED ENV{KURYR_CACHE_DIR})
  set(KURYR_CACHE_DIR $ENV{KURYR_CACHE_DIR})
elseif(DEFINED ENV{XDG_CACHE_HOME})
  set(KURYR_CACHE_DIR $ENV{XDG_CACHE_HOME}/kuryr-cni)
else()
  set(KURYR_CACHE_DIR $ENV{HOME}/.cache/kuryr-cni)
endif()
