/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The packets of parties of two-way calls: digits are complete and where they
 * were asked for, noise is in pauses only, changes come when they are due,
 * packets are overtaken by as many as was asked for; all of it once, and the
 * same for the same seed.
 */
#include <string.h>

#include "campaign/plan.h"
#include "campaign_text.h"
#include "cmocka_cr.h"

#define PTIME (20 * CR_MS)
#define MOST 8192u

/* A party's packets in order of sending. */
struct said {
	struct plan_packet k[MOST];
	unsigned n;
};

static struct campaign *parse(const char *party)
{
	char text[1024];

	(void)snprintf(text, sizeof(text),
		       "duration: 30s\nflows:\n  - count: 2\n"
		       "    b: {codec: pcmu}\n    a:\n      codec: pcmu\n%s",
		       party);
	return campaign_text(text);
}

static struct plan make(const struct campaign *c, uint64_t seed)
{
	const uint64_t counts[] = { 2, 2 };
	struct plan_options o = { seed, c->duration, counts };
	struct cr_err e = { "" };
	struct plan p;

	if (plan_make(&p, c, &o, &e))
		fail_msg("%s", e.text);
	return p;
}

/* The packets of party a of the first two-way call. */
static const struct said *say(const char *party, uint64_t seed)
{
	static struct said s;
	struct campaign *c = parse(party);
	struct plan p = make(c, seed);
	struct plan_stream stream;
	size_t i = 0;

	while (p.calls[i].flow != 0 || p.calls[i].index != 0)
		i++;
	s.n = 0;
	plan_stream_init(&stream, &p, &p.calls[i]);
	while (s.n < MOST && plan_stream_next(&stream, &s.k[s.n]))
		s.n++;
	assert_true(s.n < MOST);
	plan_fini(&p);
	campaign_free(c);
	return &s;
}

static void two_way_calls_have_two_directions_and_one_life(void **state)
{
	struct campaign *c =
		parse("    hold: {mean: 5s, model: exponential}\n");
	struct plan p = make(c, 9);

	assert_int_equal(p.count, 4);
	for (size_t i = 0; i < p.count; i++) {
		const struct plan_call *a = &p.calls[i];
		unsigned partners = 0;

		assert_true(a->two_way_call == 1 || a->two_way_call == 2);
		for (size_t k = 0; k < p.count; k++) {
			const struct plan_call *b = &p.calls[k];

			if (k == i || b->two_way_call != a->two_way_call)
				continue;
			partners++;
			assert_int_equal(b->flow, !a->flow);
			assert_int_equal(b->index, a->index);
			/* phases differ by less than a frame */
			assert_true(b->frames + 1 >= a->frames &&
				    a->frames + 1 >= b->frames);
			assert_true(b->seed != a->seed);
		}
		assert_int_equal(partners, 1);
	}
	plan_fini(&p);
	campaign_free(c);
}

static void every_digit_is_dialled_once_and_in_full(void **state)
{
	static const char digits[] = "0123456789*#ABCD";
	const struct said *s = say("      dtmf: {digits: \"0123456789*#ABCD\", "
				   "length: 40ms..400ms, interval: 70ms}\n",
				   4);
	unsigned digit = 0, ends = 0;
	cr_ns before = 0, shortest = CR_SEC, longest = 0;
	uint64_t next = 0;

	for (unsigned i = 0; i < s->n; i++) {
		const struct plan_packet *k = &s->k[i];

		assert_int_equal(k->seq, i);
		if (k->kind == PLAN_SPEECH) {
			assert_int_equal(ends % 3, 0); /* not within one */
			assert_true(k->frame >= next);
			next = k->frame + 1;
			continue;
		}
		assert_int_equal(k->kind, PLAN_EVENT);
		assert_int_equal(k->digit, digit);
		assert_int_equal(k->marker, before == 0);
		if (!before)
			assert_true(k->frame == next);
		assert_true(k->duration >= before);
		before = k->duration;
		if (!k->end)
			continue;
		if (++ends % 3)
			continue;
		shortest = cr_ns_min(shortest, k->duration);
		longest = cr_ns_max(longest, k->duration);
		/* speech goes on in the frame behind it */
		next = k->frame + (uint64_t)((before + PTIME - 1) / PTIME);
		before = 0;
		digit++;
	}
	assert_int_equal(digit, strlen(digits));
	assert_int_equal(ends, 3 * digit);
	assert_true(shortest >= 40 * CR_MS && longest <= 400 * CR_MS);
	assert_true(longest - shortest > 200 * CR_MS);
	assert_int_equal(next, 30 * CR_SEC / PTIME);
}

