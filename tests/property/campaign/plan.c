/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plan is a pure function of campaign and seed, and its packets have the
 * statistics that the campaign asks for.
 */
#include <errno.h>
#include <string.h>

#include "campaign/plan.h"
#include "campaign_text.h"
#include "cmocka_cr.h"

#define ENDPOINTS "    in: {codec: pcmu}\n    out: {codec: amr}\n"

static struct campaign *parse(const char *flow)
{
	char text[1024];

	(void)snprintf(text, sizeof(text), "duration: 60s\nflows:\n%s", flow);
	return campaign_text(text);
}

static struct plan make(const struct campaign *c, uint64_t seed)
{
	uint64_t counts[8];
	struct plan_options o = { .seed = seed, .duration = c->duration };
	struct cr_err e = { "" };
	struct plan p;

	for (unsigned i = 0; i < c->flow_count; i++)
		counts[i] = (uint64_t)c->flows[i].count;
	o.counts = counts;
	if (plan_make(&p, c, &o, &e))
		fail_msg("%s", e.text);
	return p;
}

static uint64_t hash_of(const struct campaign *c, uint64_t seed)
{
	struct plan p = make(c, seed);
	uint64_t hash = plan_hash(&p);

	plan_fini(&p);
	return hash;
}

static const char all_models[] =
	"  - count: 20\n" ENDPOINTS
	"    network: {jitter: 15ms, loss: 2%, burst: 3, reorder: 1%, "
	"duplicate: 1%}\n"
	"    talk: {spurt: 1.2s, pause: 1.8s}\n"
	"    hold: {model: exponential, mean: 20s}\n"
	"    start: {poisson: 2/s}\n";

static void the_same_seed_gives_the_same_packets(void **state)
{
	struct campaign *a = parse(all_models), *b = parse(all_models);

	assert_true(hash_of(a, 5) == hash_of(b, 5));
	assert_true(hash_of(a, 5) != hash_of(a, 6));
	campaign_free(a);
	campaign_free(b);
}

static void a_clean_stream_is_every_frame_on_time(void **state)
{
	struct campaign *c = parse("  - count: 3\n" ENDPOINTS);
	struct plan p = make(c, 1);
	struct plan_stream s;
	struct plan_packet k;

	assert_int_equal(p.count, 3);
	for (size_t i = 0; i < p.count; i++) {
		uint64_t n = 0;

		plan_stream_init(&s, &p, &p.calls[i]);
		for (; plan_stream_next(&s, &k); n++) {
			assert_int_equal(k.frame, n);
			assert_int_equal(k.seq, n);
			assert_int_equal(k.marker, n == 0);
			assert_false(k.lost || k.copy);
			assert_int_equal(k.at, p.calls[i].start +
						       (cr_ns)n * 20 * CR_MS);
		}
		assert_int_equal(n, p.calls[i].frames);
		assert_true(n == 3000 || n == 2999);
	}
	plan_fini(&p);
	campaign_free(c);
}

struct tally {
	uint64_t sent, lost, runs, copies, behind, late_ns, numbers;
};

static struct tally count_packets(const struct plan *p)
{
	struct tally t = { 0 };
	struct plan_packet k;
	struct plan_stream s;

	for (size_t i = 0; i < p->count; i++) {
		cr_ns last = 0;
		uint64_t top = 0;
		bool was_lost = false;

		plan_stream_init(&s, p, &p->calls[i]);
		while (plan_stream_next(&s, &k)) {
			assert_true(k.at >= last); /* in order of sending */
			last = k.at;
			t.sent += !k.copy && !k.lost;
			t.copies += k.copy;
			t.lost += k.lost;
			t.runs += k.lost && !was_lost;
			was_lost = k.lost;
			t.behind += !k.copy && k.seq < top;
			top = k.seq > top ? k.seq : top;
		}
		t.numbers += top + 1;
	}
	return t;
}

