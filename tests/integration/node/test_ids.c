/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Endpoints and calls by their ids: what is found, and in which order,
 * while they come and go at random.
 */
#include "cmocka_cr.h"

#include <string.h>

#include "base/descriptors.h"
#include "seed.h"
#include "talkers.h"

/* Ids begin with 1. */
enum { ENDPOINTS = 3000, TALKS = 300, TURNS = 20000 };

/* What ought to be there. */
struct expected {
	void *at[ENDPOINTS + 1]; /* by id; NULL: none */
	unsigned last;
};

static uint32_t next_of(const struct expected *x, uint32_t id)
{
	while (id < x->last)
		if (x->at[++id])
			return id;
	return 0;
}

/* --- endpoints --- */

static struct node_endpoint *open_endpoint(struct node_fixture *r)
{
	const struct endpoint_spec request = {
		.side = { .pt = CODEC_PT_UNSAID },
		.learn = -1,
		.rtcp = ENDPOINT_RTCP_OFF,
		.reception = { .fill = -1 },
	};
	struct cr_err e = { "" };
	struct node_endpoint *ep;

	if (node_endpoint_open(r->node, &request, &endpoint_own_names, &ep, &e))
		fail_msg("%s", e.text);
	ep->opened = true;
	return ep;
}

static void endpoint_comes(struct node_fixture *r, struct expected *x)
{
	struct node_endpoint *ep = open_endpoint(r);

	assert_int_equal(ep->id, x->last + 1);
	x->at[++x->last] = ep;
}

static void endpoint_goes(struct expected *x, uint32_t id)
{
	struct cr_err e;

	if (x->at[id])
		assert_int_equal(node_endpoint_close(x->at[id], &e), 0);
	x->at[id] = NULL;
}

static void assert_endpoint(struct node_fixture *r, const struct expected *x,
			    uint32_t id)
{
	const struct node_endpoint *after = node_endpoint_after(r->node, id);

	assert_ptr_equal(node_endpoint_find(r->node, id),
			 id <= x->last ? x->at[id] : NULL);
	assert_int_equal(after ? after->id : 0, next_of(x, id));
}

static void endpoints_are_found_and_in_order(void **state)
{
	const struct fixture_options o = { .workers = 1 };
	static struct expected x;
	uint64_t seed = test_seed();
	struct node_fixture r;

	descriptors_raise();
	fixture_open(&r, &o);
	for (unsigned i = 0; i < TURNS; i++) {
		if (x.last < ENDPOINTS && !test_below(&seed, 4))
			endpoint_comes(&r, &x);
		else if (x.last && !test_below(&seed, 6))
			endpoint_goes(&x, 1 + test_below(&seed, x.last));
		assert_endpoint(&r, &x, test_below(&seed, x.last + 3));
	}
	assert_int_equal(x.last, ENDPOINTS);
	assert_endpoint(&r, &x, UINT32_MAX);
	for (uint32_t id = 0; (id = next_of(&x, id));)
		endpoint_goes(&x, id);
	assert_null(node_endpoint_after(r.node, 0));
	fixture_close(&r);
}

/* --- calls --- */

static void talk_goes(struct expected *x, uint32_t id)
{
	node_call_stop(x->at[id], NODE_END_STOPPED, NULL);
	x->at[id] = NULL;
}

static void assert_talk(struct node_fixture *r, const struct expected *x,
			uint32_t id)
{
	const struct node_call *after = node_call_after(r->node, id);

	assert_ptr_equal(node_call_find(r->node, id),
			 id <= x->last ? x->at[id] : NULL);
	assert_int_equal(after ? node_call_id(after) : 0, next_of(x, id));
}

/* Those that are ending are found no more. */
static void calls_are_found_and_in_order(void **state)
{
	const struct fixture_options o = { .workers = 1 };
	static struct expected x;
	uint64_t seed = test_seed();
	struct node_fixture r;

	descriptors_raise();
	fixture_open(&r, &o);
	while (x.last < 2 * TALKS) {
		struct node_call *c = talk_start(&r, BOTH_PCMU);
		uint32_t id;

		assert_int_equal(node_call_id(c), x.last + 1);
		x.at[x.last + 1] = c;
		x.last += 2; /* the ids of its streams */
		id = 1 + test_below(&seed, x.last);
		if (x.at[id] && test_below(&seed, 2))
			talk_goes(&x, id);
		for (unsigned i = 0; i < 10; i++)
			assert_talk(&r, &x, test_below(&seed, x.last + 3));
	}
	for (uint32_t id = 0; (id = next_of(&x, id));) {
		talk_goes(&x, id);
		assert_talk(&r, &x, id);
	}
	assert_true(fixture_wait(&r, talk_is_over, &r));
	fixture_close(&r);
}

/* --- all --- */

/* Behind the last id there is are the first ones again, but for 0 and those in
 * use. */
static void ids_go_round_past_those_in_use(void **state)
{
	static const struct fixture_options o = { .workers = 1 };
	const struct node_endpoint *ep[3];
	struct node_call *c[3];
	struct cr_err e;
	struct node_fixture r;

	fixture_open(&r, &o);
	c[0] = talk_start(&r, BOTH_PCMU);
	ep[0] = open_endpoint(&r); /* behind the two of the call */
	assert_int_equal(ep[0]->id, 3);
	r.node->ids->stream = r.node->ids->endpoint = UINT32_MAX - 1;
	c[1] = talk_start(&r, BOTH_PCMU);
	assert_int_equal(node_call_id(c[1]), UINT32_MAX);
	assert_int_equal(node_stream_id(node_call_stream(c[1], 1)), 3);
	/* it has had UINT32_MAX and 4 */
	ep[1] = open_endpoint(&r);
	assert_int_equal(ep[1]->id, 5);
	r.node->ids->stream = r.node->ids->endpoint = UINT32_MAX;
	c[2] = talk_start(&r, BOTH_PCMU);
	assert_int_equal(node_call_id(c[2]), 4);
	assert_ptr_equal(node_call_find(r.node, UINT32_MAX), c[1]);
	assert_ptr_equal(node_endpoint_find(r.node, 3), ep[0]);
	ep[2] = open_endpoint(&r); /* behind 6 and 7 */
	assert_int_equal(ep[2]->id, 8);
	for (unsigned i = 0; i < 3; i++) {
		node_call_stop(c[i], NODE_END_STOPPED, NULL);
		assert_int_equal(
			node_endpoint_close(
				node_endpoint_find(r.node, ep[i]->id), &e),
			0);
	}
	assert_true(fixture_wait(&r, talk_is_over, &r));
	assert_null(node_endpoint_after(r.node, 0));
	fixture_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(endpoints_are_found_and_in_order),
		cmocka_unit_test(calls_are_found_and_in_order),
		cmocka_unit_test(ids_go_round_past_those_in_use),
	};

	return cmocka_run_group_tests_name("ids", tests, NULL, NULL);
}
