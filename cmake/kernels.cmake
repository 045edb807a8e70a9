# Codec libraries with some of their functions replaced by ours: the commands
# that codecs/kernels/CMakeLists.txt is written in.
#
# The static library is copied, to the build folder, with the replaced
# functions weak (codecs/kernels/weaken.sh). That is done at configure time, as
# it decides what is built, and again whenever the library changes.
set(CR_CODEC_KERNELS ON CACHE STRING
    "Replace functions of the codec libraries by faster ones: ON (where they \
are exact), force (without a check) or OFF")
include(${CMAKE_CURRENT_LIST_DIR}/kernels_check.cmake)

# cr_kernel(LIBRARY FILE SYMBOLS...): FILE defines SYMBOLS in place of LIBRARY,
# one of packages.cmake.
macro(cr_kernel library file)
  list(APPEND CR_KERNEL_SOURCES ${file})
  list(APPEND ${library}_SYMBOLS ${ARGN})
endmacro()

# cr_kernel_archive(LIBRARY SHA256): the static library of that sum is one that
# the kernels have been tested against. They are equal to a binary: where the
# source leaves a result open, the compiler that built it has settled that.
# Others are put through a short form of the tests (kernels_check.cmake).
macro(cr_kernel_archive library sha256)
  list(APPEND ${library}_ARCHIVES ${sha256})
endmacro()

# Set @out to why there are no kernels for any library here; empty if they may.
function(cr_kernels_machine out)
  set(why "")
  if(NOT CR_CODEC_KERNELS)
    set(why "they were not wanted (CR_CODEC_KERNELS=${CR_CODEC_KERNELS})")
  elseif(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$"
         OR NOT CMAKE_SIZEOF_VOID_P EQUAL 8)
    set(why "they are for x86-64, this is ${CMAKE_SYSTEM_PROCESSOR}")
  elseif(NOT CMAKE_C_COMPILER_ID MATCHES "^(GNU|Clang)$")
    set(why "they need gcc or clang, this is ${CMAKE_C_COMPILER_ID}")
  endif()
  set(${out} "${why}" PARENT_SCOPE)
endfunction()

# Set @out to the file name of the static library of @library.
function(cr_kernels_archive_name library out)
  set(${out} "lib${${library}_LIBRARIES}.a" PARENT_SCOPE)
endfunction()

# Set @out to the static library of @library: that beside the shared one, if
# there is one. Ends in -NOTFOUND if there is none.
function(cr_kernels_find library out)
  cr_kernels_archive_name(${library} name)
  set(doc "Static library whose functions kernels replace")
  # Of two searches the first that finds one counts. One search with HINTS would
  # look in CMAKE_PREFIX_PATH first.
  find_library(CR_${library}_ARCHIVE ${name} PATHS ${${library}_LIBDIR}
               NO_DEFAULT_PATH DOC ${doc})
  find_library(CR_${library}_ARCHIVE ${name} DOC ${doc})
  mark_as_advanced(CR_${library}_ARCHIVE)
  set(${out} "${CR_${library}_ARCHIVE}" PARENT_SCOPE)
endfunction()

# Set @out to why @archive, the static library of @library, is none that the
# kernels are for; empty if it may be.
function(cr_kernels_unfit library version archive out)
  set(why "")
  if(NOT ${library}_VERSION VERSION_EQUAL version)
    set(why "they replace functions of ${${library}_LIBRARIES} ${version}, "
            "found ${${library}_VERSION}")
  elseif(NOT EXISTS "${archive}")
    cr_kernels_archive_name(${library} name)
    set(why "they need the static library ${name}, found none in "
            "${${library}_LIBDIR} or where libraries are")
  endif()
  string(CONCAT why ${why})
  set(${out} "${why}" PARENT_SCOPE)
endfunction()

# Set @out to whether @archive, the static library of @library, has to be checked
# before kernels replace its functions.
function(cr_kernels_unseen library archive out)
  string(TOLOWER "${CR_CODEC_KERNELS}" wanted)
  file(SHA256 ${archive} found)
  set(unseen TRUE)
  if(wanted STREQUAL "force" OR found IN_LIST ${library}_ARCHIVES)
    set(unseen FALSE)
  endif()
  set(${out} ${unseen} PARENT_SCOPE)
endfunction()

# Copy the static library of @library, which must be of @version, to @copy. Set
# @out to why that cannot be; empty if it is done.
function(cr_kernels_copy library version copy out)
  set(scripts ${PROJECT_SOURCE_DIR}/codecs/kernels)
  set(weaken ${scripts}/weaken.sh)
  cr_kernels_find(${library} archive)
  cr_kernels_unfit(${library} ${version} ${archive} why)
  if(NOT why)
    set_property(
      DIRECTORY ${PROJECT_SOURCE_DIR} APPEND
      PROPERTY CMAKE_CONFIGURE_DEPENDS ${archive} ${weaken} ${scripts}/bypass.awk)
    execute_process(
      COMMAND ${CMAKE_COMMAND} -E env AR=${CMAKE_AR} NM=${CMAKE_NM}
              OBJCOPY=${CMAKE_OBJCOPY} OBJDUMP=${CMAKE_OBJDUMP} ${weaken}
              ${archive} ${copy} ${${library}_SYMBOLS}
      RESULT_VARIABLE failed ERROR_VARIABLE message
      ERROR_STRIP_TRAILING_WHITESPACE)
    if(failed)
      set(why "${archive}: ${message}")
    endif()
  endif()
  set(${out} "${why}" PARENT_SCOPE)
