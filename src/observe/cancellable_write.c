/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing, and being ended while a write does not return.
 */
#define _GNU_SOURCE /* pthread_timedjoin_np() */
#include "observe/cancellable_write.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "base/clock.h"

/* For a thread that is told to end in the middle of a write. */
#define JOIN_LIMIT (200 * CR_MS)

void cancellable_write_begin(void)
{
	int state;

	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
}

/* AddressSanitizer's, where it is linked in. */
void __asan_handle_no_return(void) __attribute__((weak));

/* The frames of a thread that is cancelled do not return: what is marked of
 * them must not be taken for that of functions that come there later. */
static void forget_frames(void *arg)
{
	(void)arg;
	if (__asan_handle_no_return)
		__asan_handle_no_return();
}

static ssize_t write_or_end(int fd, const char *text, size_t n)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	ssize_t k;
	int state, err;

	(void)pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state);
	k = write(fd, text, n);
	err = errno;
	if (k < 0 && err == EAGAIN) /* it was opened so, or made so */
		(void)poll(&p, 1, -1);
	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	errno = err;
	return k;
}

ssize_t cancellable_write(int fd, const char *text, size_t n)
{
	ssize_t k;

	pthread_cleanup_push(forget_frames, NULL);
	k = write_or_end(fd, text, n);
	pthread_cleanup_pop(0);
	return k;
}

/* A write that does not return ends, unless the kernel does not let it. */
static bool end_it(pthread_t thread)
{
	cr_ns limit = clock_read(CLOCK_REALTIME) + JOIN_LIMIT;
	const struct timespec end = { .tv_sec = (time_t)(limit / CR_SEC),
				      .tv_nsec = (long)(limit % CR_SEC) };

	(void)pthread_cancel(thread);
	return !pthread_timedjoin_np(thread, NULL, &end);
}

bool cancellable_write_join(pthread_t thread, bool ended)
{
	if (ended ? !pthread_join(thread, NULL) : end_it(thread))
		return true;
	(void)pthread_detach(thread);
	return false;
}