static void the_network_model_has_its_shares(void **state)
{
	struct campaign *c =
		parse("  - count: 50\n" ENDPOINTS
		      "    network: {jitter: 5ms, loss: 5%, burst: 4, "
		      "reorder: 2%, duplicate: 3%}\n");
	struct plan p = make(c, 11);
	struct tally t = count_packets(&p);
	double all = (double)t.numbers;

	/* nothing appears or vanishes beside the model */
	assert_int_equal(t.sent + t.lost, t.numbers);
	/* 150,000 packets: bounds are five standard deviations and more */
	assert_true((double)t.lost / all > 0.04 && (double)t.lost / all < 0.06);
	assert_true((double)t.lost / (double)t.runs > 3.5 &&
		    (double)t.lost / (double)t.runs < 4.5);
	assert_true((double)t.copies / all > 0.025 &&
		    (double)t.copies / all < 0.032);
	assert_true((double)t.behind / all > 0.015 &&
		    (double)t.behind / all < 0.022);
	plan_fini(&p);
	campaign_free(c);
}

static void pauses_leave_gaps_and_spurts_begin_marked(void **state)
{
	struct campaign *c = parse("  - count: 50\n" ENDPOINTS
				   "    talk: {spurt: 1s, pause: 1s}\n");
	struct plan p = make(c, 3);
	uint64_t speech = 0, all = 0;
	struct plan_stream s;
	struct plan_packet k;

	for (size_t i = 0; i < p.count; i++) {
		uint64_t last = 0, n = 0;

		all += p.calls[i].frames;
		plan_stream_init(&s, &p, &p.calls[i]);
		for (; plan_stream_next(&s, &k); n++) {
			assert_int_equal(k.seq, n); /* numbers have no gaps */
			assert_int_equal(k.marker,
					 n == 0 || k.frame != last + 1);
			last = k.frame;
			speech++;
		}
	}
	assert_true(speech > all * 4 / 10 && speech < all * 6 / 10);
	plan_fini(&p);
	campaign_free(c);
}

static void phases_are_spread_over_the_frame_period(void **state)
{
	struct campaign *c = parse("  - count: 200\n" ENDPOINTS);
	struct plan p = make(c, 77);
	unsigned slot[20] = { 0 };

	for (size_t i = 0; i < p.count; i++)
		slot[p.calls[i].start / CR_MS]++;
	for (unsigned i = 0; i < 20; i++)
		assert_in_range(slot[i], 8, 12);
	plan_fini(&p);
	campaign_free(c);
}

static void calls_begin_and_end_when_they_should(void **state)
{
	struct campaign *c = parse(
		"  - count: 10\n" ENDPOINTS
		"    start: {at: 10s, spread: 20s}\n    hold: {mean: 5s}\n"
		"  - name: p\n" ENDPOINTS
		"    start: {at: 30s, poisson: 10/s}\n");
	struct plan p = make(c, 4);
	unsigned poisson = 0;

	for (size_t i = 0; i < p.count; i++) {
		const struct plan_call *k = &p.calls[i];

		assert_true(i == 0 || k->start >= p.calls[i - 1].start);
		if (k->flow == 1) {
			poisson++;
			assert_true(k->start >= 30 * CR_SEC);
			continue;
		}
		assert_int_equal(k->frames, 250);
		assert_in_range(k->start, (10 + 2 * k->index) * CR_SEC,
				(10 + 2 * k->index) * CR_SEC + 20 * CR_MS);
	}
	assert_in_range(poisson, 220, 380); /* 300, 17 standard deviation */
	plan_fini(&p);
	campaign_free(c);
}

/* Calls of @p that begin in [@from, @to). */
static unsigned begun(const struct plan *p, cr_ns from, cr_ns to)
{
	unsigned n = 0;

	for (size_t i = 0; i < p->count; i++)
		n += p->calls[i].start >= from && p->calls[i].start < to;
	return n;
}

/* From 0 to 20 and back to 10 calls a second in 40 s: 200, and 300 more. */
static void a_ramp_of_arrivals_follows_its_lines(void **state)
{
	struct campaign *c = parse("  - name: p\n" ENDPOINTS
				   "    start: {at: 10s, spread: 40s, "
				   "poisson: 0/s..20/s..10/s}\n");
	struct plan p = make(c, 4);

	assert_int_equal(begun(&p, 0, 10 * CR_SEC), 0);
	/* five standard deviations */
	assert_in_range(begun(&p, 10 * CR_SEC, 20 * CR_SEC), 15, 85);
	assert_in_range(begun(&p, 20 * CR_SEC, 30 * CR_SEC), 89, 211);
	assert_in_range(begun(&p, 30 * CR_SEC, 40 * CR_SEC), 109, 241);
	assert_in_range(begun(&p, 40 * CR_SEC, 50 * CR_SEC), 69, 181);
	/* and none after it, but for phases */
	assert_int_equal(begun(&p, 50 * CR_SEC + 20 * CR_MS, 60 * CR_SEC), 0);
	plan_fini(&p);
	campaign_free(c);
}

