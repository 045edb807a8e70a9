/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every kind of mistake in a campaign file is refused with file, line, what,
 * and the nearest valid name where there is one.
 */
#include <errno.h>
#include <string.h>

#include "campaign/campaign.h"
#include "cmocka_cr.h"

#define OK_TOP "seed: 3\nduration: 10s\n"
#define OK_FLOW                                                                \
	"flows:\n  - count: 2\n    in: {codec: pcmu}\n    out: {codec: amr}\n"
#define ENDPOINTS "    in: {codec: pcmu}\n    out: {codec: amr}\n"
#define ENVELOPE(arrival, cost)                                                \
	OK_TOP "flows:\n  - period: 10ms\n    cost: {model: normal, mean: "    \
	       "1ms, "                                                         \
	       "sd: 1ms, " cost                                                \
	       "}\n    arrival: {model: envelope, rate: 5%, " arrival "}\n"

static const struct {
	const char *text, *says;
} cases[] = {
	/* not YAML, or of another shape */
	{ "", "c.yaml:1: the file is empty" },
	{ "seed: \"1\n", "not YAML" },
	{ "- a\n", "c.yaml:1: the file: needs a mapping" },
	{ OK_TOP OK_FLOW "---\nseed: 2\n", "second document" },
	{ "seed: &x 1\nduration: *x\n", "c.yaml:2: aliases" },
	{ "seed: {a: 1}\n", "c.yaml:1: seed: needs a single value" },
	{ "flows: 3\n", "c.yaml:1: flows: needs a list" },
	{ OK_TOP "flows: []\n", "c.yaml:3: flows: needs at least 1" },
	{ "[a]: 1\n", "c.yaml:1: a key must be a word" },
	/* keys */
	{ "sed: 3\n", "c.yaml:1: unknown key 'sed'; did you mean 'seed'?" },
	{ OK_TOP "flows:\n  - cuont: 2\n",
	  "c.yaml:4: flows[0]: unknown key 'cuont'; did you mean 'count'?" },
	{ OK_TOP OK_FLOW "    network: {los: 1%}\n",
	  "c.yaml:7: flows[0].network: unknown key 'los'; did you mean "
	  "'loss'?" },
	{ OK_TOP "flows:\n  - count: 2\n    count: 3\n",
	  "c.yaml:5: flows[0]: 'count' given twice" },
	{ OK_TOP "flows:\n  - count: 2\n    in: {codec: pcmu}\n",
	  "c.yaml:4: flows[0]: 'out' is missing" },
	{ "seed: 3\n" OK_FLOW, "'duration' is missing" },
	{ "seed: 3\nduration: 10s\n", "'flows' is missing" },
	{ OK_TOP "flows:\n  - name: a\n" ENDPOINTS,
	  "c.yaml:4: flows[0]: needs count" },
	/* units and bounds */
	{ "seed: 3\nduration: 10\n" OK_FLOW,
	  "c.yaml:2: duration=10: needs a time with its unit" },
	{ OK_TOP "daemon: {shed: loud}\n" OK_FLOW,
	  "c.yaml:3: daemon: shed=loud: no such name; known: age, pattern, "
	  "quiet" },
	{ OK_TOP "daemon: {max-age: 80}\n" OK_FLOW,
	  "c.yaml:3: daemon: max-age=80: needs none, auto or a time" },
	{ OK_TOP "daemon: {max-age: 1us}\n" OK_FLOW,
	  "c.yaml:3: daemon: max-age=1us: needs none, auto or a time" },
	{ "seed: -1\nduration: 10s\n" OK_FLOW, "c.yaml:1: seed=-1: needs" },
	{ OK_TOP OK_FLOW "    network:\n      jitter: 5\n",
	  "c.yaml:8: flows[0].network: jitter=5: needs a time" },
	{ OK_TOP OK_FLOW "    network:\n      loss: 100%\n",
	  "c.yaml:8: flows[0].network: loss=100%: needs a share" },
	{ OK_TOP OK_FLOW "    network: {burst: 2}\n", "burst needs loss" },
	{ OK_TOP OK_FLOW "    jitter: {buffer: adaptiv}\n",
	  "did you mean 'adaptive'" },
	{ OK_TOP OK_FLOW "    jitter: {most: 40ms}\n",
	  "c.yaml:7: flows[0].jitter: most does not belong to buffer=off" },
	{ OK_TOP OK_FLOW "    jitter: {buffer: fixed, least: 40ms}\n",
	  "c.yaml:7: flows[0].jitter: least does not belong to buffer=fixed" },
	{ OK_TOP OK_FLOW "    jitter: {buffer: adaptive, least: 50ms, "
			 "most: 40ms}\n",
	  "least is above most" },
	{ OK_TOP OK_FLOW "    jitter: {buffer: fixed, most: 9ms}\n",
	  "most=9ms: needs" },
	{ OK_TOP OK_FLOW "    ptime: 10ms\n"
			 "    jitter: {buffer: fixed, most: 1s}\n",
	  "most: a jitter buffer holds 61 packets, here 610ms" },
	{ OK_TOP OK_FLOW "    arrival: {model: periodic}\n"
			 "    jitter: {buffer: fixed}\n",
	  "a jitter buffer belongs to arrival: {model: plan}" },
	{ OK_TOP OK_FLOW "    class: sotf\n",
	  "c.yaml:7: flows[0]: class=sotf: no such name; did you mean 'soft'" },
	{ OK_TOP OK_FLOW "    class: best-effort\n    deadline: 5ms\n",
	  "c.yaml:8: flows[0]: class best-effort has no deadline" },
	{ OK_TOP "platform: {cpus: 0}\n" OK_FLOW,
	  "c.yaml:3: platform: cpus=0: needs" },
	{ OK_TOP "platform: {cpus: 10, run-queues: 6}\n" OK_FLOW,
	  "run-queues=6: 10 CPUs make 5 run queues of 2, or 10 of 1" },
	{ OK_TOP "platform: {cpus: 2, run-queues: 3}\n" OK_FLOW,
	  "run-queues=3: needs global, partitioned or a whole number from 1 "
	  "to" },
	{ OK_TOP "platform:\n  receivers: {cost: 2us}\n" OK_FLOW,
	  "c.yaml:4: platform.receivers: 'count' is missing" },
	{ OK_TOP "platform: {receivers: {count: 257}}\n" OK_FLOW,
	  "c.yaml:3: platform.receivers: count=257: needs" },
	{ OK_TOP "platform: {receivers: {count: 1, waiting: 0}}\n" OK_FLOW,
	  "c.yaml:3: platform.receivers: waiting=0: needs" },
	{ OK_TOP "platform: {receivers: {count: 1, costs: 1us}}\n" OK_FLOW,
	  "unknown key 'costs'; did you mean 'cost'" },
	/* codecs */
	{ OK_TOP "flows:\n  - count: 1\n    in: {codec: pcmx}\n"
		 "    out: {codec: amr}\n",
	  "c.yaml:5: flows[0].in: codec: unknown 'pcmx'; did you mean" },
	{ OK_TOP "flows:\n  - count: 1\n    in: {mode: 1}\n"
		 "    out: {codec: amr}\n",
	  "c.yaml:5: flows[0].in: 'codec' is missing" },
	{ OK_TOP "flows:\n  - count: 1\n    in: {codec: pcmu}\n"
		 "    out: {codec: amr, mode: 12.3}\n",
	  "c.yaml:6: flows[0].out: mode: amr has no mode '12.3'; did you "
	  "mean '12.2'?" },
	{ OK_TOP "flows:\n  - count: 1\n    in: {codec: pcmu, dtx: yes}\n"
		 "    out: {codec: amr}\n",
	  "c.yaml:5: flows[0].in: dtx: does not apply to codec pcmu" },
	{ OK_TOP "flows:\n  - count: 1\n    in: {codec: l16, rate: 11025}\n"
		 "    out: {codec: amr}\n",
	  "rate=11025: needs 8000, 16000 or 48000" },
	{ OK_TOP "flows:\n  - count: 1\n    ptime: 30ms\n"
		 "    in: {codec: amr}\n    out: {codec: pcmu}\n",
	  "c.yaml:5: flows[0]: ptime: frames of amr last 20ms" },
	/* one value against another */
	{ OK_TOP OK_FLOW "    load: 90%\n",
	  "c.yaml:7: flows[0]: count and load exclude each other" },
	{ OK_TOP OK_FLOW "    name: a b\n", "name=a b: needs 1 to 31 letters" },
	{ OK_TOP "flows:\n  - name: a\n    count: 1\n" ENDPOINTS
		 "  - name: a\n    count: 1\n" ENDPOINTS,
	  "c.yaml:8: flows[1]: name=a: flow of line 4 has it" },
	{ OK_TOP OK_FLOW "    start: {at: 10s}\n", "has ended by then" },
	{ OK_TOP OK_FLOW "    start: {at: 5s, spread: 6s}\n",
	  "spread: reaches beyond" },
	{ OK_TOP OK_FLOW "    hold: {mean: 2s}\n    start: {poisson: 5}\n",
	  "c.yaml:8: flows[0].start: poisson=5: needs a number per second" },
	{ OK_TOP OK_FLOW "    start: {spread: 1s, poisson: 20%..5}\n",
	  "poisson=20%..5: needs a number per second" },
	{ OK_TOP OK_FLOW "    start: {poisson: 0/s}\n", "poisson=0/s: needs" },
	{ OK_TOP OK_FLOW "    start: {spread: 1s, poisson: 1/s..2%}\n",
	  "poisson=1/s..2%: needs a number per second" },
	{ OK_TOP OK_FLOW "    start: {spread: 1s, poisson: -1/s..2/s}\n",
	  "poisson=-1/s..2/s: needs" },
	{ OK_TOP OK_FLOW "    start: {spread: 1s, poisson: 1/s..}\n",
	  "poisson=1/s..: needs" },
	{ OK_TOP OK_FLOW "    start: {spread: 1s, poisson: "
			 "1%..2%..3%..4%..5%..6%..7%..8%..9%}\n",
	  "a ramp of up to 8 of them" },
	{ OK_TOP OK_FLOW "    start:\n      poisson: 1/s..9/s\n",
	  "c.yaml:8: flows[0].start: poisson: a ramp needs spread" },
	{ OK_TOP OK_FLOW "    start: {poisson: 90%}\n",
	  "give the mean of hold, or calls per second" },
	{ OK_TOP "flows:\n  - hold: {mean: 2s}\n" ENDPOINTS
		 "    start: {poisson: 90%}\n",
	  "c.yaml:7: flows[0].start: poisson: a share is of what keeps count "
	  "calls up: give count, load or like" },
	{ OK_TOP "flows:\n  - name: a\n    start: {poisson: 5/s}\n" ENDPOINTS
		 "  - like: a\n    hold: {mean: 2s}\n" ENDPOINTS
		 "    start: {poisson: 90%}\n",
	  "c.yaml:12: flows[1].start: poisson: a share is of what keeps count "
	  "calls up, but flow a has neither count nor load" },
	{ OK_TOP OK_FLOW "    drift: fast\n",
	  "c.yaml:7: flows[0]: drift=fast: needs a share, such as 97% or 0.97, "
	  "or two, A..B," },
	{ OK_TOP OK_FLOW "    drift: 50\n",
	  "drift=50: needs a share, such as 97% or 0.97, or two, A..B, "
	  "from -10% to 10%" },
	{ OK_TOP OK_FLOW "    drift: 5ppm..-5ppm\n",
	  "drift=5ppm..-5ppm: needs" },
	{ OK_TOP OK_FLOW "    drift: 0..5ppm..9ppm\n", "drift=0..5ppm..9ppm" },
	{ OK_TOP OK_FLOW "    drift: -11%\n", "drift=-11%: needs" },
	{ OK_TOP "flows:\n  - period: 61min\n    share: 1%\n",
	  "c.yaml:4: flows[0]: period=61min: needs a time with its "
	  "unit (ns, us, ms, s) from 1us to 3600s" },
	{ OK_TOP "flows:\n  - period: 1s\n    deadline: 2h\n    share: 1%\n",
	  "c.yaml:5: flows[0]: deadline=2h: needs a time with its "
	  "unit (ns, us, ms, s) from 1us to 10s" },
	{ OK_TOP "flows:\n  - period: 1h\n    cost: {mean: 2h}\n",
	  "c.yaml:5: flows[0].cost: mean=2h: needs a time with its unit "
	  "(ns, us, ms, s) from 1ns to 1000s" },
	{ OK_TOP "flows:\n  - period: 1h\n    share: 28%\n",
	  "c.yaml:5: flows[0]: share: more than 1000s of the period" },
	{ OK_TOP "flows:\n  - period: 1h\n    share: 10000%\n",
	  "c.yaml:5: flows[0]: share: more than 1000s of the period" },
	{ OK_TOP OK_FLOW "    contract: {worst: 2h}\n",
	  "c.yaml:7: flows[0].contract: worst=2h: needs a time" },
	{ OK_TOP "flows:\n  - period: 10ms\n    share: 1%\n    drift: 9ppm\n"
		 "    arrival: {model: periodic}\n",
	  "c.yaml:6: flows[0]: network, talk and drift belong to" },
	{ OK_TOP OK_FLOW "    hold: {model: exponential}\n",
	  "flows[0].hold: model needs mean" },
	{ OK_TOP OK_FLOW "    talk: {spurt: 1s}\n", "spurt needs pause" },
	{ OK_TOP OK_FLOW "    voice: {model: recordings, noise: 60}\n",
	  "c.yaml:7: flows[0].voice: noise does not belong to "
	  "model=recordings" },
	{ OK_TOP OK_FLOW "    voice: {model: turns, level: 30}\n",
	  "level does not belong to model=turns" },
	{ OK_TOP OK_FLOW "    voice: {model: turns, spurt: 2s..1s}\n",
	  "c.yaml:7: flows[0].voice: spurt=2s..1s: needs a time with its unit "
	  "(ns, us, ms, s) or two, A..B, from 1ms to 600s" },
	{ OK_TOP OK_FLOW "    voice: {model: turns, pause: 0}\n",
	  "pause=0: needs" },
	{ OK_TOP OK_FLOW "    voice: {model: talk, spurt: 1s..2s}\n",
	  "spurt: model=talk has a mean, such as 1.2s" },
	{ OK_TOP OK_FLOW "    release: {model: rate}\n",
	  "model=rate needs 'x'" },
	{ OK_TOP OK_FLOW "    release: {x: 3}\n",
	  "x does not belong to model=sporadic" },
	{ OK_TOP OK_FLOW "    release: {burst: 3}\n",
	  "burst does not belong to model=sporadic" },
	{ OK_TOP OK_FLOW "    like: b\n", "like excludes count and load" },
	{ OK_TOP OK_FLOW "  - name: c\n    like: b\n" ENDPOINTS,
	  "flows[1]: like=b: no such flow above" },
	{ OK_TOP OK_FLOW "  - name: c\n    like: c\n" ENDPOINTS,
	  "no such flow above" },
	/* contracts */
	{ OK_TOP OK_FLOW "    contract: {burst: 3}\n",
	  "c.yaml:7: flows[0].contract: burst: counts jobs beyond the rate" },
	{ OK_TOP OK_FLOW "    contract: {rate: 50/s, peak: 40/s}\n",
	  "peak: 40/s is below the rate of 50/s" },
	{ OK_TOP OK_FLOW "    contract: {rate: 51/s}\n",
	  "rate: 51/s is more than one job a period (50/s)" },
	{ OK_TOP OK_FLOW "    contract: {rate: 50}\n",
	  "rate=50: needs a number per second" },
	{ OK_TOP OK_FLOW "    contract: {mean: 2ms, worst: 1ms}\n",
	  "mean: 2ms is above the worst case of 1ms" },
	{ OK_TOP OK_FLOW "    class: hard\n    contract: {worst: 21ms}\n",
	  "worst: 21ms is above the period of 20ms that a hard call has" },
	{ OK_TOP OK_FLOW "    release: {model: lbap, burst: 1}\n"
			 "    contract: {rate: 9/s, burst: 1}\n",
	  "burst: release says it already" },
	{ OK_TOP OK_FLOW "    contract: {worts: 21ms}\n",
	  "unknown key 'worts'; did you mean 'worst'" },
	{ OK_TOP OK_FLOW "    weight: 0\n", "weight=0" },
	/* expectations */
	{ OK_TOP OK_FLOW "expect:\n  loss: <= 20ms\n",
	  "c.yaml:8: expect: loss=20ms: needs a share" },
	{ OK_TOP OK_FLOW "expect:\n  p99-delay: <= 3%\n",
	  "c.yaml:8: expect: p99-delay=3%: needs a time" },
	{ OK_TOP OK_FLOW "    expect: {lost: 1%}\n",
	  "c.yaml:7: flows[0].expect: unknown key 'lost'; did you mean" },
	/* work by an envelope */
	{ ENVELOPE("depth: 1ms", "max: 2ms"), "the longest job does not fit" },
	{ ENVELOPE("depth: 1ms", "min: 1us"), "needs 'max' of the cost" },
	{ ENVELOPE("depth: 1ms, on: 2ms", "max: 1ms"), "on needs off" },
	{ ENVELOPE("depth: 1ms, on: 3ms..2ms, off: 1ms", "max: 1ms"),
	  "on=3ms..2ms: needs a time" },
	{ ENVELOPE("depth: 1ms, on: 3ms.., off: 1ms", "max: 1ms"),
	  "on=3ms..: needs a time" },
	{ ENVELOPE("depth: 1ms, peak: 3%", "max: 1ms"),
	  "peak is below the rate" },
	{ ENVELOPE("depth: 1ms, peak: 30/s", "max: 1ms"), "peak=30/s" },
	{ ENVELOPE("depth: 1ms, burst: 3", "max: 1ms"),
	  "burst does not belong to model=envelope" },
	{ ENVELOPE("peak: 9%", "max: 1ms"), "model=envelope needs 'depth'" },
	/* conversions */
	{ OK_TOP OK_FLOW "conversions:\n  at: 1s\n",
	  "c.yaml:8: conversions: needs count" },
	{ OK_TOP OK_FLOW "conversions: {count: 2}\n",
	  "c.yaml:7: conversions: 'out' is missing" },
	{ OK_TOP OK_FLOW "conversions:\n  count: 0\n", "c.yaml:8: conversions: "
						       "count=0: needs" },
	{ OK_TOP OK_FLOW "conversions: {cuont: 2}\n",
	  "unknown key 'cuont'; did you mean 'count'?" },
	{ OK_TOP OK_FLOW
	  "conversions: {count: 1, out: {codec: amr}, at: 10s}\n",
	  "conversions: at: the campaign has ended by then" },
	{ OK_TOP OK_FLOW "conversions:\n  count: 1\n  out: {codec: pcmu}\n",
	  "c.yaml:9: conversions.out: codec=pcmu: files are converted to amr" },
	{ OK_TOP OK_FLOW
	  "conversions: {count: 1, out: {codec: amr, mode: 12.3}}\n",
	  "conversions.out: mode: amr has no mode '12.3'" },
	{ OK_TOP OK_FLOW
	  "conversions: {count: 1, out: {codec: amr, octet-align: yes}}\n",
	  "octet-align: is of packets" },
	{ OK_TOP OK_FLOW "conversions:\n  count: 1\n  out: {codec: amr}\n"
			 "  expect: {loss: 0%}\n",
	  "c.yaml:10: conversions.expect: unknown key 'loss'" },
	{ OK_TOP OK_FLOW "    expect: {finished: 100%}\n",
	  "c.yaml:7: flows[0].expect: unknown key 'finished'" },
	{ OK_TOP OK_FLOW "conversions:\n  count: 1\n  out: {codec: amr}\n"
			 "  expect: {max-turnaround: 3}\n",
	  "conversions.expect: max-turnaround=3: needs a time" },
	{ OK_TOP "daemon: {convert-floor: 1001}\n" OK_FLOW,
	  "convert-floor=1001" },
	/* schedulers */
	{ OK_TOP "schedulers: [\"rr,quantm=5ms\"]\n" OK_FLOW,
	  "c.yaml:3: schedulers[0]: " },
	{ OK_TOP "schedulers: [fifo, efd]\n" OK_FLOW,
	  "c.yaml:3: schedulers[1]: " },
};

static void mistakes_are_refused_with_place_and_reason(void **state)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct campaign *c = NULL;
		struct cr_err e = { "" };
		int rc = campaign_parse(cases[i].text, strlen(cases[i].text),
					"c.yaml", NULL, &c, &e);

		if (rc != -EINVAL || c || !strstr(e.text, cases[i].says) ||
		    strncmp(e.text, "c.yaml:", 7) != 0) {
			print_error("case %zu:\n%s\nrc %d, said: %s\n"
				    "%s\n",
				    i, cases[i].text, rc, e.text,
				    cases[i].says);
			fail();
		}
	}
}

static void a_missing_file_is_named(void **state)
{
	struct campaign *c = NULL;
	struct cr_err e;

	assert_int_equal(campaign_load("/nonexistent/c.yaml", NULL, &c, &e),
			 -ENOENT);
	assert_non_null(strstr(e.text, "/nonexistent/c.yaml: No such file"));
	assert_true(campaign_load("/", NULL, &c, &e) < 0);
	assert_null(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mistakes_are_refused_with_place_and_reason),
		cmocka_unit_test(a_missing_file_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
