/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RTCP of an endpoint: whose is believed, and where reports go as the party
 * moves.
 */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "loopback.h"
#include "media/endpoint.h"
#include "udp/socket.h"

enum { OURS = 0x1111, PARTYS = 0x2222 };

#define INTERVAL (100 * CR_MS)

/* An endpoint whose wheel nobody turns, and its party's sockets. */
struct endpoint_fixture {
	struct wheel wheel;
	struct endpoint *endpoint;
	struct sockaddr_storage rtp, rtcp; /* of the party */
	int rtp_fd, rtcp_fd;
	cr_ns now;
};

/* The party's sockets are at neighbouring ports. */
static void open_party(struct endpoint_fixture *r)
{
	struct sockaddr_storage next;

	do {
		r->rtp_fd = loopback_socket(&r->rtp);
		next = r->rtp;
		address_set_port(&next, address_port(&next) + 1);
		r->rtcp_fd = udp_socket(&next, NULL);
		if (r->rtcp_fd < 0)
			(void)close(r->rtp_fd);
	} while (r->rtcp_fd < 0);
	r->rtcp = next;
}

static void open_endpoint(struct endpoint_fixture *r,
			  enum endpoint_rtcp_mode mode,
			  const struct learn_terms *terms)
{
	struct endpoint_cfg cfg = { .terms = *terms };
	struct endpoint_rtcp_cfg rtcp = { .mode = mode,
					  .fd = -1,
					  .use = { OURS, 8000, 8000 },
					  .interval = INTERVAL };
	struct cr_err e = { "" };

	r->now = 1000 * CR_SEC;
	wheel_init(&r->wheel, r->now);
	cfg.fd = loopback_socket(NULL);
	if (mode == ENDPOINT_RTCP_PORT)
		rtcp.fd = loopback_socket(NULL);
	r->endpoint = endpoint_new(&cfg);
	assert_non_null(r->endpoint);
	assert_int_equal(endpoint_rtcp_open(r->endpoint, &rtcp, r->now, &e), 0);
	(void)endpoint_begin_polls(r->endpoint, &r->wheel);
}

static void close_endpoint(struct endpoint_fixture *r)
{
	(void)close(r->endpoint->cfg.fd);
	if (r->endpoint->rtcp->cfg.fd >= 0)
		(void)close(r->endpoint->rtcp->cfg.fd);
	(void)close(r->rtp_fd);
	(void)close(r->rtcp_fd);
	endpoint_end_polls(r->endpoint);
	endpoint_free(r->endpoint);
	wheel_fini(&r->wheel);
}

static enum endpoint_rtcp_result hear_from(struct endpoint_fixture *r,
					   const struct sockaddr_storage *from,
					   bool mux)
{
	uint8_t data[64];
	struct rtcp_writer w = { .buf = data, .size = sizeof(data) };
	struct intake_packet in = { .data = data,
				    .from = from,
				    .arrival = r->now };

	assert_int_equal(rtcp_put_report(&w, PARTYS, NULL, NULL, 0), 0);
	in.bytes = w.bytes;
	return endpoint_rtcp_packet(r->endpoint, &in, mux);
}

static enum endpoint_rtcp_result hear(struct endpoint_fixture *r,
				      const char *from)
{
	const struct sockaddr_storage a = address_at(from);

	return hear_from(r, &a, false);
}

static void say(struct endpoint_fixture *r, const struct sockaddr_storage *from,
		uint16_t seq)
{
	const struct learn_arrival p = {
		.from = from, .ssrc = PARTYS, .seq = seq, .valid = true
	};

	assert_true(learn_accepts(endpoint_receive(r->endpoint, &p, r->now)));
}

/* Poll until a report has gone. */
static void report(struct endpoint_fixture *r)
{
	struct endpoint_rtcp *rtcp = r->endpoint->rtcp;
	uint64_t before = rtcp->kept->sent + rtcp->kept->unsent;

	while (rtcp->kept->sent + rtcp->kept->unsent == before)
		r->now = cr_ns_max(endpoint_rtcp_poll(r->endpoint, r->now),
				   r->now);
}

static bool has_come(int fd)
{
	uint8_t data[256];

	return recv(fd, data, sizeof(data), MSG_DONTWAIT) > 0;
}

/* --- tests --- */

static void only_the_partys_hosts_are_believed(void **state)
{
	const struct learn_terms terms = {
		.mode = LEARN_DELAYED, .signalled = address_at("127.0.0.1:4000")
	};
	const struct sockaddr_storage nat = address_at("127.0.0.3:777");
	struct endpoint_rtcp_info info;
	struct endpoint_fixture r;

	open_party(&r);
	open_endpoint(&r, ENDPOINT_RTCP_PORT, &terms);
	assert_int_equal(hear(&r, "127.0.0.1:9999"), ENDPOINT_RTCP_HEARD);
	assert_int_equal(hear(&r, "127.0.0.2:4001"), ENDPOINT_RTCP_FOREIGN);
	assert_int_equal(hear(&r, "127.0.0.3:778"), ENDPOINT_RTCP_FOREIGN);
	say(&r, &nat, 1); /* it is behind NAT */
	assert_int_equal(hear(&r, "127.0.0.3:778"), ENDPOINT_RTCP_HEARD);
	assert_int_equal(hear(&r, "127.0.0.1:9999"), ENDPOINT_RTCP_HEARD);
	assert_int_equal(hear(&r, "127.0.0.2:4001"), ENDPOINT_RTCP_FOREIGN);
	endpoint_end_polls(r.endpoint);
	endpoint_rtcp_report(r.endpoint, true, &info);
	assert_int_equal(info.foreign, 3);
	assert_int_equal(info.packets_in, 3);
	close_endpoint(&r);
}

