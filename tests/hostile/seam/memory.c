/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory, mappings and threads that there are none of.
 */
#define _GNU_SOURCE
#include "seam_impl.h"

#include <jansson.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

void *malloc(size_t size)
{
	NEXT(malloc);
	if (seam_no_memory(CALLER)) {
		errno = ENOMEM;
		return NULL;
	}
	return next(size);
}

void *calloc(size_t n, size_t size)
{
	NEXT(calloc);
	if (seam_no_memory(CALLER)) {
		errno = ENOMEM;
		return NULL;
	}
	return next(n, size);
}

void *realloc(void *old, size_t size)
{
	NEXT(realloc);
	if (size && seam_no_memory(CALLER)) {
		errno = ENOMEM;
		return NULL;
	}
	return next(old, size);
}

int posix_memalign(void **p, size_t align, size_t size)
{
	NEXT(posix_memalign);
	return seam_no_memory(CALLER) ? ENOMEM : next(p, align, size);
}

void *aligned_alloc(size_t align, size_t size)
{
	NEXT(aligned_alloc);
	if (seam_no_memory(CALLER)) {
		errno = ENOMEM;
		return NULL;
	}
	return next(align, size);
}

struct begin {
	void *(*run)(void *);
	void *arg;
};

/* AddressSanitizer, which begins threads, ends the program where it has no
 * memory for that. */
static void *begun(void *arg)
{
	struct begin b = *(struct begin *)arg;

	free(arg);
	seam_spared--;
	return b.run(b.arg);
}

int pthread_create(pthread_t *t, const pthread_attr_t *attr,
		   void *(*run)(void *), void *arg)
{
	struct begin *b;
	int err;

	NEXT(pthread_create);
	if (seam_fails(SEAM_THREAD, CALLER))
		return EAGAIN;
	b = malloc(sizeof(*b));
	if (!b)
		return EAGAIN;
	*b = (struct begin){ run, arg };
	err = next(t, attr, begun, b);
	if (err)
		free(b);
	return err;
}

void *mmap(void *at, size_t bytes, int prot, int flags, int fd, off_t offset)
{
	NEXT(mmap);
	FAIL(SEAM_MAP, ENOMEM, MAP_FAILED)
	return next(at, bytes, prot, flags, fd, offset);
}

/* The program looks before whether there is enough for it (base/memory.h). */
json_t *json_loadb(const char *text, size_t bytes, size_t flags,
		   json_error_t *why)
{
	json_t *got;

	NEXT(json_loadb);
	seam_spared++;
	got = next(text, bytes, flags, why);
	seam_spared--;
	return got;
}
