/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who reads a way while others write it sees an address that was written as a
 * whole, never halves of two, and never an older one than before.
 */
#include <netinet/in.h>
#include <pthread.h>
#include <string.h>

#include "base/address.h"
#include "cmocka_cr.h"
#include "media/endpoint.h"

enum { WRITES = 200000, WRITERS = 2 };

/* All octets of the address, its port and its scope say @n. */
static struct sockaddr_storage numbered(uint16_t n)
{
	struct sockaddr_storage s = { 0 };
	struct sockaddr_in6 *a = (void *)&s;

	a->sin6_family = AF_INET6;
	a->sin6_port = n;
	a->sin6_scope_id = n;
	memset(&a->sin6_addr, n & 0xff, sizeof(a->sin6_addr));
	return s;
}

static void *write_many(void *arg)
{
	struct destination *w = arg;

	for (unsigned i = 0; i < WRITES; i++) {
		const struct sockaddr_storage a = numbered((uint16_t)i);

		destination_set(w, &a);
	}
	return NULL;
}

static void an_address_is_never_torn(void **state)
{
	pthread_t writer[WRITERS];
	unsigned version = 0, changes = 0;
	struct destination w;

	destination_init(&w);
	for (unsigned i = 0; i < WRITERS; i++)
		assert_int_equal(
			pthread_create(&writer[i], NULL, write_many, &w), 0);
	while (version != 2 * WRITERS * WRITES) {
		struct sockaddr_storage got, whole;
		unsigned now = destination_read(&w, &got);

		assert_true(now >= version && now % 2 == 0);
		changes += now != version;
		version = now;
		if (!now)
			continue; /* nothing was written yet */
		whole = numbered(
			((struct sockaddr_in6 *)(void *)&got)->sin6_port);
		assert_memory_equal(&got, &whole, sizeof(got));
	}
	for (unsigned i = 0; i < WRITERS; i++)
		(void)pthread_join(writer[i], NULL);
	assert_true(changes > 0);
	assert_false(destination_changed(&w, version));
	destination_fini(&w);
}

static void nowhere_is_told_from_somewhere(void **state)
{
	const struct sockaddr_storage none = { .ss_family = AF_UNSPEC };
	struct sockaddr_storage at, got;
	struct destination w;

	destination_init(&w);
	assert_false(destination_changed(&w, 0));
	assert_int_equal(destination_read(&w, &got), 0);
	assert_int_equal(got.ss_family, AF_UNSPEC);
	assert_int_equal(address_parse("192.0.2.7:4000", &at), 0);
	destination_set(&w, &at);
	assert_true(destination_changed(&w, 0));
	(void)destination_read(&w, &got);
	assert_true(address_equal(&got, &at));
	destination_set(&w, &none);
	(void)destination_read(&w, &got);
	assert_int_equal(got.ss_family, AF_UNSPEC);
	destination_fini(&w);
}

/* A writer without a CPU must not keep a sender on it for ever. */
static void who_tries_does_not_wait(void **state)
{
	const struct sockaddr_storage a = numbered(7);
	struct sockaddr_storage got = { 0 };
	unsigned version = 0;
	bool held = false;
	struct destination w;

	destination_init(&w);
	destination_set(&w, &a);
	atomic_fetch_add(&w.version, 1); /* in the midst of another one */
	assert_false(destination_try(&w, &version, &held, &got));
	assert_int_equal(version, 0);
	assert_int_equal(got.ss_family, AF_UNSPEC);
	atomic_fetch_add(&w.version, 1);
	assert_true(destination_try(&w, &version, &held, &got));
	assert_memory_equal(&got, &a, sizeof(got));
	assert_false(destination_changed(&w, version));
	destination_fini(&w);
}

/* Its address is known, changes, and is there again. */
static void a_way_that_is_held_leads_nowhere(void **state)
{
	const struct sockaddr_storage a = numbered(7), b = numbered(8);
	struct sockaddr_storage got;
	unsigned version = 0;
	bool held = false;
	struct destination w;

	destination_init(&w);
	destination_set(&w, &a);
	assert_true(destination_try(&w, &version, &held, &got));
	assert_false(held);
	destination_hold(&w, true);
	assert_true(destination_changed(&w, version));
	assert_true(destination_try(&w, &version, &held, &got));
	assert_true(held);
	assert_int_equal(got.ss_family, AF_UNSPEC);
	destination_set(&w, &b);
	assert_true(destination_try(&w, &version, &held, &got));
	assert_true(held);
	assert_int_equal(got.ss_family, AF_UNSPEC);
	(void)destination_read(&w, &got);
	assert_memory_equal(&got, &b, sizeof(got));
	destination_hold(&w, false);
	assert_true(destination_try(&w, &version, &held, &got));
	assert_false(held);
	assert_memory_equal(&got, &b, sizeof(got));
	destination_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_address_is_never_torn),
		cmocka_unit_test(nowhere_is_told_from_somewhere),
		cmocka_unit_test(who_tries_does_not_wait),
		cmocka_unit_test(a_way_that_is_held_leads_nowhere),
	};

	return cmocka_run_group_tests_name("way", tests, NULL, NULL);
}
