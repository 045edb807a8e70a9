/* SPDX-License-Identifier: Apache-2.0 */
#include "ng/stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/address.h"
#include "node/call_check.h"
#include "node/circle.h"
#include "node/node.h"
#include "node/party.h"

static const struct party_names own = { .path = "", .address = "address" };

/* --- descriptions --- */

/* ms: all codecs have packets of a multiple of it, or none that fits; and what
 * is sent where nobody has said anything (RFC 3551, 4.2), or the next that the
 * codec has, up to LONG: G.723.1 has 30. */
enum { STEP = 10, USUAL = 20, LONG = 60 };

/* Where the party of @line is. No family: not known. */
static struct sockaddr_storage party_address(
	const struct sdp_line *line, const struct sockaddr_storage *host)
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

/* Where "a=rtcp" says that it has its RTCP, as endpoint_spec has it. */
static struct sockaddr_storage party_rtcp_address(
	const struct sdp_line *line, const struct sockaddr_storage *host)
{
	struct sockaddr_storage rtp = party_address(line, host);
	struct sockaddr_storage at = host->ss_family ? *host : line->rtcp;

	/* RTP's number is for parties with RTCP there, and a fallback */
	if (!line->rtcp_said || !rtp.ss_family ||
	    line->rtcp.ss_family != rtp.ss_family || address_any(&line->rtcp) ||
	    (line->mux && address_equal(&line->rtcp, &line->rtp)))
		return (struct sockaddr_storage){ 0 };
	address_set_port(&at, address_port(&line->rtcp));
	return at;
}

enum sdp_mode ng_line_mode(const struct sdp_line *line)
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

/* Where nothing is said they are as usual, or as long as those that they are
 * made from: then it is 0, unless that is too long. */
static cr_ns sent_packet_time(const struct codec_use *side,
			      const struct sdp_line *line,
			      const struct ng_packets *p)
{
	unsigned request = p->ptime ? p->ptime : line->ptime;
	unsigned comes = p->comes ? p->comes : USUAL;
	unsigned most = line->maxptime;
	cr_ns time = 0;

	if (!strcmp(side->codec, cr_codec_relayed.name))
		return 0; /* it is passed on */
	if (!request && !most && p->apart)
		request = USUAL;
	if (!most || (request ? request : comes) <= most)
		return packet_time(side, request);
	/* as long as its codec can have them, and it wants them */
	for (unsigned ms = most - most % STEP; ms && !time; ms -= STEP)
		time = packet_time(side, ms);
	return time;
}

void ng_spec_packets(struct endpoint_spec *to, const struct sdp_line *line,
		     const struct ng_packets *p)
{
	to->ptime = sent_packet_time(&to->side, line, p);
	/* as usual where nothing is said: what was said before is over */
	to->in_ptime = p->in_ptime ? packet_time(&to->side, p->in_ptime) : 0;
	for (unsigned ms = USUAL; ms <= LONG && !to->in_ptime; ms += STEP)
		to->in_ptime = packet_time(&to->side, ms);
}

void ng_spec_locate(struct endpoint_spec *to, const struct sdp_line *line,
		    const struct sockaddr_storage *host, int learn)
{
	to->address = party_address(line, host);
	to->rtcp_address = party_rtcp_address(line, host);
	to->learn = learn;
	to->hold = !(ng_line_mode(line) & SDP_RECVONLY);
}

/* --- endpoints --- */

int ng_endpoint_open(struct node *n, struct ng_endpoint *l,
		     const struct endpoint_spec *r, struct cr_err *e)
{
	struct party *p;
	int err;

	if (l->id && party_find(n, l->id))
		return 0;
	err = party_open(n, r, &own, &p, e);
	if (err)
		return err;
	p->opened = true;
	free(l->sounds);
	*l = (struct ng_endpoint){ .id = party_id(p) };
	return 0;
}

void ng_endpoint_mux(struct node *n, struct ng_endpoint *l, bool mux)
{
	const struct party *p = party_find(n, l->id);

	l->mux = mux;
	if (p)
		endpoint_rtcp_mux(p->port.endpoint, mux);
}

/* Nobody else has it. */
static void end_conversation(struct party *p)
{
	const struct node_who who = { .by = NODE_BY_PROXY };

	if (p->conversation)
		conversation_stop(p->conversation, NODE_END_STOPPED, &who);
}

void ng_endpoint_close(struct node *n, struct ng_endpoint *l)
{
	struct party *p = l->id ? party_find(n, l->id) : NULL;
	struct cr_err e;

	l->id = 0;
	free(l->sounds);
	l->sounds = NULL;
	if (!p)
		return;
	end_conversation(p);
	(void)party_close(p, &e);
}

bool ng_endpoint_local(struct node *n, const struct ng_endpoint *l,
		       struct sockaddr_storage *out)
{
	const struct party *p = party_find(n, l->id);
	char text[NODE_ADDRESS_MAX];

	if (!p)
		return false;
	node_endpoint_address(&p->port, text, sizeof(text));
	return !address_parse(text, out);
}

