/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loader gives the values of a campaign file, in ns and ppm, with the
 * documented defaults.
 */
#include <stdio.h>
#include <string.h>

#include "campaign/campaign.h"
#include "rtp/jitter.h"
#include "campaign_text.h"
#include "cmocka_cr.h"

static void defaults_are_as_documented(void **state)
{
	struct campaign *c =
		campaign_text("duration: 10s\nflows:\n  - count: 2\n"
			      "    in: {codec: pcmu}\n"
			      "    out: {codec: amr}\n");
	const struct campaign_flow *f = &c->flows[0];

	assert_int_equal(c->seed, 1);
	assert_int_equal(c->duration, 10 * CR_SEC);
	assert_int_equal(c->platform.cpus, 1);
	assert_int_equal(c->platform.run_queues, 1);
	assert_int_equal(c->platform.admission, 1);
	assert_true(c->platform.max_age == CR_NEVER);
	assert_string_equal(f->name, "flow1");
	assert_int_equal(f->ptime, 20 * CR_MS);
	assert_int_equal(f->terms.deadline, 20 * CR_MS);
	assert_int_equal(f->terms.cls, CR_SOFT);
	assert_int_equal(f->out.cfg.mode, f->out.codec->default_mode);
	assert_true(f->hold.mean == CR_NEVER);
	assert_int_equal(f->network.burst, 1);
	assert_int_equal(f->start.poisson.rates, 0);
	assert_true(f->drift.least == 0 && f->drift.most == 0);
	assert_false(f->expect[METRIC_LOSS].given);
	assert_int_equal(c->conversions.count, 0);
	assert_int_equal(c->platform.convert_floor, 0);
	assert_int_equal(c->platform.receivers.count, 0);
	campaign_free(c);
}

static void receivers_are_as_told(void **state)
{
	static const char flow[] = "flows:\n  - {period: 10ms, share: 1%}\n";
	const struct campaign_receivers *r;
	struct campaign *c;
	char text[300];

	(void)snprintf(text, sizeof(text),
		       "duration: 1s\nplatform: {receivers: {count: 3, "
		       "cost: 1500ns, wake: 4us, waiting: 77}}\n%s",
		       flow);
	c = campaign_text(text);
	r = &c->platform.receivers;
	assert_int_equal(r->count, 3);
	assert_int_equal(r->cost, 1500);
	assert_int_equal(r->wake, 4000);
	assert_int_equal(r->waiting, 77);
	campaign_free(c);
	(void)snprintf(text, sizeof(text),
		       "duration: 1s\nplatform: {receivers: {count: 1}}\n%s",
		       flow);
	c = campaign_text(text);
	r = &c->platform.receivers;
	assert_int_equal(r->cost, 0);
	assert_int_equal(r->wake, 0);
	assert_int_equal(r->waiting, 20000);
	campaign_free(c);
}

static void max_age_is_a_time_or_a_word(void **state)
{
	static const struct {
		const char *text;
		int64_t is;
	} rows[] = { { "none", CR_NEVER },
		     { "never", CR_NEVER },
		     { "auto", CAMPAIGN_AGE_AUTO },
		     { "1ms", CR_MS } };

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[200];
		struct campaign *c;

		(void)snprintf(text, sizeof(text),
			       "duration: 1s\ndaemon: {max-age: %s}\n"
			       "flows:\n  - count: 1\n    in: {codec: pcmu}\n"
			       "    out: {codec: pcma}\n",
			       rows[i].text);
		c = campaign_text(text);
		assert_true(c->platform.max_age == rows[i].is);
		campaign_free(c);
	}
}

