# Man pages and the shells' completion, of what the programs and etc/kuryr.conf say of themselves: in man/ and completion/.
find_program(PYTHON3 python3 REQUIRED)
set(recipe ${PROJECT_SOURCE_DIR}/cmake/man-page)
set(made)
foreach(program IN ITEMS kuryr-cni kuryr-daemon kuryr-controller kuryr-devices)
  set(page ${PROJECT_BINARY_DIR}/man/${program}.8)
  set(words ${PROJECT_BINARY_DIR}/completion)
  set(scripts ${words}/${program} ${words}/${program}.fish ${words}/_${program})
  add_custom_command(OUTPUT ${page} ${scripts}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/man ${words}
    COMMAND ${PYTHON3} ${recipe} ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:${program}> > ${page}
    COMMAND ${program} completion bash > ${words}/${program}
    COMMAND ${program} completion fish > ${words}/${program}.fish
    COMMAND ${program} completion zsh > ${words}/_${program}
    DEPENDS ${program} ${recipe} VERBATIM)
  list(APPEND made ${page} ${scripts})
endforeach()
set(page ${PROJECT_BINARY_DIR}/man/kuryr.conf.5)
set(conf ${PROJECT_SOURCE_DIR}/etc/kuryr.conf)
add_custom_command(OUTPUT ${page}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/man
  COMMAND ${PYTHON3} ${recipe} ${conf} > ${page}
  DEPENDS ${conf} ${recipe} ${PROJECT_SOURCE_DIR}/CHANGELOG.md VERBATIM)
add_custom_target(man ALL DEPENDS ${made} ${page})
