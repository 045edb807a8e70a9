/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loaded before a program (LD_PRELOAD), between it and the C library: lets the
 * Nth call of a kind fail, and steps the wall clock. Of memory, only what the
 * program and the libraries of OURS ask for, as others end the program, and
 * that is known: usrsctp's, sofia-sip's and the loader's. Nothing is asserted
 * here, for this runs before main().
 */
#define _GNU_SOURCE
#include "seam.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static const char *const OURS[] = {
	"libjansson", "libevent", "liburcu",	"liburing",
	"libbsd",     "libopus",  "libspandsp", "libgsm",
};

/* Libraries' functions that end the program where they get no memory:
 * bufferevent_setwatermark() of libevent 2.1 uses what the first has not made,
 * and AddressSanitizer cannot begin a thread without the second. */
static const char *const CRASH[] = { "evbuffer_add_cb", "pthread_getattr_np" };

enum { MOST_RANGES = 128 };

static struct seam none, *shared = &none;
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
	map = (void *)syscall(SYS_mmap, NULL, sizeof(*shared),
			      PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	(void)syscall(SYS_close, fd);
	(void)dl_iterate_phdr(note, NULL);
	if (map != MAP_FAILED)
		shared = map;
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

	atomic_store(&shared->caller, (uint64_t)(uintptr_t)caller);
	if (!dladdr(caller, &info) || !info.dli_fname)
		return;
	atomic_store(&shared->caller,
		     (uint64_t)((uintptr_t)caller - (uintptr_t)info.dli_fbase));
	strncpy(shared->object, info.dli_fname, sizeof(shared->object) - 1);
}

/* Is this call one of those that are to fail? */
static bool fails(enum seam_kind kind, const void *caller)
{
	int64_t left;

	if (!(atomic_load_explicit(&shared->armed, memory_order_relaxed) >>
		      kind &
	      1))
		return false;
	atomic_fetch_add(&shared->calls[kind], 1);
	left = atomic_fetch_sub(&shared->left, 1);
	if (left > 0 || left <= -atomic_load(&shared->fail))
		return false;
	if (crashes(caller)) { /* the next one instead */
		atomic_fetch_add(&shared->left, 1);
		return false;
	}
	atomic_fetch_add(&shared->failed, 1);
	tell(caller);
	return true;
}

static bool no_memory(const void *caller)
{
	uintptr_t at = (uintptr_t)caller;

	if (!atomic_load_explicit(&shared->armed, memory_order_relaxed))
		return false;
	for (unsigned i = 0; i < nours; i++)
		if (at >= ours[i].from && at < ours[i].to)
			return fails(SEAM_MEMORY, caller);
	return false;
}

#define CALLER __builtin_return_address(0)

/* clang-format off */
#define NEXT(name)                                                             \
	static __typeof__(&name) next;                                         \
	if (!next)                                                             \
		next = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

#define FAIL(kind, error, value)                                               \
	if (fails(kind, CALLER)) {                                             \
		errno = error;                                                 \
		return value;                                                  \
	}
/* clang-format on */

void *malloc(size_t size)
{
	NEXT(malloc);
	if (no_memory(CALLER)) {
		errno = ENOMEM;
		return NULL;
	}
	return next(size);
}

void *calloc(size_t n, size_t size)
{
	NEXT(calloc);
	if (no_memory(CALLER)) {
		errno = ENOMEM;
		return NULL;
	}
	return next(n, size);
}

void *realloc(void *old, size_t size)
{
	NEXT(realloc);
	if (size && no_memory(CALLER)) {
		errno = ENOMEM;
		return NULL;
	}
	return next(old, size);
}

int posix_memalign(void **p, size_t align, size_t size)
{
	NEXT(posix_memalign);
	return no_memory(CALLER) ? ENOMEM : next(p, align, size);
}

void *aligned_alloc(size_t align, size_t size)
{
	NEXT(aligned_alloc);
	if (no_memory(CALLER)) {
		errno = ENOMEM;
		return NULL;
	}
	return next(align, size);
}

int pthread_create(pthread_t *t, const pthread_attr_t *attr,
		   void *(*run)(void *), void *arg)
{
	NEXT(pthread_create);
	return fails(SEAM_THREAD, CALLER) ? EAGAIN : next(t, attr, run, arg);
}

int socket(int domain, int type, int protocol)
{
	NEXT(socket);
	FAIL(SEAM_DESCRIPTOR, EMFILE, -1)
	return next(domain, type, protocol);
}

int socketpair(int domain, int type, int protocol, int fd[2])
{
	NEXT(socketpair);
	FAIL(SEAM_DESCRIPTOR, EMFILE, -1)
	return next(domain, type, protocol, fd);
}

int accept(int fd, struct sockaddr *from, socklen_t *bytes)
{
	NEXT(accept);
	FAIL(SEAM_DESCRIPTOR, EMFILE, -1)
	return next(fd, from, bytes);
}

int accept4(int fd, struct sockaddr *from, socklen_t *bytes, int flags)
{
	NEXT(accept4);
	FAIL(SEAM_DESCRIPTOR, EMFILE, -1)
	return next(fd, from, bytes, flags);
}

