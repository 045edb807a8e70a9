# Static libraries that nobody has seen: the kernels are put through a short form
# of their tests with them, at configure time, and are on if they are equal.
#
# That is this project once more, in the folder kernels-check of the build
# folder, with the kernels forced: its tests of the label "exact" are built and
# run (CR_TRIES). The verdict is remembered by the checksums of the libraries and
# of what was tested: in that folder, and for other build folders in
# CR_KERNELS_VERDICTS. If they are not equal, what was built is left to be looked
# at. Where no verdict can be had (a cross build, a CPU that cannot run them) they
# are off.
if(DEFINED ENV{XDG_CACHE_HOME})
  set(verdicts $ENV{XDG_CACHE_HOME}/codec-runner/kernels)
elseif(DEFINED ENV{HOME})
  set(verdicts $ENV{HOME}/.cache/codec-runner/kernels)
else()
  set(verdicts "")
endif()
set(CR_KERNELS_VERDICTS "${verdicts}" CACHE PATH
    "Where it is remembered which codec libraries the kernels are exact with")
mark_as_advanced(CR_KERNELS_VERDICTS)

# In a check, compile @target with <immintrin.h> read once instead of by every
# file, which is most of the time that they take; as the first of other targets
# has it, if there are some.
function(cr_kernels_precompile target)
  if(NOT CR_KERNELS_IN_CHECK)
    return()
  endif()
  if(ARGN)
    target_precompile_headers(${target} REUSE_FROM ${ARGV1})
  else()
    target_precompile_headers(${target} PRIVATE <immintrin.h>)
  endif()
endfunction()

# cr_exact_test(NAME KIND ...): cr_test() of a test that shows kernels to be
# equal to the library's functions.
function(cr_exact_test name kind)
  cr_test(${name} ${kind} ${ARGN})
  set_property(TEST ${name} APPEND PROPERTY LABELS exact)
  get_property(program DIRECTORY PROPERTY CR_PROGRAM_OF_${name})
  if(NOT TARGET exact)
    add_custom_target(exact)
  endif()
  get_property(programs TARGET exact PROPERTY PROGRAMS)
  if(NOT program IN_LIST programs)
    set_property(TARGET exact APPEND PROPERTY PROGRAMS ${program})
    cr_kernels_precompile(${program} ${programs})
    add_dependencies(exact ${program})
  endif()
endfunction()

