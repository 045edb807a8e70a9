/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two-way calls in campaign files: what they mean, and what is refused, with
 * file, line, and the nearest valid name where there is one.
 */
#include <errno.h>
#include <string.h>

#include "campaign/campaign.h"
#include "campaign/plan.h"
#include "campaign_text.h"
#include "cmocka_cr.h"

#define TOP "duration: 10s\nflows:\n"
#define TALK "      talk: {spurt: 1s, pause: 1s}\n"
/* party a is as given, from line 6 on */
#define PARTY(text) TOP "  - count: 2\n    b: {codec: amr}\n    a:\n" text
#define PCMU "      codec: pcmu\n"
#define WB "      codec: amr-wb\n"

static const struct {
	const char *text, *says;
} refused[] = {
	{ TOP "  - count: 2\n    a: {codec: pcmu}\n",
	  "c.yaml:3: flows[0]: 'b' is missing" },
	{ TOP "  - count: 2\n    a: {codec: pcmu}\n    b: {mode: 12.2}\n",
	  "c.yaml:5: flows[0].b: 'codec' is missing" },
	{ TOP "  - a: {codec: pcmu}\n    b: {codec: amr}\n",
	  "c.yaml:3: flows[0]: needs count" },
	{ PARTY("      codec: pcmuu\n"),
	  "c.yaml:6: flows[0].a: codec: unknown 'pcmuu'; did you mean "
	  "'pcmu'?" },
	{ PARTY(PCMU "      mode: 12.2\n"),
	  "c.yaml:7: flows[0].a: mode: pcmu has no mode '12.2'" },
	{ PARTY(PCMU "      dtmff: 1\n"), "did you mean 'dtmf'?" },
	{ PARTY(PCMU) "    ptime: 20\n",
	  "c.yaml:7: flows[0]: ptime=20: needs a time with its unit" },
	/* of calls only, or of parties only */
	{ PARTY(PCMU) "    in: {codec: pcmu}\n",
	  "c.yaml:7: flows[0]: in does not belong to a two-way flow; see "
	  "a and b" },
	{ PARTY(PCMU) "    network: {loss: 1%}\n",
	  "c.yaml:7: flows[0]: network does not belong to a two-way flow; see "
	  "a and b" },
	{ PARTY(PCMU) "    drift: 5ppm\n",
	  "c.yaml:7: flows[0]: drift does not belong to a two-way flow; see "
	  "a and b" },
	{ PARTY(PCMU) "    arrival: {model: poisson}\n",
	  "c.yaml:7: flows[0]: arrival does not belong to a two-way flow" },
	{ PARTY(PCMU) "    release: {model: periodic}\n",
	  "c.yaml:7: flows[0]: release does not belong to a two-way flow" },
	{ PARTY(PCMU) "    ptime: 15ms\n", "frames of amr last 20ms" },
	/* names */
	{ PARTY(PCMU) "    name: a-name-that-has-30-characters..\n",
	  "has at most 29 letters" },
	{ PARTY(PCMU) "    name: x\n  - count: 1\n    name: x\n"
		      "    in: {codec: pcmu}\n    out: {codec: amr}\n",
	  "c.yaml:9: flows[1]: name=x: flow of line 3 has it" },
	{ PARTY(PCMU) "    name: x\n  - count: 1\n    name: x.b\n"
		      "    in: {codec: pcmu}\n    out: {codec: amr}\n",
	  "name=x.b: flow of line 3 has it" },
	{ PARTY(PCMU) "    name: x\n  - like: y\n    name: z\n"
		      "    a: {codec: pcmu}\n    b: {codec: amr}\n",
	  "like=y: no such flow above; known: x" },
	/* impairments */
	{ PARTY(PCMU "      network: {depth: 3}\n"),
	  "c.yaml:7: flows[0].a.network: depth needs reorder" },
	{ PARTY(PCMU "      network: {reorder: 1%, depth: 0}\n"),
	  "depth=0: needs" },
	{ PARTY(PCMU "      drift: 11%\n"), "c.yaml:7: flows[0].a: drift=11%" },
	{ PARTY(PCMU "      ssrc-change: {numbering: random}\n"),
	  "c.yaml:7: flows[0].a.ssrc-change: needs at (the first time) or "
	  "every" },
	{ PARTY(PCMU "      ssrc-change: {every: 1s, numbering: randm}\n"),
	  "numbering=randm: no such name; did you mean 'random'?" },
	{ PARTY(PCMU "      ssrc-change: {every: 1ms}\n"), "every=1ms: needs" },
	{ PARTY(PCMU "      address-change: {signalled: yes}\n"),
	  "flows[0].a.address-change: needs at (the first time) or every" },
	{ PARTY(PCMU "      address: unknown\n"),
	  "c.yaml:7: flows[0].a: address=unknown: no such name" },
	{ PARTY(PCMU "      address: learned\n      learn: strict\n"),
	  "c.yaml:8: flows[0].a: learn=strict needs address: known" },
	{ TOP "  - count: 2\n    in: {codec: pcmu}\n    out: {codec: amr}\n"
	      "    relay: no\n",
	  "c.yaml:6: flows[0]: relay does not belong to a one-way flow" },
	/* digits */
	{ PARTY(PCMU "      dtmf: {length: 50ms}\n"),
	  "c.yaml:7: flows[0].a.dtmf: 'digits' is missing" },
	{ PARTY(PCMU "      dtmf: {digits: \"12E\"}\n"),
	  "digits=12E: needs 1 to 64 of 0-9, *, #, A-D" },
	{ PARTY(PCMU "      dtmf: {digits: \"\"}\n"), "digits=: needs" },
	{ PARTY(PCMU "      dtmf: {digits: 12, length: 39ms}\n"),
	  "c.yaml:7: flows[0].a.dtmf: length=39ms: needs a time" },
	{ PARTY(PCMU "      dtmf: {digits: 12, length: 90ms..50ms}\n"),
	  "length=90ms..50ms: needs" },
	{ PARTY(PCMU "      dtmf: {digits: 12, length: 9s}\n"),
	  "length=9s: needs" },
	{ PARTY(PCMU "      dtmf: {digits: 12, pt: 72}\n"),
	  "pt=72: 64 to 95 look like RTCP" },
	{ PARTY(PCMU "      dtmf: {digits: 12, pt: 0}\n"),
	  "pt=0: is the codec's" },
	{ PARTY(WB "      dtmf: {digits: 12, pt: 96}\n"),
	  "pt=96: is the codec's" },
	{ PARTY(PCMU "      dtmf: {digits: 12, volume: 64}\n"),
	  "volume=64: needs" },
	/* noise */
	{ PARTY(PCMU "      cn: {level: 40}\n"),
	  "c.yaml:7: flows[0].a.cn: comfort noise is sent in pauses: give "
	  "talk, too" },
	{ PARTY(PCMU TALK "      cn: {level: 128}\n"), "level=128: needs" },
	{ PARTY(WB TALK "      cn: {level: 40}\n"),
	  "the static payload type 13 is of 8000 Hz; give one for 16000 Hz" },
	{ PARTY(PCMU TALK "      cn: {pt: 98}\n"
			  "      dtmf: {digits: 1, pt: 98}\n"),
	  "c.yaml:9: flows[0].a.dtmf: pt=98: is that of cn" },
};

