/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The receiver's turns. It sleeps after each of them that had packets until the
 * test lets it go on (the linker's --wrap), so what a turn has served is known.
 */
#include <errno.h>
#include <poll.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "media/rtp_stream.h"
#include "rtp/rtp.h"
#include "media/rx.h"
#include "patience.h"
#include "transcode_fixture.h"
#include "udp/socket.h"

enum { CALLS = 300, PT = 0, OTHER_PT = 8 };

static sem_t asleep, awake;

int __wrap_clock_nanosleep(clockid_t id, int flags, const struct timespec *t,
			   struct timespec *left);

int __wrap_clock_nanosleep(clockid_t id, int flags, const struct timespec *t,
			   struct timespec *left)
{
	(void)id, (void)flags, (void)t, (void)left;
	(void)sem_post(&asleep);
	while (sem_wait(&awake))
		;
	return 0;
}

/* What happens once, before the receiver's next look at its sockets. */
static void (*_Atomic meanwhile)(void);

bool __real_inlet_next(struct inlet *in, struct inlet_packet *p);
bool __wrap_inlet_next(struct inlet *in, struct inlet_packet *p);

bool __wrap_inlet_next(struct inlet *in, struct inlet_packet *p)
{
	void (*happens)(void) = atomic_exchange(&meanwhile, NULL);

	if (happens)
		happens();
	return __real_inlet_next(in, p);
}

/* What inlet_wait() says instead of waiting; 0: it waits. */
static atomic_int refusal;
static atomic_uint waits;

int __real_inlet_wait(struct inlet *in, cr_ns timeout);
int __wrap_inlet_wait(struct inlet *in, cr_ns timeout);

int __wrap_inlet_wait(struct inlet *in, cr_ns timeout)
{
	int rc = atomic_load(&refusal);

	atomic_fetch_add(&waits, 1);
	return rc ? rc : __real_inlet_wait(in, timeout);
}

/* An endpoint wants to be called again soon, until it was often enough. */
enum { POLLS = 20 };
static sem_t polled_enough;
static atomic_uint polls;
static struct endpoint *polled;

cr_ns __wrap_endpoint_poll(struct endpoint *l, cr_ns now);

cr_ns __wrap_endpoint_poll(struct endpoint *l, cr_ns now)
{
	unsigned n = atomic_fetch_add(&polls, 1) + 1;

	assert_ptr_equal(l, polled);
	if (n < POLLS) /* in the past, too */
		return n % 4 ? now + 2 * CR_MS : now - CR_MS;
	(void)sem_post(&polled_enough);
	return CR_NEVER;
}

static void wait_for(sem_t *s)
{
	struct timespec end;

	(void)clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += PATIENCE_S;
	assert_int_equal(sem_timedwait(s, &end), 0);
}

struct rx_fixture {
	struct stream_table *table;
	struct endpoints endpoints;
	struct rx *rx;
	struct endpoint *endpoint[CALLS];
	struct transcoder *call[CALLS];
	int shared, peer;
};

/* Without an endpoint it is heard at the shared port. */
static struct transcoder *call_at(unsigned number, struct endpoint *in_endpoint)
{
	struct stream_cfg cfg = plain_call();

	cfg.id = cfg.ssrc_in = number + 1;
	cfg.media.out = side("pcmu");
	cfg.release.period = cfg.terms.deadline = 20 * CR_MS;
	cfg.media.in.pt = PT;
	cfg.in_endpoint = in_endpoint;
	return new_call(cfg);
}

static void open_rx(struct rx_fixture *r)
{
	struct rx_config cfg = { .coalesce = CR_MS, .cpu = -1 };
	struct cr_err warn = { "" }, e = { "" };

	rcu_register_thread();
	(void)sem_init(&asleep, 0, 0);
	(void)sem_init(&awake, 0, 0);
	r->table = stream_table_new(1024);
	assert_non_null(r->table);
	r->shared = loopback_socket(NULL);
	r->peer = loopback_socket(NULL);
	cfg.table = r->table;
	cfg.endpoints = &r->endpoints;
	assert_int_equal(rx_open(&r->rx, &cfg, &warn, &e), 0);
	assert_int_equal(rx_listen(r->rx, r->shared, INLET_MANY, &e), 0);
	for (unsigned i = 0; i < CALLS; i++) {
		r->endpoint[i] = endpoint_new(&(struct endpoint_cfg){
			.fd = loopback_socket(NULL),
			.terms.mode = LEARN_IMMEDIATE,
		});
		assert_non_null(r->endpoint[i]);
		r->call[i] = call_at(i, r->endpoint[i]);
		assert_int_equal(endpoints_add(&r->endpoints, r->endpoint[i]),
				 0);
		endpoint_feed(r->endpoint[i], r->call[i]->stream);
		assert_int_equal(rx_add_endpoint(r->rx, r->endpoint[i], &e), 0);
	}
}

static void close_rx(struct rx_fixture *r)
{
	(void)sem_post(&awake);
	rx_close(r->rx);
	for (unsigned i = 0; i < CALLS; i++) {
		(void)close(r->endpoint[i]->cfg.fd);
		endpoint_free(r->endpoint[i]);
		stream_free(r->call[i]->stream);
	}
	endpoints_fini(&r->endpoints);
	stream_table_free(r->table);
	(void)close(r->shared);
	(void)close(r->peer);
	rcu_unregister_thread();
}

/* A packet that its call counts and drops: no engine is needed. */
static void send_to(struct rx_fixture *r, int fd, uint32_t ssrc)
{
	struct rtp_packet h = { .pt = OTHER_PT, .ssrc = ssrc };
	struct sockaddr_storage at;
	socklen_t len = sizeof(at);
	uint8_t packet[RTP_HEADER_BYTES + FRAME] = { 0 };

	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	(void)rtp_build(packet, &h);
	assert_true(sendto(r->peer, packet, sizeof(packet), 0,
			   (struct sockaddr *)&at, len) > 0);
}

/* A busy kernel delivers after sendto() has returned. */
static void wait_for_packets(const struct rx_fixture *r)
{
	for (unsigned i = 0; i < CALLS; i++) {
		struct pollfd ready = { .fd = r->endpoint[i]->cfg.fd,
					.events = POLLIN };

		assert_int_equal(poll(&ready, 1, PATIENCE_S * 1000), 1);
	}
}

static unsigned served(const struct rx_fixture *r)
{
	unsigned n = 0;

	for (unsigned i = 0; i < CALLS; i++)
		n += (unsigned)atomic_load(
			&r->call[i]->stream->account->count.wrong_pt);
	return n;
}

static void a_turn_serves_all_ports_that_are_ready(void **state)
{
	struct rx_fixture r = { 0 };

	open_rx(&r);
	send_to(&r, r.shared, 999999);
	wait_for(&asleep);
	assert_int_equal(atomic_load(&rx_counters(r.rx)->unknown_ssrc), 1);
	for (unsigned i = 0; i < CALLS; i++)
		send_to(&r, r.endpoint[i]->cfg.fd, i + 1);
	wait_for_packets(&r);
	assert_int_equal(served(&r), 0);
	(void)sem_post(&awake);
	wait_for(&asleep);
	assert_int_equal(served(&r), CALLS);
	close_rx(&r);
}

enum { MOST = 64 }; /* receivers */
static struct handover *box[MOST];
static unsigned boxed; /* whose box the next packet is put into */

static void put_and_wake(void)
{
	static const struct rtp_packet h = { .pt = PT, .ssrc = 999999 };
	static const struct sockaddr_storage from = { .ss_family = AF_INET };
	uint8_t data[RTP_HEADER_BYTES + FRAME] = { 0 };
	const struct intake_packet p = { .data = data,
					 .bytes = sizeof(data),
					 .from = &from };

	(void)rtp_build(data, &h);
	assert_true(handover_put(box[boxed], &p));
	handover_wake(box[boxed]);
}

/* Woken for one packet, it takes one that comes at that moment, too: both
 * wake-ups are one to it. */
static void what_is_handed_over_during_a_turn_is_taken(void **state)
{
	static const enum udp_io ways[] = { UDP_IO_EPOLL, UDP_IO_AUTO };
	struct rx_config cfg = { .coalesce = CR_MS, .cpu = -1 };
	struct cr_err warn = { "" }, e = { "" };
	struct rx *rx;

	rcu_register_thread();
	cfg.table = stream_table_new(1024);
	cfg.box = box;
	for (unsigned i = 0; i < 2; i++) {
		(void)sem_init(&asleep, 0, 0);
		(void)sem_init(&awake, 0, 0);
		box[0] = handover_new();
		assert_true(cfg.table && box[0]);
		boxed = 0;
		cfg.io = ways[i];
		assert_int_equal(rx_open(&rx, &cfg, &warn, &e), 0);
		atomic_store(&meanwhile, put_and_wake);
		handover_wake(box[0]);
		wait_for(&asleep);
		assert_int_equal(atomic_load(&rx_counters(rx)->unknown_ssrc),
				 1);
		(void)sem_post(&awake);
		rx_close(rx);
		handover_free(box[0]);
	}
	stream_table_free(cfg.table);
	rcu_unregister_thread();
}

/* As many as there can be. */
static void the_last_receiver_is_handed_its_packets(void **state)
{
	struct rx_config cfg = { .coalesce = CR_MS, .cpu = -1 };
	struct cr_err warn = { "" }, e = { "" };
	struct rx_fixture r = { 0 };
	struct inlet *in;

	rcu_register_thread();
	(void)sem_init(&asleep, 0, 0);
	(void)sem_init(&awake, 0, 0);
	r.table = cfg.table = stream_table_new(1024);
	r.peer = loopback_socket(NULL);
	r.shared = loopback_socket(NULL);
	r.call[0] = call_at(0, NULL);
	r.call[0]->stream->cfg.receiver = MOST - 1;
	assert_int_equal(stream_table_add(r.table, r.call[0]), 0);
	box[0] = handover_new();
	box[MOST - 1] = handover_new();
	assert_int_equal(inlet_open(&in, UDP_IO_EPOLL, &e), 0);
	handover_owned(box[MOST - 1], in);
	cfg.box = box;
	assert_int_equal(rx_open(&r.rx, &cfg, &warn, &e), 0);
	assert_int_equal(rx_listen(r.rx, r.shared, INLET_MANY, &e), 0);
	send_to(&r, r.shared, 1);
	/* a signal ends a wait early */
	for (unsigned n = 0; n < 10 && !handover_first(box[MOST - 1]); n++)
		assert_true(inlet_wait(in, PATIENCE) >= 0);
	assert_non_null(handover_first(box[MOST - 1]));
	(void)sem_post(&awake);
	rx_close(r.rx);
	inlet_close(in);
	handover_free(box[0]);
	handover_free(box[MOST - 1]);
	stream_table_del(r.table, r.call[0]);
	stream_free(r.call[0]->stream);
	stream_table_free(r.table);
	(void)close(r.shared);
	(void)close(r.peer);
	rcu_unregister_thread();
}

/* Without a packet, as often as the endpoint wants to be called and no more;
 * and that is no turn with packets, after which it pauses. */
static void a_receiver_wakes_for_its_endpoints_timers(void **state)
{
	static const enum udp_io ways[] = { UDP_IO_EPOLL, UDP_IO_AUTO };
	struct rx_config cfg = { .coalesce = CR_MS, .cpu = -1 };
	struct cr_err warn = { "" }, e = { "" };
	struct rx *rx;

	rcu_register_thread();
	(void)sem_init(&asleep, 0, 0);
	for (unsigned i = 0; i < 2; i++) {
		(void)sem_init(&polled_enough, 0, 0);
		atomic_store(&polls, 0);
		cfg.io = ways[i];
		assert_int_equal(rx_open(&rx, &cfg, &warn, &e), 0);
		polled = endpoint_new(&(struct endpoint_cfg){
			.fd = loopback_socket(NULL),
			.first_poll = clock_now() + 300 * CR_MS,
		});
		polled->key = 1;
		atomic_store(&waits, 0);
		assert_int_equal(rx_add_endpoint(rx, polled, &e), 0);
		wait_for(&polled_enough);
		assert_int_equal(sem_trywait(&polled_enough), -1);
		/* each may be too early once, by what timers are rounded to;
		 * adding the endpoint wakes, and the far timer came nearer. It
		 * waited already when the count began, perhaps until the
		 * first was due. */
		assert_in_range(atomic_load(&waits), POLLS - 1, 2 * POLLS + 8);
		rx_del_endpoint(rx, polled);
		rx_close(rx);
		assert_int_equal(atomic_load(&polls), POLLS);
		(void)close(polled->cfg.fd);
		endpoint_free(polled);
	}
	assert_int_equal(sem_trywait(&asleep), -1);
	rcu_unregister_thread();
}

static sem_t signalled;
static int reported_err;

static void tell(void *arg, unsigned receiver, int err)
{
	assert_ptr_equal(arg, &signalled);
	assert_int_equal(receiver, 2);
	reported_err = err;
	(void)sem_post(&signalled);
}

static void a_receiver_that_cannot_go_on_says_so(void **state)
{
	struct rx_config cfg = {
		.number = 2, .cpu = -1, .failed = tell, .arg = &signalled
	};
	struct cr_err warn = { "" }, e = { "" };
	struct rx *rx;

	(void)sem_init(&signalled, 0, 0);
	atomic_store(&refusal, -EPERM);
	assert_int_equal(rx_open(&rx, &cfg, &warn, &e), 0);
	wait_for(&signalled);
	assert_int_equal(reported_err, -EPERM);
	rx_close(rx);
	atomic_store(&refusal, 0);
	assert_int_equal(rx_open(&rx, &cfg, &warn, &e), 0);
	rx_close(rx); /* to be stopped is no failure */
	assert_int_equal(sem_trywait(&signalled), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_turn_serves_all_ports_that_are_ready),
		cmocka_unit_test(what_is_handed_over_during_a_turn_is_taken),
		cmocka_unit_test(the_last_receiver_is_handed_its_packets),
		cmocka_unit_test(a_receiver_wakes_for_its_endpoints_timers),
		cmocka_unit_test(a_receiver_that_cannot_go_on_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
