# How every target of the project is compiled, and the three kinds of target: plugin, unit test, fuzz target.

find_program(CCACHE ccache)
if(CCACHE)
  # Paths relative to the tree, so that several checkouts share their results.
  set(CMAKE_C_COMPILER_LAUNCHER env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_C_COMPILER_LAUNCHER})
endif()

add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -Wno-missing-field-initializers)
# GCC 12 sees overlaps in std::string concatenation that are not there (GCC bug 105329).
add_compile_options($<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
# Paths of the build machine stay out of the binaries.
add_compile_options(-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=)
if(ATALAYA_SANITIZE)
  add_compile_options(-fsanitize=${ATALAYA_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${ATALAYA_SANITIZE})
endif()

# The plugin ABI: headers only.
add_library(atalaya_abi INTERFACE)
target_include_directories(atalaya_abi INTERFACE ${PROJECT_SOURCE_DIR}/core/include)

# Compiles the sources of a target in batches: headers are read once a batch, which is two thirds of the time. The names that its files
# define must then differ, also those in unnamed namespaces. Not in the presets dev (one file is compiled at a time) and fuzz.
function(atalaya_unity target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${ATALAYA_UNITY} UNITY_BUILD_BATCH_SIZE 20)
endfunction()

# atalaya_library(match SOURCES a.cpp LIBRARIES x PRIVATE y): a static library, atalaya_<name>. LIBRARIES are those that its headers
# show, PRIVATE the others.
function(atalaya_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES;PRIVATE" ${ARGN})
  add_library(atalaya_${name} STATIC ${ARG_SOURCES})
  target_include_directories(atalaya_${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(atalaya_${name} PUBLIC ${ARG_LIBRARIES} PRIVATE ${ARG_PRIVATE})
  atalaya_unity(atalaya_${name})
endfunction()

# Lists a plugin of ours in the manifest of its package: the agent isolates all plugins that are in none.
function(atalaya_in_manifest file package)
  set(manifest ${PROJECT_BINARY_DIR}/plugins/${package}.manifest)
  get_property(manifests GLOBAL PROPERTY ATALAYA_MANIFESTS)
  if(NOT manifest IN_LIST manifests)
    file(WRITE ${manifest} "")
    install(FILES ${manifest} DESTINATION lib/atalaya COMPONENT ${package})
    set_property(GLOBAL APPEND PROPERTY ATALAYA_MANIFESTS ${manifest})
  endif()
  file(APPEND ${manifest} "${file}\n")
endfunction()

# atalaya_plugin(source proc SOURCES a.cpp b.cpp LIBRARIES x): one shared object, <kind>_<name>.so, that exports one symbol.
# PACKAGE x: it is not in the package atalaya but in one of its own (AtalayaPackage.cmake), because of what it links.
# Its code without the glue (the file named plugin.cpp) is also the library <kind>_<name>_parts, which the unit tests link.
function(atalaya_plugin kind name)
  cmake_parse_arguments(ARG "" "PACKAGE" "SOURCES;LIBRARIES" ${ARGN})
  if(NOT ARG_PACKAGE)
    set(ARG_PACKAGE atalaya)
  endif()
  set(target ${kind}_${name})
  set(parts ${ARG_SOURCES})
  list(FILTER parts EXCLUDE REGEX "plugin\\.cpp$")
  list(FILTER ARG_SOURCES INCLUDE REGEX "plugin\\.cpp$")
  add_library(${target} MODULE ${ARG_SOURCES})
  if(parts)
    add_library(${target}_parts STATIC ${parts})
    target_include_directories(${target}_parts PUBLIC ${PROJECT_SOURCE_DIR})
    target_link_libraries(${target}_parts PUBLIC atalaya_abi ${ARG_LIBRARIES})
    target_link_libraries(${target} PRIVATE ${target}_parts)
    atalaya_unity(${target}_parts)
  endif()
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${target} PRIVATE atalaya_abi ${ARG_LIBRARIES})
  target_link_options(${target} PRIVATE -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/plugin.map -Wl,--gc-sections)
  set_target_properties(${target} PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/plugins
                        LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/plugin.map)
  install(TARGETS ${target} LIBRARY DESTINATION lib/atalaya COMPONENT ${ARG_PACKAGE})
  if(NOT ARG_PACKAGE STREQUAL atalaya)
    string(TOUPPER ${kind} kind_constant)
    set_property(GLOBAL APPEND_STRING PROPERTY ATALAYA_PACKAGED "    {ATALAYA_${kind_constant}, \"${name}\", \"atalaya-${ARG_PACKAGE}\"},\n")
  endif()
  atalaya_in_manifest(${target}.so ${ARG_PACKAGE})
  set_property(GLOBAL APPEND PROPERTY ATALAYA_PLUGIN_TARGETS ${target})
endfunction()

# A program of the unit tests and fuzz corpora: the target test_programs builds these and nothing else.
function(atalaya_test_program target)
  if(NOT TARGET test_programs)
    add_custom_target(test_programs)
  endif()
  add_dependencies(test_programs ${target})
endfunction()

# atalaya_unit_test(name SOURCES a_test.cpp LIBRARIES x): a doctest program, run by ctest as unit.<name>. SEPARATE: its files define the
# same names, so they are not compiled in batches. LAWS: it has test cases "law: ...", which `./dev test laws` runs as laws.<name>.
function(atalaya_unit_test name)
  cmake_parse_arguments(ARG "SEPARATE;LAWS" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(unit_${name} ${ARG_SOURCES})
  target_link_libraries(unit_${name} PRIVATE atalaya_test_main ${ARG_LIBRARIES})
  # Half of the compile time of a test is its optimisation, which no test needs.
  target_compile_options(unit_${name} PRIVATE -O0)
  if(NOT ARG_SEPARATE)
    atalaya_unity(unit_${name})
  endif()
  atalaya_test_program(unit_${name})
  add_test(NAME unit.${name} COMMAND unit_${name} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(unit.${name} PROPERTIES TIMEOUT 1500 LABELS unit)
  if(ARG_LAWS)
    add_test(NAME laws.${name} COMMAND unit_${name} "--test-case=law:*" WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(laws.${name} PROPERTIES TIMEOUT 600 LABELS laws)
  endif()
endfunction()

# atalaya_fuzz(name SOURCES x_fuzz.cpp LIBRARIES y): fuzz_<name>; its corpus is tests/fuzz/corpus/<name>.
function(atalaya_fuzz name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES" ${ARGN})
  set(corpus ${PROJECT_SOURCE_DIR}/tests/fuzz/corpus/${name})
  add_executable(fuzz_${name} ${ARG_SOURCES})
  target_link_libraries(fuzz_${name} PRIVATE ${ARG_LIBRARIES})
  target_include_directories(fuzz_${name} PRIVATE ${PROJECT_SOURCE_DIR})
  if(ATALAYA_FUZZ)
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  else()
    target_sources(fuzz_${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests/fuzz/replay.cpp)
    atalaya_test_program(fuzz_${name})
    add_test(NAME fuzz.${name} COMMAND fuzz_${name} ${corpus})
    set_tests_properties(fuzz.${name} PROPERTIES TIMEOUT 60 LABELS fuzz)
  endif()
endfunction()
