# The same packages for RPM, with the libraries of the system on which they are built. Included before CPack.
find_program(RPMBUILD rpmbuild)
if(NOT RPMBUILD)
  return()
endif()
list(APPEND CPACK_GENERATOR RPM)
set(scripts ${PROJECT_SOURCE_DIR}/packaging/rpm)

set(CPACK_RPM_COMPONENT_INSTALL ON)
set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_PACKAGE_RELEASE 1)
set(CPACK_RPM_PACKAGE_LICENSE "Apache-2.0 AND (GPL-2.0-only OR BSD-2-Clause)")
set(CPACK_RPM_PACKAGE_RELOCATABLE OFF)
# Requires come from the libraries of each file. Plugins are no libraries of others.
set(CPACK_RPM_PACKAGE_AUTOREQ ON)
set(CPACK_RPM_PACKAGE_AUTOPROV OFF)
set(CPACK_RPM_SPEC_MORE_DEFINE "%define _build_id_links none")
# Folders of other packages.
set(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION
    /usr/include /usr/lib/systemd /usr/lib/systemd/system /usr/lib/sysusers.d /usr/share/bash-completion
    /usr/share/bash-completion/completions /usr/share/cmake /usr/share/fish /usr/share/fish/vendor_completions.d /usr/share/man
    /usr/share/man/man1 /usr/share/zsh /usr/share/zsh/vendor-completions)

foreach(group ATALAYA ANALYSIS KAFKA RIEMANN DEV)
  set(CPACK_RPM_${group}_PACKAGE_NAME ${CPACK_DEBIAN_${group}_PACKAGE_NAME})
  set(CPACK_RPM_${group}_PACKAGE_SUMMARY "${CPACK_PACKAGE_DESCRIPTION_SUMMARY}")
  set(CPACK_RPM_${group}_PACKAGE_DESCRIPTION "${CPACK_DEBIAN_${group}_DESCRIPTION}")
endforeach()

# systemd has systemd-sysusers, which makes the service's user.
set(CPACK_RPM_ATALAYA_PACKAGE_REQUIRES "systemd")
set(CPACK_RPM_ATALAYA_PACKAGE_REQUIRES_POST "systemd, coreutils")
set(CPACK_RPM_ATALAYA_USER_FILELIST "%config(noreplace) /etc/atalaya/atalaya.lua")
set(CPACK_RPM_ATALAYA_POST_INSTALL_SCRIPT_FILE ${scripts}/post)
set(CPACK_RPM_ATALAYA_PRE_UNINSTALL_SCRIPT_FILE ${scripts}/preun)
set(CPACK_RPM_ATALAYA_POST_UNINSTALL_SCRIPT_FILE ${scripts}/postun)
foreach(group ANALYSIS KAFKA RIEMANN)
  set(CPACK_RPM_${group}_PACKAGE_REQUIRES "atalaya >= ${PROJECT_VERSION}")
endforeach()
foreach(group KAFKA RIEMANN)
  set(CPACK_RPM_${group}_POST_INSTALL_SCRIPT_FILE ${scripts}/plugin-post)
endforeach()