static void noise_comes_in_pauses_at_its_interval(void **state)
{
	const struct said *s = say("      talk: {spurt: 800ms, pause: 900ms}\n"
				   "      cn: {level: 50, interval: 150ms}\n",
				   5);
	uint64_t noise = 0, speech = 0, last = 0;
	unsigned pauses = 0, repeats = 0;
	bool pausing = false;

	for (unsigned i = 0; i < s->n; i++) {
		const struct plan_packet *k = &s->k[i];

		if (k->kind == PLAN_SPEECH) {
			/* the first one behind a pause is marked */
			assert_int_equal(k->marker, i == 0 || pausing);
			assert_int_equal(k->nth, speech++);
			pausing = false;
		} else {
			assert_int_equal(k->kind, PLAN_NOISE);
			assert_false(k->marker);
			/* 150 ms are 8 frames; the first one is at once */
			assert_int_equal(k->frame - last, pausing ? 8 : 1);
			repeats += pausing;
			pauses += !pausing;
			pausing = true;
			noise++;
		}
		last = k->frame;
	}
	assert_true(pauses > 8 && repeats > pauses);
	assert_int_equal(noise, pauses + repeats);
}

static void changes_come_when_they_are_due(void **state)
{
	const struct said *s = say("      ssrc-change: {at: 1s, every: 4s}\n"
				   "      address-change: {at: 2s}\n",
				   6);

	assert_int_equal(s->n, 1500);
	for (unsigned i = 0; i < s->n; i++) {
		cr_ns t = (cr_ns)i * PTIME;
		unsigned due =
			t < CR_SEC
				? 0
				: 1 + (unsigned)((t - CR_SEC) / (4 * CR_SEC));

		assert_int_equal(s->k[i].ssrc, due);
		assert_int_equal(s->k[i].port, t >= 2 * CR_SEC);
		assert_int_equal(s->k[i].marker,
				 i == 0 || s->k[i - 1].ssrc != due);
	}
}

static void a_change_waits_for_the_digit(void **state)
{
	const struct said *s = say("      dtmf: {digits: 5, length: 1s}\n"
				   "      ssrc-change: {at: 1500ms}\n"
				   "      address-change: {at: 1500ms}\n",
				   6);
	unsigned first = 0;

	for (unsigned i = 0; i < s->n; i++)
		if (s->k[i].kind == PLAN_EVENT)
			assert_int_equal(s->k[i].ssrc + s->k[i].port, 0);
		else if (s->k[i].ssrc && !first)
			first = i;
	assert_int_equal(s->k[first].frame, 100);
	assert_int_equal(s->k[first].port, 1);
	assert_true(s->k[first].marker);
}

/* Behind so many, but for the end of the call. */
static void held_packets_are_overtaken_by_depth_others(void **state)
{
	const struct said *s =
		say("      network: {reorder: 4%, depth: 5}\n", 7);
	unsigned held = 0;

	assert_int_equal(s->n, 1500);
	for (unsigned i = 0; i + 6 < s->n; i++) {
		unsigned before = 0;

		if (!s->k[i].held)
			continue;
		for (unsigned n = 0; n < i; n++)
			before += s->k[n].seq > s->k[i].seq;
		assert_int_equal(before, 5);
		held++;
	}
	assert_true(held > 20 && held < 80);
}

static void the_same_seed_gives_the_same_packets(void **state)
{
	static const char all[] =
		"      network: {loss: 3%, burst: 2, reorder: 2%, depth: 3, "
		"duplicate: 2%, jitter: 9ms}\n"
		"      talk: {spurt: 1s, pause: 1s}\n"
		"      cn: {level: 50}\n      drift: 100ppm\n"
		"      dtmf: {digits: \"123\", length: 40ms..400ms}\n"
		"      ssrc-change: {every: 5s}\n";
	struct campaign *c = parse(all);
	struct plan a = make(c, 3), b = make(c, 3), other = make(c, 4);

	assert_true(plan_hash(&a) == plan_hash(&b));
	assert_true(plan_hash(&a) != plan_hash(&other));
	plan_fini(&a);
	plan_fini(&b);
	plan_fini(&other);
	campaign_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			two_way_calls_have_two_directions_and_one_life),
		cmocka_unit_test(every_digit_is_dialled_once_and_in_full),
		cmocka_unit_test(noise_comes_in_pauses_at_its_interval),
		cmocka_unit_test(changes_come_when_they_are_due),
		cmocka_unit_test(a_change_waits_for_the_digit),
		cmocka_unit_test(held_packets_are_overtaken_by_depth_others),
		cmocka_unit_test(the_same_seed_gives_the_same_packets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
