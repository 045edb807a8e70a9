/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers: what both sides have settled on becomes a conversation for each
 * line, or changes the one that is there; and who has offered is told.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "ng/service_impl.h"
#include "ng/terms.h"

struct answering {
	const struct ng_work *w;
	struct ng_dialog *d;
	unsigned to; /* number of the side that is answered */
	struct sdp *sdp;
	struct codec_settled settled; /* of the line at hand */
	bool carried[SDP_LINES_MAX];
	unsigned ncarried;
	struct ng_text
		text; /* its formats, and what follows, are not cleared */
	/* what lines that are carried become, and what they were */
	struct answered_line {
		struct endpoint_spec to[2], was[2];
		struct codec_spec spoken[2];
		bool ran;
	} line[SDP_LINES_MAX];
	/* of lines that go back: the other one may be waited for */
	struct conversation_plan back;
};

/* --- lines that are not --- */

void ng_release(struct ng_service *sv, struct ng_stream *s)
{
	sv->promised.ppm -= s->promised.ppm;
	sv->promised.streams -= s->promised.streams;
	s->promised = (struct conversation_promise){ 0 };
}

/* On the word of who answers. */
static const struct node_who proxy = { .by = NODE_BY_PROXY };

/* Another branch may still use the caller's endpoint. */
static void refuse_line(struct answering *a, unsigned i)
{
	struct ng_service *sv = a->w->service;
	struct ng_stream *s = &a->d->stream[i];

	ng_release(sv, s);
	ng_stream_stop(sv->node, s, NODE_END_STOPPED, &proxy);
	for (unsigned k = 0; k < 2; k++)
		if (a->d->side[k]->users == 1)
			ng_endpoint_close(sv->node,
					  &a->d->side[k]->endpoint[i]);
}

/* --- lines that are --- */

static int terms_of_offerer(struct answering *a, unsigned i,
			    struct endpoint_spec *to, struct cr_err *e)
{
	const struct ng_terms t = {
		.line = sdp_line(a->d->offer, i),
		.choice = &a->settled.party[0],
		.ptime = a->d->stream[i].ptime_back,
		.in_ptime = a->text.line[i].ptime,
		.comes = a->d->stream[i].ptime_signalled,
		.apart = a->d->stream[i].ptime,
		.host = a->d->host,
		.learn = a->d->learn,
	};

	return ng_terms_change(to, &t, e);
}

static int terms_of_answerer(struct answering *a, unsigned i,
			     struct endpoint_spec *to, struct cr_err *e)
{
	const struct ng_request *r = a->w->request;
	const struct ng_terms t = {
		.line = sdp_line(a->sdp, i),
		.choice = &a->settled.party[1],
		.ptime = a->d->stream[i].ptime,
		.in_ptime = a->d->stream[i].ptime_signalled,
		.comes = a->text.line[i].ptime,
		.apart = a->d->stream[i].ptime_back,
		.host = r->host,
		.learn = r->learn,
	};

	return ng_terms_change(to, &t, e);
}

/* What who offered is to send: what the other one is sent is its own matter
 * where the proxy asks for something of that. */
static unsigned answered_ptime(const struct answering *a, unsigned i)
{
	const struct ng_stream *s = &a->d->stream[i];

	if (s->ptime_back)
		return s->ptime_back;
	return s->ptime ? sdp_line(a->d->offer, i)->ptime
			: sdp_line(a->sdp, i)->ptime;
}

/* What who offered is told of the line. */
static int report_line(struct answering *a, unsigned i, struct cr_err *e)
{
	const struct sdp_line *offer = sdp_line(a->d->offer, i);
	const struct sdp_line *answer = sdp_line(a->sdp, i);
	const struct ng_endpoint *endpoint = &a->d->side[a->to]->endpoint[i];
	struct sdp_line_out *out = &a->text.line[i];

	memcpy(a->text.format[i], a->settled.answer, sizeof(a->settled.answer));
	*out = (struct sdp_line_out){
		.proto = offer->proto,
		.mux = a->d->stream[i].mux & NG_MUX_NEAR,
		.mode = ng_terms_mode(answer),
		.ptime = answered_ptime(a, i),
		.formats = a->text.format[i],
		.nformats = a->settled.nanswer,
	};
	out->maxptime = answer->maxptime >= out->ptime ? answer->maxptime : 0;
	if (!ng_endpoint_local(a->w->service->node, endpoint, &out->rtp))
		return cr_fail(e, -ESRCH, "an endpoint of it has ended");
	if (!out->mux || !offer->mux_only)
		ng_line_report_rtcp(out, a->w->request, out->mux);
	return 0;
}