static void every_value_arrives(void **state)
{
	struct campaign *c = campaign_text(
		"seed: 9\nduration: 1.5s\n"
		"platform: {cpus: 4, run-queues: partitioned}\n"
		"daemon: {admission: off, max-age: 80ms}\n"
		"schedulers: [fifo, \"rr,quantum=5ms\", ./mine.so]\n"
		"flows:\n"
		"  - name: a\n    load: 97%\n    ptime: 10ms\n"
		"    class: hard\n    deadline: 7ms\n"
		"    in: {codec: l16, rate: 16000}\n"
		"    out: {codec: amr-wb, mode: 12.65, octet-align: yes, "
		"dtx: yes}\n"
		"    input: [x.wav, y/*.wav]\n"
		"    release: {model: rate, x: 3, y: 30ms}\n"
		"    start: {at: 100ms, poisson: 2.5/s}\n"
		"    hold: {model: exponential, mean: 1s}\n"
		"    network: {jitter: 3ms, loss: 1%, burst: 4, reorder: 2%, "
		"duplicate: 0.5%}\n"
		"    talk: {spurt: 1.2s, pause: 1.8s}\n"
		"    jitter: {buffer: adaptive, least: 5ms, most: 300ms}\n"
		"    expect: {loss: <= 0.1%, p99-delay: < 20ms}\n"
		"expect: {admitted: 100%}\n");
	const struct campaign_flow *f = &c->flows[0];

	assert_int_equal(c->platform.run_queues, 4);
	assert_int_equal(c->platform.admission, 0);
	assert_int_equal(c->platform.max_age, 80 * CR_MS);
	assert_int_equal(c->schedulers.count, 3);
	assert_string_equal(c->schedulers.item[1], "rr,quantum=5ms");
	assert_int_equal(f->load_ppm, 970000);
	assert_int_equal(f->ptime, 10 * CR_MS);
	assert_int_equal(f->in.cfg.samples, 160);
	assert_int_equal(f->in.cfg.sample_rate, 16000);
	assert_true(f->out.amr.octet_align && f->out.cfg.dtx);
	assert_string_equal(f->out.codec->modes[f->out.cfg.mode].name, "12.65");
	assert_int_equal(f->terms.cls, CR_HARD);
	assert_int_equal(f->input.count, 2);
	assert_int_equal(f->release.kind, RELEASE_RATE);
	assert_int_equal(f->release.y, 30 * CR_MS);
	assert_int_equal(f->buffer.kind, JITTER_ADAPTIVE);
	assert_int_equal(f->buffer.least, 5 * CR_MS);
	assert_int_equal(f->buffer.most, 300 * CR_MS);
	assert_int_equal(campaign_buffer_slots(&f->buffer, f->ptime), 33);
	assert_int_equal(f->start.poisson.rates, 1);
	assert_int_equal(f->start.poisson.rate[0], 2500000);
	assert_false(f->start.poisson.of_hold);
	assert_int_equal(f->hold.exponential, 1);
	assert_int_equal(f->network.reorder, 20000);
	assert_int_equal(f->network.burst, 4);
	assert_int_equal(f->talk.pause, 1800 * CR_MS);
	assert_int_equal(f->expect[METRIC_LOSS].bound, 1000);
	assert_true(f->expect[METRIC_P99_DELAY].strict);
	assert_true(c->expect[METRIC_ADMITTED].at_least);
	campaign_free(c);
}

/* The daemon's end is as ours, unless the file says otherwise. */
static void ports_of_both_ends(void **state)
{
	static const struct {
		const char *head;
		int64_t ours, theirs;
	} cases[] = {
		{ "", PORTS_SHARED, PORTS_SHARED },
		{ "ports: own\n", PORTS_OWN, PORTS_OWN },
		{ "ports: shared\n", PORTS_SHARED, PORTS_SHARED },
		{ "ports: own\ndaemon: {ports: shared}\n", PORTS_OWN,
		  PORTS_SHARED },
		{ "daemon: {ports: own}\n", PORTS_SHARED, PORTS_OWN },
		{ "daemon: {admission: off}\nports: own\n", PORTS_OWN,
		  PORTS_OWN },
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[256];
		struct campaign *c;

		(void)snprintf(text, sizeof(text),
			       "duration: 1s\n%sflows:\n  - count: 1\n"
			       "    in: {codec: pcmu}\n"
			       "    out: {codec: amr}\n",
			       cases[i].head);
		c = campaign_text(text);
		assert_int_equal(c->ports, cases[i].ours);
		assert_int_equal(c->platform.ports, cases[i].theirs);
		campaign_free(c);
	}
}

static void a_ramp_is_its_rates(void **state)
{
	static const char text[] =
		"duration: 10s\nflows:\n"
		"  - {load: 90%, in: {codec: pcmu}, out: {codec: amr}, "
		"hold: {mean: 2s},\n"
		"     start: {spread: 9s, poisson: 20%..110%..0%}}\n"
		"  - {in: {codec: pcmu}, out: {codec: amr}, "
		"start: {spread: 1s, poisson: 0/s..0.5/s}}\n";
	struct campaign *c = campaign_text(text);
	const struct campaign_start *a = &c->flows[0].start,
				    *b = &c->flows[1].start;

	assert_int_equal(a->spread, 9 * CR_SEC);
	assert_true(a->poisson.of_hold);
	assert_int_equal(a->poisson.rates, 3);
	assert_int_equal(a->poisson.rate[0], 200000);
	assert_int_equal(a->poisson.rate[1], 1100000);
	assert_int_equal(a->poisson.rate[2], 0);
	assert_false(b->poisson.of_hold);
	assert_int_equal(b->poisson.rates, 2);
	assert_int_equal(b->poisson.rate[0], 0);
	assert_int_equal(b->poisson.rate[1], 500000);
	campaign_free(c);
}

