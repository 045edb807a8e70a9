/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A receiver against the plainest one there is, which keeps a list of all
 * packets and goes by Lindley's recursion (a packet begins when it has come and
 * the one before is done), and against theory.
 */
#include "base/random.h"
#include "cmocka_cr.h"
#include "seed.h"
#include "sim/receivers.h"

enum { PACKETS = 3000 };

struct model {
	struct receiver_cfg cfg;
	cr_ns begin[PACKETS], end[PACKETS]; /* [taken] */
	unsigned taken, dropped, wakes;
	uint64_t longest;
	cr_ns wait, wait_max;
};

static uint64_t model_waiting(const struct model *m, cr_ns at)
{
	uint64_t n = 0;

	for (unsigned i = m->taken; i > 0 && m->end[i - 1] > at; i--)
		n++;
	return n;
}

static cr_ns model_take(struct model *m, cr_ns at)
{
	uint64_t n = model_waiting(m, at);
	bool asleep = !m->taken || at > m->end[m->taken - 1];
	cr_ns begin;

	if (n >= m->cfg.most) {
		m->dropped++;
		return CR_NEVER;
	}
	begin = asleep ? at + m->cfg.wake : m->end[m->taken - 1];
	m->wakes += asleep;
	m->longest = n + 1 > m->longest ? n + 1 : m->longest;
	m->wait += begin - at;
	m->wait_max = cr_ns_max(m->wait_max, begin - at);
	m->begin[m->taken] = begin;
	m->end[m->taken] = begin + m->cfg.cost;
	return m->end[m->taken++];
}

/* Packets come alone, together, in step with the receiver, and after pauses. */
static cr_ns gap(uint64_t *seed, const struct receiver_cfg *cfg)
{
	switch (test_below(seed, 5)) {
	case 0:
		return 0;
	case 1:
		return cfg->cost;
	case 2:
		return cfg->cost + cfg->wake + (cr_ns)test_below(seed, 3);
	default:
		return (cr_ns)test_below(seed, 2 * (unsigned)cfg->cost + 3);
	}
}

static struct receiver_cfg any_cfg(uint64_t *seed)
{
	return (struct receiver_cfg){
		.cost = (cr_ns)test_below(seed, 3) *
			(cr_ns)test_below(seed, 50),
		.wake = (cr_ns)test_below(seed, 2) *
			(cr_ns)test_below(seed, 200),
		.most = 1 + test_below(seed, test_below(seed, 2) ? 5 : 5000),
	};
}

static void compare(const struct receiver *r, const struct model *m, cr_ns end)
{
	struct sim_receiver_stats s = sim_receiver_stats(r, end);

	assert_int_equal(s.packets, m->taken);
	assert_int_equal(s.dropped, m->dropped);
	assert_int_equal(s.wakes, m->wakes);
	assert_int_equal(s.longest, m->longest);
	assert_int_equal(s.wait, m->wait);
	assert_int_equal(s.wait_max, m->wait_max);
	/* all of the work and no more */
	assert_int_equal(s.busy,
			 m->cfg.cost * m->taken + m->cfg.wake * m->wakes);
}

/* Nothing is lost unless the socket is full, nothing is overtaken, and the
 * receiver does nothing while something waits only when it wakes up. */
static void it_does_what_lindley_says(void **state)
{
	static struct model m;
	uint64_t seed = test_seed();

	for (unsigned i = TEST_TRIES(200); i; i--) {
		struct receiver r = { .cfg = any_cfg(&seed) };
		cr_ns at = (cr_ns)test_below(&seed, 2), last = 0;

		m = (struct model){ .cfg = r.cfg };
		for (unsigned k = 0; k < PACKETS; k++) {
			cr_ns done = receiver_take(&r, at);

			assert_int_equal(done, model_take(&m, at));
			assert_true(done >= last);
			last = done == CR_NEVER ? last : done;
			at += gap(&seed, &r.cfg);
		}
		assert_int_equal(m.taken + m.dropped, PACKETS);
		compare(&r, &m, cr_ns_max(last, at));
	}
}

/* Busy until some moment: what lies behind it does not count. */
static void it_is_never_busier_than_time(void **state)
{
	struct receiver r = { .cfg = { .cost = 10, .wake = 5, .most = 100 } };

	for (unsigned i = 0; i < 20; i++)
		(void)receiver_take(&r, 7);
	assert_int_equal(sim_receiver_stats(&r, 7).busy, 0);
	assert_int_equal(sim_receiver_stats(&r, 9).busy, 2);
	assert_int_equal(sim_receiver_stats(&r, 107).busy, 100);
	assert_int_equal(sim_receiver_stats(&r, 1000).busy, 205);
}

/* The mean wait in costs, of packets that come at random and load the receiver
 * by @percent. */
static double mean_wait(unsigned percent, uint64_t *seed, unsigned packets)
{
	struct receiver r = { .cfg = { .cost = 1000, .most = UINT64_MAX } };
	struct random random = { test_random(seed) };
	cr_ns at = 0;

	for (unsigned i = 0; i < packets; i++) {
		at += random_exponential(&random, 100000 / percent);
		(void)receiver_take(&r, at);
	}
	assert_int_equal(r.stats.packets, packets);
	return (double)r.stats.wait / packets / 1000;
}

/* M/D/1: rho / (2 (1 - rho)) (Pollaczek, Khinchin). The bounds are more than
 * five standard deviations of the mean wait of a million packets: 0.4, 0.4, 0.8
 * and 1.6 % of it, found with 60 seeds. */
static void a_poisson_stream_waits_as_theory_says(void **state)
{
	static const struct {
		unsigned percent;
		double part; /* of the mean that it may be off */
	} load[] = { { 20, 0.02 }, { 50, 0.02 }, { 80, 0.05 }, { 90, 0.09 } };
	uint64_t seed = test_seed();

	for (unsigned i = 0; i < 4; i++) {
		double rho = load[i].percent / 100.0;
		double theory = rho / (2 * (1 - rho));
		double got = mean_wait(load[i].percent, &seed, 1000000);

		if (got < theory * (1 - load[i].part) ||
		    got > theory * (1 + load[i].part))
			fail_msg("load %u %%: mean wait %.4f costs, theory "
				 "%.4f",
				 load[i].percent, got, theory);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_does_what_lindley_says),
		cmocka_unit_test(it_is_never_busier_than_time),
		cmocka_unit_test(a_poisson_stream_waits_as_theory_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