/* Little: 300 calls up at 100 %, of 2 s each, are 150 a second. */
static void shares_are_of_what_keeps_count_calls_up(void **state)
{
	struct campaign *c =
		parse("  - count: 300\n" ENDPOINTS "    hold: {mean: 2s}\n"
		      "    start: {poisson: 50%}\n"
		      "  - like: flow1\n" ENDPOINTS
		      "    hold: {model: exponential, mean: 2s}\n"
		      "    start: {spread: 30s, poisson: 100%}\n");
	struct plan p;
	uint64_t up[2] = { 0 };

	c->flows[1].count = 300; /* as campaign_counts() would */
	p = make(c, 6);
	for (size_t i = 0; i < p.count; i++) {
		cr_ns end = plan_frame_time(&p.calls[i], 20 * CR_MS,
					    p.calls[i].frames);

		up[p.calls[i].flow] +=
			p.calls[i].start <= 25 * CR_SEC && end > 25 * CR_SEC;
	}
	assert_in_range(up[0], 150 - 62, 150 + 62);
	assert_in_range(up[1], 300 - 87, 300 + 87);
	plan_fini(&p);
	campaign_free(c);
}

static void a_share_of_no_calls_is_no_calls(void **state)
{
	struct campaign *c =
		parse("  - count: 1\n" ENDPOINTS "  - load: 50%\n" ENDPOINTS
		      "    hold: {mean: 2s}\n    start: {poisson: 50%}\n");
	struct plan p = make(c, 6);

	assert_int_equal(p.count, 1);
	plan_fini(&p);
	campaign_free(c);
}

/* 100000 calls a second, and one more call. */
static void a_share_has_the_bound_of_a_rate(void **state)
{
	struct campaign *c =
		parse("  - count: 2000\n" ENDPOINTS "    hold: {mean: 20ms}\n"
		      "    start: {spread: 1ms, poisson: 100%}\n");
	const struct plan_options o = { .duration = c->duration,
					.counts = (uint64_t[]){ 2001 } };
	struct plan p = make(c, 6);
	struct cr_err e = { "" };

	plan_fini(&p);
	assert_int_equal(plan_make(&p, c, &o, &e), -EINVAL);
	assert_non_null(strstr(e.text, "c.yaml:3: flow flow1: its share of "
				       "what keeps 2001 calls of 20ms up is "
				       "more than 100000 calls per second"));
	campaign_free(c);
}

/* Frames of @call that are spoken from @from to @to, counted by the stream. */
static unsigned spoken(const struct plan *p, const struct plan_call *call,
		       cr_ns from, cr_ns to)
{
	struct plan_stream s;
	struct plan_packet k;
	unsigned n = 0;

	plan_stream_init(&s, p, call);
	while (plan_stream_next(&s, &k)) {
		assert_int_equal(k.seq, k.frame);
		n += k.at >= call->start + from && k.at < call->start + to;
	}
	return n;
}

/* By 10 %: 55 and 45 frames a second; by 50 ppm: one more in 400 s, and here
 * each 1 us earlier than the one before. */
static void a_fast_clock_brings_more_frames_a_slow_one_fewer(void **state)
{
	static const struct {
		const char *flow;
		unsigned in_11s;
		cr_ns of_frame_2000; /* after the first */
	} cases[] = {
		{ "  - count: 3\n" ENDPOINTS "    drift: 10%\n", 605,
		  INT64_C(36363636363) },
		{ "  - count: 3\n" ENDPOINTS "    drift: -10%\n", 495,
		  INT64_C(44444444444) },
		{ "  - count: 3\n" ENDPOINTS "    drift: 50ppm\n", 550,
		  INT64_C(39998000099) },
		{ "  - count: 3\n" ENDPOINTS, 550, 40 * CR_SEC },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct campaign *c = parse(cases[i].flow);
		struct plan p = make(c, 1);

		for (size_t k = 0; k < p.count; k++) {
			const struct plan_call *call = &p.calls[k];

			assert_int_equal(
				spoken(&p, call, 10001 * CR_MS, 21001 * CR_MS),
				cases[i].in_11s);
			assert_int_equal(
				plan_frame_time(call, 20 * CR_MS, 2000) -
					call->start,
				cases[i].of_frame_2000);
			/* to the end, and not beyond */
			assert_true(plan_frame_time(call, 20 * CR_MS,
						    call->frames) <=
				    60 * CR_SEC);
			assert_true(plan_frame_time(call, 20 * CR_MS,
						    call->frames + 1) >
				    60 * CR_SEC - 1);
		}
		plan_fini(&p);
		campaign_free(c);
	}
}

