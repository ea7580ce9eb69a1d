# What operators need: the binary and the plugins install themselves; beside them lies what pipeline files require.
include(GNUInstallDirs)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/lua/atalaya DESTINATION share/atalaya/lua)
# Definitions of all components for the Lua language server, printed by the agent that was built.
if(NOT CMAKE_CROSSCOMPILING AND NOT ATALAYA_FIRST_RUN)
  get_property(plugins GLOBAL PROPERTY ATALAYA_PLUGIN_TARGETS)
  set(meta ${PROJECT_BINARY_DIR}/generated/lua/meta)
  add_custom_command(
    OUTPUT ${meta}/atalaya.lua
    COMMAND ${CMAKE_COMMAND} -E make_directory ${meta}
    COMMAND $<TARGET_FILE:atalaya> plugins --stubs --plugins ${PROJECT_BINARY_DIR}/plugins > ${meta}/atalaya.lua
    DEPENDS atalaya ${plugins}
    VERBATIM)
  add_custom_target(editor_stubs ALL DEPENDS ${meta}/atalaya.lua)
  install(FILES ${meta}/atalaya.lua DESTINATION share/atalaya/lua/meta)
endif()
# A pipeline is in the package that has its plugins.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/pipelines DESTINATION share/atalaya
        PATTERN kafka.lua EXCLUDE PATTERN riemann.lua EXCLUDE PATTERN phases.lua EXCLUDE)
install(FILES ${PROJECT_SOURCE_DIR}/pipelines/phases.lua DESTINATION share/atalaya/pipelines COMPONENT analysis)
foreach(package kafka riemann)
  install(FILES ${PROJECT_SOURCE_DIR}/pipelines/${package}.lua DESTINATION share/atalaya/pipelines COMPONENT ${package})
endforeach()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples/btrace DESTINATION share/doc/atalaya/examples)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples/grafana DESTINATION share/doc/atalaya-analysis/examples COMPONENT analysis)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs/ DESTINATION share/doc/atalaya FILES_MATCHING PATTERN "*.md")
install(FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/packaging/debian/copyright DESTINATION share/doc/atalaya)

# From the binary's own tables: the manual page, completion, and the drop-ins of the unit, from what the plugins declare as needs.
set(pages ${PROJECT_BINARY_DIR}/pages)
set(drop_ins ${pages}/drop-ins)
get_property(plugin_targets GLOBAL PROPERTY ATALAYA_PLUGIN_TARGETS)
add_custom_command(
  OUTPUT ${pages}/stamp
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${pages}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${pages}
  COMMAND atalaya help man > ${pages}/atalaya.1
  COMMAND gzip -9n ${pages}/atalaya.1
  COMMAND gzip -9nc ${PROJECT_SOURCE_DIR}/CHANGELOG.md > ${pages}/changelog.gz
  COMMAND atalaya help bash > ${pages}/atalaya.bash
  COMMAND atalaya help zsh > ${pages}/_atalaya
  COMMAND atalaya help fish > ${pages}/atalaya.fish
  COMMAND atalaya doctor --plugins ${PROJECT_BINARY_DIR}/plugins --drop-ins ${drop_ins}
  COMMAND ${CMAKE_COMMAND} -E touch ${pages}/stamp
  DEPENDS atalaya ${plugin_targets} ${PROJECT_SOURCE_DIR}/CHANGELOG.md
  COMMENT "Writing the manual page, completion and drop-ins"
  VERBATIM)
add_custom_target(pages ALL DEPENDS ${pages}/stamp)
install(FILES ${pages}/atalaya.1.gz DESTINATION share/man/man1)
install(FILES ${pages}/changelog.gz DESTINATION share/doc/atalaya)
install(FILES ${pages}/atalaya.bash DESTINATION share/bash-completion/completions RENAME atalaya)
install(FILES ${pages}/_atalaya DESTINATION share/zsh/vendor-completions)
install(FILES ${pages}/atalaya.fish DESTINATION share/fish/vendor_completions.d)
install(DIRECTORY ${drop_ins} DESTINATION share/atalaya)

install(FILES ${PROJECT_SOURCE_DIR}/packaging/atalaya.service DESTINATION lib/systemd/system)
install(FILES ${PROJECT_SOURCE_DIR}/packaging/atalaya.sysusers DESTINATION lib/sysusers.d RENAME atalaya.conf)
# Not below the prefix, and not over what the operator has written: the packages and `./dev install` ask for it.
install(FILES ${PROJECT_SOURCE_DIR}/packaging/atalaya.lua DESTINATION /etc/atalaya COMPONENT etc EXCLUDE_FROM_ALL)

# What authors of plugins need: `cmake --install BUILD --component dev`.
include(CMakePackageConfigHelpers)

set(ATALAYA_PLUGIN_FOLDER lib/atalaya)
set(ATALAYA_LIBRARY_FOLDER lib)
set(ATALAYA_HEADER_FOLDER ${CMAKE_INSTALL_INCLUDEDIR}/atalaya-libraries)
set(config_folder ${CMAKE_INSTALL_DATADIR}/cmake/Atalaya)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/AtalayaConfig.cmake.in ${PROJECT_BINARY_DIR}/AtalayaConfig.cmake
                              INSTALL_DESTINATION ${config_folder} 
                              PATH_VARS CMAKE_INSTALL_INCLUDEDIR ATALAYA_PLUGIN_FOLDER ATALAYA_LIBRARY_FOLDER ATALAYA_HEADER_FOLDER)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/AtalayaConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/core/include/atalaya DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev)
# The libraries that plugins of this tree use most: Atalaya::base, Atalaya::match, Atalaya::procfs.
install(TARGETS atalaya_base atalaya_match atalaya_procfs ARCHIVE DESTINATION ${ATALAYA_LIBRARY_FOLDER} COMPONENT dev)
install(FILES ${PROJECT_SOURCE_DIR}/plugins/shared/io/samples/per_name.h DESTINATION ${ATALAYA_HEADER_FOLDER}/plugins/shared/io/samples COMPONENT dev)
foreach(folder core/base plugins/shared/io/match plugins/shared/host/procfs)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${folder}/ DESTINATION ${ATALAYA_HEADER_FOLDER}/${folder} COMPONENT dev
          FILES_MATCHING PATTERN "*.h")
endforeach()
install(FILES ${PROJECT_BINARY_DIR}/AtalayaConfig.cmake ${PROJECT_BINARY_DIR}/AtalayaConfigVersion.cmake
              ${PROJECT_SOURCE_DIR}/cmake/plugin.map
        DESTINATION ${config_folder} COMPONENT dev)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples/plugin-c ${PROJECT_SOURCE_DIR}/examples/plugin-cpp
        DESTINATION share/doc/atalaya-dev/examples COMPONENT dev)
install(FILES ${pages}/changelog.gz ${PROJECT_SOURCE_DIR}/packaging/debian/copyright DESTINATION share/doc/atalaya-dev COMPONENT dev)
install(FILES ${pages}/changelog.gz ${PROJECT_SOURCE_DIR}/packaging/debian/copyright DESTINATION share/doc/atalaya-kafka
        COMPONENT kafka)
install(FILES ${pages}/changelog.gz ${PROJECT_SOURCE_DIR}/packaging/debian/copyright DESTINATION share/doc/atalaya-riemann
        COMPONENT riemann)
install(FILES ${pages}/changelog.gz ${PROJECT_SOURCE_DIR}/packaging/debian/copyright DESTINATION share/doc/atalaya-analysis
        COMPONENT analysis)

include(AtalayaPackage)
