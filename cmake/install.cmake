# What "cmake --install" puts where, beside the programs (src/app) and the report
# (src/report): man pages, other pages, campaigns, and what schedulers and codecs
# from outside are built with: headers, a pkg-config file, an example.
#
# Nothing installed names the source or the build folder, and what is installed
# may be moved as a whole: it finds its other parts from where it is itself.

# Set @out to the way from the installed folder @from to the one @to; both are
# members of GNUInstallDirs or folders below.
function(cr_install_way from to out)
  cmake_path(ABSOLUTE_PATH from BASE_DIRECTORY ${CMAKE_INSTALL_PREFIX})
  cmake_path(ABSOLUTE_PATH to BASE_DIRECTORY ${CMAKE_INSTALL_PREFIX})
  file(RELATIVE_PATH way ${from} ${to})
  set(${out} ${way} PARENT_SCOPE)
endfunction()

# Where codec-runner looks for its options: /etc, or below it for a prefix such as
# /opt/NAME (FHS), or where CMAKE_INSTALL_SYSCONFDIR says.
if(CMAKE_INSTALL_PREFIX MATCHES "^/usr(/local)?/?$"
   AND CMAKE_INSTALL_SYSCONFDIR STREQUAL "etc")
  set(etc /etc)
else()
  set(etc ${CMAKE_INSTALL_FULL_SYSCONFDIR})
endif()
if(NOT DEFINED CR_CONFIG_FILE)
  set(CR_CONFIG_FILE ${etc}/codec-runner.conf)
endif()

install(DIRECTORY docs/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1
        FILES_MATCHING PATTERN "*.1")
install(DIRECTORY docs/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man5
        FILES_MATCHING PATTERN "*.5")
install(FILES packaging/codec-runner.conf
        DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)
# units and the like name /usr/bin, and are the Debian package's (packaging)
install(DIRECTORY packaging/service packaging/watch
        DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)
install(FILES README.md CHANGELOG.md CONTRIBUTING.md LICENSE
        DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs campaigns DESTINATION ${CMAKE_INSTALL_DOCDIR}
        FILES_MATCHING PATTERN "*.md" PATTERN "*.svg" PATTERN "*.yaml" PATTERN "*.ipynb"
        PATTERN "*.schema.json"
        PATTERN "man" EXCLUDE PATTERN "player" EXCLUDE)
# the commands of campaigns, which take the installed programs
install(PROGRAMS campaigns/run campaigns/sweep campaigns/simulate
        DESTINATION ${CMAKE_INSTALL_DOCDIR}/campaigns)
install(DIRECTORY campaigns/player campaigns/codec_sweep
        DESTINATION ${CMAKE_INSTALL_DOCDIR}/campaigns
        FILES_MATCHING PATTERN "*.py" PATTERN "__pycache__" EXCLUDE)
# the page tells to read the others
install(DIRECTORY schedulers DESTINATION ${CMAKE_INSTALL_DOCDIR}
        FILES_MATCHING PATTERN "README.md" PATTERN "*.c" PATTERN "*.h"
        PATTERN "CMakeLists.txt" PATTERN "examples" EXCLUDE)
install(FILES codecs/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/codecs)
install(DIRECTORY schedulers/examples DESTINATION ${CMAKE_INSTALL_DOCDIR}
        FILES_MATCHING PATTERN "*.c" PATTERN "Makefile")
install(DIRECTORY codecs/examples/
        DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples/codec
        FILES_MATCHING PATTERN "*.c" PATTERN "Makefile")

# What a scheduler or a codec may include; and trace.h, for who reads trace
# files.
foreach(header codec container error list option promise sched time trace tree)
  install(FILES include/cr/${header}.h
          DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/cr)
endforeach()

set(CR_PLUGINDIR ${CMAKE_INSTALL_LIBDIR}/codec-runner)
set(CR_PCDIR ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(STRINGS include/cr/sched.h abi REGEX "^#define CR_SCHED_ABI ")
string(REGEX REPLACE "[^0-9]" "" CR_SCHED_ABI "${abi}")
cr_install_way(${CR_PCDIR} ${CMAKE_INSTALL_INCLUDEDIR} CR_PC_INCLUDEDIR)
cr_install_way(${CR_PCDIR} ${CR_PLUGINDIR} CR_PC_PLUGINDIR)
file(STRINGS include/cr/codec.h abi REGEX "^#define CR_CODEC_ABI ")
string(REGEX REPLACE "[^0-9]" "" CR_CODEC_ABI "${abi}")
configure_file(cmake/codec-runner.pc.in cmake/codec-runner.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/cmake/codec-runner.pc
        DESTINATION ${CR_PCDIR})
install(DIRECTORY DESTINATION ${CR_PLUGINDIR})
