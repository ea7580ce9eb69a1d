# atalaya_bpf(NAME [FOLDER]): NAME.bpf.c of bpf/, or of FOLDER, compiled for the kernel, as the target bpf_NAME that gives
# <NAME.skel.h> and libbpf.
# Without clang, bpftool or libbpf the build goes on; ATALAYA_BPF says so and every plugin has another way.

find_program(BPF_CLANG NAMES clang clang-14 clang-15 clang-16 clang-19)
find_program(BPFTOOL bpftool HINTS /usr/sbin /sbin)
pkg_check_modules(LIBBPF IMPORTED_TARGET libbpf>=1.0)
option(ATALAYA_BPF "Build the BPF programs where that is possible" ON)
if(NOT BPF_CLANG OR NOT BPFTOOL OR NOT LIBBPF_FOUND)
  message(STATUS "no BPF: clang, bpftool and libbpf >= 1.0 are needed to build it")
  # Not in the cache: a later run finds them.
  set(ATALAYA_BPF OFF)
endif()

string(REGEX MATCH "^(x86|aarch64|arm64)" BPF_ARCH "${CMAKE_SYSTEM_PROCESSOR}")
string(REGEX REPLACE "^(aarch64)$" "arm64" BPF_ARCH "${BPF_ARCH}")

# All that is generated and that sources include.
add_custom_target(generated)

function(atalaya_bpf name)
  set(common ${PROJECT_SOURCE_DIR}/bpf)
  set(folder ${common})
  if(ARGC GREATER 1)
    set(folder ${ARGV1})
  endif()
  set(out ${PROJECT_BINARY_DIR}/bpf)
  file(GLOB headers CONFIGURE_DEPENDS ${common}/*.h ${folder}/*.h)
  file(MAKE_DIRECTORY ${out})
  # The second step links and drops the debug sections, BTF excepted.
  add_custom_command(
    OUTPUT ${out}/${name}.skel.h
    COMMAND ${BPF_CLANG} -g -O2 -Wall -Wextra -Werror -Wno-unused-parameter -target bpf -D__TARGET_ARCH_${BPF_ARCH}
            -I${common} -idirafter ${CMAKE_SYSROOT}/usr/include/${CMAKE_LIBRARY_ARCHITECTURE} -ffile-prefix-map=${PROJECT_SOURCE_DIR}/=
            -c ${folder}/${name}.bpf.c -o ${out}/${name}.full.o
    COMMAND ${BPFTOOL} gen object ${out}/${name}.o ${out}/${name}.full.o
    COMMAND ${CMAKE_COMMAND} -E echo "// NOLINTBEGIN: generated" > ${out}/${name}.skel.h
    COMMAND ${BPFTOOL} gen skeleton ${out}/${name}.o name ${name}_bpf >> ${out}/${name}.skel.h
    COMMAND ${CMAKE_COMMAND} -E echo "// NOLINTEND" >> ${out}/${name}.skel.h
    DEPENDS ${folder}/${name}.bpf.c ${headers}
    COMMENT "Building BPF ${name}"
    VERBATIM)
  add_custom_target(bpf_${name}_skeleton DEPENDS ${out}/${name}.skel.h)
  add_dependencies(generated bpf_${name}_skeleton)
  add_library(bpf_${name} INTERFACE)
  add_dependencies(bpf_${name} bpf_${name}_skeleton)
  target_include_directories(bpf_${name} SYSTEM INTERFACE ${out})
  target_link_libraries(bpf_${name} INTERFACE PkgConfig::LIBBPF)
  # Skeletons name the type of a bool as in C, which clang does not know in C++.
  target_compile_definitions(bpf_${name} INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,Clang>:_Bool=bool>)
endfunction()
