# Language, warnings, sanitizers: the same for every target.
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O2 -g") # CR_ASSERT stays on; no NDEBUG

add_compile_options(
  -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla
  -Wpointer-arith -Wwrite-strings -fno-common)
# what an assertion names: src/engine/core.c, wherever that was built
add_compile_options(-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=)
add_compile_definitions(_POSIX_C_SOURCE=200809L)
add_compile_definitions($<$<CONFIG:Debug>:CR_DEBUG>)
if(CR_WERROR)
  add_compile_options(-Werror)
endif()

if(CR_SANITIZE STREQUAL "asan")
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
elseif(CR_SANITIZE STREQUAL "tsan")
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer)
  add_link_options(-fsanitize=thread)
elseif(CR_SANITIZE)
  message(FATAL_ERROR "CR_SANITIZE=${CR_SANITIZE}: use asan or tsan")
endif()
if(CR_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# cr_library(NAME SOURCES... [LINK libs...]): one module.
function(cr_library name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_include_directories(
    ${name} PUBLIC ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src
                   ${PROJECT_SOURCE_DIR})
  target_compile_definitions(${name} PRIVATE CR_VERSION="${PROJECT_VERSION}")
  target_link_libraries(${name} PUBLIC ${ARG_LINK})
  target_compile_options(${name} PRIVATE -Wconversion)
endfunction()

# cr_program(NAME SOURCES... [LINK libs...]): one executable, in build/.
function(cr_program name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_compile_definitions(${name} PRIVATE CR_VERSION="${PROJECT_VERSION}")
  target_compile_options(${name} PRIVATE -Wconversion)
  target_link_libraries(${name} PRIVATE ${ARG_LINK})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY
                                           ${PROJECT_BINARY_DIR})
endfunction()