static void clocks_drift_by_one_value_or_a_range(void **state)
{
	static const struct {
		const char *text;
		int64_t least, most;
	} cases[] = { { "50ppm", 50, 50 },
		      { "-100ppm..100ppm", -100, 100 },
		      { "-10%..0", -100000, 0 },
		      { "0.001%", 10, 10 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct campaign *c;
		char text[200];

		(void)snprintf(text, sizeof(text),
			       "duration: 9s\nflows:\n  - {count: 1, in: "
			       "{codec: pcmu}, out: {codec: amr}, drift: %s}\n",
			       cases[i].text);
		c = campaign_text(text);
		assert_int_equal(c->flows[0].drift.least, cases[i].least);
		assert_int_equal(c->flows[0].drift.most, cases[i].most);
		campaign_free(c);
	}
}

static void conversions_arrive(void **state)
{
	static const char text[] =
		"duration: 9s\ndaemon: {convert-floor: 25}\nflows:\n"
		"  - {count: 1, in: {codec: pcmu}, out: {codec: amr}}\n"
		"conversions:\n  count: 20\n%s"
		"  out: {codec: amr-wb, mode: 12.65, dtx: yes}\n";
	const struct campaign_conversions *v;
	struct campaign *c;
	char all[400];

	(void)snprintf(all, sizeof(all), text, "");
	c = campaign_text(all);
	v = &c->conversions;
	assert_int_equal(v->line, 6);
	assert_int_equal(v->count, 20);
	assert_int_equal(v->length, 60 * CR_SEC);
	assert_int_equal(v->at, 0);
	assert_int_equal(v->input.count, 0);
	assert_string_equal(v->out.codec->name, "amr-wb");
	assert_string_equal(v->out.codec->modes[v->out.cfg.mode].name, "12.65");
	assert_true(v->out.cfg.dtx);
	assert_int_equal(c->platform.convert_floor, 25);
	assert_false(v->expect[METRIC_FINISHED].given);
	campaign_free(c);
	(void)snprintf(all, sizeof(all), text,
		       "  length: 5s\n  at: 2s\n  input: [a.wav, b]\n"
		       "  expect: {finished: 90%, mean-turnaround: 3s}\n");
	c = campaign_text(all);
	v = &c->conversions;
	assert_int_equal(v->length, 5 * CR_SEC);
	assert_int_equal(v->at, 2 * CR_SEC);
	assert_int_equal(v->input.count, 2);
	assert_string_equal(v->input.item[1], "b");
	assert_true(v->expect[METRIC_FINISHED].at_least);
	assert_int_equal(v->expect[METRIC_FINISHED].bound, 900000);
	assert_false(v->expect[METRIC_MEAN_TURNAROUND].at_least);
	assert_int_equal(v->expect[METRIC_MEAN_TURNAROUND].bound, 3 * CR_SEC);
	campaign_free(c);
}

static void expectations_judge_their_bound(void **state)
{
	struct campaign_expect le = { .bound = 10 }, lt = le, ge = le, gt = le;

	lt.strict = gt.strict = true;
	ge.at_least = gt.at_least = true;
	assert_true(campaign_expect_met(&le, 10));
	assert_false(campaign_expect_met(&lt, 10));
	assert_true(campaign_expect_met(&ge, 10));
	assert_false(campaign_expect_met(&gt, 10));
	assert_true(campaign_expect_met(&lt, 9));
	assert_false(campaign_expect_met(&le, 11));
	assert_true(campaign_expect_met(&gt, 11));
	assert_false(campaign_expect_met(&ge, 9));
}

static void the_demo_campaign_loads(void **state)
{
	struct campaign *c = NULL;
	struct cr_err e = { "" };

	if (campaign_load(CAMPAIGNS "/demo.yaml", NULL, &c, &e))
		fail_msg("%s", e.text);
	assert_int_equal(c->schedulers.count, 6);
	assert_true(c->flow_count >= 2);
	campaign_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_are_as_documented),
		cmocka_unit_test(receivers_are_as_told),
		cmocka_unit_test(every_value_arrives),
		cmocka_unit_test(max_age_is_a_time_or_a_word),
		cmocka_unit_test(ports_of_both_ends),
		cmocka_unit_test(a_ramp_is_its_rates),
		cmocka_unit_test(clocks_drift_by_one_value_or_a_range),
		cmocka_unit_test(conversions_arrive),
		cmocka_unit_test(expectations_judge_their_bound),
		cmocka_unit_test(the_demo_campaign_loads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