static void mistakes_are_refused_with_place_and_reason(void **state)
{
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		struct campaign *c = NULL;
		struct cr_err e = { "" };
		int rc =
			campaign_parse(refused[i].text, strlen(refused[i].text),
				       "c.yaml", NULL, &c, &e);

		if (rc != -EINVAL || c || !strstr(e.text, refused[i].says))
			fail_msg("case %zu:\n%s\nrc %d, said: %s\nnot: %s", i,
				 refused[i].text, rc, e.text, refused[i].says);
	}
}

static void a_two_way_flow_is_two_flows_of_as_many_calls(void **state)
{
	struct campaign *c = campaign_text(
		TOP
		"  - name: talk\n    count: 3\n    class: hard\n"
		"    start: {at: 1s}\n    expect: {loss: 0%}\n"
		"    input: [one.wav, two.wav]\n"
		"    a: {codec: pcmu, drift: 5ppm}\n"
		"    b: {codec: amr, mode: 7.95, network: {loss: 2%}}\n"
		"  - name: more\n    like: talk\n"
		"    a: {codec: g723_1}\n    b: {codec: l16, rate: 16000}\n");
	uint64_t counts[4] = { 0 };
	struct cr_err e;

	assert_int_equal(c->flow_count, 4);
	assert_string_equal(c->flows[0].name, "talk.a");
	assert_string_equal(c->flows[1].name, "talk.b");
	assert_string_equal(flow_title(&c->flows[1]), "talk");
	for (unsigned i = 0; i < 2; i++) {
		const struct campaign_flow *f = &c->flows[i];

		assert_true(flow_is_two_way(f));
		assert_int_equal(f->party.side, i);
		assert_int_equal(f->terms.cls, CR_HARD);
		assert_int_equal(f->start.at, CR_SEC);
		assert_int_equal(f->input.count, 2);
		assert_string_equal(f->input.item[1], "two.wav");
		assert_true(f->expect[METRIC_LOSS].given);
		assert_ptr_equal(f->in.codec, c->flows[!i].out.codec);
		assert_int_equal(f->out.cfg.mode, c->flows[!i].in.cfg.mode);
	}
	assert_int_equal(c->flows[0].drift.least, 5);
	assert_int_equal(c->flows[1].drift.least, 0);
	assert_int_equal(c->flows[0].network.loss, 0);
	assert_int_equal(c->flows[1].network.loss, 20000);
	/* PCM comes in the other one's frames */
	assert_int_equal(c->flows[2].ptime, 30 * CR_MS);
	assert_int_equal(c->flows[3].ptime, 30 * CR_MS);
	assert_int_equal(c->flows[3].in.cfg.samples, 480);
	assert_int_equal(campaign_counts(c, (double[4]){ 0 }, 1, 2, counts, &e),
			 0);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(counts[i], 6);
	campaign_free(c);
}

