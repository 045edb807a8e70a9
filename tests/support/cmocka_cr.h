/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmocka with the headers that it wants included before it. In a program of
 * several files (tests/CMakeLists.txt) the main() of each has another name.
 */
#ifndef TESTS_CMOCKA_CR_H
#define TESTS_CMOCKA_CR_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#ifdef TEST_MAIN
/* With a declaration before it, which gcc misses unless it is called main. */
#define main(...)                                                              \
	TEST_MAIN(__VA_ARGS__);                                                \
	int TEST_MAIN(__VA_ARGS__)
#endif

#endif
