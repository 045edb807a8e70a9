/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a member to the struct that embeds it.
 */
#ifndef CR_CONTAINER_H
#define CR_CONTAINER_H

#include <stddef.h>

/** The @type whose @member is at @p. The compiler compares the types: a pointer
 * to something else, but for void, is an error. Without const. */
#define CR_CONTAINER_OF(p, type, member)                                       \
	((type *)(void *)((char *)(1 ? (p) : &((type *)0)->member) -           \
			  offsetof(type, member)))

#endif
