/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers: what both sides have settled on becomes a call of two streams for
 * each line, or changes the one that is there; and the offerer is told. And
 * what a line of a description means for its party's spec: where it is, how
 * long its packets are.
 *
 * A call of two streams begins with the first offer, on a guess, so that
 * nothing is lost of what the other side says before its answer; answers change
 * it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/address.h"
#include "ng/ng_service_impl.h"
#include "node/call_check.h"
#include "node/node_endpoint.h"

/* --- descriptions --- */

/* ms: all codecs have packets of a multiple of it, or none that fits; and what
 * is sent where nobody has said anything (RFC 3551, 4.2), or the next that the
 * codec has, up to LONG: G.723.1 has 30. */
enum { STEP = 10, USUAL = 20, LONG = 60 };

/* The address of the party of @line. No family: not known. */
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

/* The address for RTCP by "a=rtcp", as endpoint_spec has it. */
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
	struct codec_use sent = *side;
	struct cr_err e;
	cr_ns t = (cr_ns)ms * CR_MS;

	if (t < CALL_PTIME_MIN || t > CALL_PTIME_MAX ||
	    codec_use_check(&sent, "", &e) || packet_time_set(&sent, t, "", &e))
		return 0;
	return t;
}

/* The packet time of what is sent. Without a word about it packets are as
 * usual, or as long as those that they are made from: 0, unless that is too
 * long. */