const char *ng_endpoint_interface(struct node *n, const struct ng_endpoint *l)
{
	const struct party *p = party_find(n, l->id);

	return p ? p->port.interface->cfg.name : NULL;
}

/* --- conversations --- */

static struct conversation *conversation_of(struct node *n,
					    const struct ng_stream *s)
{
	return s->conversation ? conversation_find(n, s->conversation) : NULL;
}

bool ng_stream_runs(struct node *n, const struct ng_stream *s)
{
	return !s->conversation || conversation_of(n, s);
}

void ng_stream_stop(struct node *n, struct ng_stream *s, enum node_end why,
		    const struct node_who *who)
{
	struct conversation *c = conversation_of(n, s);

	s->conversation = 0;
	if (c)
		conversation_stop(c, why, who);
}

void ng_stream_name(struct node *n, const struct ng_dialog *d, unsigned i)
{
	const char *const tag[2] = { d->side[0]->tag, d->side[1]->tag };
	struct conversation *c = conversation_of(n, &d->stream[i]);

	if (c)
		conversation_set_tags(c, tag, i + 1);
}

static int begin_conversation(struct node *n, struct ng_dialog *d, unsigned i,
			      const struct endpoint_spec to[2],
			      struct node_cost_wait *lacks, struct cr_err *e)
{
	struct call_spec r = CALL_SPEC_UNSAID;
	struct conversation *c;
	int err = 0;

	r.port = CALL_PORT_EACH;
	r.label = d->call->id;
	for (unsigned k = 0; k < 2 && !err; k++) {
		struct party *p = party_find(n, d->side[k]->endpoint[i].id);

		if (!p)
			return cr_fail(e, -ESRCH,
				       "an endpoint of it has ended");
		end_conversation(p); /* another branch's */
		r.end[k].endpoint = party_id(p);
		err = conversation_change_party(p, &to[k], lacks, e);
	}
	if (!err)
		err = conversation_start(n, &r, lacks, &c, e);
	if (!err)
		d->stream[i].conversation = conversation_id(c);
	return err;
}

int ng_stream_prepare(struct node *n, struct ng_dialog *d, unsigned i,
		      const struct endpoint_spec to[2],
		      struct node_cost_wait *lacks,
		      struct conversation_change **change, struct cr_err *e)
{
	struct conversation *c = conversation_of(n, &d->stream[i]);

	*change = NULL;
	return c ? conversation_prepare(c, to, lacks, change, e)
		 : begin_conversation(n, d, i, to, lacks, e);
}

void ng_stream_set_early(struct node *n, struct ng_stream *s, bool early)
{
	struct conversation *c = conversation_of(n, s);

	s->early = early;
	if (c)
		conversation_set_early(c, early);
}

bool ng_stream_takes(struct node *n, const struct ng_dialog *d, unsigned i)
{
	const struct party *p;
	bool takes = false;

	for (unsigned k = 0; k < 2; k++) {
		p = party_find(n, d->side[k]->endpoint[i].id);
		takes |= p && p->conversation;
	}
	return takes && !conversation_of(n, &d->stream[i]);
}

/* What ng_stream_prepare() would say of the endpoints of line @i. */
int ng_stream_check(struct node *n, const struct ng_dialog *d, unsigned i,
		    const struct endpoint_spec to[2], struct cr_err *e)
{
	struct endpoint_spec next;
	struct party *p[2];
	int err = 0;

	for (unsigned k = 0; k < 2; k++) {
		p[k] = party_find(n, d->side[k]->endpoint[i].id);
		if (!p[k])
			return cr_fail(e, -ESRCH,
				       "an endpoint of it has ended");
	}
	for (unsigned k = 0; k < 2 && !err; k++) {
		err = party_check_change(&next, p[k], &to[k], &own, e);
		if (!err)
			err = circle_check_party(p[k], p[!k], &to[k].address,
						 &own, e);
	}
	return err;
}

/* By what both say of their codecs. */
static int weigh_new(struct node *n, const struct endpoint_spec to[2],
		     struct ng_weighing *w, struct cr_err *e)
{
	struct call_spec r = CALL_SPEC_UNSAID;

	r.port = CALL_PORT_EACH;
	for (unsigned i = 0; i < 2; i++) {
		r.end[i] = to[i];
		r.end[i].address.ss_family = AF_UNSPEC;
		r.end[i].rtcp_address.ss_family = AF_UNSPEC;
		r.end[i].learn = -1;
		r.end[i].reception.fill = -1;
		r.end[i].types.noise = 0;
	}
	w->needs.streams = 2;
	return conversation_weigh(n, &r, w->promised, &w->needs.ppm, w->lacks,
				  e);
}

int ng_stream_weigh(struct node *n, const struct ng_stream *s,
		    const struct endpoint_spec to[2], struct ng_weighing *w,
		    struct cr_err *e)
{
	struct conversation *c = conversation_of(n, s);

	w->needs = (struct conversation_promise){ 0 };
	return c ? conversation_weigh_change(c, to, w->promised, &w->needs.ppm,
					     w->lacks, e)
		 : weigh_new(n, to, w, e);
}
