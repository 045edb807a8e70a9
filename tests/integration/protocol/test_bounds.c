/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bound and the play-out buffer that call.start and stream.query tell: what
 * each scheduler promises, by whose arithmetic, and as of now.
 */
#include "cmocka_cr.h"
#include "desk.h"
#include "json_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/hsb.h"
#include "base/clock.h"
#include "seed.h"

#define TO "'out': {'codec': 'pcma', 'address': '127.0.0.1:9'}"
#define PCMU "'in': {'codec': 'pcmu'}, " TO
#define AMR                                                                    \
	"'in': {'codec': 'pcmu'}, 'out': {'codec': 'amr', 'mode': '12.2', "    \
	"'address': '127.0.0.1:9'}"
#define SPIN                                                                   \
	"'in': {'codec': 'pcmu'}, 'out': {'codec': 'spin', 'spin': '2ms', "    \
	"'address': '127.0.0.1:9'}"

static void open_both(struct scratch *d, struct client *c,
		      const char *scheduler, unsigned workers)
{
	desk_open(d, &(struct desk_options){ .scheduler = scheduler,
					     .workers = workers,
					     .admission = true });
	client_open(c, d, NULL);
}

static void close_both(struct scratch *d, struct client *c)
{
	client_close(c);
	desk_close(d);
}

/* "bound" of a reply's, by name: ms. */
static double bound_ms(const json_t *o, const char *member)
{
	const json_t *v = json_object_get(json_object_get(o, "bound"), member);

	if (!json_is_number(v))
		fail_msg("no %s in %s", member, json_dumps(o, 0));
	return json_number_value(v);
}

static const char *bound_text(const json_t *o, const char *member)
{
	const char *s = json_string_value(
		strcmp(member, "bound_why")
			? json_object_get(json_object_get(o, "bound"), member)
			: json_object_get(o, member));

	return s ? s : "";
}

static json_t *query(struct client *c, long long id)
{
	char json[64];

	(void)snprintf(json, sizeof(json), "{'stream': %lld}", id);
	return client_ask(c, "stream.query", json);
}

/* The reply to call.start and what stream.query says right after are the same.
 */
static json_t *start(struct client *c, const char *json)
{
	json_t *o = client_ask(c, "call.start", json);
	json_t *again = query(c, desk_number(o, "call"));

	assert_non_null(json_object_get(o, "bound"));
	assert_true(json_equal(json_object_get(o, "bound"),
			       json_object_get(again, "bound")));
	assert_string_equal(bound_text(o, "bound_why"),
			    bound_text(again, "bound_why"));
	json_decref(again);
	return o;
}

/* --- who promises what --- */

static void each_scheduler_promises_what_its_test_shows(void **state)
{
	static const struct {
		const char *scheduler, *cls;
		bool promised;
		const char *says; /* rule or why */
	} want[] = {
		{ "edf", "hard", true, "no frame is late" },
		{ "edf", "soft", true, "no frame is late" },
		{ "edf", "best-effort", false, "no deadline" },
		{ "edf-steal", "hard", true, "no frame is late" },
		{ "edf-steal", "soft", false, "from other queues" },
		{ "gfl", "soft", true, "no frame is late" },
		{ "dbp", "soft", false, "promises nothing" },
		{ "llf", "hard", true, "no frame is late" },
		{ "dwa", "hard", true, "no frame is late" },
		{ "dwa", "soft", false, "by its mean cost" },
		{ "rm", "hard", true, "no frame is late" },
		{ "rm", "soft", false, "by its mean cost" },
		{ "edf-hsb", "hard", true, "no frame is late" },
		{ "edf-hsb", "soft", true, "Corollary 1" },
		{ "edf-hsb", "best-effort", false, "no deadline" },
		{ "cbs", "hard", true, "no frame is late" },
		{ "cbs,margin=200%", "soft", true, "no frame is late" },
		{ "srpt", "soft", true, "no frame is late" },
		/* ... and so there is no Pfair schedule */
		{ "pd2", "hard", false, "frames are not cut" },
		{ "fifo", "hard", false, "promises nothing" },
		{ "cfs", "soft", false, "promises nothing" },
	};

	for (unsigned i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		struct client c;
		struct scratch d;
		char json[256];
		json_t *o;

		open_both(&d, &c, want[i].scheduler, 1);
		(void)snprintf(json, sizeof(json), "{'class': '%s', " SPIN "}",
			       want[i].cls);
		o = start(&c, json);
		if (json_is_null(json_object_get(o, "bound")) ==
		    want[i].promised)
			fail_msg("%s, %s: %s", want[i].scheduler, want[i].cls,
				 json_dumps(o, 0));
		assert_non_null(strstr(
			bound_text(o, want[i].promised ? "rule" : "bound_why"),
			want[i].says));
		json_decref(o);
		close_both(&d, &c);
	}
}

