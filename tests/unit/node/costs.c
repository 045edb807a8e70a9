/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The book of costs: pairs are reckoned from parts, spin says what it costs,
 * and however many pairs are asked for, it never fills.
 */
#include <errno.h>
#include <string.h>

#include "cmocka_cr.h"
#include "node/requests.h"
#include "node/costs.h"

#define PTIME (20 * CR_MS)

static struct pipeline_cfg media(const char *in, const char *out, cr_ns spin)
{
	struct pipeline_cfg m = { .in = { .codec = cr_codec_find(in) },
				  .out = { .codec = cr_codec_find(out) } };

	m.in.cfg.samples = m.in.codec->samples;
	m.out.cfg.samples = m.out.codec->samples;
	m.out.cfg.spin = spin;
	return m;
}

static struct cost_value value(cr_ns dec, cr_ns enc)
{
	return (struct cost_value){ .enc = { .mean = enc, .p99 = enc },
				    .dec = { .mean = dec, .p99 = dec },
				    .frame = PTIME };
}

static struct cost_entry *found(struct costs *c, const struct pipeline_cfg *m)
{
	struct cost_entry *e = NULL;
	struct cost_part missing;

	assert_int_equal(costs_find(c, m, PTIME, &e, &missing, NULL), 0);
	return e;
}

static void a_pair_is_the_sum_of_its_parts(void **state)
{
	const struct pipeline_cfg ab = media("pcmu", "pcma", 0);
	const struct pipeline_cfg ba = media("pcma", "pcmu", 0);
	const struct cost_value a = value(1 * CR_MS, 2 * CR_MS);
	const struct cost_value b = value(3 * CR_MS, 4 * CR_MS);
	struct costs *c = costs_new();
	struct cost_part missing;
	struct cost_entry *e;
	cr_ns one, two;

	assert_int_equal(costs_find(c, &ab, PTIME, &e, &missing, NULL),
			 -EAGAIN);
	assert_string_equal(missing.use.codec->name, "pcmu");
	assert_int_equal(costs_put(c, &missing, &a), 0);
	assert_int_equal(costs_find(c, &ab, PTIME, &e, &missing, NULL),
			 -EAGAIN);
	assert_string_equal(missing.use.codec->name, "pcma");
	assert_int_equal(costs_put(c, &missing, &b), 0);
	one = found(c, &ab)->cost.mean;
	two = found(c, &ba)->cost.mean; /* nothing else is to be measured */
	/* 1 + 4 and 3 + 2; what sending takes is in both */
	assert_true(one >= 5 * CR_MS);
	assert_int_equal(one, two);
	assert_string_equal(found(c, &ab)->name, "pcmu>pcma@20ms");
	costs_free(c);
}

static void what_is_said_of_a_pair_says_nothing_of_others(void **state)
{
	const struct cr_cost said = { .mean = CR_MS, .p99 = CR_MS };
	const struct pipeline_cfg ab = media("pcmu", "pcma", 0);
	const struct pipeline_cfg ba = media("pcma", "pcmu", 0);
	struct costs *c = costs_new();
	struct cost_part missing;
	struct cost_entry *e;

	assert_int_equal(costs_believe(c, &ab, PTIME, &said, &e, NULL), 0);
	assert_ptr_equal(found(c, &ab), e);
	assert_int_equal(e->cost.mean, CR_MS);
	assert_int_equal(costs_find(c, &ba, PTIME, &e, &missing, NULL),
			 -EAGAIN);
	costs_free(c);
}

static void rates_that_differ_need_a_conversion(void **state)
{
	const struct pipeline_cfg m = media("pcmu", "amr-wb", 0);
	const struct cost_value v = value(CR_MS, CR_MS);
	struct costs *c = costs_new();
	struct cost_part missing;
	struct cost_entry *e;

	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(costs_find(c, &m, PTIME, &e, &missing, NULL),
				 -EAGAIN);
		assert_non_null(missing.use.codec);
		assert_int_equal(costs_put(c, &missing, &v), 0);
	}
	assert_int_equal(costs_find(c, &m, PTIME, &e, &missing, NULL), -EAGAIN);
	assert_null(missing.use.codec);
	assert_int_equal(missing.from, 8000);
	assert_int_equal(missing.to, 16000);
	assert_int_equal(costs_put(c, &missing, &v), 0);
	assert_true(found(c, &m)->cost.mean >= 3 * CR_MS);
	costs_free(c);
}

static void another_process_need_not_measure(void **state)
{
	const struct pipeline_cfg m = media("pcmu", "amr-wb", 0);
	const struct cost_value v = value(CR_MS, 2 * CR_MS);
	struct costs *a = costs_new(), *b = costs_new();
	struct cost_part missing;
	struct cost_entry *e;
	char text[COST_TEXT];
	unsigned parts = 0;

	while (costs_find(a, &m, PTIME, &e, &missing, NULL))
		assert_int_equal(costs_put(a, &missing, &v), 0);
	for (; costs_write_part(a, parts, text); parts++)
		assert_int_equal(costs_read_part(b, text), 0);
	assert_int_equal(parts, 3);
	/* but for what sending takes */
	assert_int_equal(found(b, &m)->cost.mean - costs_send(b),
			 found(a, &m)->cost.mean - costs_send(a));
	assert_int_equal(costs_read_part(b, "cost"), -EINVAL);
	assert_int_equal(costs_read_part(b, "cost no-codec 0 8000 160 0 0 0 0 "
					    "0 1 1 0 1 1 0 20000000"),
			 -EINVAL);
	costs_free(a);
	costs_free(b);
}