static void remember_spoken(struct codec_spec *to, const struct sdp_format *f)
{
	*to = (struct codec_spec){ .rate = f->rate,
				   .channels = f->channels,
				   .pt = f->pt };
	(void)snprintf(to->name, sizeof(to->name), "%s", f->name);
	(void)snprintf(to->fmtp, sizeof(to->fmtp), "%s", f->fmtp);
}

static int prepare_line(struct answering *a, unsigned i, struct cr_err *e)
{
	struct answered_line *l = &a->line[i];
	int err = codec_settle(&a->settled, a->d->stream[i].offered,
			       sdp_line(a->sdp, i), a->w->request->single_codec,
			       e);

	if (!err)
		err = report_line(a, i, e);
	if (!err)
		err = terms_of_offerer(a, i, &l->to[a->to], e);
	if (!err)
		err = terms_of_answerer(a, i, &l->to[!a->to], e);
	if (err)
		return err;
	remember_spoken(&l->spoken[a->to], &a->settled.party[0].speech);
	remember_spoken(&l->spoken[!a->to], &a->settled.party[1].speech);
	a->carried[i] = true;
	a->ncarried++;
	return 0;
}

/* --- all lines, or none --- */

static int prepare_lines(struct answering *a, struct cr_err *e)
{
	unsigned n = sdp_lines(a->d->offer);
	int err = 0;

	if (sdp_lines(a->sdp) != n)
		return cr_fail(e, -EINVAL,
			       "sdp: %u media lines answer an offer of %u (RFC "
			       "3264, 6)",
			       sdp_lines(a->sdp), n);
	for (unsigned i = 0; i < n && !err; i++)
		if (a->d->stream[i].offered &&
		    ng_line_is_carried(sdp_line(a->sdp, i), i, a->w->warning))
			err = prepare_line(a, i, e);
		else
			a->text.line[i].refused = true;
	return err;
}

/* Would line @i, refused, leave something as it was not? One alone that takes
 * no endpoint from another branch says so by itself. */
static bool may_harm(struct answering *a, unsigned i)
{
	return a->ncarried > 1 || ng_stream_takes(a->w->service->node, a->d, i);
}

/* What would refuse a line is found before another one has changed, or another
 * branch has ended. */
static int weigh_lines(struct answering *a, struct cr_err *e)
{
	struct node *n = a->w->service->node;
	struct conversation_promise all = { 0 };
	struct ng_weighing w = { .promised = &all, .plan = a->w->plan };
	int err = 0;

	for (unsigned i = 0; i < SDP_LINES_MAX && !err; i++) {
		if (!a->carried[i] || !may_harm(a, i))
			continue;
		err = ng_stream_check(n, a->d, i, a->line[i].to, e);
		if (!err)
			err = ng_stream_weigh(n, &a->d->stream[i],
					      a->line[i].to, &w, e);
		all.ppm += w.needs.ppm;
		all.streams += w.needs.streams;
	}
	return err;
}

/* Lines before @end go back to what they were. */
static void undo_answer(struct answering *a, unsigned end)
{
	struct node *n = a->w->service->node;
	struct cr_err e;

	for (unsigned i = 0; i < end; i++)
		if (a->carried[i] && a->line[i].ran)
			(void)ng_stream_settle(n, a->d, i, a->line[i].was,
					       &a->back, &e);
		else if (a->carried[i])
			ng_stream_stop(n, &a->d->stream[i], NODE_END_STOPPED,
				       &proxy);
}

static int settle_lines(struct answering *a, struct cr_err *e)
{
	struct node *n = a->w->service->node;
	int err = 0;

	for (unsigned i = 0; i < SDP_LINES_MAX && !err; i++) {
		struct answered_line *l = &a->line[i];

		if (!a->carried[i])
			continue;
		l->ran = ng_stream_now(n, &a->d->stream[i], l->was);
		err = ng_stream_settle(n, a->d, i, l->to, a->w->plan, e);
		if (err)
			undo_answer(a, i);
	}
	return err;
}

/* An answer can only agree to what was offered (RFC 5761, 5.1.1). */
static void agree_mux(struct answering *a, unsigned i)
{
	struct node *n = a->w->service->node;
	unsigned mux = a->d->stream[i].mux;
	bool far = (mux & NG_MUX_FAR) &&
		   (sdp_line(a->sdp, i)->mux || (mux & NG_MUX_SURE));

	ng_endpoint_mux(n, &a->d->side[a->to]->endpoint[i], mux & NG_MUX_NEAR);
	ng_endpoint_mux(n, &a->d->side[!a->to]->endpoint[i], far);
}

