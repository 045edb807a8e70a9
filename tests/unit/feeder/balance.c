/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The balance of a two-way call's direction: a daemon that does as it should
 * earns no fault, and whatever it gets wrong is named.
 */
#include <stdlib.h>
#include <string.h>

#include "cmocka_cr.h"
#include "feeder/phone.h"
#include "rtp/telephone_event.h"

#define SPEECH 0
#define EVENT 101
#define NOISE 13
#define UNITS 160u

/* One direction, PCMU at 8 kHz on both sides, and what went through it. */
struct direction {
	struct campaign *c;
	struct plan plan;
	struct phone *phone;
	struct heard heard;
	uint64_t daemon[STREAM_NCOUNTERS];
	uint16_t seq; /* of what comes */
};

/* Faults of the daemon; 0: none. */
struct wrong {
	unsigned vanish;   /* packet of speech that is never sent on       */
	unsigned twice;	   /* packet of speech that is sent on twice       */
	unsigned skip;	   /* leave out a number before this one           */
	unsigned back;	   /* its timestamp is that of the one before      */
	unsigned foreign;  /* has a payload type of its own                */
	unsigned lose;	   /* counts nothing of it, nor sends it           */
	bool speak;	   /* during digits, too                           */
	char double_digit; /* comes again after its end                    */
};

static struct direction *make(const char *party)
{
	static const uint64_t counts[] = { 1, 1 };
	struct direction *r = calloc(1, sizeof(*r));
	struct plan_options o = { 5, 4 * CR_SEC, counts };
	struct cr_err e = { "" };
	char text[512];
	size_t i = 0;

	assert_non_null(r);
	(void)snprintf(text, sizeof(text),
		       "duration: 4s\nflows:\n  - count: 1\n"
		       "    b: {codec: pcmu}\n    a:\n      codec: pcmu\n%s",
		       party);
	if (campaign_parse(text, strlen(text), "c.yaml", NULL, &r->c, &e) ||
	    plan_make(&r->plan, r->c, &o, &e))
		fail_msg("%s", e.text);
	while (r->plan.calls[i].flow)
		i++;
	r->phone = phone_new(&r->c->flows[0], &r->plan.calls[i]);
	assert_non_null(r->phone);
	heard_init(&r->heard, &(struct heard_cfg){ .pt = SPEECH,
						   .pt_event = EVENT,
						   .pt_noise = NOISE,
						   .rtp_ticks = UNITS });
	return r;
}

static void drop(struct direction *r)
{
	phone_free(r->phone);
	plan_fini(&r->plan);
	campaign_free(r->c);
	free(r);
}

static void hear(struct direction *r, struct rtp_packet h,
		 const uint8_t *payload, size_t bytes)
{
	const struct rtp_packet p = { .pt = h.pt,
				      .marker = h.marker,
				      .seq = r->seq,
				      .ts = h.ts,
				      .ssrc = 1,
				      .payload = payload,
				      .payload_bytes = bytes };
	uint64_t index;

	(void)heard_packet(&r->heard, &p, &index);
}

/* Packet number @n of speech, or another one, comes to the daemon. */
static void pass_on(struct direction *r, const struct plan_packet *k,
		    const struct wrong *w, unsigned n)
{
	struct rtp_packet h = phone_header(r->phone, k);
	uint8_t payload[PHONE_BYTES] = { 0 };
	size_t bytes = k->kind == PLAN_SPEECH
			       ? sizeof(payload)
			       : phone_payload(r->phone, k, payload);

	h.pt = k->kind == PLAN_SPEECH  ? SPEECH
	       : k->kind == PLAN_EVENT ? EVENT
				       : NOISE;
	if (n && n == w->lose)
		return;
	r->daemon[STREAM_COUNTER_packets_in]++;
	r->daemon[STREAM_COUNTER_done]++;
	r->daemon[STREAM_COUNTER_packets_out]++;
	r->seq = (uint16_t)(r->seq + (n && n == w->skip));
	if (n && n == w->back)
		h.ts -= UNITS;
	if (n && n == w->foreign)
		h.pt = 77;
	if (!n || n != w->vanish)
		hear(r, h, payload, bytes);
	if (n && n == w->twice)
		hear(r, h, payload, bytes);
	r->seq++;
}

/* Speech that the daemon makes while a digit is dialled. */
static void speak_in(struct direction *r, const struct plan_packet *k)
{
	struct rtp_packet h = phone_header(r->phone, k);

	r->daemon[STREAM_COUNTER_packets_out]++;
	r->daemon[STREAM_COUNTER_done]++;
	r->daemon[STREAM_COUNTER_packets_in]++;
	r->phone->count.sent_speech++;
	h.pt = SPEECH;
	h.ts += UNITS / 2;
	hear(r, h, (const uint8_t *)"x", 1);
	r->seq++;
}

static void play(struct direction *r, const struct wrong *w)
{
	struct plan_stream s;
	struct plan_packet k;
	unsigned n = 0;

	plan_stream_init(&s, &r->plan,
			 r->plan.calls[0].flow ? &r->plan.calls[1]
					       : &r->plan.calls[0]);
	while (plan_stream_next(&s, &k)) {
		if (k.lost) {
			r->phone->count.withheld++;
			continue;
		}
		phone_count(r->phone, &k);
		pass_on(r, &k, w, k.kind == PLAN_SPEECH ? ++n : 0);
		if (w->speak && k.kind == PLAN_EVENT && k.end && !k.marker) {
			speak_in(r, &k);
			return;
		}
	}
	for (; w->double_digit; r->seq++) {
		uint8_t payload[TELEPHONE_EVENT_BYTES];
		const struct telephone_event e = {
			.code = (uint8_t)(w->double_digit - '0'),
			.end = true,
			.duration = 800
		};

		r->daemon[STREAM_COUNTER_packets_out]++;
		r->daemon[STREAM_COUNTER_no_destination] = 0;
		hear(r,
		     (struct rtp_packet){ .pt = EVENT,
					  .ts = r->heard.ts + 4000 },
		     payload, telephone_event_build(payload, &e));
		return;
	}
}