/* In time: the buffer is the deadline, for frames up to the worst case. */
static void who_is_in_time_needs_its_deadline_of_buffer(void **state)
{
	struct client c;
	struct scratch d;
	json_t *o;

	open_both(&d, &c, "edf", 1);
	o = start(&c, "{'class': 'hard', 'deadline': '15ms', " SPIN "}");
	assert_true(bound_ms(o, "lateness_ms") == 0);
	assert_true(bound_ms(o, "tardiness_ms") == 0);
	assert_true(bound_ms(o, "buffer_ms") == 15);
	assert_true(bound_ms(o, "frames") == 1);
	assert_true(bound_ms(o, "cost_us") >= 2000);
	json_decref(o);
	close_both(&d, &c);
}

/* Who may be late needs as much more of a buffer, in whole periods of frames.
 */
static void a_promised_lateness_is_added_to_the_buffer(void **state)
{
	struct client c;
	struct scratch d;
	json_t *o;

	open_both(&d, &c, LATE_PLUGIN, 1);
	o = start(&c, "{'class': 'hard', 'deadline': '15ms', " SPIN "}");
	assert_string_equal(bound_text(o, "rule"), "late by a constant");
	assert_true(bound_ms(o, "lateness_ms") == 25);
	assert_true(bound_ms(o, "tardiness_ms") == 25);
	assert_true(bound_ms(o, "buffer_ms") == 40);
	assert_true(bound_ms(o, "frames") == 2);
	assert_true(bound_ms(o, "cost_us") >= 2000);
	json_decref(o);
	close_both(&d, &c);
}

/* Without admission: eleven of 2 ms in 20 are more than one CPU serves. */
static void a_promise_ends_with_too_many_calls(void **state)
{
	static const char *const schedulers[] = { "edf", "edf-hsb" };

	for (unsigned i = 0; i < 2; i++) {
		struct client c;
		struct scratch d;
		json_t *o;

		desk_open(&d,
			  &(struct desk_options){ .scheduler = schedulers[i] });
		client_open(&c, &d, NULL);
		o = start(&c, "{'deadline': '20ms', " SPIN "}");
		assert_true(bound_ms(o, "buffer_ms") >= 20);
		for (unsigned k = 0; k < 10; k++)
			client_do(&c, "call.start", "{" SPIN "}");
		json_decref(o);
		o = query(&c, 1);
		assert_true(json_is_null(json_object_get(o, "bound")));
		assert_non_null(strstr(bound_text(o, "bound_why"),
				       i ? "mean cost" : "too many calls"));
		json_decref(o);
		close_both(&d, &c);
	}
}

/* --- edf-hsb: the same numbers by another way --- */

/* The theory over what was admitted, with budgets by the theory's own rule. */
struct expected {
	struct hsb_flow hard[8], soft[8];
	struct hsb_system system;
};

static void expect_call(struct expected *x, struct node_stream *st)
{
	const struct cr_task *t = &node_stream_transcoder(st)->lt.core.task;
	const struct hsb_flow f = {
		.count = 1,
		.period = (double)t->period,
		.deadline = (double)t->rel_deadline,
		.worst = (double)cr_ns_max(t->cost.p99, t->cost.mean),
		.mean = (double)t->cost.mean,
		.sd = sqrt((double)t->cost.variance_ns2),
	};

	x->system.frame = fmax(x->system.frame, f.worst);
	if (t->cls == CR_HARD)
		x->hard[x->system.nhard++] = f;
	else if (t->cls == CR_SOFT)
		x->soft[x->system.nsoft++] = f;
}

static void is_near(const char *what, double got, double want)
{
	if (!(fabs(got - want) <= want * 1e-3 + 1e-6))
		fail_msg("%s: %f instead of %f", what, got, want);
}

static void is_as_expected(struct client *c, struct expected *x,
			   const unsigned *id)
{
	struct hsb_report r;

	x->system.hard = x->hard;
	x->system.soft = x->soft;
	(void)hsb_budgets(&x->system, 0.019);
	r = hsb_analyse(&x->system);
	assert_true(r.schedulable);
	for (size_t i = 0; i < x->system.nsoft; i++) {
		struct hsb_bound b = hsb_bound_of(&x->system, &r, i);
		json_t *o = query(c, id[i]);

		is_near("tardiness", bound_ms(o, "tardiness_ms"),
			b.tardiness / 1e6);
		is_near("lateness", bound_ms(o, "lateness_ms"),
			b.lateness / 1e6);
		is_near("buffer", bound_ms(o, "buffer_ms"),
			(b.lateness + x->soft[i].deadline) / 1e6);
		assert_true(bound_ms(o, "frames") == b.frames);
		json_decref(o);
	}
}