/* All that can fail is done. */
static void commit_answer(struct answering *a)
{
	unsigned n = sdp_lines(a->d->offer);

	for (unsigned i = 0; i < n; i++) {
		struct ng_stream *s = &a->d->stream[i];

		if (a->carried[i]) { /* it has its share now */
			ng_release(a->w->service, s);
			ng_stream_agree(a->w->service->node, s);
			agree_mux(a, i);
			memcpy(s->spoken, a->line[i].spoken, sizeof(s->spoken));
			ng_stream_name(a->w->service->node, a->d, i);
		} else {
			refuse_line(a, i);
		}
	}
}

/* --- the whole --- */

static int apply_answer(struct answering *a, struct cr_err *e)
{
	const struct ng_request *r = a->w->request;
	char *copy = strdup(r->sdp);
	int err = copy ? weigh_lines(a, e)
		       : cr_fail(e, -ENOMEM, "out of memory for an answer");
	struct ng_dialog *d = a->d;

	if (!err)
		err = settle_lines(a, e);
	if (!err && ng_dialog_tag(a->d, !a->to, r->to_tag)) {
		undo_answer(a, SDP_LINES_MAX);
		err = cr_fail(e, -ENOMEM, "out of memory for a tag");
	}
	if (err) {
		free(copy);
		return err;
	}
	commit_answer(a);
	/* The newest answer stays, for those that are repeated; and what
	 * becomes of it, once it is told. */
	free(d->answer);
	free(d->answered);
	d->answer = copy;
	d->answered = NULL;
	d->known = true;
	ng_dialog_ring(a->w->service, d, false);
	return 0;
}

static int answer_offer(struct answering *a, struct cr_err *e)
{
	const struct ng_request *r = a->w->request;
	struct ng_side *to = a->d->side[a->to];
	struct ng_draft draft = { 0 };
	int err = sdp_read(&a->sdp, r->sdp, r->sdp_bytes, e);

	if (!err)
		err = ng_take_room(a->w->service, a->d, 0, 1, r->sdp_bytes, e);
	if (!err)
		err = prepare_lines(a, e);
	ng_text_place(&a->text, a->w->service->node, to, r);
	if (!err)
		err = ng_draft_write(a->sdp, &a->text, r, to, &draft, e);
	if (!err)
		err = apply_answer(a, e);
	if (err)
		ng_draft_drop(&draft);
	else
		a->d->answered = ng_draft_report(&draft, to);
	return err;
}

/* Another branch may have taken the caller's endpoints since. */
static bool still_talks(struct ng_service *sv, const struct ng_dialog *d)
{
	for (unsigned i = 0; i < d->nlines; i++)
		if (!ng_stream_runs(sv->node, &d->stream[i]))
			return false;
	return true;
}

/* The same answer of the same side, which was lost or sent again. */
static bool is_repeated(struct ng_service *sv, const struct ng_dialog *d,
			const struct ng_request *r)
{
	const char *tag = d->side[!d->offerer]->tag;

	return d->answer && tag && !strcmp(tag, r->to_tag) &&
	       !strcmp(d->answer, r->sdp) && still_talks(sv, d);
}

struct answering *ng_answering_new(void)
{
	return malloc(sizeof(struct answering));
}

int ng_answer_to(const struct ng_work *w, struct cr_err *e)
{
	const struct ng_request *r = w->request;
	const struct ng_dialog_key key = { r->from_tag, r->to_tag,
					   r->via_branch };
	struct ng_call *call = ng_call_find(&w->service->calls, r->call_id);
	struct ng_dialog *d = call ? ng_dialog_of_answer(call, &key) : NULL;
	int err = 0;

	if (!call)
		return cr_fail(e, -ESRCH, "Unknown call-id");
	ng_call_signalled(call);
	if (!d)
		return cr_fail(e, -ESRCH, "%s",
			       ng_dialog_is_overtaken(call, &key)
				       ? "another offer, of the other side, "
					 "has overtaken the one that this is "
					 "an answer to"
				       : "there is no offer that this is an "
					 "answer to");
	if (!is_repeated(w->service, d, r)) {
		struct answering *a = w->answering;

		memset(a, 0, offsetof(struct answering, text.format));
		a->w = w;
		a->d = d;
		a->to = d->offerer;
		err = answer_offer(a, e);
		sdp_free(a->sdp);
	}
	/* who asks again is told then */
	if (!err && json_object_set_new(w->reply, "sdp",
					json_string_nocheck(d->answered)))
		err = cr_fail(e, -ENOMEM, "out of memory for the answer");
	return err;
}