static void what_a_party_does_has_defaults(void **state)
{
	struct campaign *c = campaign_text(
		TOP "  - count: 1\n    a: {codec: pcmu}\n    b:\n" PCMU TALK
		    "      cn: {level: 45}\n"
		    "      dtmf: {digits: \"0*#D\"}\n"
		    "      ssrc-change: {every: 3s}\n"
		    "      address-change: {at: 2s}\n");
	const struct campaign_party *a = &c->flows[0].party;
	const struct campaign_party *b = &c->flows[1].party;

	assert_string_equal(c->flows[0].name, "flow1.a");
	assert_int_equal(a->dtmf.digits[0], 0);
	assert_int_equal(a->cn.given, 0);
	assert_int_equal(a->ssrc.when.at + a->ssrc.when.every, 0);
	assert_int_equal(a->address, ADDRESS_KNOWN);
	assert_int_equal(a->learn, CAMPAIGN_LEARN_AUTO);
	assert_string_equal(b->dtmf.digits, "0*#D");
	assert_int_equal(b->dtmf.length.least, 100 * CR_MS);
	assert_int_equal(b->dtmf.length.most, 100 * CR_MS);
	assert_int_equal(b->dtmf.at, CR_SEC);
	assert_int_equal(b->dtmf.interval, 100 * CR_MS);
	assert_int_equal(b->dtmf.volume, 10);
	assert_int_equal(b->dtmf.pt, 101);
	assert_int_equal(b->cn.level, 45);
	assert_int_equal(b->cn.interval, 200 * CR_MS);
	assert_int_equal(b->cn.pt, 13);
	assert_int_equal(b->ssrc.when.at, 0);
	assert_int_equal(b->ssrc.when.every, 3 * CR_SEC);
	assert_int_equal(b->ssrc.numbering, NUMBERING_RANDOM);
	assert_int_equal(b->port.when.at, 2 * CR_SEC);
	assert_int_equal(b->port.signalled, 0);
	assert_int_equal(c->flows[1].network.depth, 1);
	campaign_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mistakes_are_refused_with_place_and_reason),
		cmocka_unit_test(a_two_way_flow_is_two_flows_of_as_many_calls),
		cmocka_unit_test(what_a_party_does_has_defaults),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
