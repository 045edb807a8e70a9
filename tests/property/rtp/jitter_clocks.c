/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clocks that drift: an hour at 100 ppm, a minute at 1 %, fast and slow, for
 * every packet's time, on a quiet network and on a rough one. Nothing is
 * starved (no gap, no late packet), nothing fills (no overflow, waits as short
 * at the end as at the beginning).
 */
#include "cmocka_cr.h"
#include "rtp/jitter.h"
#include "seed.h"

#define PPM 1000000
#define FRAME 160u

struct course {
	int drift;    /* how much longer the sender's packets take, ppm */
	cr_ns length; /* of the call */
	cr_ns ptime, jitter;
	uint32_t clock;
	enum jitter_kind kind;
	cr_ns least, most;
};

struct outcome {
	uint64_t played;
	cr_ns wait, waits; /* longest, sum */
	cr_ns first, last; /* sums of waits in the first and last tenth */
	uint64_t nfirst, nlast;
};

struct sender {
	const struct course *c;
	uint64_t seed, sent;
	uint16_t seq;
	uint32_t ts;
};

static const uint8_t speech[FRAME];

static cr_ns arrival(struct sender *s)
{
	const struct course *c = s->c;
	cr_ns sent = (cr_ns)s->sent * c->ptime;
	cr_ns at = sent + sent / PPM * c->drift;

	return c->jitter ? at + test_below(&s->seed, (unsigned)c->jitter) : at;
}

static void put(struct jitter *j, struct sender *s, cr_ns at)
{
	const struct rtp_packet p = { .seq = s->seq++,
				      .ts = s->ts,
				      .payload = speech,
				      .payload_bytes = FRAME };

	s->ts += (uint32_t)(s->c->ptime * s->c->clock / CR_SEC);
	s->sent++;
	assert_int_equal(jitter_put(j, &(struct jitter_input){ .rtp = &p,
							       .arrival = at }),
			 JITTER_TAKEN);
}

static void played(const struct course *c, const struct jitter_output *out,
		   struct outcome *o)
{
	cr_ns tenth = c->length / 10;

	o->played++;
	o->waits += out->wait;
	o->wait = cr_ns_max(o->wait, out->wait);
	if (out->arrival < tenth) {
		o->first += out->wait;
		o->nfirst++;
	} else if (out->arrival > c->length - tenth) {
		o->last += out->wait;
		o->nlast++;
	}
}

static void play_until(struct jitter *j, const struct course *c, cr_ns until,
		       struct outcome *o)
{
	struct jitter_output out;
	cr_ns due;

	while ((due = jitter_due(j)) <= until) {
		assert_int_equal(jitter_next(j, due, &out), JITTER_PLAY);
		played(c, &out, o);
	}
}

static struct outcome run(const struct course *c, uint64_t seed)
{
	const struct jitter_cfg cfg = {
		.kind = c->kind,
		.least = c->least,
		.most = c->most,
		.clock = c->clock,
		.slots = (unsigned)(c->most / c->ptime) + 3,
		.slot_bytes = FRAME,
	};
	struct sender s = { .c = c,
			    .seed = seed,
			    .seq = (uint16_t)test_random(&seed),
			    .ts = (uint32_t)test_random(&seed) };
	struct outcome o = { 0 };
	struct cr_err e;
	struct jitter *j;
	cr_ns at = 0;

	assert_int_equal(jitter_open(&j, &cfg, &e), 0);
	while (at < c->length) {
		/* packets arrive in order: the network's queue keeps it */
		at = cr_ns_max(arrival(&s), at);
		play_until(j, c, at, &o);
		put(j, &s, at);
	}
	while (jitter_waiting(j))
		play_until(j, c, jitter_due(j), &o);
	assert_int_equal(o.played, s.sent);
	assert_int_equal(jitter_counts(j)->concealed, 0);
	assert_true(o.wait <= c->most);
	jitter_close(j);
	return o;
}

static cr_ns mean(cr_ns sum, uint64_t n)
{
	return sum / (cr_ns)n;
}

/* All clocks off by @drift and -@drift, and all packets' times. */
static void on_all_clocks(struct course c, int drift)
{
	static const uint32_t clocks[] = { 8000, 48000 };
	uint64_t seed = test_seed();

	for (unsigned i = 0; i < 24; i++) {
		struct outcome o;
		cr_ns window;

		c.drift = i % 2 ? drift : -drift;
		c.ptime = (10 + 10 * (i / 2 % 6)) * CR_MS;
		c.clock = clocks[i / 12];
		/* in which the drift cannot be told from jitter */
		window = 64 * c.ptime / PPM * drift;
		o = run(&c, test_random(&seed));
		/* a quiet network: the waits are as they were */
		if (c.jitter <= CR_MS)
			assert_in_range(mean(o.last, o.nlast), 0,
					mean(o.first, o.nfirst) + CR_MS +
						window);
	}
}

static void an_hour_at_100_ppm(void **state)
{
	struct course c = { .length = 3600 * CR_SEC,
			    .kind = JITTER_ADAPTIVE,
			    .least = 5 * CR_MS,
			    .most = 100 * CR_MS };

	on_all_clocks(c, 100);
	c.jitter = CR_MS;
	on_all_clocks(c, 100);
	c.kind = JITTER_FIXED;
	c.most = 20 * CR_MS;
	on_all_clocks(c, 100);
	c.jitter = 15 * CR_MS;
	on_all_clocks(c, 100);
}

static void a_minute_at_1_percent(void **state)
{
	struct course c = { .length = 60 * CR_SEC,
			    .kind = JITTER_ADAPTIVE,
			    .least = 5 * CR_MS,
			    .most = 200 * CR_MS };

	on_all_clocks(c, 10000);
	c.jitter = CR_MS;
	on_all_clocks(c, 10000);
	c.kind = JITTER_FIXED;
	c.most = 60 * CR_MS;
	on_all_clocks(c, 10000);
	c.jitter = 30 * CR_MS;
	on_all_clocks(c, 10000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_hour_at_100_ppm),
		cmocka_unit_test(a_minute_at_1_percent),
	};

	return cmocka_run_group_tests_name("jitter and clocks", tests, NULL,
					   NULL);
}
