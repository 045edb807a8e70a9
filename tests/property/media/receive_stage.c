/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A receive stage under any packets: jitter, loss, reordering, duplicates,
 * pauses with SIDs or comfort noise, digits, clocks that drift, numbers that
 * wrap or make no sense, senders that restart or flip, timers that are late;
 * with every kind of buffer and of filling. What its header promises holds
 * (tests/support/receive_stage_watch.h). What fails is shrunk by leaving
 * packets out, and printed.
 */
#include <stdio.h>

#include "cmocka_cr.h"
#include "receive_stage_watch.h"
#include "seed.h"

#define RUNS 20000u

struct run {
	struct receive_stage_cfg cfg;
	struct codec_use payload;
	bool exact;
	unsigned n;
	struct flow_packet packet[FLOW_PACKETS];
};

struct sender {
	uint64_t seed;
	uint32_t ssrc, ts, step;
	uint16_t seq;
	cr_ns at, ptime;
	int drift;	 /* how much longer its packets take, ppm */
	unsigned silent; /* packets of silence to come */
	unsigned event;	 /* packets of a digit to come */
	uint32_t event_ts;
	/* percent */
	unsigned loss, twice, mad, happens, foreign;
	unsigned jitter; /* ns */
};

static struct run now_run, less;
static struct receive_stage_watch watch;

static bool chance(struct sender *s, unsigned percent)
{
	return test_below(&s->seed, 100) < percent;
}

/* Nothing of it needs to make sense. */
static void mad_packet(struct sender *s, struct flow_packet *p)
{
	switch (test_below(&s->seed, 5)) {
	case 0:
		p->ts = (uint32_t)test_random(&s->seed);
		break;
	case 1:
		p->seq = (uint16_t)test_random(&s->seed);
		break;
	case 2:
		p->ssrc ^= 1;
		break;
	case 3:
		p->ts += test_below(&s->seed, 40 * s->step) - 20 * s->step;
		break;
	default:
		p->kind = (enum flow_kind)test_below(&s->seed, FLOW_NKINDS);
	}
}

/* What the sender has to say now; false: it saves the packet. */
static bool next_packet(struct sender *s, struct flow_packet *p)
{
	if (s->event) {
		p->kind = FLOW_EVENT;
		p->ts = s->event_ts;
		p->lasts = (uint16_t)(s->ts - s->event_ts);
		p->end = s->event-- <= 3;
		return true;
	}
	if (s->silent) {
		p->kind = chance(s, 50) ? FLOW_SID : FLOW_NOISE;
		return s->silent-- % 8 == 0;
	}
	p->kind = chance(s, s->foreign) ? FLOW_FOREIGN : FLOW_SPEECH;
	return true;
}

static void add(struct run *r, const struct flow_packet *p)
{
	if (r->n < FLOW_PACKETS)
		r->packet[r->n++] = *p;
}

static void send_one(struct sender *s, struct run *r)
{
	struct flow_packet p = { .ts = s->ts, .ssrc = s->ssrc };
	bool sent = next_packet(s, &p);

	p.seq = s->seq;
	p.at = s->at + (s->jitter ? test_below(&s->seed, s->jitter) : 0);
	s->seq = (uint16_t)(s->seq + sent);
	s->ts += p.kind == FLOW_FOREIGN ? 2 * s->step : s->step;
	s->at += s->ptime + s->ptime * s->drift / 1000000;
	if (!sent)
		return;
	if (chance(s, s->mad))
		mad_packet(s, &p);
	if (!chance(s, s->loss))
		add(r, &p);
	p.at += test_below(&s->seed, 100 * CR_MS);
	if (chance(s, s->twice))
		add(r, &p);
}

static void something_happens(struct sender *s)
{
	unsigned gap = 1 + test_below(&s->seed, 60);

	switch (test_below(&s->seed, 8)) {
	case 0:
		s->ssrc = (uint32_t)test_random(&s->seed);
		s->ts = (uint32_t)test_random(&s->seed);
		s->seq = (uint16_t)test_random(&s->seed);
		break;
	case 1:
		s->seq = (uint16_t)test_random(&s->seed);
		break;
	case 2:
		s->ts = (uint32_t)test_random(&s->seed);
		break;
	case 3:
	case 4:
		s->event = 4 + test_below(&s->seed, 10);
		s->event_ts = s->ts;
		break;
	case 5:
		s->at += gap * s->ptime;
		s->ts += gap * s->step;
		break;
	default:
		s->silent = gap;
		break;
	}
}

static void new_network(struct sender *s)
{
	static const unsigned spreads[] = { 0, 1, 5, 20, 60, 250 };

	s->jitter = spreads[test_below(&s->seed, 6)] * (unsigned)CR_MS;
	s->loss = chance(s, 50) ? 0 : test_below(&s->seed, 40);
	s->twice = chance(s, 50) ? 0 : test_below(&s->seed, 40);
	s->mad = chance(s, 70) ? 0 : test_below(&s->seed, 30);
	s->foreign = chance(s, 80) ? 0 : test_below(&s->seed, 50);
	s->happens = test_below(&s->seed, 10);
}

