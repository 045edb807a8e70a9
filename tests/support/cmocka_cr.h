/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmocka with the headers that it wants included before it.
 */
#ifndef TESTS_CMOCKA_CR_H
#define TESTS_CMOCKA_CR_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
