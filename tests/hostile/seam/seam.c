/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loaded before a program (LD_PRELOAD), between it and the C library: lets the
 * Nth call of a kind fail, and steps the wall clock. Here is decided what
 * fails; the other files have the calls. Of memory, only what the program and
 * the libraries of OURS ask for, as others end the program, and that is known:
 * usrsctp's and the loader's. Nothing is asserted here, for this
 * runs before main().
 */
#define _GNU_SOURCE
#include "seam_impl.h"

#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *const OURS[] = {
	"libjansson", "libevent", "libmicrohttpd", "liburcu", "liburing",
	"libbsd",     "libopus",  "libspandsp",	   "libgsm",
};

/* A library's function that ends the program where it gets no memory:
 * bufferevent_setwatermark() of libevent 2.1 uses what this has not made. */
static const char *const CRASH[] = { "evbuffer_add_cb" };

enum { MOST_RANGES = 128 };

static struct seam none;
struct seam *seam_shared = &none;
_Thread_local unsigned seam_spared = 1; /* until it has begun */
static struct range {
	uintptr_t from, to;
} ours[MOST_RANGES];
static unsigned nours;

static bool is_ours(const char *name)
{
	const char *file = strrchr(name, '/');

	if (!*name)
		return true; /* the program */
	file = file ? file + 1 : name;
	if (!strncmp(file, "libc.so", 7))
		return true; /* strdup() and the like */
	for (unsigned i = 0; i < sizeof(OURS) / sizeof(OURS[0]); i++)
		if (!strncmp(file, OURS[i], strlen(OURS[i])))
			return true;
	return false;
}

static int note(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size, (void)arg;
	for (int i = 0; is_ours(info->dlpi_name) && i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X) ||
		    nours == MOST_RANGES)
			continue;
		ours[nours].from = info->dlpi_addr + p->p_vaddr;
		ours[nours].to = ours[nours].from + p->p_memsz;
		nours++;
	}
	return 0;
}

__attribute__((constructor)) static void seam_open(void)
{
	const char *path = getenv("CR_SEAM");
	int fd = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR) : -1;
	void *map;

	if (fd < 0)
		return;
	map = (void *)syscall(SYS_mmap, NULL, sizeof(*seam_shared),
			      PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	(void)syscall(SYS_close, fd);
	(void)dl_iterate_phdr(note, NULL);
	if (map != MAP_FAILED)
		seam_shared = map;
	seam_spared--; /* the first thread */
}

static bool crashes(const void *caller)
{
	Dl_info info;

	if (!dladdr(caller, &info) || !info.dli_sname)
		return false;
	for (unsigned i = 0; i < sizeof(CRASH) / sizeof(CRASH[0]); i++)
		if (!strcmp(info.dli_sname, CRASH[i]))
			return true;
	return false;
}

static void tell(const void *caller)
{
	Dl_info info;

	atomic_store(&seam_shared->caller, (uint64_t)(uintptr_t)caller);
	if (!dladdr(caller, &info) || !info.dli_fname)
		return;
	atomic_store(&seam_shared->caller,
		     (uint64_t)((uintptr_t)caller - (uintptr_t)info.dli_fbase));
	strncpy(seam_shared->object, info.dli_fname,
		sizeof(seam_shared->object) - 1);
}

bool seam_fails(enum seam_kind kind, const void *caller)
{
	int64_t left;

	if (!(atomic_load_explicit(&seam_shared->armed, memory_order_relaxed) >>
		      kind &
	      1))
		return false;
	atomic_fetch_add(&seam_shared->calls[kind], 1);
	left = atomic_fetch_sub(&seam_shared->left, 1);
	if (left > 0 || left <= -atomic_load(&seam_shared->fail))
		return false;
	if (crashes(caller)) { /* the next one instead */
		atomic_fetch_add(&seam_shared->left, 1);
		return false;
	}
	atomic_fetch_add(&seam_shared->failed, 1);
	tell(caller);
	return true;
}

bool seam_no_memory(const void *caller)
{
	uintptr_t at = (uintptr_t)caller;

	if (!seam_armed() || seam_spared)
		return false;
	for (unsigned i = 0; i < nours; i++)
		if (at >= ours[i].from && at < ours[i].to)
			return seam_fails(SEAM_MEMORY, caller);
	return false;
}