static void spin_says_what_it_costs(void **state)
{
	const struct pipeline_cfg m = media("spin", "spin", 100 * CR_MS);
	struct costs *c = costs_new();

	assert_true(found(c, &m)->cost.mean >= 100 * CR_MS);
	assert_true(found(c, &m)->cost.mean < 101 * CR_MS);
	costs_free(c);
}

static void it_never_fills(void **state)
{
	enum { PAIRS = 5000, HELD = 100 };
	struct cost_entry *held[HELD];
	struct costs *c = costs_new();

	for (unsigned i = 0; i < PAIRS; i++) {
		const struct pipeline_cfg m = media("spin", "spin", i * CR_US);
		struct cost_entry *e = found(c, &m);

		if (i < HELD) {
			costs_hold(c, e);
			held[i] = e;
		}
	}
	assert_int_equal(costs_count(c), COSTS_KEPT + HELD);
	for (unsigned i = 0; i < HELD; i++) {
		const struct pipeline_cfg m = media("spin", "spin", i * CR_US);

		assert_ptr_equal(found(c, &m), held[i]);
		costs_release(c, held[i]);
	}
	assert_int_equal(costs_count(c), COSTS_KEPT);
	costs_free(c);
}

/* What was learned of a pair stays with it while there is room. */
static void the_one_used_longest_ago_gives_way(void **state)
{
	const struct pipeline_cfg old = media("spin", "spin", 7 * CR_US);
	const struct pipeline_cfg used = media("spin", "spin", 8 * CR_US);
	const uint32_t ns[] = { 1, 2, 3 };
	struct costs *c = costs_new();

	costs_learn(found(c, &old), ns, 3);
	costs_learn(found(c, &used), ns, 3);
	for (unsigned i = 0; i < COSTS_KEPT - 2; i++) {
		const struct pipeline_cfg m =
			media("spin", "spin", CR_MS + i * CR_US);

		(void)found(c, &m);
	}
	costs_hold(c, found(c, &used));
	costs_release(c, found(c, &used));
	for (unsigned i = 0; i < 2; i++) {
		const struct pipeline_cfg m =
			media("spin", "spin", 50 * CR_MS + i * CR_US);

		(void)found(c, &m);
	}
	assert_int_equal(found(c, &used)->learner.frames, 3);
	assert_int_equal(found(c, &old)->learner.frames, 0);
	costs_free(c);
}

static void a_listing_is_short_and_begins_with_calls(void **state)
{
	const struct pipeline_cfg first = media("spin", "spin", 1 * CR_MS);
	struct costs *c = costs_new();
	struct node_cost_info info;
	struct cost_entry *e = found(c, &first);
	unsigned n = 0;

	costs_hold(c, e);
	e->streams++;
	for (unsigned i = 0; i < 500; i++) {
		const struct pipeline_cfg m =
			media("spin", "spin", 2 * CR_MS + i * CR_US);

		(void)found(c, &m);
	}
	while (costs_at(c, n, &info))
		n++;
	assert_int_equal(n, COSTS_SHOWN);
	assert_true(costs_at(c, 0, &info));
	assert_int_equal(info.streams, 1);
	assert_true(costs_at(c, 1, &info)); /* the last one asked for */
	assert_string_equal(info.transcoding,
			    "spin/8000>spin/8000@20ms+2499us");
	assert_true(costs_load_ppm(c) >= 50000);
	costs_free(c);
}

/* As many calls as fit, each of the dearest codec that there is. */
static void a_sum_of_all_calls_fits(void **state)
{
	const struct pipeline_cfg m = media("spin", "spin", CALL_SPIN_MAX);
	struct costs *c = costs_new();
	struct cost_entry *e = found(c, &m);

	costs_hold(c, e);
	e->streams = 1000000;
	e->cost.mean = UINT32_MAX; /* the longest that is measured */
	assert_int_equal(costs_load_ppm(c),
			 1000000 * (UINT32_MAX * CR_PPM / PTIME));
	costs_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pair_is_the_sum_of_its_parts),
		cmocka_unit_test(what_is_said_of_a_pair_says_nothing_of_others),
		cmocka_unit_test(rates_that_differ_need_a_conversion),
		cmocka_unit_test(another_process_need_not_measure),
		cmocka_unit_test(spin_says_what_it_costs),
		cmocka_unit_test(it_never_fills),
		cmocka_unit_test(the_one_used_longest_ago_gives_way),
		cmocka_unit_test(a_listing_is_short_and_begins_with_calls),
		cmocka_unit_test(a_sum_of_all_calls_fits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
