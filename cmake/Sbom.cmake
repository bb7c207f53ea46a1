# What is linked into the programs: sbom/kuryr-cni.spdx.json (SPDX 2.3).
set(programs)
foreach(program IN ITEMS kuryr-cni kuryr-daemon kuryr-controller kuryr-devices)
  list(APPEND programs $<TARGET_FILE:${program}>)
endforeach()
set(sbom ${PROJECT_BINARY_DIR}/sbom/kuryr-cni.spdx.json)
set(recipe ${PROJECT_SOURCE_DIR}/cmake/sbom)
add_custom_command(OUTPUT ${sbom}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/sbom
  COMMAND ${PYTHON3} ${recipe} ${PROJECT_VERSION} ${KURYR_RELEASED} ${programs} > ${sbom}
  DEPENDS kuryr-cni kuryr-daemon kuryr-controller kuryr-devices ${recipe} VERBATIM)
add_custom_target(sbom ALL DEPENDS ${sbom})
