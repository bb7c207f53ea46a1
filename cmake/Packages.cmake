# Debian packages, by cpack -G DEB: kuryr-common (kuryr.conf), kuryr-cni (the node's part), kuryr-controller,
# kuryr-devices.
function(kuryr_package name)
  cmake_parse_arguments(ARG "" "SUMMARY;DEPENDS;SERVICE;UNITS;LEFTOVERS" "PROGRAMS;PLUGINS;PAGES;EXTRAS" ${ARGN})
  install(PROGRAMS ${ARG_PROGRAMS} DESTINATION /usr/sbin COMPONENT ${name})
  install(PROGRAMS ${ARG_PLUGINS} DESTINATION /opt/cni/bin COMPONENT ${name})
  foreach(page IN LISTS ARG_PAGES)
    string(REGEX MATCH "[0-9]$" section ${page})
    install(FILES ${PROJECT_BINARY_DIR}/man/${page} DESTINATION /usr/share/man/man${section} COMPONENT ${name})
  endforeach()
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE RENAME copyright DESTINATION /usr/share/doc/${name} COMPONENT ${name})
  install(FILES ${PROJECT_SOURCE_DIR}/CHANGELOG.md DESTINATION /usr/share/doc/${name} COMPONENT ${name})
  string(TOUPPER ${name} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name} PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS "${ARG_DEPENDS}" PARENT_SCOPE)
  set(CPACK_COMPONENT_${upper}_DESCRIPTION "${ARG_SUMMARY}" PARENT_SCOPE)
  set(control ${ARG_EXTRAS})
  if(ARG_SERVICE)
    set(service ${ARG_SERVICE})
    set(units ${ARG_UNITS})
    set(leftovers ${ARG_LEFTOVERS})
    foreach(script IN ITEMS postinst prerm postrm)
      configure_file(etc/debian/${script}.in ${PROJECT_BINARY_DIR}/debian/${name}/${script} @ONLY
        FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
      list(APPEND control ${PROJECT_BINARY_DIR}/debian/${name}/${script})
    endforeach()
  endif()
  set(CPACK_DEBIAN_${upper}_PACKAGE_CONTROL_EXTRA "${control}" PARENT_SCOPE)
endfunction()

set(same "(= ${PROJECT_VERSION})")
set(built ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
set(unit_folder /usr/lib/systemd/system)
file(WRITE ${PROJECT_BINARY_DIR}/debian/conffiles "/etc/kuryr/kuryr.conf\n")
kuryr_package(kuryr-common
  SUMMARY "kuryr.conf\n What the node's programs and kuryr-controller are told, with every option's default."
  PAGES kuryr.conf.5 EXTRAS ${PROJECT_BINARY_DIR}/debian/conffiles)
install(FILES etc/kuryr.conf DESTINATION /etc/kuryr COMPONENT kuryr-common)
install(FILES ${sbom} DESTINATION /usr/share/doc/kuryr-common COMPONENT kuryr-common)
kuryr_package(kuryr-cni
  SUMMARY "plugs Kubernetes pods into Open vSwitch, OVN, Neutron, a bridge or a VLAN\n The CNI plugin kuryr-cni, and the node's agent kuryr-daemon."
  DEPENDS "kuryr-common ${same}"
  SERVICE kuryr-daemon UNITS "kuryr-daemon.service kuryr-daemon.socket" LEFTOVERS /var/log/kuryr
  PROGRAMS ${built}/kuryr-daemon PLUGINS ${built}/kuryr-cni PAGES kuryr-cni.8 kuryr-daemon.8)
# Debian's containerd looks for plugins there.
file(CREATE_LINK ../../../opt/cni/bin/kuryr-cni ${PROJECT_BINARY_DIR}/debian/kuryr-cni/plugin SYMBOLIC)
install(FILES ${PROJECT_BINARY_DIR}/debian/kuryr-cni/plugin RENAME kuryr-cni DESTINATION /usr/lib/cni COMPONENT kuryr-cni)
install(FILES etc/kuryr-daemon.service etc/kuryr-daemon.socket DESTINATION ${unit_folder} COMPONENT kuryr-cni)
install(FILES etc/10-kuryr.conflist etc/10-kuryr-local.conflist DESTINATION /usr/share/doc/kuryr-cni/examples COMPONENT kuryr-cni)
kuryr_package(kuryr-controller
  SUMMARY "writes the plans of a cluster's pods for kuryr-cni\n Which VIFs each pod gets, with addresses of pools."
  DEPENDS "kuryr-common ${same}"
  SERVICE kuryr-controller UNITS kuryr-controller.service LEFTOVERS /var/log/kuryr-controller
  PROGRAMS ${built}/kuryr-controller PAGES kuryr-controller.8)
install(FILES etc/kuryr-controller.service DESTINATION ${unit_folder} COMPONENT kuryr-controller)
kuryr_package(kuryr-devices
  SUMMARY "offers a node's devices to its kubelet\n Device plugins for SR-IOV's virtual functions, by sriov-network-device-plugin's config.json."
  DEPENDS "kuryr-common ${same}"
  SERVICE kuryr-devices UNITS kuryr-devices.service LEFTOVERS /var/log/kuryr-devices
  PROGRAMS ${built}/kuryr-devices PAGES kuryr-devices.8)
install(FILES etc/kuryr-devices.service DESTINATION ${unit_folder} COMPONENT kuryr-devices)
foreach(program IN ITEMS kuryr-cni kuryr-daemon kuryr-controller kuryr-devices)
  set(of ${program})
  if(program STREQUAL kuryr-daemon)
    set(of kuryr-cni)
  endif()
  set(words ${PROJECT_BINARY_DIR}/completion)
  install(FILES ${words}/${program} DESTINATION /usr/share/bash-completion/completions COMPONENT ${of})
  install(FILES ${words}/${program}.fish DESTINATION /usr/share/fish/vendor_completions.d COMPONENT ${of})
  install(FILES ${words}/_${program} DESTINATION /usr/share/zsh/vendor-completions COMPONENT ${of})
endforeach()

set(CPACK_GENERATOR DEB)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL kuryr-common kuryr-cni kuryr-controller kuryr-devices)
set(CPACK_INSTALL_PREFIX /)
set(CPACK_SET_DESTDIR ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE gzip)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "kuryr-cni maintainers")
set(CPACK_DEBIAN_PACKAGE_SECTION net)
include(CPack)
