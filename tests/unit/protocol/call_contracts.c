/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contracts in call.start and call.change: what they become, what is refused
 * and how, and what a change leaves as it is.
 */
#include "cmocka_cr.h"

#include <stdio.h>
#include <string.h>

#include "json_text.h"
#include "node/call_check.h"
#include "protocol/field_json.h"
#include "protocol/tables/call_fields.h"

static int start(const char *members, struct stream_cfg *cfg, struct cr_err *e)
{
	struct call_spec r;
	char json[500];
	json_t *params;
	int err;

	(void)snprintf(json, sizeof(json),
		       "{%s 'in': {'codec': 'pcmu'}, 'out': {'codec': 'amr', "
		       "'address': '127.0.0.1:5004'}}",
		       members);
	params = json_text(json);
	err = call_params(&r, params, e);
	if (!err)
		err = call_check(cfg, &r, e);
	json_decref(params);
	return err;
}

static int change(struct stream_cfg *cfg, const char *json, struct cr_err *e)
{
	json_t *params = json_text(json);
	struct call_spec r;
	int err;

	err = call_change_params(&r, call_change_fields, params, e);
	if (!err)
		err = call_check_change(cfg, &r, e);
	json_decref(params);
	return err;
}

static void a_contract_becomes_what_schedulers_know(void **state)
{
	const struct cr_cost measured = { .mean = 70, .p99 = 90 };
	struct stream_cfg cfg;
	struct cr_err e = { "" };

	assert_int_equal(
		start("'contract': {'rate': '40/s', 'burst': 3, "
		      "'peak_per_s': 400.5, 'mean': '80us', 'worst_us': 250},",
		      &cfg, &e),
		0);
	assert_int_equal(cfg.terms.contract.rate_ppm, 40000000);
	assert_int_equal(cfg.terms.contract.peak_ppm, 400500000);
	stream_settle(&cfg, &measured);
	assert_int_equal(cfg.declared.cost.mean, 80 * CR_US);
	assert_int_equal(cfg.declared.cost.p99, 80 * CR_US);
	assert_int_equal(cfg.declared.contract.jobs, 1);
	assert_int_equal(cfg.declared.contract.per, 25 * CR_MS);
	assert_int_equal(cfg.declared.contract.burst, 3);
	assert_int_equal(cfg.declared.contract.peak_jobs_per_sec, 401);
	assert_int_equal(cfg.declared.contract.largest, 250 * CR_US);
}

static void an_lbap_says_its_burst_in_either_place(void **state)
{
	const struct cr_cost measured = { .mean = 70, .p99 = 90 };
	struct stream_cfg cfg;
	struct cr_err e = { "" };

	assert_int_equal(
		start("'release': {'model': 'lbap', 'burst': 4},", &cfg, &e),
		0);
	stream_settle(&cfg, &measured);
	assert_int_equal(cfg.declared.contract.burst, 4);
	assert_int_equal(cfg.declared.contract.per, 20 * CR_MS);
	assert_int_equal(start("'release': {'model': 'lbap'}, 'contract': "
			       "{'rate': '50/s', 'burst': 5},",
			       &cfg, &e),
			 0);
	stream_settle(&cfg, &measured);
	assert_int_equal(cfg.declared.contract.burst, 5);
}