static cr_ns sent_packet_time(const struct codec_use *side,
			      const struct sdp_line *line,
			      const struct ng_packets *p)
{
	unsigned request = p->ptime ? p->ptime : line->ptime;
	unsigned comes = p->comes ? p->comes : USUAL;
	unsigned most = line->maxptime;
	cr_ns time = 0;

	if (!strcmp(side->name, cr_codec_relayed.name))
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

/* --- calls --- */

/* The party of @l has agreed that RTCP goes where RTP does (RFC 5761), or not.
 */
static void agree_mux(struct node *n, struct ng_endpoint *l, bool mux)
{
	const struct node_endpoint *ep = node_endpoint_find(n, l->id);

	l->mux = mux;
	if (ep)
		endpoint_rtcp_mux(ep->endpoint, mux);
}

/* The author of the end of a call that an answer, or another branch, ends. */
static const struct node_who proxy = { .by = NODE_BY_PROXY };

/* Nobody else has it. */
static void end_node_call(struct node_endpoint *ep)
{
	if (ep->call)
		node_call_stop(ep->call, NODE_END_STOPPED, &proxy);
}

void ng_endpoint_close(struct node *n, struct ng_endpoint *l)
{
	struct node_endpoint *ep = l->id ? node_endpoint_find(n, l->id) : NULL;
	struct cr_err e;

	l->id = 0;
	free(l->sounds);
	l->sounds = NULL;
	if (!ep)
		return;
	end_node_call(ep);
	(void)node_endpoint_close(ep, &e);
}

static struct node_call *node_call_of(struct node *n, const struct ng_stream *s)
{
	return s->node_call ? node_call_find(n, s->node_call) : NULL;
}

bool ng_stream_runs(struct node *n, const struct ng_stream *s)
{
	return !s->node_call || node_call_of(n, s);
}

void ng_stream_stop(struct node *n, struct ng_stream *s, enum node_end why,
		    const struct node_who *who)
{
	struct node_call *c = node_call_of(n, s);

	s->node_call = 0;
	if (c)
		node_call_stop(c, why, who);
}

static int begin_node_call(struct ng_service *sv, struct ng_dialog *d,
			   unsigned i, const struct endpoint_spec to[2],
			   struct node_call_change **change, struct cr_err *e)
{
	struct call_spec r = CALL_SPEC_UNSAID;

	r.port = CALL_PORT_EACH;
	r.label = d->call->id;
	for (unsigned k = 0; k < 2; k++) {
		struct node_endpoint *ep = node_endpoint_find(
			sv->node, d->side[k]->endpoint[i].id);

		r.end[k].endpoint = d->side[k]->endpoint[i].id;
		if (ep)
			end_node_call(ep); /* another branch's */
	}
	return node_call_prepare_start(sv->node, &r, to, &sv->lacks, change, e);
}

int ng_stream_prepare(struct ng_service *sv, struct ng_dialog *d, unsigned i,
		      const struct endpoint_spec to[2],
		      struct node_call_change **change, struct cr_err *e)
{
	struct node_call *c = node_call_of(sv->node, &d->stream[i]);

	return c ? node_call_prepare(c, to, &sv->lacks, change, e)
		 : begin_node_call(sv, d, i, to, change, e);
}

struct node_call *ng_stream_commit(struct ng_stream *s,
				   struct node_call_change *change)
{
	struct node_call *c = node_call_commit(change);

	s->node_call = node_call_id(c);
	return c;
}

void ng_stream_set_early(struct node *n, struct ng_stream *s, bool early)
{
	struct node_call *c = node_call_of(n, s);

	s->early = early;
	if (c)
		node_call_set_early(c, early);
}

/* Would ng_stream_prepare() end a call of two streams of another dialog, which
 * has an endpoint of line @i of @d now? */
static bool takes_endpoint(struct node *n, const struct ng_dialog *d,
			   unsigned i)
{
	const struct node_endpoint *ep;
	bool takes = false;

	for (unsigned k = 0; k < 2; k++) {
		ep = node_endpoint_find(n, d->side[k]->endpoint[i].id);
		takes |= ep && ep->call;
	}
	return takes && !node_call_of(n, &d->stream[i]);
}

/* Check the endpoints of line @i as ng_stream_prepare() would. */
static int check_line_endpoints(struct node *n, const struct ng_dialog *d,
				unsigned i, const struct endpoint_spec to[2],
				struct cr_err *e)
{
	struct endpoint_spec next;
	struct node_endpoint *p[2];
	int err = 0;

	for (unsigned k = 0; k < 2; k++) {
		p[k] = node_endpoint_find(n, d->side[k]->endpoint[i].id);
		if (!p[k])
			return cr_fail(e, -ESRCH,
				       "an endpoint of it has ended");
	}
	for (unsigned k = 0; k < 2 && !err; k++) {
		err = node_endpoint_check_change(&next, p[k], &to[k],
						 &endpoint_own_names, e);
		if (!err)
			err = loop_check_endpoint(p[k], p[!k], &to[k].address,
						  &endpoint_own_names, e);
	}
	return err;
}

/* By what both say of their codecs. */
static int weigh_new(struct ng_service *sv, const struct endpoint_spec to[2],
		     const struct node_call_promise *promised, int64_t *ppm,
		     struct cr_err *e)
{
	struct call_spec r = CALL_SPEC_UNSAID;

	r.port = CALL_PORT_EACH;
	for (unsigned i = 0; i < 2; i++) {
		r.end[i] = to[i];
		r.end[i].address.ss_family = AF_UNSPEC;
		r.end[i].rtcp_address.ss_family = AF_UNSPEC;
		r.end[i].learn = -1;
		r.end[i].types.noise = 0;
	}
	return node_call_weigh(sv->node, &r, promised, ppm, &sv->lacks, e);
}

int ng_stream_weigh(struct ng_service *sv, const struct ng_stream *s,
		    const struct endpoint_spec to[2],
		    struct node_call_promise *promised, struct cr_err *e)
{
	struct node_call *c = node_call_of(sv->node, s);
	int64_t ppm = 0;
	int err =
		c ? node_call_weigh_change(c, to, promised, &ppm, &sv->lacks, e)
		  : weigh_new(sv, to, promised, &ppm, e);

	if (err)
		return err;
	promised->ppm += ppm;
	promised->calls += c ? 0 : 1;
	return 0;
}

/* --- lines --- */

/* Complete the specs of the offerer and the answerer: addresses, and lengths of
 * packets. */
static void answered_specs(struct ng_exchange *x, unsigned i)
{
	const struct ng_request *r = &x->sv->request;
	const struct ng_offered *o = &x->d->stream[i].offered;
	const struct sdp_line *offer = sdp_line(x->d->offer, i);
	const struct sdp_line *answer = sdp_line(x->sdp, i);
	struct endpoint_spec *offerer = &x->line[i].to[x->by];
	struct endpoint_spec *answerer = &x->line[i].to[!x->by];
	const struct ng_packets to_offerer = {
		.ptime = o->ptime_back,
		.in_ptime = x->out[i].ptime,
		.comes = o->ptime_signalled,
		.apart = o->ptime,
	};
	const struct ng_packets to_answerer = {
		.ptime = o->ptime,
		.in_ptime = o->ptime_signalled,
		.comes = x->out[i].ptime,
		.apart = o->ptime_back,
	};

	ng_spec_locate(offerer, offer, &x->d->host, x->d->learn);
	ng_spec_locate(answerer, answer, &r->host, r->learn);
	ng_spec_packets(offerer, offer, &to_offerer);
	ng_spec_packets(answerer, answer, &to_answerer);
}

/* Fill in the line that the offerer gets, with the packets that it is to send.
 * Where the proxy asks for a packet time, those to the answerer do not count.
 */
static int report_line(struct ng_exchange *x, unsigned i, struct cr_err *e)
{
	const struct sdp_line *offer = sdp_line(x->d->offer, i);
	const struct sdp_line *answer = sdp_line(x->sdp, i);
	const struct ng_offered *o = &x->d->stream[i].offered;
	bool mux = o->mux & NG_MUX_NEAR;

	memcpy(x->format[i], x->settled.answer, sizeof(x->settled.answer));
	x->out[i] = (struct sdp_line_out){
		.proto = offer->proto,
		.mux = mux,
		.ptime = o->ptime_back ? o->ptime_back
			 : o->ptime    ? offer->ptime
				       : answer->ptime,
		.nformats = x->settled.nanswer,
	};
	return ng_describe_line(x, i, answer, &x->d->side[x->by]->endpoint[i],
				mux && offer->mux_only ? -1 : !mux, e);
}

static int prepare_line(struct ng_exchange *x, unsigned i, struct cr_err *e)
{
	struct codec_settled *on = &x->settled;
	struct codec_item spoken[2] = { 0 };
	int err;

	on->party[0] = &x->line[i].to[x->by];
	on->party[1] = &x->line[i].to[!x->by];
	err = codec_settle(on, x->d->stream[i].offered.list,
			   sdp_line(x->sdp, i), x->sv->request.single_codec, e);
	if (!err)
		err = report_line(x, i, e);
	if (err)
		return err;
	answered_specs(x, i);
	spoken[x->by].format = *on->speech[0];
	spoken[!x->by].format = *on->speech[1];
	x->line[i].spoken = codec_list_copy(spoken, 2);
	if (!x->line[i].spoken)
		return cr_fail(e, -ENOMEM, "out of memory for codecs");
	x->carried[i] = true;
	x->ncarried++;
	return 0;
}

static int prepare_lines(struct ng_exchange *x, struct cr_err *e)
{
	unsigned n = sdp_lines(x->d->offer);
	int err = 0;

	if (sdp_lines(x->sdp) != n)
		return cr_fail(e, -EINVAL,
			       "sdp: %u media lines answer an offer of %u (RFC "
			       "3264, 6)",
			       sdp_lines(x->sdp), n);
	for (unsigned i = 0; i < n && !err; i++)
		if (x->d->stream[i].offered.list && ng_line_is_carried(x, i))
			err = prepare_line(x, i, e);
		else
			x->out[i].refused = true;
	return err;
}

/* --- all lines, or none --- */

/* Find a reason to refuse any line, before another one has changed or another
 * branch has ended. One line alone that takes no endpoint from another branch
 * needs no such check. */
static int weigh_answer(struct ng_exchange *x, struct cr_err *e)
{
	struct node *n = x->sv->node;
	struct node_call_promise all = { 0 };
	int err = 0;

	for (unsigned i = 0; i < SDP_LINES_MAX && !err; i++) {
		const struct endpoint_spec *to = x->line[i].to;

		if (!x->carried[i] ||
		    (x->ncarried == 1 && !takes_endpoint(n, x->d, i)))
			continue;
		err = check_line_endpoints(n, x->d, i, to, e);
		if (!err)
			err = ng_stream_weigh(x->sv, &x->d->stream[i], to, &all,
					      e);
	}
	return err;
}

/* Lines before @end stay as they were. */
static void undo_answer(struct ng_exchange *x, unsigned end)
{
	for (unsigned i = 0; i < end; i++)
		if (x->carried[i])
			node_call_cancel(x->line[i].change);
}

static void commit_line(struct ng_exchange *x, unsigned i)
{
	struct node *n = x->sv->node;
	struct ng_dialog *d = x->d;
	struct ng_stream *s = &d->stream[i];
	struct ng_side *offerer = d->side[x->by], *answerer = d->side[!x->by];
	const char *const tag[2] = { d->side[0]->tag, d->side[1]->tag };
	unsigned mux = s->offered.mux;
	struct node_call *c;

	ng_release(x->sv, s); /* it has its share now */
	if (x->carried[i]) {
		c = ng_stream_commit(s, x->line[i].change);
		ng_stream_set_early(n, s, false);
		/* An answer can only agree to what was offered (RFC 5761,
		 * 5.1.1). */
		agree_mux(n, &offerer->endpoint[i], mux & NG_MUX_NEAR);
		agree_mux(n, &answerer->endpoint[i],
			  (mux & NG_MUX_FAR) && (sdp_line(x->sdp, i)->mux ||
						 (mux & NG_MUX_SURE)));
		free(s->spoken);
		s->spoken = x->line[i].spoken;
		node_call_set_tags(c, tag, i + 1);
		return;
	}
	ng_stream_stop(n, s, NODE_END_STOPPED, &proxy);
	/* another branch may still use the caller's endpoint */
	for (unsigned k = 0; k < 2; k++)
		if (d->side[k]->users == 1)
			ng_endpoint_close(n, &d->side[k]->endpoint[i]);
}

static int apply_answer(struct ng_exchange *x, struct cr_err *e)
{
	const struct ng_request *r = &x->sv->request;
	struct ng_dialog *d = x->d;
	char *copy = strdup(r->sdp);
	int err = copy ? weigh_answer(x, e)
		       : cr_fail(e, -ENOMEM, "out of memory for an answer");

	for (unsigned i = 0; i < SDP_LINES_MAX && !err; i++) {
		if (!x->carried[i])
			continue;
		err = ng_stream_prepare(x->sv, d, i, x->line[i].to,
					&x->line[i].change, e);
		if (err)
			undo_answer(x, i);
	}
	if (!err && ng_dialog_tag(d, !x->by, r->key.to)) {
		undo_answer(x, SDP_LINES_MAX);
		err = cr_fail(e, -ENOMEM, "out of memory for a tag");
	}
	if (err) {
		free(copy);
		return err;
	}
	ng_take_room(x, 1);
	for (unsigned i = 0; i < sdp_lines(d->offer); i++)
		commit_line(x, i);
	/* The newest answer stays, for those that are repeated; and what
	 * becomes of it. */
	free(d->answer);
	free(d->answered);
	d->answer = copy;
	d->answered = ng_draft_report(x, d->side[x->by]);
	d->known = true;
	ng_dialog_ring(x->sv, d, false);
	ng_keep_dialog(x->sv, d);
	return 0;
}

static int answer_offer(struct ng_exchange *x, struct cr_err *e)
{
	const struct ng_request *r = &x->sv->request;
	int err = sdp_read(&x->sdp, r->sdp, r->sdp_bytes, e);

	if (!err)
		err = ng_check_room(x, x->d->due.lines, 1, e);
	if (!err)
		err = prepare_lines(x, e);
	if (!err)
		err = ng_draft_write(x, x->d->side[x->by], e);
	if (!err)
		err = apply_answer(x, e);
	for (unsigned i = 0; i < SDP_LINES_MAX && err; i++)
		if (x->carried[i])
			free(x->line[i].spoken);
	ng_exchange_end(x);
	return err;
}

/* The same answer of the same side, which was lost or sent again. Another
 * branch may have taken the caller's endpoints since. */
static bool is_repeated(struct ng_service *sv, const struct ng_dialog *d,
			const struct ng_request *r)
{
	const char *tag = d->side[!d->offerer]->tag;

	if (!d->answer || !tag || strcmp(tag, r->key.to) != 0 ||
	    strcmp(d->answer, r->sdp) != 0)
		return false;
	for (unsigned i = 0; i < d->nlines; i++)
		if (!ng_stream_runs(sv->node, &d->stream[i]))
			return false;
	return true;
}

int ng_answer_to(struct ng_service *sv, struct cr_err *e)
{
	const struct ng_request *r = &sv->request;
	struct ng_call *call = sv->call;
	struct ng_dialog *d = call ? ng_dialog_of_answer(call, &r->key) : NULL;
	int err = 0;

	if (!call)
		return cr_fail(e, -ESRCH, "Unknown call-id");
	ng_call_signalled(call);
	if (!d)
		return cr_fail(e, -ESRCH, "%s",
			       ng_dialog_is_overtaken(call, &r->key)
				       ? "another offer, of the other side, "
					 "has overtaken the one that this is "
					 "an answer to"
				       : "there is no offer that this is an "
					 "answer to");
	if (!is_repeated(sv, d, r))
		err = answer_offer(ng_exchange_begin(sv, d, d->offerer), e);
	/* one that asks again is told then */
	if (!err && json_object_set_new(sv->reply, "sdp",
					json_string_nocheck(d->answered)))
		err = cr_fail(e, -ENOMEM, "out of memory for the answer");
	return err;
}
