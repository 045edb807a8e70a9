/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A jitter buffer under any packets: jitter, loss, reordering, duplicates,
 * pauses, packets beside speech, networks that stand still, clocks that drift,
 * numbers that wrap, sources that restart or flip, numbers that make no sense.
 * What its header promises holds (tests/support/jitter_watch.h), and when the
 * network has calmed, every packet is played. What fails is shrunk by leaving
 * packets out, and printed.
 */
#include <stdio.h>

#include "cmocka_cr.h"
#include "jitter_watch.h"
#include "seed.h"

#define RUNS 3000u

/* The calm end: the first half of it may still be about what was before. */
#define CALM (10 * CR_SEC)

struct step {
	struct watch_packet packet;
	bool calm, settled; /* of the end; of its second half */
};

struct run {
	struct jitter_cfg cfg;
	bool exact;
	unsigned n;
	struct step step[WATCH_PACKETS];
};

/* The sender and its network. */
struct sender {
	uint64_t seed;
	uint32_t clock, ssrc, ts, step;
	uint16_t seq;
	cr_ns at, ptime; /* of the next packet, by our clock */
	int drift;	 /* how much longer its packets take, ppm */
	bool hints;	 /* it says durations */
	/* the network */
	cr_ns base, jitter, spike;
	unsigned loss, twice, mad, dtx; /* percent */
	cr_ns stalled;
	unsigned event; /* packets beside speech to come */
	uint32_t event_ts;
	bool alone; /* without speech meanwhile */
};

static struct run now_run;
static struct jitter_watch watch;

static void add(struct run *r, const struct watch_packet *p, bool calm,
		bool settled)
{
	if (r->n < WATCH_PACKETS)
		r->step[r->n++] = (struct step){ *p, calm, settled };
}

static bool chance(struct sender *s, unsigned percent)
{
	return test_below(&s->seed, 100) < percent;
}

static cr_ns delay_of(struct sender *s)
{
	cr_ns d = s->base;

	if (s->jitter)
		d += test_below(&s->seed, (unsigned)s->jitter);
	if (s->spike && chance(s, 3))
		d += test_below(&s->seed, (unsigned)s->spike);
	return d;
}

static void mad_packet(struct sender *s, struct watch_packet *p)
{
	switch (test_below(&s->seed, 7)) {
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
	case 4:
		p->seq = (uint16_t)(p->seq + test_below(&s->seed, 200) - 100);
		break;
	case 5:
		p->aux ^= 1;
		break;
	default:
		p->duration = test_below(&s->seed, s->clock);
	}
}

/* One packet's time passes. */
static void send_one(struct sender *s, struct run *r, bool calm, bool settled)
{
	struct watch_packet p = {
		.seq = s->seq++,
		.ts = s->ts,
		.ssrc = s->ssrc,
		.duration = s->hints ? s->step : 0,
		.marker = chance(s, 2),
		.silent = chance(s, 2),
	};

	if (s->event && (s->alone || chance(s, 50))) {
		s->event--;
		p.aux = true;
		p.ts = s->event_ts;
	}
	p.at = cr_ns_max(s->at + delay_of(s), s->stalled);
	if (!p.aux || s->alone) {
		s->ts += s->step;
		s->at += s->ptime + s->ptime * s->drift / 1000000;
	}
	if (chance(s, s->mad))
		mad_packet(s, &p);
	if (!chance(s, s->loss))
		add(r, &p, calm, settled);
	p.at += test_below(&s->seed, 100 * CR_MS);
	if (chance(s, s->twice))
		add(r, &p, calm, false);
}

/* The sender is silent for a while; or is another one. */
static void something_happens(struct sender *s)
{
	unsigned gap = 1 + test_below(&s->seed, 60);

	switch (test_below(&s->seed, 12)) {
	case 0:
		s->ssrc = (uint32_t)test_random(&s->seed);
		break;
	case 1:
		s->seq = (uint16_t)test_random(&s->seed);
		break;
	case 2:
		s->ts = (uint32_t)test_random(&s->seed);
		break;
	case 3:
		s->stalled = s->at + test_below(&s->seed, 1500000000);
		break;
	case 4:
		s->base = test_below(&s->seed, 400000000);
		break;
	case 5:
	case 6:
		s->event = 1 + test_below(&s->seed, 20);
		s->event_ts = s->ts;
		s->alone = chance(s, 50);
		break;
	default:
		s->at += gap * s->ptime;
		s->ts += gap * s->step;
		break;
	}
}

static void new_network(struct sender *s)
{
	static const unsigned spreads[] = { 0, 1, 5, 20, 60, 250 };

	s->jitter = spreads[test_below(&s->seed, 6)] * CR_MS;
	s->spike = spreads[test_below(&s->seed, 6)] * 4 * CR_MS;
	s->loss = chance(s, 50) ? 0 : test_below(&s->seed, 40);
	s->twice = chance(s, 50) ? 0 : test_below(&s->seed, 40);
	s->mad = chance(s, 70) ? 0 : test_below(&s->seed, 30);
	s->dtx = test_below(&s->seed, 6);
}

