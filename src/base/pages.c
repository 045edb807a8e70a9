/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Anonymous mappings; the kernel is asked for huge pages (Linux's THP), and
 * may say no.
 */
#define _GNU_SOURCE
#include "base/pages.h"

#include <sys/mman.h>

void *pages_map(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	(void)madvise(p, size, MADV_HUGEPAGE);
	return p;
}

void pages_unmap(void *p, size_t size)
{
	if (p)
		(void)munmap(p, size);
}
