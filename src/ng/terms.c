/* SPDX-License-Identifier: Apache-2.0 */
#include "ng/terms.h"

#include <string.h>

#include "base/address.h"
#include "ng/codec_map.h"
#include "node/call_check_side.h"
#include "node/packet_time.h"

/* ms: all codecs have packets of a multiple of it, or none that fits; and what
 * is sent where nobody has said anything (RFC 3551, 4.2), or the next that the
 * codec has, up to LONG: G.723.1 has 30. */
enum { STEP = 10, USUAL = 20, LONG = 60 };

struct sockaddr_storage ng_terms_address(const struct sdp_line *line,
					 const struct sockaddr_storage *host)
{
	struct sockaddr_storage at = line->rtp;

	if (line->held)
		return (struct sockaddr_storage){ 0 };
	if (host->ss_family) {
		at = *host;
		address_set_port(&at, address_port(&line->rtp));
	}
	return at;
}

struct sockaddr_storage ng_terms_rtcp_address(
	const struct sdp_line *line, const struct sockaddr_storage *host)
{
	struct sockaddr_storage rtp = ng_terms_address(line, host);
	struct sockaddr_storage at = host->ss_family ? *host : line->rtcp;

	/* RTP's number is for who has RTCP there, and a fallback for none */
	if (!line->rtcp_said || !rtp.ss_family ||
	    line->rtcp.ss_family != rtp.ss_family || address_any(&line->rtcp) ||
	    (line->mux && address_equal(&line->rtcp, &line->rtp)))
		return (struct sockaddr_storage){ 0 };
	address_set_port(&at, address_port(&line->rtcp));
	return at;
}

enum sdp_mode ng_terms_mode(const struct sdp_line *line)
{
	return line->held ? (enum sdp_mode)(line->mode & SDP_SENDONLY)
			  : line->mode;
}

/* Can @side be sent in packets of @ms? A wish that its codec cannot have is
 * none. */
static cr_ns packet_time(const struct call_side_request *side, unsigned ms)
{
	struct pipeline_side s = { 0 };
	struct cr_err e;
	cr_ns t = (cr_ns)ms * CR_MS;

	if (t < CALL_PTIME_MIN || t > CALL_PTIME_MAX ||
	    call_check_side(&s, side, "", &e) || packet_time_set(&s, t, "", &e))
		return 0;
	return t;
}

/* As long as its codec can have them, and @most ms. */
static cr_ns longest(const struct call_side_request *side, unsigned most)
{
	cr_ns time = 0;

	for (unsigned ms = most - most % STEP; ms && !time; ms -= STEP)
		time = packet_time(side, ms);
	return time;
}

/* Of packets to the party of @t. Where nothing is said they are as usual, or as
 * long as those that they are made from: then it is 0, unless that is too long.
 */
static cr_ns its_packet_time(const struct call_side_request *side,
			     const struct ng_terms *t)
{
	unsigned request = t->ptime ? t->ptime : t->line->ptime;
	unsigned comes = t->comes ? t->comes : USUAL;
	unsigned most = t->line->maxptime;

	if (!codec_map_abilities.able(&t->choice->speech))
		return 0; /* it is passed on */
	if (!request && !most && t->apart)
		request = USUAL;
	return most && (request ? request : comes) > most
		       ? longest(side, most)
		       : packet_time(side, request);
}

static bool has_type(const struct party_change *to, int pt)
{
	bool has = to->side.pt == pt;

	for (unsigned i = 0; i < to->nalso; i++)
		has |= to->also[i].pt == pt;
	return has;
}

/* Those that are no codec of ours cannot be heard, and nothing can be made into
 * speech that is none. @passed: those that are passed on, or those that are
 * not. */
static void take_also(struct party_change *to, const struct codec_choice *c,
		      bool passed)
{
	struct cr_err e;

	if (!codec_map_abilities.able(&c->speech))
		return;
	for (unsigned i = 0; i < c->nalso && to->nalso < PARTY_ALSO_MAX; i++)
		if (passed_has(&c->passed, c->also[i].pt) == passed &&
		    !has_type(to, c->also[i].pt) &&
		    codec_map_abilities.able(&c->also[i]) &&
		    !codec_map_side(&to->also[to->nalso], &c->also[i], 0, &e))
			to->nalso++;
}

/* As party_change has it: what was not agreed is none from now on. */
static int type_or_none(int pt)
{
	return pt < 0 ? 0 : pt;
}

static void take_events(struct party_change *to, const struct codec_choice *c)
{
	if (!c->nevents)
		return;
	to->events = c->events[0].pt;
	to->events_clock = c->events[0].rate;
	for (unsigned i = 1; i < c->nevents; i++) {
		to->more.one[to->more.n].pt = c->events[i].pt;
		to->more.one[to->more.n++].clock = c->events[i].rate;
	}
}

int ng_terms_change(struct party_change *to, const struct ng_terms *t,
		    struct cr_err *e)
{
	int err;

	memset(to, 0, sizeof(*to));
	err = codec_map_side(&to->side, &t->choice->speech, t->choice->bit_rate,
			     e);
	if (err)
		return err;
	take_also(to, t->choice, false);
	take_also(to, t->choice, true);
	to->passed = t->choice->passed;
	to->ptime = its_packet_time(&to->side, t);
	/* as usual where nothing is said: what was said before is over */
	to->in_ptime = t->in_ptime ? packet_time(&to->side, t->in_ptime) : 0;
	for (unsigned ms = USUAL; ms <= LONG && !to->in_ptime; ms += STEP)
		to->in_ptime = packet_time(&to->side, ms);
	to->address = ng_terms_address(t->line, &t->host);
	to->rtcp_address = ng_terms_rtcp_address(t->line, &t->host);
	to->learn = t->learn;
	to->hold = !(ng_terms_mode(t->line) & SDP_RECVONLY);
	take_events(to, t->choice);
	to->noise = type_or_none(t->choice->noise);
	return 0;
}