static void make_cfg(struct run *r, struct sender *s)
{
	static const enum payload_kind kinds[] = { PAYLOAD_PCMU, PAYLOAD_AMR,
						   PAYLOAD_WHOLE };
	static const uint32_t clocks[] = { 8000, 8000, 48000 };
	unsigned codec = test_below(&s->seed, 3);
	cr_ns most = (10 + test_below(&s->seed, 400)) * CR_MS;

	s->ptime =
		codec ? 20 * CR_MS : (1 + test_below(&s->seed, 5)) * 10 * CR_MS;
	s->step = (uint32_t)(s->ptime * clocks[codec] / CR_SEC);
	r->cfg = (struct receive_stage_cfg){
		.terms = { .jitter = (enum jitter_kind)test_below(&s->seed, 3),
			   .least = most * test_below(&s->seed, 101) / 100,
			   .most = most,
			   .fill = (enum receive_stage_fill)test_below(&s->seed,
								       3) },
		.clock = clocks[codec],
		.step = s->step,
	};
	r->payload = (struct codec_use){
		.kind = kinds[codec],
		.amr.octet_align = true,
		.frame_bytes = FLOW_BYTES,
	};
	r->exact = chance(s, 70);
}

static int by_time(const void *a, const void *b)
{
	const struct flow_packet *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

static void make_run(struct run *r, uint64_t *seed)
{
	struct sender s = { .seed = test_random(seed) };
	unsigned packets = test_below(&s.seed, 1000);

	make_cfg(r, &s);
	s.seq = (uint16_t)(chance(&s, 50) ? 65500 : test_below(&s.seed, 65536));
	s.ts = chance(&s, 50) ? (uint32_t)-5000
			      : (uint32_t)test_random(&s.seed);
	s.ssrc = (uint32_t)test_random(&s.seed);
	s.at = test_below(&s.seed, 1000000000);
	s.drift = (int)test_below(&s.seed, 20001) - 10000;
	new_network(&s);
	r->n = 0;
	for (unsigned i = 0; i < packets; i++) {
		if (chance(&s, s.happens))
			something_happens(&s);
		if (chance(&s, 1))
			new_network(&s);
		send_one(&s, r);
	}
	/* stable: of equal times, the first comes first */
	for (unsigned i = 0; i < r->n; i++)
		r->packet[i].at = r->packet[i].at * FLOW_PACKETS + i;
	qsort(r->packet, r->n, sizeof(r->packet[0]), by_time);
	for (unsigned i = 0; i < r->n; i++)
		r->packet[i].at /= FLOW_PACKETS;
}

/* NULL, or what is broken. */
static const char *play(const struct run *r)
{
	struct receive_stage_watch *w = &watch;

	flow_open(w, &r->cfg, &r->payload);
	w->exact = r->exact;
	for (unsigned i = 0; !w->broken && i < r->n; i++) {
		flow_until(w, r->packet[i].at);
		flow_put(w, &r->packet[i]);
	}
	for (unsigned i = 0; i < 150; i++)
		flow_until(w, w->now + 20 * CR_MS);
	flow_end(w);
	flow_close(w);
	return w->broken;
}

/* Leave out what the failure does not need: runs of packets, ever shorter. */
static const char *shrink(struct run *r, const char *broken)
{
	for (unsigned len = r->n / 2; len; len /= 2)
		for (unsigned i = 0; i + len <= r->n;) {
			const char *still;

			less = *r;
			memmove(&less.packet[i], &less.packet[i + len],
				(r->n - i - len) * sizeof(less.packet[0]));
			less.n -= len;
			still = play(&less);
			if (still) {
				*r = less;
				broken = still;
			} else {
				i += len;
			}
		}
	return broken;
}

static void print(const struct run *r)
{
	static const char *const kinds[] = { "speech", "SID", "noise", "event",
					     "of another clock" };
	const struct receive_stage_terms *t = &r->cfg.terms;

	printf("%s least=%lld most=%lld fill=%d payload=%d clock=%u step=%u "
	       "exact=%d\n",
	       jitter_kinds[t->jitter], (long long)t->least, (long long)t->most,
	       (int)t->fill, (int)r->payload.kind, r->cfg.clock, r->cfg.step,
	       r->exact);
	for (unsigned i = 0; i < r->n; i++) {
		const struct flow_packet *p = &r->packet[i];

		printf("%d %12lld ns seq %5u ts %10u ssrc %08x %s\n",
		       watch.fate[i], (long long)p->at, p->seq, p->ts, p->ssrc,
		       kinds[p->kind]);
	}
}

static void promises_hold_under_any_packets(void **state)
{
	uint64_t seed = test_seed();

	for (unsigned i = 0; i < TEST_TRIES(RUNS); i++) {
		const char *broken;

		make_run(&now_run, &seed);
		broken = play(&now_run);
		if (!broken)
			continue;
		broken = shrink(&now_run, broken);
		(void)play(&now_run);
		print(&now_run);
		fail_msg("run %u: broken: %s", i, broken);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(promises_hold_under_any_packets),
	};

	return cmocka_run_group_tests_name("receive stage", tests, NULL, NULL);
}
