# What operators need: the binary and the plugins install themselves; beside them lies what pipeline files require.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/lua/atalaya DESTINATION share/atalaya/lua)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/pipelines DESTINATION share/atalaya)

# What authors of plugins need: `cmake --install BUILD --component dev`.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(ATALAYA_PLUGIN_FOLDER lib/atalaya)
set(config_folder ${CMAKE_INSTALL_DATADIR}/cmake/Atalaya)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/AtalayaConfig.cmake.in ${PROJECT_BINARY_DIR}/AtalayaConfig.cmake
                              INSTALL_DESTINATION ${config_folder} PATH_VARS CMAKE_INSTALL_INCLUDEDIR ATALAYA_PLUGIN_FOLDER)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/AtalayaConfigVersion.cmake COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/core/include/atalaya DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev)
install(FILES ${PROJECT_BINARY_DIR}/AtalayaConfig.cmake ${PROJECT_BINARY_DIR}/AtalayaConfigVersion.cmake
              ${PROJECT_SOURCE_DIR}/cmake/plugin.map
        DESTINATION ${config_folder} COMPONENT dev)

set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PACKAGE_CONTACT "the Atalaya maintainers <maintainers@atalaya.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Watches what the processes of a Linux host do, and why they are slow")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
include(CPack)
