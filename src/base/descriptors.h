/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many file descriptors, sockets among them, this process may have
 * (RLIMIT_NOFILE, getrlimit(2)). Any thread.
 */
#ifndef BASE_DESCRIPTORS_H
#define BASE_DESCRIPTORS_H

#include <stdint.h>

/** Raise the soft limit to the hard one. What cannot be raised stays. */
void descriptors_raise(void);

/** The soft limit; UINT64_MAX: none. */
uint64_t descriptors_limit(void);

#endif
