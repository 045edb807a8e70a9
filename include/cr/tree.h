/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Red-black trees for policies: <bsd/sys/tree.h> behind one door, because its
 * _STATIC macros do not compile on Debian 12. Use RB_HEAD and RB_ENTRY for the
 * types, CR_TREE() for the functions, then RB_INSERT, RB_REMOVE, RB_MIN,
 * RB_MAX, RB_FOREACH. No allocation; a zeroed head is an empty tree.
 */
#ifndef CR_TREE_H
#define CR_TREE_H

#include <bsd/sys/tree.h>

#include <stdint.h>

/** Generate the functions of tree type @name, as far as they are used. */
#define CR_TREE(name, type, field, cmp)                                        \
	RB_GENERATE_INTERNAL(name, type, field, cmp,                           \
			     static __attribute__((unused)))

/** Three-way comparison without overflow: -1, 0, 1. */
static inline int cr_cmp(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

#endif