/* Holding times are by our clock. */
static void a_call_with_a_fast_clock_is_as_long_as_another(void **state)
{
	struct campaign *c = parse("  - count: 4\n" ENDPOINTS
				   "    hold: {mean: 5s}\n    drift: 10%\n");
	struct plan p = make(c, 1);

	for (size_t i = 0; i < p.count; i++)
		assert_int_equal(p.calls[i].frames, 275);
	plan_fini(&p);
	campaign_free(c);
}

/* Clocks are drawn evenly, and change nothing else about the calls. */
static void each_caller_has_a_clock_of_its_own(void **state)
{
	struct campaign *c =
		parse("  - count: 400\n" ENDPOINTS "    hold: {mean: 20s}\n"
		      "    drift: -100ppm..100ppm\n");
	struct campaign *without =
		parse("  - count: 400\n" ENDPOINTS "    hold: {mean: 20s}\n");
	struct plan p = make(c, 9), q = make(without, 9);
	unsigned quarter[4] = { 0 };

	for (size_t i = 0; i < p.count; i++) {
		int64_t drift = p.calls[i].drift;

		assert_true(drift >= -100 && drift <= 100);
		quarter[(drift + 100) * 4 / 201]++;
		assert_true(p.calls[i].start == q.calls[i].start);
		assert_true(p.calls[i].seed == q.calls[i].seed);
		assert_int_equal(q.calls[i].drift, 0);
	}
	for (unsigned i = 0; i < 4; i++) /* 100, 8.7 standard deviation */
		assert_in_range(quarter[i], 57, 143);
	plan_fini(&p);
	plan_fini(&q);
	campaign_free(c);
	campaign_free(without);
}

static bool every_third(const void *arg, uint64_t frame)
{
	(void)arg;
	return frame % 3 == 0;
}

static void silent_frames_take_no_sequence_number(void **state)
{
	struct campaign *c = parse("  - count: 1\n" ENDPOINTS
				   "    network: {reorder: 10%}\n");
	struct plan p = make(c, 8);
	struct plan_stream s;
	struct plan_packet k;
	uint64_t n = 0;

	plan_stream_init(&s, &p, &p.calls[0]);
	s.silent = every_third;
	for (; plan_stream_next(&s, &k); n++) {
		assert_true(k.frame % 3 != 0);
		assert_int_equal(k.seq, k.frame - k.frame / 3 - 1);
	}
	assert_true(n > 1900 && n <= 2000);
	plan_fini(&p);
	campaign_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_seed_gives_the_same_packets),
		cmocka_unit_test(a_clean_stream_is_every_frame_on_time),
		cmocka_unit_test(the_network_model_has_its_shares),
		cmocka_unit_test(pauses_leave_gaps_and_spurts_begin_marked),
		cmocka_unit_test(phases_are_spread_over_the_frame_period),
		cmocka_unit_test(calls_begin_and_end_when_they_should),
		cmocka_unit_test(a_ramp_of_arrivals_follows_its_lines),
		cmocka_unit_test(shares_are_of_what_keeps_count_calls_up),
		cmocka_unit_test(a_share_of_no_calls_is_no_calls),
		cmocka_unit_test(a_share_has_the_bound_of_a_rate),
		cmocka_unit_test(
			a_fast_clock_brings_more_frames_a_slow_one_fewer),
		cmocka_unit_test(
			a_call_with_a_fast_clock_is_as_long_as_another),
		cmocka_unit_test(each_caller_has_a_clock_of_its_own),
		cmocka_unit_test(silent_frames_take_no_sequence_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
