# Libraries, each as one target. deps/debian.txt lists the packages.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)

pkg_check_modules(AMRNB REQUIRED IMPORTED_TARGET opencore-amrnb)
pkg_check_modules(AMRWB_DEC REQUIRED IMPORTED_TARGET opencore-amrwb)
pkg_check_modules(AMRWB_ENC REQUIRED IMPORTED_TARGET vo-amrwbenc)
pkg_check_modules(OPUS REQUIRED IMPORTED_TARGET opus)
pkg_check_modules(SPEEX REQUIRED IMPORTED_TARGET speex)
pkg_check_modules(SPANDSP REQUIRED IMPORTED_TARGET spandsp)
pkg_check_modules(SPEEXDSP REQUIRED IMPORTED_TARGET speexdsp)
pkg_check_modules(EVENT REQUIRED IMPORTED_TARGET libevent_core libevent_extra
                  libevent_pthreads)
pkg_check_modules(SOFIA REQUIRED IMPORTED_TARGET sofia-sip-ua)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
pkg_check_modules(YAML REQUIRED IMPORTED_TARGET yaml-0.1)
pkg_check_modules(URING REQUIRED IMPORTED_TARGET liburing)
pkg_check_modules(SECCOMP REQUIRED IMPORTED_TARGET libseccomp)
pkg_check_modules(URCU REQUIRED IMPORTED_TARGET liburcu liburcu-cds)
pkg_check_modules(USRSCTP REQUIRED IMPORTED_TARGET usrsctp)
pkg_check_modules(LIBBSD REQUIRED IMPORTED_TARGET libbsd)
pkg_check_modules(CMOCKA IMPORTED_TARGET cmocka)
# G.723.1 only; the codec is left out without it.
pkg_check_modules(AVCODEC IMPORTED_TARGET libavcodec libavutil)

find_library(SCTP_LIBRARY sctp REQUIRED)
find_library(GSM_LIBRARY gsm REQUIRED)
find_path(GSM_INCLUDE_DIR gsm.h PATH_SUFFIXES gsm REQUIRED)