static void nobody_is_believed_before_the_party_is_known(void **state)
{
	const struct learn_terms terms = { .mode = LEARN_IMMEDIATE };
	struct endpoint_fixture r;

	open_party(&r);
	open_endpoint(&r, ENDPOINT_RTCP_PORT, &terms);
	assert_int_equal(hear(&r, "127.0.0.1:9999"), ENDPOINT_RTCP_FOREIGN);
	/* nor is anybody sent anything, but looked for in a while */
	for (unsigned i = 0; i < 50; i++) {
		cr_ns next = endpoint_rtcp_poll(r.endpoint, r.now);

		assert_true(next > r.now);
		r.now = next;
	}
	assert_int_equal(r.endpoint->rtcp->kept->sent +
				 r.endpoint->rtcp->kept->unsent,
			 0);
	say(&r, &r.rtp, 1);
	report(&r);
	assert_true(has_come(r.rtcp_fd));
	close_endpoint(&r);
}

static void reports_follow_the_party(void **state)
{
	const struct learn_terms terms = { .mode = LEARN_IMMEDIATE };
	struct sockaddr_storage other, moved;
	int other_fd = loopback_socket(&other);
	int moved_fd = udp_socket_at("127.0.0.2:0", &moved);
	struct sockaddr_storage moved_rtp = moved;
	struct endpoint_fixture r;

	open_party(&r);
	open_endpoint(&r, ENDPOINT_RTCP_PORT, &terms);
	say(&r, &r.rtp, 1);
	report(&r); /* the port above RTP's */
	assert_true(has_come(r.rtcp_fd) && !has_come(r.rtp_fd));
	assert_int_equal(hear_from(&r, &other, false), ENDPOINT_RTCP_HEARD);
	report(&r); /* where its RTCP comes from */
	assert_true(has_come(other_fd) && !has_come(r.rtcp_fd));
	assert_int_equal(hear_from(&r, &r.rtp, true), ENDPOINT_RTCP_HEARD);
	report(&r); /* multiplexed unasked */
	assert_true(has_come(r.rtp_fd) && !has_come(other_fd));
	/* another host, after a silence: what was known of RTCP is of no use */
	address_set_port(&moved_rtp, address_port(&moved) - 1);
	r.now += 20 * CR_SEC;
	for (uint16_t seq = 2; seq < 8; seq++) {
		const struct learn_arrival p = { .from = &moved_rtp,
						 .ssrc = PARTYS,
						 .seq = seq,
						 .valid = true };

		(void)endpoint_receive(r.endpoint, &p, r.now);
	}
	report(&r);
	assert_true(has_come(moved_fd) && !has_come(r.rtp_fd));
	(void)close(other_fd);
	(void)close(moved_fd);
	close_endpoint(&r);
}

/* Signalling has told a port; the party may be elsewhere, or send from
 * elsewhere. */
static void reports_go_where_was_told(void **state)
{
	const struct sockaddr_storage nat = address_at("127.0.0.3:777");
	const struct sockaddr_storage foreign = address_at("127.0.0.2:5000");
	struct sockaddr_storage signalled, none = { 0 };
	int reported_fd = loopback_socket(&signalled);
	struct learn_terms terms = { .mode = LEARN_DELAYED };
	struct endpoint_fixture r;

	open_party(&r);
	terms.signalled = r.rtp;
	open_endpoint(&r, ENDPOINT_RTCP_PORT, &terms);
	endpoint_rtcp_set_destination(r.endpoint, &signalled);
	report(&r);
	assert_true(has_come(reported_fd) && !has_come(r.rtcp_fd));
	assert_int_equal(hear_from(&r, &r.rtp, true), ENDPOINT_RTCP_HEARD);
	report(&r); /* multiplexed unasked: it was told where */
	assert_true(has_come(reported_fd) && !has_come(r.rtp_fd));
	assert_int_equal(hear_from(&r, &r.rtcp, false), ENDPOINT_RTCP_HEARD);
	report(&r); /* it is symmetric */
	assert_true(has_come(r.rtcp_fd) && !has_come(reported_fd));
	endpoint_rtcp_set_destination(r.endpoint, &signalled); /* nothing new */
	report(&r);
	assert_true(has_come(r.rtcp_fd) && !has_come(reported_fd));
	endpoint_rtcp_set_destination(r.endpoint,
				      &foreign); /* another host of its own */
	assert_int_equal(hear_from(&r, &foreign, false), ENDPOINT_RTCP_HEARD);
	endpoint_rtcp_set_destination(r.endpoint, &signalled);
	report(&r);
	assert_true(has_come(reported_fd) && !has_come(r.rtcp_fd));
	endpoint_rtcp_mux(r.endpoint, true);
	report(&r);
	assert_true(has_come(r.rtp_fd) && !has_come(reported_fd));
	endpoint_rtcp_mux(r.endpoint, false);
	endpoint_rtcp_set_destination(r.endpoint, &none);
	report(&r);
	assert_true(has_come(r.rtcp_fd) && !has_come(reported_fd));
	endpoint_rtcp_set_destination(r.endpoint, &signalled);
	say(&r, &nat, 1); /* it is behind NAT */
	report(&r);
	assert_false(has_come(reported_fd));
	(void)close(reported_fd);
	close_endpoint(&r);
}