static void a_contradiction_is_named_with_the_way_out(void **state)
{
	static const struct {
		const char *members, *where, *remedy;
	} wrong[] = {
		{ "'contract': {'burst': 1},", "contract.burst", "give rate" },
		{ "'contract': {'peak': '9/s'},", "contract.peak",
		  "give rate" },
		{ "'contract': {'rate': '50/s', 'peak': '49/s'},",
		  "contract.peak", "below the rate" },
		{ "'contract': {'rate': '60/s'},", "contract.rate",
		  "shorten the period" },
		{ "'contract': {'rate': '10/s'}, 'release': {'model': 'rate', "
		  "'x': 1},",
		  "contract.rate", "leave one of them out" },
		{ "'contract': {'rate': '10/s', 'burst': 2}, 'release': "
		  "{'model': 'lbap', 'burst': 2},",
		  "contract.burst", "leave one of them out" },
		{ "'contract': {'worst': '60us', 'mean': '70us'},",
		  "contract.mean", "worst case of 60us" },
		{ "'class': 'hard', 'contract': {'worst': '25ms'},",
		  "contract.worst", "take class soft" },
		{ "'class': 'hard', 'deadline': '5ms', 'contract': {'p99': "
		  "'6ms'},",
		  "contract.p99", "deadline of 5ms" },
		{ "'contract': {'rate': 0},", "contract.rate", "0.5/s" },
		{ "'contract': {'rate': '50'},", "contract.rate", "0.5/s" },
		{ "'contract': {'rate': '1000000/s'},", "contract.rate",
		  "100000" },
		{ "'contract': {'burst': -1},", "contract.burst",
		  "from 0 to 1000" },
		{ "'contract': {'mean': '0ms'},", "contract.mean", "from 1ns" },
		{ "'contract': {'worst': '2h'},", "contract.worst",
		  "from 1ns to 1000s" },
		{ "'contract': {'p99': '2h'},", "contract.p99",
		  "from 1ns to 1000s" },
		{ "'contract': {'mean': '2h'},", "contract.mean",
		  "from 1ns to 1000s" },
		{ "'deadline': '2h',", "deadline", "from 1us to 10s" },
		{ "'ptime': '2h',", "ptime", "from 5ms to 60ms" },
		{ "'contract': {'wors': '1ms'},", "contract.wors",
		  "did you mean 'worst'" },
		{ "'contract': [],", "contract", "must be an object" },
		{ "'contract': {}, 'weight': 0,", "weight",
		  "from 1 to 100000" },
	};

	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct stream_cfg cfg;
		struct cr_err e = { "" };

		assert_int_equal(start(wrong[i].members, &cfg, &e), -22);
		if (!strstr(e.text, wrong[i].where) ||
		    !strstr(e.text, wrong[i].remedy))
			fail_msg("%s: '%s' lacks '%s' or '%s'",
				 wrong[i].members, e.text, wrong[i].where,
				 wrong[i].remedy);
	}
}

static void assert_same_contract(const struct contract *a,
				 const struct contract *b)
{
	assert_int_equal(a->rate_ppm, b->rate_ppm);
	assert_int_equal(a->peak_ppm, b->peak_ppm);
	assert_int_equal(a->burst, b->burst);
	assert_int_equal(a->mean, b->mean);
	assert_int_equal(a->p99, b->p99);
	assert_int_equal(a->worst, b->worst);
}

/* Of what a change might write, member by member: padding is nobody's. */
static void assert_same(const struct stream_cfg *a, const struct stream_cfg *b)
{
	assert_int_equal(a->terms.cls, b->terms.cls);
	assert_int_equal(a->terms.deadline, b->terms.deadline);
	assert_int_equal(a->terms.nice, b->terms.nice);
	assert_int_equal(a->terms.weight, b->terms.weight);
	assert_same_contract(&a->terms.contract, &b->terms.contract);
	assert_int_equal(a->release.kind, b->release.kind);
	assert_int_equal(a->release.period, b->release.period);
	assert_int_equal(a->release.rel_deadline, b->release.rel_deadline);
	assert_int_equal(a->release.burst, b->release.burst);
	assert_int_equal(a->release_named, b->release_named);
	assert_int_equal(a->media.in.cfg.mode, b->media.in.cfg.mode);
	assert_int_equal(a->media.out.cfg.mode, b->media.out.cfg.mode);
	assert_int_equal(a->media.out.cfg.dtx, b->media.out.cfg.dtx);
	assert_int_equal(a->ssrc_in, b->ssrc_in);
	assert_int_equal(a->ssrc_out, b->ssrc_out);
	assert_memory_equal(&a->source, &b->source, sizeof(a->source));
	assert_memory_equal(&a->to, &b->to, sizeof(a->to));
}

