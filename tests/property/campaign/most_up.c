/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many calls of a plan are up at once is what looking at every one of them
 * at every call's begin finds: between two of these, calls only end.
 */
#include <string.h>

#include "campaign/plan.h"
#include "campaign_text.h"
#include "cmocka_cr.h"
#include "seed.h"

static const char text[] =
	"duration: 60s\n"
	"flows:\n"
	"  - count: 300\n"
	"    in: {codec: pcmu}\n    out: {codec: amr}\n"
	"    start: {poisson: 5/s}\n"
	"    hold: {mean: 4s, model: exponential}\n"
	"  - count: 20\n"
	"    in: {codec: pcmu}\n    out: {codec: g723_1}\n    ptime: 30ms\n"
	"    drift: 5%\n";

static size_t up_at(const struct plan *p, cr_ns now, cr_ns before, cr_ns after)
{
	size_t up = 0;

	for (size_t i = 0; i < p->count; i++) {
		const struct plan_call *c = &p->calls[i];
		cr_ns ptime = p->campaign->flows[c->flow].ptime;
		cr_ns end = plan_frame_time(c, ptime, c->frames) + after;

		up += c->start - before <= now && end >= now;
	}
	return up;
}

static size_t looked_up(const struct plan *p, cr_ns before, cr_ns after)
{
	size_t most = 0;

	for (size_t i = 0; i < p->count; i++) {
		size_t up = up_at(p, p->calls[i].start - before, before, after);

		most = up > most ? up : most;
	}
	return most;
}

static void the_most_calls_that_are_up_at_once(void **state)
{
	static const cr_ns margins[][2] = { { 0, 0 },
					    { CR_SEC, 500 * CR_MS },
					    { 100 * CR_SEC, 0 } };
	uint64_t counts[] = { 300, 20 };
	struct plan_options o = { .seed = test_seed(),
				  .duration = 60 * CR_SEC,
				  .counts = counts };
	struct cr_err e = { "" };
	struct campaign *c = campaign_text(text);
	struct plan p;
	size_t most;

	if (plan_make(&p, c, &o, &e))
		fail_msg("%s", e.text);
	for (unsigned i = 0; i < sizeof(margins) / sizeof(margins[0]); i++) {
		cr_ns before = margins[i][0], after = margins[i][1];

		assert_int_equal(plan_most_up(&p, before, after, &most), 0);
		assert_int_equal(most, looked_up(&p, before, after));
	}
	assert_int_equal(most, p.count);
	assert_int_equal(plan_most_up(&p, 0, 0, &most), 0);
	assert_true(most >= 20 && most < p.count);
	plan_fini(&p);
	campaign_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_most_calls_that_are_up_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
