# The page of `serve`: TypeScript of plugins/commands/serve/web, bundled by esbuild into one script and one sheet of styles. The build
# itself loads nothing from the network: `npm ci` in that folder (./dev build runs it) has installed the libraries of the lock file.
option(ATALAYA_WEB "Build the page of the command serve where that is possible" ON)
set(WEB_FOLDER ${PROJECT_SOURCE_DIR}/plugins/commands/serve/web)
find_program(ESBUILD NAMES esbuild HINTS ${WEB_FOLDER}/node_modules/.bin)
set(ATALAYA_WEB_REASON "")
if(NOT ATALAYA_WEB)
  set(ATALAYA_WEB_REASON "ATALAYA_WEB is off")
elseif(NOT ESBUILD)
  set(ATALAYA_WEB_REASON "esbuild is missing")
elseif(NOT EXISTS ${WEB_FOLDER}/node_modules/uplot/package.json)
  set(ATALAYA_WEB_REASON "the libraries are missing: run npm ci in plugins/commands/serve/web")
endif()
if(ATALAYA_WEB_REASON)
  message(STATUS "no page of serve: ${ATALAYA_WEB_REASON}")
endif()

# atalaya_page(TARGET): compiles the page into the target, or its absence. The libraries may be installed later: without them the next
# configuration checks again.
function(atalaya_page target)
  set(out ${PROJECT_BINARY_DIR}/generated/serve_page)
  file(MAKE_DIRECTORY ${out})
  if(ATALAYA_WEB_REASON)
    file(WRITE ${out}/empty "")
    set(html ${out}/empty)
    set(script ${out}/empty)
    set(sheet ${out}/empty)
  else()
    set(html ${WEB_FOLDER}/index.html)
    set(script ${out}/app.js)
    set(sheet ${out}/app.css)
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${WEB_FOLDER}/src/*)
    set(pictures ${PROJECT_SOURCE_DIR}/plugins/shared/analysis/flamegraph/picture)
    add_custom_command(
      OUTPUT ${script} ${sheet}
      COMMAND ${ESBUILD} src/app.ts --bundle --minify --format=iife --target=es2020 --log-level=warning --outdir=${out}
      DEPENDS ${sources} ${WEB_FOLDER}/package-lock.json ${WEB_FOLDER}/tsconfig.json ${pictures}/picture.js ${pictures}/picture.css
      WORKING_DIRECTORY ${WEB_FOLDER}
      COMMENT "Bundling the page of serve"
      VERBATIM)
  endif()
  add_custom_command(
    OUTPUT ${out}/page_files.cpp
    COMMAND ${CMAKE_COMMAND} -DHTML=${html} -DSCRIPT=${script} -DSHEET=${sheet} -DREASON=${ATALAYA_WEB_REASON} -DVERSION=${PROJECT_VERSION}
            -DTEMPLATE=${PROJECT_SOURCE_DIR}/plugins/commands/serve/page/page_files.cpp.in -DOUT=${out}/page_files.cpp
            -P ${PROJECT_SOURCE_DIR}/cmake/embed_page.cmake
    DEPENDS ${html} ${script} ${sheet} ${PROJECT_SOURCE_DIR}/cmake/embed_page.cmake
            ${PROJECT_SOURCE_DIR}/plugins/commands/serve/page/page_files.cpp.in
    VERBATIM)
  target_sources(${target} PRIVATE ${out}/page_files.cpp)
endfunction()
