# SPDX-License-Identifier: Apache-2.0
# cmake -DKERNELS=kernels.cmake -DDIR=FOLDER -P verdicts.cmake: what is made of the
# tests of kernels with a library that nobody has seen, and remembered of it.
# Writes in FOLDER.
cmake_minimum_required(VERSION 3.22)
include(${KERNELS})

# Says what is in "said", and fails if told so.
set(CMAKE_CTEST_COMMAND ${DIR}/ctest)
file(WRITE ${DIR}/ctest "#!/bin/sh\ncat said\nexit $(cat fails)\n")
file(CHMOD ${DIR}/ctest PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)

# Tests that say @said and end with @fails give @verdict, or none and why (@why).
function(expect said fails verdict why)
  file(WRITE ${DIR}/said "${said}")
  file(WRITE ${DIR}/fails ${fails})
  cr_kernels_run_check(${DIR} ${DIR}/log found reason)
  if(NOT found STREQUAL verdict OR NOT reason MATCHES "${why}")
    message(FATAL_ERROR "${said}: '${found}', '${reason}'")
  endif()
  file(READ ${DIR}/log log)
  if(NOT log STREQUAL said)
    message(FATAL_ERROR "${said} was logged as ${log}")
  endif()
endfunction()

set(one "1/2 Test #1: unit_kernels_agc ....   Passed    0.1 sec\n")
expect("${one}100% tests passed" 0 "equal" "^$")
expect(
  "${one}2/2 Test #2: unit_kernels_arith .***Failed 1 sec
The following tests FAILED:
	  2 - unit_kernels_arith (Failed)
	 13 - unit_kernels_vad1 (SEGFAULT)
Errors while running CTest"
  8 "not equal: unit_kernels_arith unit_kernels_vad1 (${DIR}/log)" "^$")
expect("${one}2/2 Test #2: unit_kernels_arith .***Skipped 0 sec
100% tests passed" 0 "" "this CPU cannot run them")
expect("${one}2/2 Test #2: unit_kernels_arith .***Timeout 120 sec
	  2 - unit_kernels_arith (Timeout)" 8 "" "did not come to an end")
expect("No tests were found!!!" 8 "" "did not come to an end")

# @subject has @verdict (empty: none).
function(expect_remembered subject verdict)
  cr_kernels_recall(${subject} found)
  if(NOT found STREQUAL verdict)
    message(FATAL_ERROR "remembered of ${subject}: '${found}'")
  endif()
endfunction()

set(CMAKE_BINARY_DIR ${DIR}/build)
set(CR_KERNELS_VERDICTS ${DIR}/all/verdicts)
file(REMOVE_RECURSE ${DIR}/build ${DIR}/all ${DIR}/another)
expect_remembered(00ff "")
cr_kernels_remember(00ff "equal")
expect_remembered(00ff "equal")
expect_remembered(00fe "")
set(CMAKE_BINARY_DIR ${DIR}/another)
expect_remembered(00ff "equal")

# Where the folder for all cannot be, the build folder is enough.
set(CR_KERNELS_VERDICTS ${DIR}/ctest/verdicts)
expect_remembered(00ff "")
cr_kernels_remember(00ff "not equal: a")
expect_remembered(00ff "not equal: a")

# Another library, or other kernels, is another subject.
set(PROJECT_SOURCE_DIR ${DIR}/source)
file(WRITE ${DIR}/tone.a "tone")
file(WRITE ${DIR}/source/codecs/kernels/agc.c "one")
cr_kernels_subject(CR_TONE_ARCHIVE=${DIR}/tone.a first)
cr_kernels_subject(CR_TONE_ARCHIVE=${DIR}/tone.a again)
file(WRITE ${DIR}/source/codecs/kernels/agc.c "two")
cr_kernels_subject(CR_TONE_ARCHIVE=${DIR}/tone.a kernels)
file(WRITE ${DIR}/tone.a "another tone")
cr_kernels_subject(CR_TONE_ARCHIVE=${DIR}/tone.a library)
if(NOT first STREQUAL again
   OR first STREQUAL kernels
   OR kernels STREQUAL library)
  message(FATAL_ERROR "subjects: ${first} ${again} ${kernels} ${library}")
endif()

# What is remembered counts.
cr_kernels_remember(${library} "equal")
cr_kernels_check(CR_TONE_ARCHIVE=${DIR}/tone.a why)
if(why)
  message(FATAL_ERROR "equal, but: ${why}")
endif()
cr_kernels_remember(${library} "not equal: a (log)")
cr_kernels_check(CR_TONE_ARCHIVE=${DIR}/tone.a why)
if(NOT why MATCHES "^with ${DIR}/tone.a they are not equal: a [(]log[)][.] ")
  message(FATAL_ERROR "not equal, but: ${why}")
endif()

# A cross build has nothing to run them on.
set(CMAKE_CROSSCOMPILING TRUE)
file(WRITE ${DIR}/tone.a "a third tone")
cr_kernels_check(CR_TONE_ARCHIVE=${DIR}/tone.a why)
if(NOT why MATCHES "with ${DIR}/tone.a, and a cross build cannot run them")
  message(FATAL_ERROR "${why}")
endif()
