/* SPDX-License-Identifier: Apache-2.0 */
/* What a description means for its party: packets as long as it wants them, and
 * never longer than it can have them. */
#include "cmocka_cr.h"

#include "ng/ng_service_impl.h"

struct said {
	const char *codec;
	unsigned rate;
	/* ms: what the proxy wants, what its line says, what the other one
	 * sends */
	unsigned signalled, ptime, maxptime, comes;
	bool apart;  /* from what the other one sends */
	unsigned is; /* 0: as what it is made from */
};

static unsigned packets(const struct said *s)
{
	const struct sdp_line line = { .ptime = s->ptime,
				       .maxptime = s->maxptime,
				       .mode = SDP_SENDRECV };
	const struct sdp_format speech = { 96, s->codec, s->rate,
					   s->rate == 48000 ? 2 : 1, "" };
	const struct ng_packets p = { .ptime = s->signalled,
				      .comes = s->comes,
				      .apart = s->apart };
	struct endpoint_spec to = { 0 };
	struct cr_err e = { "" };

	if (codec_side(&to.side, &speech, 0, &e))
		fail_msg("%s", e.text);
	ng_spec_packets(&to, &line, &p);
	return (unsigned)(to.ptime / CR_MS);
}

static void packets_are_never_too_long(void **state)
{
	static const struct said all[] = {
		{ "PCMA", 8000, 0, 30, 0, 0, false, 30 },
		{ "PCMA", 8000, 40, 30, 0, 0, false, 40 },
		{ "PCMA", 8000, 0, 30, 150, 0, false, 30 },
		/* what is wished for, by whomever, is too much */
		{ "PCMA", 8000, 0, 30, 20, 0, false, 20 },
		{ "PCMA", 8000, 60, 0, 40, 0, false, 40 },
		{ "AMR", 8000, 60, 0, 50, 0, false, 40 },
		{ "opus", 48000, 60, 0, 35, 0, false, 20 },
		/* nothing is: as they come, if that is short enough */
		{ "PCMA", 8000, 0, 0, 0, 40, false, 0 },
		{ "PCMA", 8000, 0, 0, 40, 40, false, 0 },
		{ "PCMA", 8000, 0, 0, 30, 40, false, 30 },
		{ "PCMA", 8000, 0, 0, 10, 0, false, 10 },
		/* unless that is another matter: then as usual */
		{ "PCMA", 8000, 0, 0, 0, 30, true, 20 },
		{ "PCMA", 8000, 0, 40, 0, 30, true, 40 },
		{ "PCMA", 8000, 0, 0, 40, 30, true, 0 },
		{ "PCMA", 8000, 0, 0, 10, 30, true, 10 },
		{ "G723", 8000, 0, 0, 0, 60, true, 0 },
		/* and what no packet of it can be it is not */
		{ "AMR", 8000, 0, 20, 10, 0, false, 0 },
		{ "AMR", 8000, 0, 25, 0, 0, false, 0 },
	};

	for (unsigned i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (packets(&all[i]) != all[i].is)
			fail_msg("%u: %u, not %u", i, packets(&all[i]),
				 all[i].is);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packets_are_never_too_long),
	};

	return cmocka_run_group_tests_name("ng terms", tests, NULL, NULL);
}
