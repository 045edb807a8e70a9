/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers: what both sides have settled on becomes a call of two streams for
 * each line, or changes the one that is there; and the offerer is told. What a
 * line means for the node is offer.c's.
 *
 * A call of two streams begins with the first offer, on a guess, so that
 * nothing is lost of what the other side says before its answer; answers change
 * it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ng/ng_service_impl.h"
#include "node/node_endpoint.h"

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
	return takes && !node_call_find(n, d->stream[i].node_call);
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

/* The party of @l has agreed that RTCP goes where RTP does (RFC 5761), or not.
 */
static void agree_mux(struct node *n, struct ng_endpoint *l, bool mux)
{
	const struct node_endpoint *ep = node_endpoint_find(n, l->id);

	l->mux = mux;
	if (ep)
		endpoint_rtcp_mux(ep->endpoint, mux);
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
	ng_stream_stop(n, s, NODE_END_STOPPED,
		       &(struct node_who){ .by = NODE_BY_PROXY });
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
