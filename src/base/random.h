/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random octets that nobody can guess (RFC 3550 5.1, RFC 7022): the kernel's,
 * asked for by the hundred. A call takes a dozen small numbers, and a system
 * call for each of them was a fiftieth of what setting one up costs.
 */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include <stddef.h>

/** Fill @buf. Any thread; each has a stock of its own. Not across fork(). */
void random_fill(void *buf, size_t bytes);

#endif
