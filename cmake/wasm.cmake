# The planner's core as WebAssembly, which reports carry so that a reader can change the plan: docs/design/whatif.md.
# Sets TW_CORE_FILE, which is packed as reports carry it. Where clang cannot make WebAssembly, and in builds for tests with sanitizers, the file is empty and reports go without.
set(TW_CORE_FILE ${CMAKE_BINARY_DIR}/core.txt)
find_program(TW_WASM_CLANG NAMES clang clang-14)
find_program(TW_WASM_LD NAMES wasm-ld wasm-ld-14)
find_path(TW_WASM_LIBC NAMES wasi/libc.h PATHS /usr/include/wasm32-wasi NO_DEFAULT_PATH)
if(TW_SANITIZE OR CMAKE_BUILD_TYPE STREQUAL "Debug" OR NOT TW_WASM_CLANG OR NOT TW_WASM_LD OR NOT TW_WASM_LIBC)
  if(NOT TW_SANITIZE AND NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
    message(STATUS "clang, lld or wasi-libc is not there: reports have no what-if")
  endif()
  file(WRITE ${TW_CORE_FILE} "")
  return()
endif()

set(folders core write input model machine tile mapping place program sim search fuse plan advise report/facts report/text report/data
    report/trace)
list(TRANSFORM folders REPLACE "(.+)" "src/\\1/*.c")
file(GLOB sources RELATIVE ${CMAKE_SOURCE_DIR} CONFIGURE_DEPENDS ${folders} wasm/*.c)
# What reads files, needs a library, or is about networks.
list(FILTER sources EXCLUDE REGEX
     "^wasm/pack\\.c$|^src/(input/tree|write/packed|write/gzip|core/file|report/data/document|report/data/jsonrows|plan/network.*|advise/network.*|report/.*network.*)\\.c$")
set(flags --target=wasm32-wasi --sysroot=/usr -Oz -DNDEBUG -D_GNU_SOURCE "-DTW_VERSION=\"${PROJECT_VERSION}\"" -std=gnu17
    -ffunction-sections -fdata-sections -ffp-contract=off -I${CMAKE_SOURCE_DIR}/wasm/include -I${CMAKE_SOURCE_DIR}/include
    -I${CMAKE_SOURCE_DIR}/src)
set(objects)
foreach(source ${sources})
  string(REPLACE "/" "_" object ${source})
  set(object ${CMAKE_BINARY_DIR}/wasm/${object}.o)
  add_custom_command(OUTPUT ${object}
    COMMAND ${CMAKE_C_COMPILER_LAUNCHER} ${TW_WASM_CLANG} ${flags} -MD -MF ${object}.d -MT ${object} -c ${CMAKE_SOURCE_DIR}/${source} -o ${object}
    DEPENDS ${CMAKE_SOURCE_DIR}/${source} DEPFILE ${object}.d COMMENT "Building WebAssembly object ${source}" VERBATIM)
  list(APPEND objects ${object})
endforeach()
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/wasm)
# Values are large structs on the stack: 64 KiB, the default, is too little.
set(module ${CMAKE_BINARY_DIR}/core.wasm)
add_custom_command(OUTPUT ${module}
  COMMAND ${TW_WASM_CLANG} --target=wasm32-wasi --sysroot=/usr -mexec-model=reactor -Wl,--gc-sections -Wl,--strip-all
          -Wl,-z,stack-size=8388608 -Wl,--stack-first -o ${module} ${objects}
  DEPENDS ${objects} VERBATIM)
add_executable(tw_pack wasm/pack.c src/write/base64.c)
target_include_directories(tw_pack PRIVATE src include)
target_link_libraries(tw_pack PRIVATE PkgConfig::ZLIB)
add_custom_command(OUTPUT ${TW_CORE_FILE} COMMAND tw_pack ${module} ${TW_CORE_FILE} DEPENDS ${module} tw_pack VERBATIM)
