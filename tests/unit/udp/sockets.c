/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A key finds its socket until that is removed, and nothing afterwards, also
 * when the place has another socket by then.
 */
#include "cmocka_cr.h"
#include "udp/inlet.h"

static struct sockets s;

static uint64_t add(int fd, uint64_t tag)
{
	const struct sockets_entry entry = { fd, tag };
	uint64_t key = 0;

	assert_int_equal(sockets_add(&s, &entry, &key), 0);
	assert_int_not_equal(key, 0);
	return key;
}

static void assert_found(uint64_t key, int fd, uint64_t tag)
{
	struct sockets_entry entry;

	assert_true(sockets_find(&s, key, &entry));
	assert_int_equal(entry.fd, fd);
	assert_int_equal(entry.tag, tag);
}

static void a_removed_key_finds_nothing_ever_again(void **state)
{
	struct sockets_entry entry;
	uint64_t first = add(3, 30), second = add(4, 40), third;

	assert_found(first, 3, 30);
	sockets_del(&s, first);
	assert_false(sockets_find(&s, first, &entry));
	third = add(5, 50);
	assert_int_equal((uint32_t)third, (uint32_t)first); /* its place */
	assert_false(sockets_find(&s, first, &entry));
	assert_found(third, 5, 50);
	assert_found(second, 4, 40);
	sockets_fini(&s);
}

static void places_grow_and_are_used_again(void **state)
{
	enum { MANY = 3 * SOCKETS_CHUNK + 1 };
	static uint64_t key[MANY];

	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < MANY; i++)
			key[i] = add((int)i, i + round);
		for (unsigned i = 0; i < MANY; i++)
			assert_found(key[i], (int)i, i + round);
		for (unsigned i = 0; i < MANY; i++)
			sockets_del(&s, key[i]);
	}
	assert_int_equal(s.used, MANY);
	sockets_fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_removed_key_finds_nothing_ever_again),
		cmocka_unit_test(places_grow_and_are_used_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