static void under_edf_hsb_it_is_that_of_the_theory(void **state)
{
	static const char *const calls[] = {
		"{" AMR "}",
		"{'class': 'hard', " SPIN "}",
		"{" PCMU "}",
		"{'class': 'best-effort', " PCMU "}",
		"{'deadline': '35ms', " AMR "}",
		"{" AMR "}",
		"{'class': 'hard', " PCMU "}",
		"{'ptime': '40ms', " PCMU "}",
	};
	struct expected x = {
		.system = { .ncpu = 2, .be = { 3, 4 * CR_MS, 20 * CR_MS } }
	};
	unsigned id[8], nsoft = 0;
	struct client c;
	struct scratch d;

	open_both(&d, &c, "edf-hsb,be-servers=3,be-share=20%,be-period=20ms",
		  2);
	for (unsigned i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		json_t *o = start(&c, calls[i]);
		unsigned n = (unsigned)desk_number(o, "call");

		expect_call(&x, node_stream_find(d.rig.node, n));
		if (x.system.nsoft > nsoft)
			id[nsoft++] = n;
		json_decref(o);
	}
	assert_int_equal(nsoft, 5);
	is_as_expected(&c, &x, id);
	close_both(&d, &c);
}

static void a_bound_is_as_of_now(void **state)
{
	struct client c;
	struct scratch d;
	double alone, beside;
	json_t *o;

	open_both(&d, &c, "edf-hsb", 2);
	o = start(&c, "{" PCMU "}");
	alone = bound_ms(o, "tardiness_ms");
	json_decref(o);
	client_do(&c, "call.start", "{" SPIN "}");
	o = query(&c, 1);
	beside = bound_ms(o, "tardiness_ms");
	assert_true(beside > alone);
	json_decref(o);
	client_do(&c, "call.stop", "{'call': 2}");
	desk_wait_calls(&d, 1);
	o = query(&c, 1);
	assert_true(bound_ms(o, "tardiness_ms") == alone);
	json_decref(o);
	/* other terms, another promise */
	client_do(&c, "call.change", "{'call': 1, 'class': 'hard'}");
	o = query(&c, 1);
	assert_true(bound_ms(o, "lateness_ms") == 0);
	json_decref(o);
	client_do(&c, "call.change", "{'call': 1, 'class': 'soft'}");
	o = query(&c, 1);
	assert_true(bound_ms(o, "tardiness_ms") == alone);
	json_decref(o);
	/* another policy, another one */
	client_do(&c, "scheduler.set", "{'scheduler': 'edf'}");
	o = query(&c, 1);
	assert_true(bound_ms(o, "buffer_ms") == 20);
	json_decref(o);
	client_do(&c, "scheduler.set", "{'scheduler': 'rr'}");
	o = query(&c, 1);
	assert_true(json_is_null(json_object_get(o, "bound")));
	json_decref(o);
	close_both(&d, &c);
}

static void count_reply(void *arg, const json_t *result, const json_t *error)
{
	assert_non_null(result);
	assert_null(error);
	++*(unsigned *)arg;
}

/* Each answer is about all calls that are there, of two kinds in turn. */
static void a_thousand_calls_with_bounds_start_without_waiting(void **state)
{
	enum { CALLS = TEST_FEWER(1000) };
	unsigned replies = 0;
	struct client c;
	struct scratch d;
	cr_ns begin;

	client_open_desk(&c, &d,
			 &(struct desk_options){ .scheduler = "edf-hsb" });
	begin = clock_now();
	for (unsigned i = 0; i < CALLS; i++)
		assert_int_equal(rpc_client_call(c.rpc, "call.start",
						 json_text(i % 2 ? "{" PCMU "}"
								 : "{" AMR "}"),
						 count_reply, &replies),
				 0);
	desk_wait_for(&d, &replies, CALLS);
	print_message("%d calls started with bounds in %.0f ms\n", CALLS,
		      (double)(clock_now() - begin) / 1e6);
	assert_int_equal(node_streams(d.rig.node), CALLS);
	close_both(&d, &c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_scheduler_promises_what_its_test_shows),
		cmocka_unit_test(who_is_in_time_needs_its_deadline_of_buffer),
		cmocka_unit_test(a_promised_lateness_is_added_to_the_buffer),
		cmocka_unit_test(a_promise_ends_with_too_many_calls),
		cmocka_unit_test(under_edf_hsb_it_is_that_of_the_theory),
		cmocka_unit_test(a_bound_is_as_of_now),
		cmocka_unit_test(
			a_thousand_calls_with_bounds_start_without_waiting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
