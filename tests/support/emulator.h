/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests that run in an emulator of programs (tests/arm64), which passes on
 * system calls, but not all that they can do.
 */
#ifndef TESTS_EMULATOR_H
#define TESTS_EMULATOR_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/** Are we emulated, so that there is no @what (which is said)? To be skipped
 * then. */
static inline bool emulator_lacks(const char *what)
{
	if (!getenv("CR_EMULATOR"))
		return false;
	(void)printf("skipped: the emulator has no %s\n", what);
	return true;
}

#endif