static void a_change_leaves_alone_what_it_does_not_name(void **state)
{
	struct stream_cfg cfg, before;
	struct cr_err e = { "" };

	assert_int_equal(start("'class': 'hard', 'deadline': '9ms', 'nice': 3, "
			       "'contract': {'rate': '40/s', 'worst': '2ms'},",
			       &cfg, &e),
			 0);
	before = cfg;
	assert_int_equal(change(&cfg, "{'call': 1, 'weight': 5}", &e), 0);
	before.terms.weight = 5;
	assert_same(&cfg, &before);
	assert_int_equal(change(&cfg,
				"{'call': 1, 'contract': {'worst': null, "
				"'mean': '1ms'}, 'deadline': null, 'nice': "
				"null, 'out': {'mode': '4.75'}}",
				&e),
			 0);
	assert_int_equal(cfg.terms.cls, CR_HARD);
	assert_int_equal(cfg.terms.contract.worst, 0);
	assert_int_equal(cfg.terms.contract.mean, CR_MS);
	assert_int_equal(cfg.terms.contract.rate_ppm, 40000000);
	assert_int_equal(cfg.terms.deadline, 20 * CR_MS);
	assert_int_equal(cfg.terms.nice, 0);
	assert_int_equal(cfg.media.out.cfg.mode, 0);
	assert_int_equal(change(&cfg, "{'call': 1, 'contract': null}", &e), 0);
	assert_int_equal(cfg.terms.contract.rate_ppm, 0);
}

/* What held together with the old deadline may contradict the new one. */
static void a_refused_change_writes_nothing(void **state)
{
	struct stream_cfg cfg, before;
	struct cr_err e = { "" };

	assert_int_equal(start("'class': 'hard', 'contract': {'worst': '8ms'},",
			       &cfg, &e),
			 0);
	before = cfg;
	assert_int_equal(change(&cfg, "{'call': 1, 'deadline': '7ms'}", &e),
			 -22);
	assert_non_null(strstr(e.text, "contract.worst: 8ms is above the "
				       "deadline of 7ms"));
	assert_int_equal(change(&cfg, "{'call': 1, 'ssrc': 5}", &e), -22);
	assert_int_equal(change(&cfg, "{'call': 1, 'out': {'dtx': true}}", &e),
			 -22);
	assert_same(&cfg, &before);
}

static void what_is_said_can_be_sent_again(void **state)
{
	struct stream_cfg cfg, again;
	struct cr_err e = { "" };
	char members[300], *text;
	json_t *o;

	assert_int_equal(start("'contract': {'rate': '33.3/s', 'burst': 3, "
			       "'peak': '500/s', 'mean': '70us', 'p99': "
			       "'90100ns', 'worst': '0.25ms'},",
			       &cfg, &e),
			 0);
	o = field_write(contract_fields, &cfg.terms.contract);
	text = json_dumps(o, JSON_COMPACT);
	(void)snprintf(members, sizeof(members), "'contract': %s,", text);
	assert_int_equal(start(members, &again, &e), 0);
	assert_same_contract(&cfg.terms.contract, &again.terms.contract);
	free(text);
	json_decref(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_contract_becomes_what_schedulers_know),
		cmocka_unit_test(an_lbap_says_its_burst_in_either_place),
		cmocka_unit_test(a_contradiction_is_named_with_the_way_out),
		cmocka_unit_test(a_change_leaves_alone_what_it_does_not_name),
		cmocka_unit_test(a_refused_change_writes_nothing),
		cmocka_unit_test(what_is_said_can_be_sent_again),
	};

	return cmocka_run_group_tests_name("call_terms", tests, NULL, NULL);
}
