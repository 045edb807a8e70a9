# SPDX-License-Identifier: Apache-2.0
# cmake -DKERNELS=kernels.cmake -DARCHIVE=FILE -P archives.cmake: kernels are for
# the static libraries that they have been tested against, of one version; others
# are checked, or forced. Writes FILE.
cmake_minimum_required(VERSION 3.22)
include(${KERNELS})

# Kernels for @version of the library must find in ARCHIVE what @pattern says.
function(expect version pattern)
  cr_kernels_unfit(TONE ${version} ${ARCHIVE} why)
  if(NOT why MATCHES "${pattern}")
    message(FATAL_ERROR "not '${pattern}' but '${why}'")
  endif()
endfunction()

# They must be checked with ARCHIVE, or not.
function(expect_unseen expected)
  cr_kernels_unseen(TONE ${ARCHIVE} unseen)
  if(NOT unseen STREQUAL expected)
    message(FATAL_ERROR "to be checked: ${unseen}, not ${expected}")
  endif()
endfunction()

set(TONE_LIBRARIES tone)
set(TONE_VERSION 1.2)
set(TONE_LIBDIR /nowhere)
file(WRITE ${ARCHIVE} "tested")
file(SHA256 ${ARCHIVE} tested)
cr_kernel_archive(TONE 00ff)
cr_kernel_archive(TONE ${tested})
expect(1.2 "^$")
expect(1.3 "functions of tone 1.3, found 1.2$")
expect_unseen(FALSE)

file(WRITE ${ARCHIVE} "of another compiler")
expect(1.2 "^$")
expect_unseen(TRUE)

set(CR_CODEC_KERNELS force)
expect(1.2 "^$")
expect(1.3 "found 1.2$")
expect_unseen(FALSE)

file(REMOVE ${ARCHIVE})
expect(1.2 "need the static library libtone.a, found none in /nowhere")

# What find_library() gives without one.
set(ARCHIVE CR_TONE_ARCHIVE-NOTFOUND)
expect(1.2 "need the static library libtone.a, found none in /nowhere")
