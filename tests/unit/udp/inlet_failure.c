/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An io_uring that the kernel serves no more: the receiver gets an error,
 * nothing waits for ever. A passing fault is none. The linker's --wrap stands
 * for the kernel.
 */
#include <errno.h>
#include <liburing.h>
#include <stdio.h>
#include <unistd.h>

#include "cmocka_cr.h"
#include "loopback.h"
#include "udp/inlet.h"

/* The answers of the next calls, which do nothing. */
static struct {
	int submit, wait;
	unsigned times; /* before the kernel is itself again */
} refuse;

static int refused(int rc)
{
	if (!rc || !refuse.times)
		return 0;
	refuse.times--;
	return rc;
}

int __real_io_uring_submit(struct io_uring *r);
int __wrap_io_uring_submit(struct io_uring *r);

int __wrap_io_uring_submit(struct io_uring *r)
{
	int rc = refused(refuse.submit);

	return rc ? rc : __real_io_uring_submit(r);
}

int __real_io_uring_submit_and_wait_timeout(struct io_uring *r,
					    struct io_uring_cqe **c, unsigned n,
					    struct __kernel_timespec *t,
					    sigset_t *mask);
int __wrap_io_uring_submit_and_wait_timeout(struct io_uring *r,
					    struct io_uring_cqe **c, unsigned n,
					    struct __kernel_timespec *t,
					    sigset_t *mask);

int __wrap_io_uring_submit_and_wait_timeout(struct io_uring *r,
					    struct io_uring_cqe **c, unsigned n,
					    struct __kernel_timespec *t,
					    sigset_t *mask)
{
	int rc = refused(refuse.wait);

	return rc ? rc
		  : __real_io_uring_submit_and_wait_timeout(r, c, n, t, mask);
}

static struct inlet *in;
static struct sockaddr_storage at;
static int fd;

static int setup(void **state)
{
	uint64_t key;

	refuse.submit = refuse.wait = 0;
	refuse.times = UINT32_MAX;
	fd = loopback_socket(&at);
	assert_int_equal(inlet_open(&in, UDP_IO_URING, NULL), 0);
	return inlet_add(in, fd, 1, INLET_ONE, &key, NULL);
}

static int teardown(void **state)
{
	inlet_leave(in);
	inlet_close(in);
	return close(fd);
}

static void a_ring_that_is_refused_is_told(void **state)
{
	refuse.submit = -EPERM;
	assert_int_equal(inlet_wait(in, CR_NEVER), -EPERM);
	refuse.submit = 0; /* it is too late */
	assert_int_equal(inlet_wait(in, CR_NEVER), -EPERM);
}

static void a_wait_that_is_refused_is_told(void **state)
{
	refuse.wait = -EPERM;
	assert_int_equal(inlet_wait(in, CR_NEVER), -EPERM);
}

static void lost_completions_are_told(void **state)
{
	refuse.wait = -EBADR;
	assert_int_equal(inlet_wait(in, CR_NEVER), -EBADR);
}

static void want_of_memory_that_lasts_is_told(void **state)
{
	refuse.submit = -EAGAIN;
	assert_int_equal(inlet_wait(in, CR_NEVER), -EAGAIN);
}

static void what_passes_is_not_told(void **state)
{
	static const int passes[] = { -EAGAIN, -ENOMEM, -EBUSY, -EINTR };
	struct inlet_packet p;

	for (unsigned i = 0; i < sizeof(passes) / sizeof(*passes); i++) {
		refuse.submit = refuse.wait = passes[i];
		refuse.times = 5;
		assert_int_equal(sendto(fd, "x", 1, 0, (struct sockaddr *)&at,
					address_length(&at)),
				 1);
		do
			assert_true(inlet_wait(in, CR_NEVER) >= 0);
		while (!inlet_next(in, &p));
		assert_int_equal(p.tag, 1);
		assert_int_equal(p.packet.bytes, 1);
	}
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_ring_that_is_refused_is_told),
		TEST(a_wait_that_is_refused_is_told),
		TEST(lost_completions_are_told),
		TEST(want_of_memory_that_lasts_is_told),
		TEST(what_passes_is_not_told),
	};
	struct cr_err why = { "" };

	if (udp_io_uring(&why))
		return cmocka_run_group_tests(tests, NULL, NULL);
	(void)printf("skipped: %s\n", why.text);
	return 0;
}
