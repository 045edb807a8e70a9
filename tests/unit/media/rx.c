/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The receiver's turns. It sleeps after each of them until the test lets it go
 * on (the linker's --wrap), so what a turn has served is known.
 */
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/address.h"
#include "cmocka_cr.h"
#include "media/call_table.h"
#include "media/rtp.h"
#include "media/rx.h"
#include "udp/socket.h"

enum { CALLS = 300, FRAME = 160, PT = 0, OTHER_PT = 8 };

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

static void wait_for(sem_t *s)
{
	struct timespec end;

	(void)clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += 10;
	assert_int_equal(sem_timedwait(s, &end), 0);
}

struct rig {
	struct call_table *table;
	struct rx *rx;
	struct call *call[CALLS];
	int shared, peer;
};

static int open_socket(void)
{
	struct sockaddr_storage any;
	int fd;

	assert_int_equal(address_parse("127.0.0.1:0", &any), 0);
	fd = udp_socket(&any, NULL);
	assert_true(fd >= 0);
	return fd;
}

static struct pipeline_side pcmu(void)
{
	struct pipeline_side s = { .codec = cr_codec_find("pcmu") };

	s.cfg.sample_rate = 8000;
	s.cfg.samples = FRAME;
	s.payload.kind = payload_kind_find("pcmu");
	s.payload.sample_rate = 8000;
	s.payload.samples = FRAME;
	return s;
}

static struct call *new_call(unsigned number)
{
	struct call_cfg cfg = {
		.id = number + 1,
		.ssrc_in = number + 1,
		.media = { pcmu(), pcmu() },
		.release = { .kind = RELEASE_SPORADIC, .period = 20 * CR_MS },
		.terms.deadline = 20 * CR_MS,
		.pt_in = PT,
		.port_fd = open_socket(),
		.ring_frames = 8,
	};
	struct cr_err e = { "" };
	struct call *c;

	cfg.to.ss_family = AF_INET;
	call_settle(&cfg, &(struct cr_cost){ 0 });
	if (call_new(&c, &cfg, &e))
		fail_msg("%s", e.text);
	return c;
}

static void open_rig(struct rig *r)
{
	struct rx_config cfg = { .coalesce = CR_MS, .cpu = -1 };
	struct cr_err warn = { "" }, e = { "" };

	rcu_register_thread();
	(void)sem_init(&asleep, 0, 0);
	(void)sem_init(&awake, 0, 0);
	r->table = call_table_new();
	assert_non_null(r->table);
	r->shared = open_socket();
	r->peer = open_socket();
	cfg.fd = r->shared;
	cfg.table = r->table;
	assert_int_equal(rx_open(&r->rx, &cfg, &warn, &e), 0);
	for (unsigned i = 0; i < CALLS; i++) {
		r->call[i] = new_call(i);
		assert_int_equal(call_table_add(r->table, r->call[i]), 0);
		assert_int_equal(rx_add_port(r->rx, r->call[i], &e), 0);
	}
}

static void close_rig(struct rig *r)
{
	(void)sem_post(&awake);
	rx_close(r->rx);
	for (unsigned i = 0; i < CALLS; i++) {
		call_table_del(r->table, r->call[i]);
		(void)close(r->call[i]->cfg.port_fd);
		call_free(r->call[i]);
	}
	call_table_free(r->table);
	(void)close(r->shared);
	(void)close(r->peer);
	rcu_unregister_thread();
}

/* A packet that its call counts and drops: no engine is needed. */
static void send_to(struct rig *r, int fd, uint32_t ssrc)
{
	struct rtp_header h = { .pt = OTHER_PT, .ssrc = ssrc };
	struct sockaddr_storage at;
	socklen_t len = sizeof(at);
	uint8_t packet[RTP_HEADER_BYTES + FRAME] = { 0 };

	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	(void)rtp_build(packet, &h);
	assert_true(sendto(r->peer, packet, sizeof(packet), 0,
			   (struct sockaddr *)&at, len) > 0);
}

static unsigned served(const struct rig *r)
{
	unsigned n = 0;

	for (unsigned i = 0; i < CALLS; i++)
		n += (unsigned)atomic_load(&r->call[i]->count.wrong_pt);
	return n;
}

static void a_turn_serves_all_ports_that_are_ready(void **state)
{
	struct rig r = { 0 };

	(void)state;
	open_rig(&r);
	send_to(&r, r.shared, 999999);
	wait_for(&asleep);
	assert_int_equal(atomic_load(&rx_counters(r.rx)->unknown_ssrc), 1);
	for (unsigned i = 0; i < CALLS; i++)
		send_to(&r, r.call[i]->cfg.port_fd, i + 1);
	assert_int_equal(served(&r), 0);
	(void)sem_post(&awake);
	wait_for(&asleep);
	assert_int_equal(served(&r), CALLS);
	close_rig(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_turn_serves_all_ports_that_are_ready),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
