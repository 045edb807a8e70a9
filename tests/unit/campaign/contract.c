/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A flow's contract means the same live and simulated: what the feeder asks the
 * daemon for becomes the terms that the simulator gives its tasks.
 */
#include <string.h>

#include "cmocka_cr.h"
#include "feeder/session_impl.h"
#include "node/call_check.h"
#include "protocol/tables/call_fields.h"
#include "sim/arrival.h"

#define TOP "duration: 10s\nflows:\n  - count: 1\n"
#define ENDPOINTS "    in: {codec: pcmu}\n    out: {codec: amr}\n"

static const char *const flows[] = {
	"",
	"    class: hard\n    contract: {mean: 70us, p99: 90us, worst: "
	"250us}\n",
	"    contract: {rate: 40/s, burst: 4, peak: 500/s}\n",
	"    contract: {rate: 33.3/s}\n    deadline: 15ms\n",
	"    contract: {worst: 290us}\n    release: {model: rate, x: 3, y: "
	"60ms}\n",
	"    release: {model: lbap, burst: 7}\n",
	"    release: {model: lbap}\n",
	"    release: {model: lbap}\n    contract: {rate: 20/s, burst: 2}\n",
	"    release: {model: periodic}\n    contract: {rate: 20/s, burst: "
	"2}\n",
};

static void must_be_equal(const struct release_cfg *a,
			  const struct release_cfg *b)
{
	assert_int_equal(a->kind, b->kind);
	assert_int_equal(a->period, b->period);
	assert_int_equal(a->rel_deadline, b->rel_deadline);
	assert_int_equal(a->spacing, b->spacing);
	if (a->kind == RELEASE_LBAP)
		assert_int_equal(a->burst, b->burst);
	if (a->kind == RELEASE_RATE) {
		assert_int_equal(a->x, b->x);
		assert_int_equal(a->y, b->y);
	}
}

static void must_promise(const struct cr_contract *a,
			 const struct cr_contract *b)
{
	assert_int_equal(a->jobs, b->jobs);
	assert_int_equal(a->per, b->per);
	assert_int_equal(a->burst, b->burst);
	assert_int_equal(a->peak_jobs_per_sec, b->peak_jobs_per_sec);
	assert_int_equal(a->largest, b->largest);
}

static void check(const struct campaign_flow *f)
{
	const struct session s = { .cfg = { .daemon_ports = PORTS_OWN } };
	const struct cost_model m = {
		.estimate = { .mean = 60000, .p99 = 80000, .variance_ns2 = 9 }
	};
	const struct core_terms declared = declare(f, &m);
	const struct release_cfg simulated = declared_release(f);
	struct release_cfg live;
	struct call_spec r;
	struct stream_cfg cfg;
	struct cr_err e = { "" };
	struct feeder_stream st = { .flow = f, .address = "127.0.0.1:40100" };
	const struct feeder_call c = { .side = { &st } };
	json_t *params = session_call_params(&s, &c);

	if (call_params(&r, params, &e) || call_check(&cfg, &r, &e))
		fail_msg("%s", e.text);
	json_decref(params);
	assert_int_equal(r.port, CALL_PORT_OWN);
	stream_settle(&cfg, &m.estimate);
	assert_memory_equal(&cfg.declared.cost, &declared.cost,
			    sizeof(declared.cost));
	assert_int_equal(cfg.declared.cls, declared.cls);
	assert_int_equal(cfg.declared.rel_deadline, declared.rel_deadline);
	assert_int_equal(cfg.declared.nice, declared.nice);
	assert_int_equal(cfg.declared.weight, declared.weight);
	must_promise(&cfg.declared.contract, &declared.contract);
	live = cfg.release;
	live.rel_deadline = cfg.terms.deadline;
	contract_release(&cfg.terms.contract, cfg.release_named, &live);
	must_be_equal(&live, &simulated);
}

static void live_and_simulated_calls_have_the_same_contract(void **state)
{
	for (unsigned i = 0; i < sizeof(flows) / sizeof(flows[0]); i++) {
		struct campaign *c = NULL;
		struct cr_err e = { "" };
		char text[400];

		(void)snprintf(text, sizeof(text), TOP "%s" ENDPOINTS,
			       flows[i]);
		if (campaign_parse(text, strlen(text), "c.yaml", NULL, &c, &e))
			fail_msg("%s", e.text);
		check(&c->flows[0]);
		campaign_free(c);
	}
}

static void a_contract_of_a_synthetic_flow_goes_before_its_models(void **state)
{
	static const char text[] =
		"duration: 10s\nflows:\n  - period: 10ms\n"
		"    cost: {model: exponential, mean: 1ms, max: 5ms}\n"
		"    arrival: {model: envelope, rate: 25%, depth: 15ms}\n"
		"    contract: {mean: 2ms, worst: 4ms}\n";
	const struct cost_model m = { .estimate = { .mean = 1, .p99 = 2 } };
	struct campaign *c = NULL;
	struct cr_err e = { "" };
	struct core_terms declared;

	if (campaign_parse(text, strlen(text), "c.yaml", NULL, &c, &e))
		fail_msg("%s", e.text);
	declared = declare(&c->flows[0], &m);
	assert_int_equal(declared.cost.mean, 2 * CR_MS);
	assert_int_equal(declared.contract.largest, 4 * CR_MS);
	assert_int_equal(declared.contract.per, 20 * CR_MS);
	assert_int_equal(declared.contract.burst, 2);
	campaign_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			live_and_simulated_calls_have_the_same_contract),
		cmocka_unit_test(
			a_contract_of_a_synthetic_flow_goes_before_its_models),
	};

	return cmocka_run_group_tests_name("contract", tests, NULL, NULL);
}
