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
