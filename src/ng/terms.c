/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What offers and answers have in common: what a session description means for
 * a party of a conversation, and a description on its way to a side.
 */
#include "ng/terms.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/address.h"
#include "ng/message.h"
#include "ng/service_impl.h"
#include "node/call_check.h"

void ng_warn(struct cr_err *warning, const char *fmt, ...)
{
	size_t n = strlen(warning->text);
	va_list ap;

	if (n && n + 3 < sizeof(warning->text))
		n += (size_t)snprintf(warning->text + n,
				      sizeof(warning->text) - n, "; ");
	va_start(ap, fmt);
	(void)vsnprintf(warning->text + n, sizeof(warning->text) - n, fmt, ap);
	va_end(ap);
}

bool ng_line_is_carried(const struct sdp_line *l, unsigned i,
			struct cr_err *warning)
{
	if (l->refused)
		return false;
	if (!l->audio)
		ng_warn(warning, "line %u: %.20s: this node has audio only",
			i + 1, l->media);
	else if (l->transport > SDP_RTP_FB)
		ng_warn(warning, "line %u: %.20s: this node has no %s", i + 1,
			l->proto,
			l->transport == SDP_SECURE ? "SRTP" : "such transport");
	else
		return true;
	return false;
}

void ng_line_report_rtcp(struct sdp_line_out *out, const struct ng_request *r,
			 bool mux)
{
	if (!r->no_rtcp)
		out->rtcp_port = address_port(&out->rtp) + !mux;
	out->rtcp_host = r->full_rtcp;
}

/* A description is kept as it came, as it was passed on, and as a tree. */
enum { COPIES = 4 };

int ng_take_room(struct ng_service *sv, struct ng_dialog *d, unsigned lines,
		 unsigned what, size_t bytes, struct cr_err *e)
{
	size_t octets = COPIES * bytes, other = d->kept[!what];
	int err;

	if (!what)
		octets += sizeof(*d) + 2 * sizeof(struct ng_side);
	if (lines < d->due.lines) /* their endpoints may be open */
		lines = d->due.lines;
	err = ng_due_change(&sv->shares, &d->due, lines, octets + other, e);
	if (!err)
		d->kept[what] = octets;
	return err;
}

/* Its version rises when it is not what @to was told last; with @rises always.
 */
static int write_as(const struct sdp *sdp, struct sdp_out *out, bool rises,
		    const struct ng_side *to, char text[NG_BYTES_MAX],
		    struct cr_err *e)
{
	const size_t size = NG_BYTES_MAX;
	long n;

	out->version = to->version ? to->version : sdp_version(sdp);
	n = sdp_write(sdp, out, text, size, e);
	if (n >= 0 && out->own_version && to->text &&
	    (rises || strcmp(to->text, text) != 0)) {
		out->version++;
		n = sdp_write(sdp, out, text, size, e);
	}
	return n < 0 ? (int)n : 0;
}

void ng_draft_drop(struct ng_draft *d)
{
	free(d->text);
	free(d->copy);
	*d = (struct ng_draft){ 0 };
}

char *ng_draft_report(struct ng_draft *d, struct ng_side *to)
{
	char *text = d->text;

	to->version = d->version;
	if (d->copy) {
		free(to->text);
		to->text = d->copy;
	}
	*d = (struct ng_draft){ 0 };
	return text;
}

void ng_text_place(struct ng_text *t, struct node *n, const struct ng_side *to,
		   const struct ng_request *r)
{
	struct sockaddr_storage at = { 0 };
	struct node_interface_info first;

	for (unsigned i = 0; i < SDP_LINES_MAX && !at.ss_family; i++)
		if (!to->endpoint[i].id ||
		    !ng_endpoint_local(n, &to->endpoint[i], &at))
			at.ss_family = AF_UNSPEC;
	if (!at.ss_family && node_interface(n, 0, &first) &&
	    address_parse_host(first.advertised, &at))
		at.ss_family = AF_UNSPEC;
	for (unsigned i = 0; i < SDP_LINES_MAX; i++)
		if (t->line[i].refused)
			t->line[i].rtp = at;
	for (unsigned i = 0; i < SDP_LINES_MAX && r->shown.ss_family; i++)
		if (t->line[i].rtp.ss_family) {
			struct sockaddr_storage *rtp = &t->line[i].rtp;
			unsigned port = address_port(rtp);

			*rtp = r->shown;
			address_set_port(rtp, port);
		}
}