static void new_sender(struct sender *s, uint64_t *seed)
{
	static const uint32_t clocks[] = { 8000, 16000, 48000, 44100 };

	memset(s, 0, sizeof(*s));
	s->seed = test_random(seed);
	s->clock = clocks[test_below(&s->seed, 4)];
	s->ptime = (1 + test_below(&s->seed, 6)) * 10 * CR_MS;
	s->step = (uint32_t)(s->ptime * s->clock / CR_SEC);
	s->seq =
		(uint16_t)(chance(s, 50) ? 65500 : test_below(&s->seed, 65536));
	s->ts = chance(s, 50) ? (uint32_t)-5000
			      : (uint32_t)test_random(&s->seed);
	s->ssrc = (uint32_t)test_random(&s->seed);
	s->at = test_below(&s->seed, 1000000000);
	s->drift = (int)test_below(&s->seed, 20001) - 10000;
	s->hints = chance(s, 50);
	s->base = test_below(&s->seed, 100000000);
	new_network(s);
}

static void calm_down(struct sender *s)
{
	s->jitter = s->spike = s->stalled = 0;
	s->loss = s->twice = s->mad = 0;
}

static int by_time(const void *a, const void *b)
{
	const struct step *x = a, *y = b;

	return (x->packet.at > y->packet.at) - (x->packet.at < y->packet.at);
}

static void make_cfg(struct run *r, struct sender *s)
{
	cr_ns most = (10 + test_below(&s->seed, 400)) * CR_MS;

	r->cfg = (struct jitter_cfg){
		.kind = chance(s, 70) ? JITTER_ADAPTIVE : JITTER_FIXED,
		.most = most,
		.least = most * test_below(&s->seed, 101) / 100,
		.clock = s->clock,
		.slots = (unsigned)(most / s->ptime) + 3,
	};
	if (chance(s, 10))
		r->cfg.least = 0;
	r->exact = chance(s, 80);
}

static void make_run(struct run *r, uint64_t *seed)
{
	struct sender s;
	unsigned packets;
	cr_ns calm;

	new_sender(&s, seed);
	make_cfg(r, &s);
	r->n = 0;
	packets = test_below(&s.seed, 1500);
	for (unsigned i = 0; i < packets; i++) {
		if (chance(&s, s.dtx))
			something_happens(&s);
		if (chance(&s, 1))
			new_network(&s);
		send_one(&s, r, false, false);
	}
	calm_down(&s);
	/* behind what is still on its way */
	calm = s.at = s.at + 2 * CR_SEC;
	s.ts += (uint32_t)(2 * s.clock);
	while (s.at < calm + CALM)
		send_one(&s, r, true, s.at > calm + CALM / 2);
	/* stable: of equal times, the first comes first */
	for (unsigned i = 0; i < r->n; i++)
		r->step[i].packet.at = r->step[i].packet.at * 4096 + i;
	qsort(r->step, r->n, sizeof(r->step[0]), by_time);
	for (unsigned i = 0; i < r->n; i++)
		r->step[i].packet.at /= 4096;
}

static const char starved[] = "all is played when the network has calmed";

/* NULL, or what is broken. */
static const char *play(const struct run *r)
{
	struct jitter_watch *w = &watch;

	watch_open(w, &r->cfg);
	w->exact = r->exact;
	for (unsigned i = 0; !w->broken && i < r->n; i++) {
		const struct watch_packet *p = &r->step[i].packet;

		watch_until(w, p->at);
		(void)watch_put(w, p);
	}
	watch_until(w, w->now + 2 * CR_SEC);
	watch_broke(w, jitter_waiting(w->j), "nothing waits for ever");
	for (unsigned i = 0; !w->broken && i < w->n; i++)
		watch_broke(w, r->step[i].settled && w->fate[i] != WATCH_OUT,
			    starved);
	watch_close(w);
	return w->broken;
}

/* @r without @len packets from @i on, where that may be: the calm must be
 * whole to say that nothing starves. */
static const char *play_less(struct run *less, const struct run *r, unsigned i,
			     unsigned len, const char *broken)
{
	if (broken == starved && (r->step[i].calm || r->step[i + len - 1].calm))
		return NULL;
	*less = *r;
	memmove(&less->step[i], &less->step[i + len],
		(r->n - i - len) * sizeof(less->step[0]));
	less->n -= len;
	return play(less);
}

/* Leave out what the failure does not need: runs of packets, ever shorter. */
static const char *shrink(struct run *r, const char *broken)
{
	static struct run less;

	for (unsigned len = r->n / 2; len; len /= 2)
		for (unsigned i = 0; i + len <= r->n;) {
			const char *still = play_less(&less, r, i, len, broken);

			if (still && (still == broken || still != starved)) {
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
	printf("%s least=%lld most=%lld clock=%u slots=%u exact=%d\n",
	       jitter_kinds[r->cfg.kind], (long long)r->cfg.least,
	       (long long)r->cfg.most, r->cfg.clock, r->cfg.slots, r->exact);
	for (unsigned i = 0; i < r->n; i++) {
		const struct watch_packet *p = &r->step[i].packet;

		if (r->step[i].calm && !r->step[i].settled && i + 1 < r->n &&
		    r->step[i + 1].calm && i > 80)
			continue;

		printf("%d/%d %12lld ns seq %5u ts %10u ssrc %08x duration "
		       "%u%s%s%s\n",
		       watch.reported[i], watch.fate[i], (long long)p->at,
		       p->seq, p->ts, p->ssrc, p->duration,
		       p->silent ? " silent" : "", p->aux ? " beside" : "",
		       r->step[i].calm ? " calm" : "");
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

	return cmocka_run_group_tests_name("jitter", tests, NULL, NULL);
}