int epoll_create1(int flags)
{
	NEXT(epoll_create1);
	FAIL(SEAM_DESCRIPTOR, EMFILE, -1)
	return next(flags);
}

int eventfd(unsigned value, int flags)
{
	NEXT(eventfd);
	FAIL(SEAM_DESCRIPTOR, EMFILE, -1)
	return next(value, flags);
}

int timerfd_create(int clock, int flags)
{
	NEXT(timerfd_create);
	FAIL(SEAM_DESCRIPTOR, EMFILE, -1)
	return next(clock, flags);
}

int pipe2(int fd[2], int flags)
{
	NEXT(pipe2);
	FAIL(SEAM_DESCRIPTOR, EMFILE, -1)
	return next(fd, flags);
}

static mode_t mode_of(int flags, va_list more)
{
	return flags & (O_CREAT | O_TMPFILE) ? (mode_t)va_arg(more, int) : 0;
}

int open(const char *path, int flags, ...)
{
	va_list more;
	mode_t mode;

	NEXT(open);
	va_start(more, flags);
	mode = mode_of(flags, more);
	va_end(more);
	FAIL(SEAM_DESCRIPTOR, EMFILE, -1)
	return next(path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...)
{
	va_list more;
	mode_t mode;

	NEXT(openat);
	va_start(more, flags);
	mode = mode_of(flags, more);
	va_end(more);
	FAIL(SEAM_DESCRIPTOR, EMFILE, -1)
	return next(folder, path, flags, mode);
}

ssize_t sendto(int fd, const void *data, size_t bytes, int flags,
	       const struct sockaddr *to, socklen_t size)
{
	NEXT(sendto);
	FAIL(SEAM_SEND, ENOBUFS, -1)
	return next(fd, data, bytes, flags, to, size);
}

ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
	NEXT(sendmsg);
	FAIL(SEAM_SEND, ENOBUFS, -1)
	return next(fd, m, flags);
}

int sendmmsg(int fd, struct mmsghdr *m, unsigned n, int flags)
{
	NEXT(sendmmsg);
	FAIL(SEAM_SEND, ENOBUFS, -1)
	return next(fd, m, n, flags);
}

int recvmmsg(int fd, struct mmsghdr *m, unsigned n, int flags,
	     struct timespec *timeout)
{
	NEXT(recvmmsg);
	FAIL(SEAM_RECEIVE, ENOMEM, -1)
	return next(fd, m, n, flags, timeout);
}

ssize_t recvmsg(int fd, struct msghdr *m, int flags)
{
	NEXT(recvmsg);
	FAIL(SEAM_RECEIVE, ENOMEM, -1)
	return next(fd, m, flags);
}

/* What wakes threads up and what signals write is never full. */
static bool is_file(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISREG(st.st_mode);
}

ssize_t write(int fd, const void *data, size_t bytes)
{
	NEXT(write);
	if (atomic_load_explicit(&shared->armed, memory_order_relaxed) &&
	    is_file(fd))
		FAIL(SEAM_WRITE, ENOSPC, -1)
	return next(fd, data, bytes);
}

void *mmap(void *at, size_t bytes, int prot, int flags, int fd, off_t offset)
{
	NEXT(mmap);
	FAIL(SEAM_MAP, ENOMEM, MAP_FAILED)
	return next(at, bytes, prot, flags, fd, offset);
}

int io_uring_submit(struct io_uring *ring)
{
	NEXT(io_uring_submit);
	return fails(SEAM_RING, CALLER) ? -EAGAIN : next(ring);
}

int io_uring_submit_and_get_events(struct io_uring *ring)
{
	NEXT(io_uring_submit_and_get_events);
	return fails(SEAM_RING, CALLER) ? -EAGAIN : next(ring);
}

int io_uring_get_events(struct io_uring *ring)
{
	NEXT(io_uring_get_events);
	return fails(SEAM_RING, CALLER) ? -EBUSY : next(ring);
}

int io_uring_submit_and_wait_timeout(struct io_uring *ring,
				     struct io_uring_cqe **c, unsigned n,
				     struct __kernel_timespec *timeout,
				     sigset_t *mask)
{
	NEXT(io_uring_submit_and_wait_timeout);
	return fails(SEAM_RING, CALLER) ? -EAGAIN
					: next(ring, c, n, timeout, mask);
}

int clock_gettime(clockid_t clock, struct timespec *t)
{
	int64_t ahead =
		atomic_load_explicit(&shared->ahead, memory_order_relaxed);
	int rc;

	NEXT(clock_gettime);
	rc = next(clock, t);
	if (!rc && ahead && clock == CLOCK_REALTIME) {
		int64_t ns = t->tv_nsec + ahead % 1000000000;

		t->tv_sec +=
			ahead / 1000000000 + (ns < 0 ? -1 : ns / 1000000000);
		t->tv_nsec = (ns + 1000000000) % 1000000000;
	}
	return rc;
}

time_t time(time_t *to)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_REALTIME, &t);
	if (to)
		*to = t.tv_sec;
	return t.tv_sec;
}