int ng_draft_write(const struct sdp *sdp, const struct ng_text *t,
		   const struct ng_request *r, const struct ng_side *to,
		   struct ng_draft *d, struct cr_err *e)
{
	char buf[NG_BYTES_MAX];
	struct sdp_out out = {
		.lines = t->line,
		.origin = r->origin,
		.connection = r->connection,
		.own_version = r->version,
	};
	int err = write_as(sdp, &out, r->version_rises, to, buf, e);

	if (err)
		return err == -ENOSPC ? -EMSGSIZE : err;
	d->version = out.version;
	d->text = strdup(buf);
	d->copy = r->version ? strdup(buf) : NULL;
	if (d->text && (d->copy || !r->version))
		return 0;
	ng_draft_drop(d);
	return cr_fail(e, -ENOMEM, "out of memory for an SDP");
}

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

/* Can @side be sent in packets of @ms? A request that its codec cannot have is
 * none. */
static cr_ns packet_time(const struct codec_use *side, unsigned ms)
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
static cr_ns longest_packet_time(const struct codec_use *side, unsigned most)
{
	cr_ns time = 0;

	for (unsigned ms = most - most % STEP; ms && !time; ms -= STEP)
		time = packet_time(side, ms);
	return time;
}

/* Of packets to the party of @t. Where nothing is said they are as usual, or as
 * long as those that they are made from: then it is 0, unless that is too long.
 */
static cr_ns its_packet_time(const struct codec_use *side,
			     const struct ng_terms *t)
{
	unsigned request = t->ptime ? t->ptime : t->line->ptime;
	unsigned comes = t->comes ? t->comes : USUAL;
	unsigned most = t->line->maxptime;

	if (!codec_able(&t->choice->speech))
		return 0; /* it is passed on */
	if (!request && !most && t->apart)
		request = USUAL;
	return most && (request ? request : comes) > most
		       ? longest_packet_time(side, most)
		       : packet_time(side, request);
}

static bool has_type(const struct endpoint_spec *to, int pt)
{
	bool has = to->side.pt == pt;

	for (unsigned i = 0; i < to->nalso; i++)
		has |= to->also[i].pt == pt;
	return has;
}

/* Those that are no codec of ours cannot be heard, and nothing can be made into
 * speech that is none. @passed: those that are passed on, or those that are
 * not. */
static void take_also(struct endpoint_spec *to, const struct codec_choice *c,
		      bool passed)
{
	struct cr_err e;

	if (!codec_able(&c->speech))
		return;
	for (unsigned i = 0; i < c->nalso && to->nalso < PARTY_ALSO_MAX; i++)
		if (passed_has(&c->passed, c->also[i].pt) == passed &&
		    !has_type(to, c->also[i].pt) && codec_able(&c->also[i]) &&
		    !codec_side(&to->also[to->nalso], &c->also[i], 0, &e))
			to->nalso++;
}

int ng_terms_change(struct endpoint_spec *to, const struct ng_terms *t,
		    struct cr_err *e)
{
	int err;

	memset(to, 0, sizeof(*to));
	err = codec_side(&to->side, &t->choice->speech, t->choice->bit_rate, e);
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
	if (t->choice->nevents) {
		to->types.events = t->choice->events[0].pt;
		to->types.events_clock = t->choice->events[0].rate;
		for (unsigned i = 1; i < t->choice->nevents; i++) {
			to->types.more.one[to->types.more.n].pt =
				t->choice->events[i].pt;
			to->types.more.one[to->types.more.n++].clock =
				t->choice->events[i].rate;
		}
	}
	to->types.noise = t->choice->noise < 0 ? 0 : t->choice->noise;
	return 0;
}
