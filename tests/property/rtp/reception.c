/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A network that loses, delays and doubles packets, and a receiver's reports on
 * it: losses are what the network knows, highest numbers are what it let pass,
 * fractions are of each interval, and jitter is that of a model in floating
 * point. A failure is shrunk to a short list of arrivals, and printed.
 */
#include "cmocka_cr.h"

#include <math.h>
#include <string.h>

#include "rtp/rtcp_session.h"
#include "seed.h"

/* The network holds a packet back by at most HOLD, which is within the window
 * of rtp_source_update(); runs of losses are short enough to be no restart. */
enum { PACKETS = 400, HOLD = 30 };

/* What the receiver sees, and whether it reports after it. */
struct arrival {
	unsigned index; /**< of the packet, from 0 as it was sent           */
	cr_ns at;
	bool report;
};

struct story {
	uint32_t rate;
	uint16_t first_seq;
	uint32_t first_ts;
	cr_ns begin;
	unsigned n;
	struct arrival arrival[2 * PACKETS];
};

/* --- the network --- */

static void add(struct story *s, unsigned index, cr_ns at, bool report)
{
	s->arrival[s->n++] =
		(struct arrival){ .index = index, .at = at, .report = report };
}

static int by_time(const void *a, const void *b)
{
	const struct arrival *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

/* Every other one is about to wrap. */
static uint16_t first_seq(uint64_t *seed)
{
	uint16_t any = (uint16_t)test_random(seed);

	return test_below(seed, 2) ? any : (uint16_t)(0u - any % 64);
}

static void make_story(struct story *s, uint64_t *seed)
{
	static const uint32_t rates[] = { 8000, 16000, 48000, 11025, 90000 };
	unsigned loss = test_below(seed, 50), twice = test_below(seed, 10);
	unsigned hold = 1 + test_below(seed, HOLD * 20);

	*s = (struct story){ .rate = rates[test_below(seed, 5)],
			     .first_seq = first_seq(seed),
			     .first_ts = (uint32_t)test_random(seed),
			     .begin = (cr_ns)(test_random(seed) >> 10) };
	for (unsigned i = 0; i < PACKETS; i++) {
		cr_ns at = s->begin + i * 20 * CR_MS;

		if (test_below(seed, 100) < loss)
			continue;
		add(s, i, at + test_below(seed, hold) * CR_MS,
		    !test_below(seed, 40));
		if (test_below(seed, 100) < twice)
			add(s, i, at + test_below(seed, hold) * CR_MS, false);
	}
	qsort(s->arrival, s->n, sizeof(s->arrival[0]), by_time);
}

/* --- the truth --- */

struct truth {
	bool seen[PACKETS];
	unsigned first, lowest, highest, arrived, distinct;
	int64_t expected_before, arrived_before;
	bool timed;
	double transit, jitter;
};

/* RFC 3550, 6.4.1, without rounding. */
static void true_jitter(struct truth *t, const struct story *s,
			const struct arrival *a)
{
	double transit = (double)(a->at - s->begin) * s->rate / 1e9 -
			 (double)a->index * (s->rate / 50);

	if (t->timed)
		t->jitter += (fabs(transit - t->transit) - t->jitter) / 16;
	t->timed = true;
	t->transit = transit;
}

static void true_arrival(struct truth *t, const struct story *s,
			 const struct arrival *a)
{
	if (!t->arrived)
		t->first = t->lowest = t->highest = a->index;
	if (a->index < t->lowest)
		t->lowest = a->index;
	if (a->index > t->highest)
		t->highest = a->index;
	t->arrived++;
	if (t->seen[a->index])
		return;
	t->seen[a->index] = true;
	t->distinct++;
	true_jitter(t, s, a);
}

/* --- what the receiver says of it --- */

static const char *check_report(struct truth *t, const struct story *s,
				struct reception *r, cr_ns now)
{
	int64_t expected = t->highest - t->lowest + 1;
	int64_t due = expected - t->expected_before;
	int64_t lost = due - (t->arrived - t->arrived_before);
	int64_t fraction = due > 0 && lost > 0 ? lost * 256 / due : 0;
	/* cycles are counted from the first that came */
	uint32_t highest =
		(uint16_t)(s->first_seq + t->first) + (t->highest - t->first);
	struct rtcp_report out;

	if (!reception_report(r, now, &out))
		return "no report";
	t->expected_before = expected;
	t->arrived_before = t->arrived;
	if (out.lost != expected - t->arrived)
		return "cumulative loss";
	if (out.fraction != (fraction > 255 ? 255 : fraction))
		return "fraction lost";
	if (out.highest != highest)
		return "highest number";
	/* A.8's rounding makes less than one tick in each direction, a tick
	 * of arrival time two */
	if (fabs((double)out.jitter - t->jitter) > 3)
		return "jitter";
	return NULL;
}

/* NULL, or what is wrong with the story. */
static const char *play(const struct story *s)
{
	struct truth t = { 0 };
	struct reception r;
	const char *wrong = NULL;

	reception_init(&r, s->rate);
	for (unsigned i = 0; i < s->n && !wrong; i++) {
		const struct arrival *a = &s->arrival[i];
		const struct rtp_packet p = {
			.ssrc = 1,
			.seq = (uint16_t)(s->first_seq + a->index),
			.ts = s->first_ts + a->index * (s->rate / 50),
		};
		bool twice = t.seen[a->index];
		enum rtp_arrival got = reception_packet(&r, &p, true, a->at);

		if ((got == RTP_DUPLICATE) != twice ||
		    got == RTP_OUT_OF_RANGE || got == RTP_RESTART)
			wrong = "arrival";
		true_arrival(&t, s, a);
		if (!wrong && (a->report || i + 1 == s->n))
			wrong = check_report(&t, s, &r, a->at);
		if (!wrong &&
		    reception_lost(&r) + t.distinct != t.highest - t.lowest + 1)
			wrong = "lost";
	}
	return wrong;
}

/* --- shrinking --- */

/* Leave out whatever is not needed for the story to go wrong. */
static void shrink(struct story *s)
{
	for (unsigned step = s->n / 2; step; step /= 2) {
		for (unsigned at = 0; at + step <= s->n;) {
			struct story less = *s;

			less.n -= step;
			memmove(less.arrival + at, less.arrival + at + step,
				(less.n - at) * sizeof(less.arrival[0]));
			if (play(&less))
				*s = less;
			else
				at += step;
		}
	}
}

static void print_story(const struct story *s)
{
	print_error("rate %u, first seq %u, ts %u, %lld ns\n", s->rate,
		    s->first_seq, s->first_ts, (long long)s->begin);
	for (unsigned i = 0; i < s->n; i++)
		print_error("  packet %u at +%lld us%s\n", s->arrival[i].index,
			    (long long)((s->arrival[i].at - s->begin) / CR_US),
			    s->arrival[i].report ? ", report" : "");
}

static void reports_tell_the_truth(void **state)
{
	unsigned tries = TEST_TRIES(2000);

	for (unsigned i = 0; i < tries; i++) {
		uint64_t seed = test_seed();
		struct story s;
		const char *wrong;

		make_story(&s, &seed);
		if (!play(&s))
			continue;
		shrink(&s);
		wrong = play(&s);
		print_story(&s);
		fail_msg("%s", wrong);
	}
}

/* The shrinker keeps what goes wrong: here a stray, which no network of ours
 * makes, among a hundred packets. */
static void what_goes_wrong_is_shrunk(void **state)
{
	struct story s = { .rate = 8000 };

	for (unsigned i = 0; i < 100; i++)
		add(&s, i, i * 20 * CR_MS, false);
	add(&s, 9, 99 * 20 * CR_MS, false);
	assert_string_equal(play(&s), "arrival");
	shrink(&s);
	assert_string_equal(play(&s), "arrival");
	assert_in_range(s.n, 2, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reports_tell_the_truth),
		cmocka_unit_test(what_goes_wrong_is_shrunk),
	};

	return cmocka_run_group_tests_name("reception", tests, NULL, NULL);
}
