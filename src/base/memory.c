/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The limits of memory, and what of them is used; and anonymous mappings for
 * very much of the same: the kernel is asked for huge pages (Linux's THP), and
 * may say no.
 */
#define _GNU_SOURCE
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/sanitized.h"

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

#define KEPT_BYTES (16 << 20)
#define STATM "/proc/self/statm"

/* STATM of a program that serves; -1: it is opened when it is read. */
static int kept_statm = -1;

/* Of the limit that leaves least. */
struct room {
	uint64_t left, limit;
	const char *name, *unit; /* to raise it with */
	int err;		 /* of what is used: nothing is known */
};

static int open_statm(void)
{
	int fd = open(STATM, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* Pages (proc(5)): all, those in memory, and those of data and stacks. 0, or
 * -errno. */
static int read_pages(unsigned long long *all, unsigned long long *resident,
		      unsigned long long *data)
{
	char text[128];
	ssize_t n;
	int err, fd = kept_statm;

	if (fd < 0)
		fd = open_statm();
	if (fd < 0)
		return fd;
	n = pread(fd, text, sizeof(text) - 1, 0);
	err = n < 0 ? -errno : 0;
	if (fd != kept_statm)
		(void)close(fd);
	if (err)
		return err;
	text[n] = '\0';
	/* The kernel's numbers fit: NOLINTNEXTLINE(cert-err34-c) */
	return sscanf(text, "%llu %llu %*u %*u %*u %llu", all, resident,
		      data) == 3
		       ? 0
		       : -EPROTO;
}

static void look(struct room *r, const struct rlimit *limit,
		 unsigned long long pages, const char *name, const char *unit)
{
	uint64_t used = pages * (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t left = limit->rlim_cur > used ? limit->rlim_cur - used : 0;

	if (limit->rlim_cur == RLIM_INFINITY || left >= r->left)
		return;
	*r = (struct room){ .left = left,
			    .limit = limit->rlim_cur,
			    .name = name,
			    .unit = unit };
}

static struct room room(void)
{
	struct room r = { .left = UINT64_MAX };
	unsigned long long all, resident, data;
	struct rlimit as, ds;

	if (getrlimit(RLIMIT_AS, &as) || getrlimit(RLIMIT_DATA, &ds) ||
	    (as.rlim_cur == RLIM_INFINITY && ds.rlim_cur == RLIM_INFINITY))
		return r;
	r.err = read_pages(&all, &resident, &data);
	if (r.err) {
		r.left = 0;
		return r;
	}
	look(&r, &as, all, "RLIMIT_AS", "LimitAS= or ulimit -v");
	look(&r, &ds, data, "RLIMIT_DATA", "LimitDATA= or ulimit -d");
	return r;
}

int memory_used(uint64_t *resident, uint64_t *addresses)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	unsigned long long all, in_memory, data;
	int err = read_pages(&all, &in_memory, &data);

	if (err)
		return err;
	*resident = in_memory * page;
	*addresses = all * page;
	return 0;
}

int memory_check_reserve(uint64_t reserve, struct cr_err *e)
{
	const struct room r = room();

	if (r.left >= reserve)
		return 0;
	if (r.err)
		return cr_fail(e, -ENOMEM,
			       "cannot see how much memory is left: " STATM
			       ": %s; --memory-reserve 0 does without",
			       strerror(-r.err));
	return cr_fail(e, -ENOMEM,
		       "out of memory: %" PRIu64 " MiB are left of %" PRIu64
		       " (%s), and %" PRIu64 " are kept for what goes on "
		       "(--memory-reserve); raise the limit with %s",
		       r.left >> 20, r.limit >> 20, r.name, reserve >> 20,
		       r.unit);
}

#if SANITIZED
/* Their malloc() ends the program itself, and to mark what it gives takes long.
 */
bool memory_there(size_t bytes)
{
	(void)bytes;
	return true;
}
#else
bool memory_there(size_t bytes)
{
	/* else the compiler knows that it may leave out both */
	void *volatile p = malloc(bytes);
	bool there = p != NULL;

	free(p);
	return there;
}
#endif

/* "{}," takes some 200 bytes, and nothing takes more for its length. */
enum { JSON_BYTE = 64, JSON_LEAST = 4096 };

bool memory_for_json(size_t bytes)
{
	return memory_there(JSON_BYTE * bytes + JSON_LEAST);
}

/* Memory of calls that have ended is for those that come: to give it to the
 * system and have it back costs a page fault for each page of each request.
 *
 * With one of the three set, malloc() no longer learns the last by itself:
 * at its 128 KiB, memory_there() would map and unmap at every packet of SCTP,
 * each time with a page fault and an interrupt of the workers' CPUs. */
void memory_keep(void)
{
	(void)mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
	(void)mallopt(M_TOP_PAD, KEPT_BYTES / 16);
	(void)mallopt(M_MMAP_THRESHOLD, 2 * (int)MEMORY_FOR_LIBRARY);
	kept_statm = open_statm();
}