endfunction()

# Link @target with @copy. What it defines stays inside of the program: a shared
# library of the same name, loaded besides, must not get it.
function(cr_kernels_link target library copy)
  get_filename_component(name ${copy} NAME)
  add_library(${target}_copy STATIC IMPORTED GLOBAL)
  set_target_properties(${target}_copy PROPERTIES IMPORTED_LOCATION ${copy})
  target_include_directories(${target} SYSTEM
                             INTERFACE ${${library}_INCLUDE_DIRS})
  target_link_libraries(${target} INTERFACE cr_kernels ${target}_copy)
  target_link_options(${target} INTERFACE -Wl,--exclude-libs,${name})
endfunction()

# Write @text, of any characters, to kernels_off.h in @dir.
function(cr_kernels_write_off text dir)
  string(REPLACE "\\" "\\\\" text "${text}")
  string(REPLACE "\"" "\\\"" text "${text}")
  string(REPLACE "\n" "\\n" text "${text}")
  file(CONFIGURE OUTPUT ${dir}/kernels_off.h
       CONTENT "#define CR_KERNELS_OFF \"@text@\"\n" @ONLY)
endfunction()

# Say whether kernels are on (@why is empty) or what is lost; keep it in
# kernels_off.h, for those who run the programs.
function(cr_kernels_report why)
  string(
    CONCAT text
    "${why}.\n"
    "Lost: to encode AMR and AMR-WB takes 3 to 6 times as much CPU time, so that a "
    "core serves about a third of the calls.\n"
    "What to do: build on x86-64 with gcc or clang, with the static libraries of "
    "Debian 12 or 13 (deps/install build) or others of those versions.")
  if(NOT why)
    message(STATUS "Codec kernels: on")
  elseif(NOT CR_CODEC_KERNELS)
    message(STATUS "Codec kernels: off, ${why}")
  else()
    message(WARNING "Codec kernels: off, ${text}\n"
                    "Without this warning: cmake -DCR_CODEC_KERNELS=OFF")
  endif()
  cr_kernels_write_off("${text}" ${CMAKE_CURRENT_BINARY_DIR})
endfunction()

# cr_codec_libraries(LIBRARY TARGET VERSION...): define TARGET as the LIBRARY
# with our kernels, if it is of that version. If one is not as the kernels know
# it, all are as they were installed.
function(cr_codec_libraries)
  cr_kernels_machine(why)
  set(left ${ARGN})
  set(archives "")
  set(any_unseen FALSE)
  while(left AND NOT why)
    list(POP_FRONT left library target version)
    if(${library}_SYMBOLS)
      set(${target}_file ${CMAKE_CURRENT_BINARY_DIR}/lib${target}.a)
      cr_kernels_copy(${library} ${version} ${${target}_file} why)
    endif()
    if(${library}_SYMBOLS AND NOT why)
      cr_kernels_find(${library} archive)
      cr_kernels_unseen(${library} ${archive} unseen)
      list(APPEND archives CR_${library}_ARCHIVE=${archive})
      if(unseen)
        set(any_unseen TRUE)
      endif()
    endif()
  endwhile()
  if(any_unseen AND NOT why)
    cr_kernels_check("${archives}" why)
  endif()
  cr_kernels_report("${why}")
  if(NOT why)
    cr_kernels_library()
  endif()
  set(left ${ARGN})
  while(left)
    list(POP_FRONT left library target version)
    add_library(${target} INTERFACE)
    if(why OR NOT ${library}_SYMBOLS)
      target_link_libraries(${target} INTERFACE PkgConfig::${library})
    else()
      cr_kernels_link(${target} ${library} ${${target}_file})
    endif()
  endwhile()
endfunction()

# The kernels themselves. They are linked as objects, before the copies, so
# that each is there whether or not the linker has already missed it.
function(cr_kernels_library)
  add_library(cr_kernel_objects OBJECT ${CR_KERNEL_SOURCES})
  target_include_directories(cr_kernel_objects PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_options(cr_kernel_objects PRIVATE -O3 -Wconversion
                                                   -fvisibility=hidden)
  cr_kernels_precompile(cr_kernel_objects)
  add_library(cr_kernels INTERFACE)
  # a precompiled header counts as an object, too
  target_link_libraries(
    cr_kernels
    INTERFACE
      "$<FILTER:$<TARGET_OBJECTS:cr_kernel_objects>,EXCLUDE,[.][gp]ch$>")
endfunction()