# Set @out to what a verdict about @archives (NAME=FILE...) holds for: the sums
# of their content, of the kernels and of the tests.
function(cr_kernels_subject archives out)
  set(files "")
  foreach(archive ${archives})
    string(REGEX REPLACE "^[^=]*=" "" file "${archive}")
    list(APPEND files ${file})
  endforeach()
  file(GLOB_RECURSE sources ${PROJECT_SOURCE_DIR}/codecs/kernels/*
       ${PROJECT_SOURCE_DIR}/tests/unit/codecs/kernels/*
       ${PROJECT_SOURCE_DIR}/tests/integration/kernels/*)
  list(SORT sources)
  set(sums "")
  foreach(file ${files} ${sources})
    file(SHA256 ${file} sum)
    string(APPEND sums ${sum})
  endforeach()
  string(SHA256 subject "${sums}")
  set(${out} ${subject} PARENT_SCOPE)
endfunction()

# Set @out to the verdict about @subject: "equal", or why not; empty if there is
# none.
function(cr_kernels_recall subject out)
  set(verdict "")
  foreach(dir ${CMAKE_BINARY_DIR}/kernels-check ${CR_KERNELS_VERDICTS})
    if(EXISTS ${dir}/${subject} AND NOT verdict)
      file(READ ${dir}/${subject} verdict)
    endif()
  endforeach()
  set(${out} "${verdict}" PARENT_SCOPE)
endfunction()

# A folder for all build folders that cannot be written to is no error.
function(cr_kernels_remember subject verdict)
  set(file ${CMAKE_BINARY_DIR}/kernels-check/${subject})
  file(WRITE ${file} "${verdict}")
  if(CR_KERNELS_VERDICTS)
    execute_process(COMMAND ${CMAKE_COMMAND} -E make_directory
                            ${CR_KERNELS_VERDICTS} ERROR_QUIET)
    execute_process(COMMAND ${CMAKE_COMMAND} -E copy ${file}
                            ${CR_KERNELS_VERDICTS} ERROR_QUIET)
  endif()
endfunction()

# Configure this project in @tree with kernels for @archives and build its exact
# tests; what is said goes to @log. Set @out to what failed, if something did.
function(cr_kernels_build_check archives tree log out)
  set(settings "")
  foreach(name CMAKE_MAKE_PROGRAM CMAKE_C_COMPILER CMAKE_C_FLAGS
               CMAKE_PREFIX_PATH CMAKE_TOOLCHAIN_FILE)
    if(${name})
      string(REPLACE ";" "\\;" value "${${name}}")
      list(APPEND settings "-D${name}=${value}")
    endif()
  endforeach()
  foreach(archive ${archives})
    list(APPEND settings "-D${archive}")
  endforeach()
  # ccache is for compiling twice what this compiles once, and has to be told of
  # precompiled headers
  execute_process(
    COMMAND
      ${CMAKE_COMMAND} -E env --unset=CMAKE_C_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -S ${PROJECT_SOURCE_DIR} -B ${tree} -G
      ${CMAKE_GENERATOR} -DCR_CODEC_KERNELS=force -DCR_WERROR=OFF
      -DCR_KERNELS_IN_CHECK=ON
      -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_FLAGS_RELEASE=-O2 ${settings}
    RESULT_VARIABLE failed OUTPUT_FILE ${log} ERROR_FILE ${log})
  if(failed)
    set(${out} "their tests cannot be configured, see ${log}" PARENT_SCOPE)
    return()
  endif()
  cmake_host_system_information(RESULT cpus QUERY NUMBER_OF_LOGICAL_CORES)
  execute_process(
    COMMAND ${CMAKE_COMMAND} --build ${tree} --config Release --target
            exact --parallel ${cpus}
    RESULT_VARIABLE failed OUTPUT_FILE ${log} ERROR_FILE ${log})
  if(failed)
    set(${out} "their tests cannot be built, see ${log}" PARENT_SCOPE)
    return()
  endif()
  set(${out} "" PARENT_SCOPE)
endfunction()

# Run the exact tests of @tree; what they say goes to @log. Set @verdict to "equal"
# or "not equal: TESTS (LOG)", or leave it empty and set @out to why there is none.
function(cr_kernels_run_check tree log verdict out)
  cmake_host_system_information(RESULT cpus QUERY NUMBER_OF_LOGICAL_CORES)
  execute_process(
    COMMAND ${CMAKE_COMMAND} -E env CR_TRIES=0.2 ${CMAKE_CTEST_COMMAND} -L exact
            --no-tests=error -C Release --output-on-failure -j ${cpus}
    WORKING_DIRECTORY ${tree}
    RESULT_VARIABLE failed OUTPUT_VARIABLE said ERROR_VARIABLE said)
  file(WRITE ${log} "${said}")
  set(found "")
  set(why "")
  string(REGEX MATCHALL "[*][*][*][A-Z][A-Za-z ]*" ends "${said}")
  if(ends MATCHES "Skipped")
    set(why "this CPU cannot run them")
  elseif(NOT failed)
    set(found "equal")
  elseif(NOT ends OR ends MATCHES "Timeout|Not Run")
    set(why "their tests did not come to an end, see ${log}")
  else()
    string(REGEX MATCHALL "[0-9]+ - [a-z0-9_]+ [(]" tests "${said}")
    list(TRANSFORM tests REPLACE "^[0-9]+ - (.*) [(]$" "\\1")
    list(JOIN tests " " tests)
    set(found "not equal: ${tests} (${log})")
  endif()
  set(${verdict} "${found}" PARENT_SCOPE)
  set(${out} "${why}" PARENT_SCOPE)
endfunction()

# Set @verdict to what a check of @archives says, or leave it empty and set @out
# to why there is none.
function(cr_kernels_judge archives verdict out)
  set(found "")
  set(why "")
  set(dir ${CMAKE_BINARY_DIR}/kernels-check)
  if(CMAKE_CROSSCOMPILING)
    set(why "a cross build cannot run them")
  else()
    message(STATUS "Codec kernels: trying them with codec libraries that they "
                   "have not met, a minute at most")
    file(MAKE_DIRECTORY ${dir})
    cr_kernels_build_check("${archives}" ${dir}/tree ${dir}/build.log why)
    if(NOT why)
      cr_kernels_run_check(${dir}/tree ${dir}/test.log found why)
    endif()
    if(found STREQUAL "equal")
      file(REMOVE_RECURSE ${dir}/tree)
    endif()
  endif()
  set(${verdict} "${found}" PARENT_SCOPE)
  set(${out} "${why}" PARENT_SCOPE)
endfunction()

# Set @out to why kernels may not replace functions of @archives (NAME=FILE...),
# of which some have not been seen; empty if they are equal.
function(cr_kernels_check archives out)
  string(REGEX REPLACE "(^|;)[^=;]*=" "\\1" files "${archives}")
  string(REPLACE ";" ", " files "${files}")
  cr_kernels_subject("${archives}" subject)
  cr_kernels_recall(${subject} verdict)
  set(why "")
  if(NOT verdict)
    cr_kernels_judge("${archives}" verdict why)
    if(verdict)
      cr_kernels_remember(${subject} "${verdict}")
    endif()
  endif()
  if(why)
    string(CONCAT why "nobody has tried them with ${files}, and ${why}. To try "
                      "them: cmake -DCR_CODEC_KERNELS=force, then ctest -L exact")
  elseif(NOT verdict STREQUAL "equal")
    string(CONCAT why "with ${files} they are ${verdict}. Remembered in "
                      "${CMAKE_BINARY_DIR}/kernels-check and "
                      "${CR_KERNELS_VERDICTS} as ${subject}")
  endif()
  set(${out} "${why}" PARENT_SCOPE)
endfunction()
