# Programs for arm64, of Debian's packages of that architecture, as a root of tests/roots/make has them.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
# Debian's glibc of that architecture has its updates, the cross compiler's own has not.
set(KURYR_LIBRARIES /usr/lib/aarch64-linux-gnu)
set(KURYR_LIBRARIES_FIRST -B${KURYR_LIBRARIES})
set(CMAKE_EXE_LINKER_FLAGS_INIT "${KURYR_LIBRARIES_FIRST} -L${KURYR_LIBRARIES}")
set(ENV{PKG_CONFIG_LIBDIR} ${KURYR_LIBRARIES}/pkgconfig:/usr/share/pkgconfig)
# Man pages are made of what the programs say, and tests are run.
set(CMAKE_CROSSCOMPILING_EMULATOR /usr/bin/qemu-aarch64-static)
set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