/* The faults reported for party @party if @w goes wrong. */
static struct balance judge(const char *party, const struct wrong *w)
{
	struct direction *r = make(party);
	struct balance b;

	play(r, w);
	balance_judge(&(struct balance_side){ .phone = r->phone,
					      .heard = &r->heard,
					      .daemon = r->daemon,
					      .reported = true,
					      .clock_out = 8000 },
		      &b);
	drop(r);
	return b;
}

static void no_fault_is_found_where_there_is_none(void **state)
{
	static const char *const parties[] = {
		"",
		"      network: {loss: 5%, burst: 2}\n",
		"      dtmf: {digits: \"12#\", length: 40ms..300ms}\n",
		("      talk: {spurt: 300ms, pause: 300ms}\n"
		 "      cn: {level: 40}\n"),
	};

	for (unsigned i = 0; i < sizeof(parties) / sizeof(parties[0]); i++) {
		struct balance b = judge(parties[i], &(struct wrong){ 0 });

		if (b.count)
			fail_msg("party %u: %s", i, b.faults[0]);
		assert_int_equal(b.digits_sent, i == 2 ? 3 : 0);
		assert_int_equal(b.digits_right, i == 2 ? 3 : 0);
	}
}

#define DIGITS "      dtmf: {digits: \"12\", length: 100ms}\n"

static void every_fault_is_named(void **state)
{
	static const struct {
		struct wrong w;
		const char *party, *says;
	} cases[] = {
		{ { .lose = 9 },
		  "",
		  "200 packets were sent, of which the daemon counted 199: 1 "
		  "are missing (packets_in 199)" },
		{ { .vanish = 9 },
		  "",
		  "the daemon sent 200 packets to the other party, where 199 "
		  "came: 1 are missing" },
		{ { .vanish = 9 },
		  "",
		  "misses 1 numbers, but only 0 packets were missing" },
		{ { .twice = 9 }, "", "where 201 came: 1 too many" },
		{ { .twice = 9 }, "", "what is wrong: number twice 1" },
		{ { .skip = 9 }, "", "misses 1 numbers" },
		{ { .back = 9 }, "", "timestamp does not rise 1" },
		{ { .foreign = 9 }, "", "unknown payload type 1" },
		{ { .speak = true }, DIGITS, "speech within a digit 1" },
		{ { .double_digit = '2' },
		  DIGITS,
		  "digit 2 came as number 3, where it was not dialled (12)" },
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct balance b = judge(cases[i].party, &cases[i].w);
		bool said = false;

		for (unsigned k = 0; k < b.count; k++)
			said |= strstr(b.faults[k], cases[i].says) != NULL;
		if (!said)
			fail_msg("case %u: %u faults, first: %s\nnot: %s", i,
				 b.count, b.faults[0], cases[i].says);
	}
}

static void silence_of_the_daemon_is_a_fault(void **state)
{
	struct direction *r = make("");
	struct balance b;

	play(r, &(struct wrong){ 0 });
	balance_judge(&(struct balance_side){ .phone = r->phone,
					      .heard = &r->heard,
					      .daemon = r->daemon,
					      .clock_out = 8000 },
		      &b);
	assert_int_equal(b.count, 1);
	assert_string_equal(b.faults[0],
			    "the daemon did not tell what it counted");
	drop(r);
}

/* Only what its ports' buffers dropped is its own. */
static void a_partys_own_losses_are_not_the_daemons(void **state)
{
	struct direction *r = make("");
	struct balance b;

	play(r, &(struct wrong){ .vanish = 100 });
	balance_judge(&(struct balance_side){ .phone = r->phone,
					      .heard = &r->heard,
					      .daemon = r->daemon,
					      .reported = true,
					      .drops = 1,
					      .clock_out = 8000 },
		      &b);
	assert_int_equal(b.count, 0);
	drop(r);
}

static void numbers_change_with_the_ssrc(void **state)
{
	static const char *const how[] = { "random", "continue" };

	for (unsigned i = 0; i < 2; i++) {
		char party[96];
		struct plan_packet k = { .seq = 70, .frame = 70 };
		struct rtp_packet a, b;
		struct direction *r;

		(void)snprintf(party, sizeof(party),
			       "      ssrc-change: {at: 1s, numbering: %s}\n",
			       how[i]);
		r = make(party);
		a = phone_header(r->phone, &k);
		k = (struct plan_packet){ .seq = 71, .frame = 71, .ssrc = 1 };
		b = phone_header(r->phone, &k);
		assert_int_not_equal(a.ssrc, b.ssrc);
		assert_int_equal(b.seq == (uint16_t)(a.seq + 1), i);
		assert_int_equal(b.ts == a.ts + UNITS, i);
		drop(r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_fault_is_found_where_there_is_none),
		cmocka_unit_test(every_fault_is_named),
		cmocka_unit_test(silence_of_the_daemon_is_a_fault),
		cmocka_unit_test(a_partys_own_losses_are_not_the_daemons),
		cmocka_unit_test(numbers_change_with_the_ssrc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
