/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A conversation of a campaign: two flows, a's speech to b and b's to a. What
 * both have is said once; what a party sends, and what happens to it, is said
 * of the party.
 */
#include <string.h>

#include "campaign/parts.h"

#define CN_STATIC 13
#define CLOCK_STATIC 8000u

bool is_conversation(const struct section *s)
{
	return section_any(section_below(s, "a")) ||
	       section_any(section_below(s, "b"));
}

/* --- digits and noise --- */

static int read_dtmf(const struct section *s, struct campaign_dtmf *d)
{
	static const char valid[] = "0123456789*#ABCD";
	const char *text = section_text(s, "digits");
	int rc = section_values(s, d);
	size_t n = text ? strlen(text) : 0;

	if (rc || !section_any(s))
		return rc;
	if (!text)
		return section_fail(s, NULL, "'digits' is missing");
	if (!n || n > CAMPAIGN_DIGITS_MAX || strspn(text, valid) != n)
		return section_fail(s, "digits",
				    "digits=%.80s: needs 1 to %u of 0-9, *, #, "
				    "A-D",
				    text, CAMPAIGN_DIGITS_MAX);
	memcpy(d->digits, text, n + 1);
	return 0;
}

static unsigned endpoint_clock(const struct campaign_endpoint *endpoint)
{
	return cr_codec_clock(endpoint->codec, endpoint->cfg.sample_rate);
}

static int read_cn(const struct section *party, struct campaign_flow *f)
{
	const struct section *s = section_below(party, "cn");
	struct campaign_cn *cn = &f->party.cn;
	int rc = section_values(s, cn);

	cn->given = section_any(s);
	if (rc || !cn->given)
		return rc;
	if (!f->talk.spurt)
		return section_fail(s, NULL,
				    "comfort noise is sent in pauses: give "
				    "talk, too");
	if (!section_has(s, "pt") && endpoint_clock(&f->in) != CLOCK_STATIC)
		return section_fail(s, "pt",
				    "pt: the static payload type %d is of "
				    "8000 Hz; give one for %u Hz",
				    CN_STATIC, endpoint_clock(&f->in));
	return 0;
}

/* A payload type stands for one thing; from 64 to 95 they look like RTCP. */
static int check_pt(const struct section *s, int64_t pt, int64_t other)
{
	if (pt >= 64 && pt <= 95)
		return section_fail(s, "pt", "pt=%lld: 64 to 95 look like RTCP",
				    (long long)pt);
	if (pt == other)
		return section_fail(s, "pt", "pt=%lld: is the codec's",
				    (long long)pt);
	if (pt == 0)
		return section_fail(s, "pt", "pt=0: is that of PCMU");
	return 0;
}

static int check_pts(const struct section *party, const struct campaign_flow *f)
{
	const struct campaign_party *p = &f->party;
	const struct section *dtmf = section_below(party, "dtmf");
	const struct section *cn = section_below(party, "cn");
	int own = f->in.codec->static_pt;
	int rc = 0;

	if (own < 0)
		own = 96; /* what the daemon chooses */
	if (p->dtmf.digits[0])
		rc = check_pt(dtmf, p->dtmf.pt, own);
	if (!rc && p->cn.given)
		rc = check_pt(cn, p->cn.pt, own);
	if (!rc && p->dtmf.digits[0] && p->cn.given && p->dtmf.pt == p->cn.pt)
		rc = section_fail(dtmf, "pt", "pt=%lld: is that of cn",
				  (long long)p->dtmf.pt);
	return rc;
}

/* --- changes --- */

static int check_when(const struct section *s, const struct campaign_change *w)
{
	if (section_any(s) && !w->at && !w->every)
		return section_fail(s, NULL,
				    "needs at (the first time) or every");
	return 0;
}

static int read_changes(const struct section *party, struct campaign_party *p)
{
	const struct section *ssrc = section_below(party, "ssrc-change");
	const struct section *port = section_below(party, "address-change");
	int rc = section_values(ssrc, &p->ssrc);

	if (!rc)
		rc = check_when(ssrc, &p->ssrc.when);
	if (!rc)
		rc = section_values(port, &p->port);
	return rc ? rc : check_when(port, &p->port.when);
}

