/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers: what both sides have settled on becomes a conversation for each
 * line, or changes the one that is there; and the offerer is told.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ng/service_impl.h"

/* --- lines --- */

/* A conversation ends on the word of the answerer. */
static const struct node_who proxy = { .by = NODE_BY_PROXY };

/* What the offerer and the answerer become by what both have settled on. */
static void answered_specs(struct ng_exchange *x, unsigned i)
{
	const struct ng_request *r = x->w->request;
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

	*offerer = x->settled.party[0];
	*answerer = x->settled.party[1];
	ng_spec_locate(offerer, offer, &x->d->host, x->d->learn);
	ng_spec_locate(answerer, answer, &r->host, r->learn);
	ng_spec_packets(offerer, offer, &to_offerer);
	ng_spec_packets(answerer, answer, &to_answerer);
}

/* What the offerer is told of the line. What it is to send: what the other one
 * is sent is its own matter where the proxy asks for something of that. */
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

static void remember_spoken(struct codec_spec *to, const struct sdp_format *f)
{
	*to = (struct codec_spec){ .rate = f->rate,
				   .channels = f->channels,
				   .pt = f->pt };
	(void)snprintf(to->name, sizeof(to->name), "%s", f->name);
	(void)snprintf(to->fmtp, sizeof(to->fmtp), "%s", f->fmtp);
}

static int prepare_line(struct ng_exchange *x, unsigned i, struct cr_err *e)
{
	int err = codec_settle(&x->settled, x->d->stream[i].offered.list,
			       sdp_line(x->sdp, i), x->w->request->single_codec,
			       e);

	if (!err)
		err = report_line(x, i, e);
	if (err)
		return err;
	answered_specs(x, i);
	remember_spoken(&x->line[i].spoken[x->by], &x->settled.speech[0]);
	remember_spoken(&x->line[i].spoken[!x->by], &x->settled.speech[1]);
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

/* What would refuse a line is found before another one has changed, or another
 * branch has ended. One line alone that takes no endpoint from another branch
 * says so by itself. */
static int weigh_answer(struct ng_exchange *x, struct cr_err *e)
{
	struct node *n = x->w->service->node;
	struct conversation_promise all = { 0 };
	struct ng_weighing w = { .promised = &all,
				 .lacks = &x->w->service->lacks };
	int err = 0;

	for (unsigned i = 0; i < SDP_LINES_MAX && !err; i++) {
		const struct endpoint_spec *to = x->line[i].to;

		if (!x->carried[i] ||
		    (x->ncarried == 1 && !ng_stream_takes(n, x->d, i)))
			continue;
		err = ng_stream_check(n, x->d, i, to, e);
		if (!err)
			err = ng_stream_weigh(n, &x->d->stream[i], to, &w, e);
		all.ppm += w.needs.ppm;
		all.streams += w.needs.streams;
	}
	return err;
}

/* Lines before @end stay as they were. */
static void undo_answer(struct ng_exchange *x, unsigned end)
{
	for (unsigned i = 0; i < end; i++)
		if (x->carried[i] && x->line[i].change)
			conversation_cancel(x->line[i].change);
		else if (x->carried[i])
			ng_stream_stop(x->w->service->node, &x->d->stream[i],
				       NODE_END_STOPPED, &proxy);
}

static int settle_lines(struct ng_exchange *x, struct cr_err *e)
{
	int err = 0;

	for (unsigned i = 0; i < SDP_LINES_MAX && !err; i++) {
		if (!x->carried[i])
			continue;
		err = ng_stream_prepare(x->w->service->node, x->d, i,
					x->line[i].to, &x->w->service->lacks,
					&x->line[i].change, e);
		if (err)
			undo_answer(x, i);
	}
	return err;
}

static void commit_line(struct ng_exchange *x, unsigned i)
{
	struct node *n = x->w->service->node;
	struct ng_dialog *d = x->d;
	struct ng_stream *s = &d->stream[i];
	struct ng_side *offerer = d->side[x->by], *answerer = d->side[!x->by];
	unsigned mux = s->offered.mux;

	ng_release(x->w->service, s); /* it has its share now */
	if (x->carried[i]) {
		if (x->line[i].change)
			conversation_commit(x->line[i].change);
		ng_stream_set_early(n, s, false);
		/* An answer can only agree to what was offered (RFC 5761,
		 * 5.1.1). */
		ng_endpoint_mux(n, &offerer->endpoint[i], mux & NG_MUX_NEAR);
		ng_endpoint_mux(n, &answerer->endpoint[i],
				(mux & NG_MUX_FAR) &&
					(sdp_line(x->sdp, i)->mux ||
					 (mux & NG_MUX_SURE)));
		memcpy(s->spoken, x->line[i].spoken, sizeof(s->spoken));
		ng_stream_name(n, d, i);
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
	const struct ng_request *r = x->w->request;
	struct ng_dialog *d = x->d;
	char *copy = strdup(r->sdp);
	int err = copy ? weigh_answer(x, e)
		       : cr_fail(e, -ENOMEM, "out of memory for an answer");

	if (!err)
		err = settle_lines(x, e);
	if (!err && ng_dialog_tag(d, !x->by, r->key.to)) {
		undo_answer(x, SDP_LINES_MAX);
		err = cr_fail(e, -ENOMEM, "out of memory for a tag");
	}
	if (err) {
		free(copy);
		return err;
	}
	for (unsigned i = 0; i < sdp_lines(d->offer); i++)
		commit_line(x, i);
	/* The newest answer stays, for those that are repeated; and what
	 * becomes of it. */
	free(d->answer);
	free(d->answered);
	d->answer = copy;
	d->answered = ng_draft_report(x, d->side[x->by]);
	d->known = true;
	ng_dialog_ring(x->w->service, d, false);
	return 0;
}

static int answer_offer(struct ng_exchange *x, struct cr_err *e)
{
	const struct ng_request *r = x->w->request;
	int err = sdp_read(&x->sdp, r->sdp, r->sdp_bytes, e);

	if (!err)
		err = ng_take_room(x, 0, 1, e);
	if (!err)
		err = prepare_lines(x, e);
	if (!err)
		err = ng_draft_write(x, x->d->side[x->by], e);
	if (!err)
		err = apply_answer(x, e);
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

int ng_answer_to(const struct ng_work *w, struct cr_err *e)
{
	const struct ng_request *r = w->request;
	struct ng_call *call = w->call;
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
	if (!is_repeated(w->service, d, r))
		err = answer_offer(ng_exchange_begin(w, d, d->offerer), e);
	/* one that asks again is told then */
	if (!err && json_object_set_new(w->reply, "sdp",
					json_string_nocheck(d->answered)))
		err = cr_fail(e, -ENOMEM, "out of memory for the answer");
	return err;
}
