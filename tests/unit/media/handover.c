/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is put into a box comes out once, whole, in the order in which each
 * thread put it; what does not fit is refused.
 */
#include <arpa/inet.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "cmocka_cr.h"
#include "media/rx.h"

enum { WRITERS = 3, EACH = 20000, ROOM = 256 };

static struct handover *box;

/* Packet @n of @writer: its length and all of its octets depend on both. */
static bool put(unsigned writer, unsigned n)
{
	uint8_t data[HANDOVER_BYTES];
	struct sockaddr_storage from = { .ss_family = AF_INET };
	struct intake_packet p = { .data = data,
				   .bytes = 8 + (writer + n) % 300,
				   .from = &from,
				   .arrival = n };

	((struct sockaddr_in *)(void *)&from)->sin_port =
		htons((uint16_t)writer);
	memset(data, (int)(writer * 50 + n % 50), sizeof(data));
	return handover_put(box, &p);
}

/* The next packet, which is the writer's @expected[writer]. */
static void take(unsigned expected[WRITERS])
{
	const struct intake_packet *p = handover_first(box);
	const struct sockaddr_in *from;
	unsigned writer, n;

	assert_non_null(p);
	from = (const struct sockaddr_in *)(const void *)p->from;
	writer = ntohs(from->sin_port);
	assert_in_range(writer, 0, WRITERS - 1);
	n = expected[writer]++;
	assert_int_equal(p->arrival, n);
	assert_int_equal(p->bytes, 8 + (writer + n) % 300);
	for (size_t i = 0; i < p->bytes; i++)
		assert_int_equal(p->data[i], writer * 50 + n % 50);
	handover_done(box);
}

static void a_full_box_refuses(void **state)
{
	unsigned expected[WRITERS] = { 0 };

	box = handover_new();
	assert_non_null(box);
	assert_null(handover_first(box));
	for (unsigned n = 0; n < ROOM; n++)
		assert_true(put(0, n));
	assert_false(put(0, ROOM));
	take(expected);
	assert_true(put(0, ROOM));
	assert_false(put(0, ROOM + 1));
	while (expected[0] < ROOM + 1)
		take(expected);
	assert_null(handover_first(box));
	handover_free(box);
}

static void *writer_main(void *arg)
{
	unsigned writer = *(const unsigned *)arg;

	for (unsigned n = 0; n < EACH; n++)
		while (!put(writer, n))
			(void)sched_yield();
	return NULL;
}

static void each_threads_packets_stay_in_order(void **state)
{
	unsigned expected[WRITERS] = { 0 }, number[WRITERS];
	pthread_t thread[WRITERS];

	box = handover_new();
	assert_non_null(box);
	for (unsigned i = 0; i < WRITERS; i++) {
		number[i] = i;
		assert_int_equal(pthread_create(&thread[i], NULL, writer_main,
						&number[i]),
				 0);
	}
	for (unsigned n = 0; n < WRITERS * EACH; n++) {
		while (!handover_first(box))
			(void)sched_yield();
		take(expected);
	}
	for (unsigned i = 0; i < WRITERS; i++) {
		assert_int_equal(pthread_join(thread[i], NULL), 0);
		assert_int_equal(expected[i], EACH);
	}
	assert_null(handover_first(box));
	handover_free(box);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_full_box_refuses),
		cmocka_unit_test(each_threads_packets_stay_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