static int read_address(const struct section *party, struct campaign_party *p)
{
	p->address = section_number(party, "address");
	p->learn = section_number(party, "learn");
	p->deaf = section_number(party, "deaf");
	p->conceal = section_number(party, "conceal");
	p->fill = section_number(party, "fill");
	if (p->address == ADDRESS_LEARNED && p->learn == CAMPAIGN_LEARN_STRICT)
		return section_fail(party, "learn",
				    "learn=strict needs address: known");
	return 0;
}

/* --- both --- */

/* Codecs with frames have their length; PCM takes that of the other one. */
static cr_ns common_ptime(cr_ns asked,
			  const struct campaign_endpoint endpoint[2])
{
	for (unsigned i = 0; i < 2 && !asked; i++)
		if (endpoint[i].codec->any_length &&
		    !endpoint[!i].codec->any_length)
			return cr_codec_frame_ns(endpoint[!i].codec,
						 &endpoint[!i].cfg);
	return asked;
}

static int read_endpoints(const struct section *const party[2],
			  struct campaign_endpoint endpoint[2])
{
	for (unsigned i = 0; i < 2; i++) {
		int rc = section_any(party[i])
				 ? read_endpoint(party[i], &endpoint[i])
				 : section_fail(party[!i]->around, NULL,
						"'%s' is missing",
						i ? "b" : "a");

		if (rc)
			return rc;
		/* section_fail() does not return 0.
		 * NOLINTNEXTLINE(clang-analyzer-core.NullDereference) */
		if (!endpoint[i].codec->encoder_open ||
		    !endpoint[i].codec->decoder_open)
			return section_fail(party[i], "codec",
					    "codec: %s works one way only",
					    endpoint[i].codec->name);
	}
	follow_other_rate(&endpoint[0], &endpoint[1]);
	follow_other_rate(&endpoint[1], &endpoint[0]);
	return 0;
}

/* What party @party says; conversation @s. */
static int read_direction(const struct section *s, const struct section *party,
			  struct campaign_flow *f)
{
	const struct campaign_endpoint endpoint[] = { f->in, f->out };
	int rc = read_numbers(s, f);

	if (rc)
		return rc;
	f->ptime = f->party.ptime =
		common_ptime(section_number(s, "ptime"), endpoint);
	rc = check_flow_ptime(s, f);
	if (!rc)
		rc = read_models(s, f);
	if (!rc)
		rc = read_terms(s, f);
	if (!rc)
		rc = read_flow_sender(party, f);
	if (!rc)
		rc = read_dtmf(section_below(party, "dtmf"), &f->party.dtmf);
	if (!rc)
		rc = read_cn(party, f);
	if (!rc)
		rc = check_pts(party, f);
	if (!rc)
		rc = read_address(party, &f->party);
	return rc ? rc : read_changes(party, &f->party);
}

static int name_directions(const struct section *s, unsigned i,
			   struct campaign_flow f[2])
{
	char name[CAMPAIGN_NAME_MAX];
	int rc = read_flow_name(s, i, name);

	if (!rc && strlen(name) + 2 >= CAMPAIGN_NAME_MAX)
		return section_fail(s, "name",
				    "name=%s: a conversation's has at most %u "
				    "letters",
				    name, CAMPAIGN_NAME_MAX - 3);
	for (unsigned k = 0; k < 2 && !rc; k++) {
		(void)snprintf(f[k].name, sizeof(f[k].name), "%.29s.%c", name,
			       k ? 'b' : 'a');
		memcpy(f[k].party.conversation, name, sizeof(name));
		f[k].party.side = k;
		f[k].line = section_line(s, NULL);
	}
	return rc;
}

int read_conversation(const struct section *s, unsigned i,
		      struct campaign_flow f[2])
{
	const struct section *const party[] = { section_below(s, "a"),
						section_below(s, "b") };
	struct campaign_endpoint endpoint[2] = { 0 };
	int rc = name_directions(s, i, f);

	if (!rc)
		rc = read_endpoints(party, endpoint);
	for (unsigned k = 0; k < 2 && !rc; k++) {
		f[k].in = endpoint[k];
		f[k].out = endpoint[!k];
		rc = read_direction(s, party[k], &f[k]);
	}
	return rc;
}
