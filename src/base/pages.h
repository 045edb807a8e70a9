/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory for very much of the same, in pages as large as the system has: who
 * goes through many megabytes in no order would otherwise wait for addresses
 * to be translated as long as for the memory itself.
 *
 * Thread rule: any thread.
 */
#ifndef BASE_PAGES_H
#define BASE_PAGES_H

#include <stddef.h>

/** @size > 0 bytes, zeroed, aligned to a page. NULL: no memory. */
void *pages_map(size_t size);

/** Give @p of @size bytes back. NULL is fine. */
void pages_unmap(void *p, size_t size);

#endif