static void a_bye_goes_to_who_was_reported_to(void **state)
{
	const struct learn_terms terms = { .mode = LEARN_IMMEDIATE };
	struct endpoint_fixture r;

	open_party(&r);
	open_endpoint(&r, ENDPOINT_RTCP_MUX, &terms);
	say(&r, &r.rtp, 1);
	endpoint_rtcp_bye(r.endpoint, r.now);
	assert_false(has_come(r.rtp_fd)); /* it never heard of us */
	close_endpoint(&r);
	open_party(&r);
	open_endpoint(&r, ENDPOINT_RTCP_MUX, &terms);
	say(&r, &r.rtp, 1);
	report(&r);
	assert_true(has_come(r.rtp_fd));
	endpoint_rtcp_bye(r.endpoint, r.now);
	assert_true(has_come(r.rtp_fd) && !has_come(r.rtp_fd));
	assert_int_equal(endpoint_rtcp_poll(r.endpoint, r.now + CR_SEC),
			 CR_NEVER);
	close_endpoint(&r);
}

/* Counts begin anew with another sender, as they are of an SSRC. */
static void a_relays_sender_is_ours(void **state)
{
	const struct learn_terms terms = { .mode = LEARN_IMMEDIATE };
	struct rtp_packet p = { .ssrc = 7, .payload_bytes = 100 };
	struct endpoint_fixture r;

	open_party(&r);
	open_endpoint(&r, ENDPOINT_RTCP_MUX, &terms);
	for (unsigned i = 0; i < 3; i++)
		endpoint_rtcp_passed_on(r.endpoint, &p, r.now);
	assert_int_equal(atomic_load(&r.endpoint->rtcp->kept->stream.total),
			 UINT64_C(3) << 32 | 300);
	p.ssrc = 8;
	endpoint_rtcp_passed_on(r.endpoint, &p, r.now);
	assert_int_equal(atomic_load(&r.endpoint->rtcp->kept->stream.total),
			 UINT64_C(1) << 32 | 100);
	say(&r, &r.rtp, 1);
	report(&r);
	assert_int_equal(r.endpoint->rtcp->kept->session.cfg.ssrc, 8);
	close_endpoint(&r);
}

static void what_another_process_has_heard_goes_on_when_it_is_kept(void **state)
{
	static struct state_stream kept, before;
	struct endpoint_fixture old, new;
	const struct learn_terms terms = { .mode = LEARN_IMMEDIATE };

	open_party(&old);
	open_party(&new);
	open_endpoint(&old, ENDPOINT_RTCP_MUX, &terms);
	endpoint_keep(old.endpoint, &kept, old.now);
	say(&old, &old.rtp, 1);
	assert_int_equal(hear_from(&old, &old.rtp, true), ENDPOINT_RTCP_HEARD);
	report(&old);

	/* it is complete, and has touched nothing */
	memcpy(&before, &kept, sizeof(kept));
	open_endpoint(&new, ENDPOINT_RTCP_MUX, &terms);
	say(&new, &old.rtp, 2);
	assert_memory_equal(&before, &kept, sizeof(kept));

	endpoint_keep(new.endpoint, &kept, new.now);
	assert_string_equal(kept.rtcp.cname, before.rtcp.cname);
	assert_int_equal(kept.rtcp.session.packets_in, 1);
	assert_int_equal(kept.rtcp.session.cfg.ssrc, OURS);
	assert_int_equal(new.endpoint->cfg.first_poll,
			 rtcp_due(&kept.rtcp.session));
	report(&new);
	assert_int_equal(kept.rtcp.sent, 2);
	close_endpoint(&old);
	close_endpoint(&new);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_the_partys_hosts_are_believed),
		cmocka_unit_test(nobody_is_believed_before_the_party_is_known),
		cmocka_unit_test(reports_follow_the_party),
		cmocka_unit_test(reports_go_where_was_told),
		cmocka_unit_test(a_bye_goes_to_who_was_reported_to),
		cmocka_unit_test(a_relays_sender_is_ours),
		cmocka_unit_test(
			what_another_process_has_heard_goes_on_when_it_is_kept),
	};

	return cmocka_run_group_tests_name("endpoint rtcp", tests, NULL, NULL);
}
