/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slots of UDP addresses: found again, kept while held, few when idle.
 */
#include <arpa/inet.h>
#include <netinet/in.h>

#include "cmocka_cr.h"
#include "transport/sctp_user_peers.h"

static struct address address(unsigned n)
{
	struct address a = { .len = sizeof(struct sockaddr_in) };
	struct sockaddr_in *in = (struct sockaddr_in *)&a.sa;

	in->sin_family = AF_INET;
	in->sin_addr.s_addr = htonl(INADDR_LOOPBACK + n / 60000);
	in->sin_port = htons((uint16_t)(1024 + n % 60000));
	return a;
}

static struct user_peer *get(void *owner, unsigned n)
{
	struct address a = address(n);
	bool fresh;

	return peers_get(owner, &a, &fresh);
}

static void an_address_keeps_its_slot(void **state)
{
	int one, two;
	struct address a = address(1);
	struct user_peer *p = get(&one, 1);

	assert_ptr_equal(get(&one, 1), p);
	assert_ptr_equal(peers_find(&one, &a), p);
	assert_ptr_equal(peers_at(p->slot), p);
	assert_null(peers_find(&two, &a));
	assert_ptr_not_equal(get(&two, 1), p);
	peers_disown(&one);
	assert_null(peers_find(&one, &a));
	peers_disown(&two);
}

static void a_flood_takes_few_slots_and_no_held_one(void **state)
{
	int me;
	struct user_peer *held = get(&me, 0), *p;
	unsigned most = 0;

	peers_hold(held);
	for (unsigned n = 1; n < 50000; n++) {
		p = get(&me, n);
		assert_non_null(p);
		assert_ptr_not_equal(p, held);
		if (p->slot > most)
			most = p->slot;
	}
	assert_in_range(most, PEERS_IDLE_MAX, PEERS_IDLE_MAX + 4);
	assert_ptr_equal(get(&me, 0), held);
	peers_disown(&me);
}

/* Its handshake would go to another's slot, and never be answered. */
static void an_address_that_comes_again_is_the_last_to_lose_its_slot(
	void **state)
{
	int me;
	struct user_peer *p = get(&me, 0);

	for (unsigned n = 1; n < PEERS_IDLE_MAX; n++)
		(void)get(&me, n);
	assert_ptr_equal(get(&me, 0), p);
	for (unsigned n = 1; n < PEERS_IDLE_MAX; n++)
		assert_ptr_not_equal(get(&me, PEERS_IDLE_MAX + n), p);
	assert_ptr_equal(get(&me, 0), p);
	peers_disown(&me);
}

static void held_slots_end_at_the_limit(void **state)
{
	int me;
	struct user_peer *p;

	for (unsigned n = 0; n < PEERS_MAX; n++) {
		p = get(&me, n);
		assert_non_null(p);
		peers_hold(p);
	}
	assert_null(get(&me, PEERS_MAX));
	peers_release(p);
	assert_ptr_equal(get(&me, PEERS_MAX), p);
	peers_disown(&me);
	assert_null(peers_at(PEERS_MAX + 1));
	assert_null(peers_at(0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_address_keeps_its_slot),
		cmocka_unit_test(a_flood_takes_few_slots_and_no_held_one),
		cmocka_unit_test(
			an_address_that_comes_again_is_the_last_to_lose_its_slot),
		cmocka_unit_test(held_slots_end_at_the_limit),
	};

	return cmocka_run_group_tests_name("peers", tests, NULL, NULL);
}
