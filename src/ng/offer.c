/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Offers: endpoints are opened towards both sides, and the other side is told
 * ours and the codecs that it may choose from. Nothing that was answered is
 * touched before the answer, which may never come. Else what the other side
 * sends before it (early media, RFC 3960) is passed on as if it had answered
 * with all that it was offered.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/address.h"
#include "base/clock.h"
#include "ng/service_impl.h"
#include "ng/terms.h"
#include "ng/words.h"

/* A call with many lines may need the room of several. */
enum { DISPLACES = 8 };

struct offering {
	const struct ng_work *w;
	struct ng_dialog *d;
	unsigned by; /* number of the side that offers */
	struct sdp *sdp;
	struct codec_list *list[SDP_LINES_MAX];
	struct ng_stream stream[SDP_LINES_MAX]; /* what they become */
	unsigned carried;
	/* what was promised to the offer before, once this one was @weighed */
	struct conversation_promise before[SDP_LINES_MAX];
	bool weighed;
	struct ng_text
		text; /* its formats, and what follows, are not cleared */
	struct codec_settled settled;
};

/* --- endpoints --- */

/* Where a side has endpoints already, it gets more of them. */
static const char *usual_interface(const struct offering *o, unsigned side)
{
	struct ng_service *sv = o->w->service;
	const struct ng_side *s = o->d->side[side];
	const char *name = NULL;

	for (unsigned i = 0; i < SDP_LINES_MAX && !name; i++)
		if (s->endpoint[i].id)
			name = ng_endpoint_interface(sv->node, &s->endpoint[i]);
	return name;
}

/* The one that the request wants towards the party @i, or the first that has
 * this name but for capitals and the like; NULL: none, or one that there is
 * not. */
static const char *wanted_interface(const struct offering *o, unsigned i)
{
	const char *name = o->w->request->interface[i];
	const char *like = NULL;
	struct node_interface_info info;

	for (unsigned k = 0;
	     name && node_interface(o->w->service->node, k, &info); k++) {
		if (!strcmp(info.name, name))
			return name;
		if (!like && ng_is_named(name, info.name))
			like = info.name;
	}
	return like;
}

static int open_offerers_endpoint(struct offering *o, unsigned i,
				  const struct sdp_line *l, struct cr_err *e)
{
	const struct ng_request *r = o->w->request;
	const char *wanted = wanted_interface(o, 0);
	const struct ng_endpoint_request request = {
		.interface = wanted ? wanted : usual_interface(o, o->by),
		.address = ng_terms_address(l, &r->host),
		.rtcp = ng_terms_rtcp_address(l, &r->host),
		.learn = r->learn,
	};

	return ng_endpoint_open(o->w->service->node,
				&o->d->side[o->by]->endpoint[i], &request, e);
}

static int open_others_endpoint(struct offering *o, unsigned i,
				const struct sdp_line *l, struct cr_err *e)
{
	const struct ng_request *r = o->w->request;
	struct ng_service *sv = o->w->service;
	const struct ng_endpoint *near = &o->d->side[o->by]->endpoint[i];
	const char *usual = usual_interface(o, !o->by);
	struct sockaddr_storage local;
	const char *wanted = wanted_interface(o, 1);
	struct ng_endpoint_request request = {
		.interface = wanted ? wanted : usual,
		.family = r->family,
		.learn = -1,
	};

	(void)l;
	if (!request.interface && !request.family) { /* as towards who offers */
		if (!r->interface[1])
			request.interface =
				ng_endpoint_interface(sv->node, near);
		if (ng_endpoint_local(sv->node, near, &local))
			request.family = local.ss_family;
	}
	return ng_endpoint_open(sv->node, &o->d->side[!o->by]->endpoint[i],
				&request, e);
}

/* --- codecs --- */

/* A rule that cannot be followed, or "all" of it. */
static void warn_unmet(const struct offering *o, unsigned i, const char *rule,
		       const char *codec, unsigned why)
{
	static const char *const whys[] = {
		[CODEC_LACKING] = "this node has no such codec",
		[CODEC_NO_SOURCE] = "who offers has nothing that it could be "
				    "made from",
		[CODEC_NO_TYPE] = "no payload type is left for it",
		[CODEC_NEEDED] = "it would leave nothing: it is not done",
	};

	if (why != CODEC_MET)
		ng_warn(o->w->warning, "line %u: codec %s %s: %s", i + 1, rule,
			codec, whys[why]);
}

static void warn_of_rules(const struct offering *o, unsigned i,
			  const struct codec_offer *made)
{
	const struct codec_rules *r = made->rules;

	for (unsigned k = 0; k < CODEC_RULES; k++)
		warn_unmet(o, i, codec_rule_names[k],
			   r->full[k] ? "full" : "all", made->unmet_all[k]);
	for (unsigned k = 0; k < r->n; k++)
		warn_unmet(o, i, codec_rule_names[r->item[k].rule],
			   r->item[k].spec.name, made->unmet[k]);
}

static int list_codecs(struct offering *o, unsigned i, const struct sdp_line *l,
		       struct cr_err *e)
{
	struct codec_offer made;
	int err;

	made.line = l;
	made.rules = &o->w->request->codecs;
	made.spoken = &o->d->stream[i].spoken[!o->by];
	err = codec_offer_make(&made, &o->list[i], e);
	if (!err)
		warn_of_rules(o, i, &made);
	return err;
}

/* --- lines --- */

/* Who offers it has it with us; the other side is offered what the rules want,
 * and what it has agreed to before. */
static unsigned mux_of(const struct ng_request *r, const struct sdp_line *l,
		       const struct ng_endpoint *far)
{
	unsigned mux = 0;

	if (l->mux && !(r->mux & NG_MUX_REJECT))
		mux |= NG_MUX_NEAR;
	if (r->mux & NG_MUX_REQUIRE)
		return mux | NG_MUX_FAR | NG_MUX_SURE;
	if ((r->mux & NG_MUX_OFFER) || (far->mux && !(r->mux & NG_MUX_DEMUX)))
		mux |= NG_MUX_FAR;
	return mux;
}

static int pass_on(struct offering *o, unsigned i, const struct sdp_line *l,
		   struct cr_err *e)
{
	const struct ng_request *r = o->w->request;
	const struct ng_endpoint *far = &o->d->side[!o->by]->endpoint[i];
	struct sdp_line_out *out = &o->text.line[i];
	/* as the proxy asks: of all, or of the codec that is best */
	unsigned ptime =
		r->ptime ? r->ptime : codec_best_shown(o->list[i])->ptime;

	o->stream[i].mux = mux_of(r, l, far);
	*out = (struct sdp_line_out){
		.proto = r->proto ? r->proto : l->proto,
		.mux = o->stream[i].mux & NG_MUX_FAR,
		.mode = ng_terms_mode(l),
		.ptime = ptime ? ptime : l->ptime,
		.formats = o->text.format[i],
		.nformats = codec_shown(o->list[i], o->text.format[i]),
	};
	out->maxptime = l->maxptime >= out->ptime ? l->maxptime : 0;
	o->stream[i].ptime = ptime;
	o->stream[i].ptime_signalled = out->ptime;
	o->stream[i].ptime_back = r->ptime_reverse;
	if (!ng_endpoint_local(o->w->service->node, far, &out->rtp))
		return cr_fail(e, -ESRCH, "an endpoint of it has ended");
	ng_line_report_rtcp(out, r, o->stream[i].mux & NG_MUX_SURE);
	return 0;
}

static int carry(struct offering *o, unsigned i, struct cr_err *e)
{
	const struct sdp_line *l = sdp_line(o->sdp, i);
	int err = list_codecs(o, i, l, e);

	if (!err && !codec_best_shown(o->list[i])) {
		ng_warn(o->w->warning, "line %u: this node has no codec of it",
			i + 1);
		free(o->list[i]);
		o->list[i] = NULL;
		o->text.line[i].refused = true;
		return 0;
	}
	if (l->ice && !o->carried)
		ng_warn(o->w->warning, "ICE: this node has none");
	if (!err)
		err = open_offerers_endpoint(o, i, l, e);
	if (!err)
		err = open_others_endpoint(o, i, l, e);
	if (!err)
		err = pass_on(o, i, l, e);
	o->carried++;
	return err;
}

/* A line that was carried before goes on. */
static bool has_room_for_line(struct offering *o, unsigned i)
{
	unsigned most = o->w->service->shares.most.lines_of_call;

	if (o->carried < most || o->d->stream[i].offered)
		return true;
	ng_warn(o->w->warning,
		"line %u: a call has no more (--ng-call-lines "
		"%u)",
		i + 1, most);
	return false;
}

static int carry_lines(struct offering *o, struct cr_err *e)
{
	unsigned n = sdp_lines(o->sdp);
	int err = 0;

	for (unsigned i = 0; i < n && !err; i++) {
		o->stream[i] = o->d->stream[i];
		if (ng_line_is_carried(sdp_line(o->sdp, i), i, o->w->warning) &&
		    has_room_for_line(o, i))
			err = carry(o, i, e);
		else
			o->text.line[i].refused = true;
	}
	if (err || o->carried || !*o->w->warning->text)
		return err;
	return cr_fail(e, -ENOTSUP, "%s", o->w->warning->text);
}

/* --- before the answer --- */

/* Has another branch of the call been answered that has an endpoint of line @i?
 */
static bool is_anothers(const struct offering *o, unsigned i)
{
	const struct ng_dialog *d = o->d, *of;

	LIST_FOREACH(of, &d->call->dialogs, link)
	if (of != d && of->stream[i].conversation && !of->stream[i].early &&
	    (of->side[0] == d->side[o->by] || of->side[1] == d->side[o->by]) &&
	    ng_stream_runs(o->w->service->node, &of->stream[i]))
		return true;
	return false;
}

/* May what comes in line @i before the answer be passed on by this offer? */
static bool may_be_early(const struct offering *o, unsigned i)
{
	const struct ng_stream *s = &o->d->stream[i];
	bool runs = s->conversation && ng_stream_runs(o->w->service->node, s);

	return (!runs || s->early) && !is_anothers(o, i);
}

/* As if the other side had answered with all that it is offered: @to, in the
 * order of sides. How long packets are is left to the answer. */
static int early_terms(struct offering *o, unsigned i,
		       struct endpoint_spec to[2], struct cr_err *e)
{
	const struct sdp_line_out *shown = &o->text.line[i];
	const struct sdp_line all = { .mode = SDP_SENDRECV,
				      .formats = shown->formats,
				      .nformats = shown->nformats };
	const struct ng_terms terms[] = {
		{ .line = sdp_line(o->sdp, i),
		  .choice = &o->settled.party[0],
		  .host = o->w->request->host,
		  .learn = o->w->request->learn },
		{ .line = &all, .choice = &o->settled.party[1], .learn = -1 },
	};
	int err = codec_settle(&o->settled, o->list[i], &all, false, e);

	for (unsigned k = 0; k < 2 && !err; k++) {
		struct endpoint_spec *p = &to[k ? !o->by : o->by];

		err = ng_terms_change(p, &terms[k], e);
		p->ptime = p->in_ptime = 0;
	}
	return err;
}

/* Who has to wait for costs waits before anything has changed; for whom there
 * is no room goes without. */
static int weigh_early(struct offering *o, unsigned i, struct cr_err *e)
{
	struct conversation_promise nothing = { 0 };
	struct ng_weighing w = { .promised = &nothing, .plan = o->w->plan };
	struct endpoint_spec to[2];
	int err;

	if (!may_be_early(o, i) || early_terms(o, i, to, e))
		return 0;
	err = ng_stream_weigh(o->w->service->node, &o->d->stream[i], to, &w, e);
	return err == -EAGAIN ? err : 0;
}

/* It has what was promised to it then. */
static void begin_early(struct offering *o, unsigned i)
{
	struct ng_service *sv = o->w->service;
	struct ng_stream *s = &o->d->stream[i];
	struct endpoint_spec to[2];
	struct cr_err e;

	if (o->list[i] && may_be_early(o, i) && !early_terms(o, i, to, &e) &&
	    !ng_stream_begin_early(sv->node, o->d, i, to, o->w->plan, &e))
		ng_release(sv, s);
}

/* --- what it will need --- */

/* What both may settle on if the other side likes what it is offered best: @to,
 * in the order of sides. Where they are does not matter. */
static int guess(struct offering *o, unsigned i, struct endpoint_spec to[2],
		 struct cr_err *e)
{
	const unsigned ptime[] = { o->stream[i].ptime_back,
				   o->stream[i].ptime_signalled };
	/* the best codec that is shown, and what is made into it: itself, or
	 * the best one of the offerer */
	const struct codec_item *best = codec_best_shown(o->list[i]);
	const struct codec_item *own =
		best->added ? codec_own_speech(o->list[i]) : NULL;
	struct codec_choice choice[2] = { 0 };
	int err = 0;

	own = own ? own : best;
	choice[0].speech = own->format;
	choice[0].bit_rate = own->bit_rate;
	choice[1].speech = best->format;
	choice[1].bit_rate = best->bit_rate;
	for (unsigned k = 0; k < 2 && !err; k++) {
		struct endpoint_spec *p = &to[k ? !o->by : o->by];
		const struct ng_terms t = {
			.line = sdp_line(o->sdp, i),
			.choice = &choice[k],
			.ptime = ptime[k],
			.in_ptime = ptime[k],
			.comes = ptime[!k],
			.learn = -1,
		};

		err = ng_terms_change(p, &t, e);
		p->address.ss_family = p->rtcp_address.ss_family = AF_UNSPEC;
	}
	return err;
}

static void promise(struct ng_service *sv, struct ng_stream *s,
		    const struct conversation_promise *p)
{
	s->promised = *p;
	sv->promised.ppm += p->ppm;
	sv->promised.streams += p->streams;
}

/* A line that goes on has its share; only what is beyond that is promised. */
static int weigh_line(struct offering *o, unsigned i, struct cr_err *e)
{
	struct ng_service *sv = o->w->service;
	struct ng_stream *s = &o->d->stream[i];
	struct ng_weighing w = { .promised = &sv->promised,
				 .plan = o->w->plan };
	struct endpoint_spec to[2];
	int err = guess(o, i, to, e);

	if (!err)
		err = ng_stream_weigh(sv->node, s, to, &w, e);
	if (!err)
		promise(sv, s, &w.needs);
	return err ? err : weigh_early(o, i, e);
}

static int weigh_offer(struct offering *o, struct cr_err *e)
{
	int err = 0;

	o->weighed = true;
	for (unsigned i = 0; i < SDP_LINES_MAX; i++) {
		o->before[i] = o->d->stream[i].promised;
		ng_release(o->w->service, &o->d->stream[i]);
	}
	for (unsigned i = 0; i < SDP_LINES_MAX && !err; i++)
		if (o->list[i])
			err = weigh_line(o, i, e);
	return err;
}

/* --- the whole --- */

static int take_room(struct offering *o, struct cr_err *e)
{
	struct ng_service *sv = o->w->service;
	struct ng_dialog *d = o->d;
	int err = d->due.share
			  ? 0
			  : ng_due_open(&sv->shares, &d->due, o->w->from, e);

	if (!err && !d->known)
		err = ng_due_ring(&sv->shares, &d->due, true, e);
	return err ? err
		   : ng_take_room(sv, d, sdp_lines(o->sdp), 0,
				  o->w->request->sdp_bytes, e);
}

/* All went well: this is what an answer is to. */
static void commit_offer(struct offering *o)
{
	const struct ng_request *r = o->w->request;
	struct ng_dialog *d = o->d;
	unsigned n = sdp_lines(o->sdp);

	for (unsigned i = 0; i < n; i++)
		begin_early(o, i);
	sdp_free(d->offer);
	d->offer = o->sdp;
	o->sdp = NULL;
	d->offerer = o->by;
	d->host = r->host;
	d->learn = r->learn;
	free(d->answer);
	free(d->answered);
	d->answer = d->answered = NULL;
	for (unsigned i = 0; i < n; i++) {
		free(d->stream[i].offered);
		d->stream[i].offered = o->list[i];
		d->stream[i].ptime = o->stream[i].ptime;
		d->stream[i].ptime_signalled = o->stream[i].ptime_signalled;
		d->stream[i].ptime_back = o->stream[i].ptime_back;
		d->stream[i].mux = o->stream[i].mux;
		o->list[i] = NULL;
	}
	if (n > d->nlines)
		d->nlines = n;
	if (!d->known)
		ng_dialog_ring(o->w->service, d, true);
}

static int write(struct offering *o, struct cr_err *e)
{
	struct ng_side *to = o->d->side[!o->by];
	struct ng_draft draft = { 0 };
	int err;

	ng_text_place(&o->text, o->w->service->node, to, o->w->request);
	err = ng_draft_write(o->sdp, &o->text, o->w->request, to, &draft, e);
	if (err)
		return err;
	if (json_object_set_new(o->w->reply, "sdp",
				json_string_nocheck(draft.text))) {
		ng_draft_drop(&draft);
		return cr_fail(e, -ENOMEM, "out of memory for the answer");
	}
	free(ng_draft_report(&draft, to));
	return 0;
}

static int offer_in(struct ng_dialog *d, const struct ng_work *w,
		    struct cr_err *e)
{
	struct offering *o = w->offering;
	const struct ng_request *r = w->request;
	int err;

	memset(o, 0, offsetof(struct offering, text.format));
	o->w = w;
	o->d = d;
	o->by = ng_dialog_number(d, r->from_tag);
	err = sdp_read(&o->sdp, r->sdp, r->sdp_bytes, e);
	if (!err && sdp_lines(o->sdp) < d->nlines)
		err = cr_fail(e, -EINVAL,
			      "sdp: %u media lines, but there were %u before "
			      "(RFC 3264, 8)",
			      sdp_lines(o->sdp), d->nlines);
	if (!err)
		err = take_room(o, e);
	for (unsigned i = 0; i < 2; i++)
		if (o->w->request->interface[i] && !wanted_interface(o, i))
			ng_warn(o->w->warning,
				"direction: no interface is called %.40s",
				o->w->request->interface[i]);
	if (!err)
		err = carry_lines(o, e);
	if (!err)
		err = weigh_offer(o, e);
	if (!err)
		err = write(o, e);
	if (err) {
		struct ng_service *sv = o->w->service;

		/* refused: what it would have needed is others' again */
		for (unsigned i = 0; i < SDP_LINES_MAX && o->weighed; i++) {
			ng_release(sv, &o->d->stream[i]);
			promise(sv, &o->d->stream[i], &o->before[i]);
		}
	} else {
		commit_offer(o);
	}
	for (unsigned i = 0; i < SDP_LINES_MAX; i++)
		free(o->list[i]);
	sdp_free(o->sdp);
	return err;
}

/* Of some interface's less than an eighth are left: those of what ends come
 * back a moment later, which is too late for who finds none. */
static bool ports_run_short(const struct node *n)
{
	struct node_interface_info info;

	for (unsigned i = 0; node_interface(n, i, &info); i++)
		if (info.ports && info.available <= info.ports / 8)
			return true;
	return false;
}

/* Where there is no room, what rings for long makes some. */
static int offer_or_displace(struct ng_dialog *d, const struct ng_work *w,
			     struct cr_err *e)
{
	const struct cr_err before = *w->warning;
	struct ng_service *sv = w->service;
	int err = offer_in(d, w, e);

	for (unsigned i = 0;
	     i < DISPLACES && err == -ENOSPC && ng_end_oldest(sv, d); i++) {
		*w->warning = before;
		err = offer_in(d, w, e);
	}
	if (err == -EMFILE || ports_run_short(sv->node))
		(void)ng_end_oldest(sv, d);
	return err;
}

struct offering *ng_offering_new(void)
{
	return malloc(sizeof(struct offering));
}

int ng_offer(const struct ng_work *w, struct cr_err *e)
{
	const struct ng_request *r = w->request;
	const struct ng_dialog_key key = { r->from_tag, r->to_tag,
					   r->via_branch };
	struct ng_service *sv = w->service;
	struct ng_call *call = ng_call_find(&sv->calls, r->call_id);
	struct ng_dialog *d = call ? ng_dialog_of_offer(call, &key) : NULL;
	bool begins = !d;
	int err;

	if (!call) {
		call = ng_call_new(&sv->calls, r->call_id);
		if (!call)
			return cr_fail(e, -ENOMEM, "out of memory for a call");
		call->created = clock_read(CLOCK_REALTIME);
	}
	if (!d)
		d = ng_dialog_new(call, &key, clock_read(CLOCK_REALTIME));
	err = d ? offer_or_displace(d, w, e)
		: cr_fail(e, -ENOMEM, "out of memory for a dialog");
	ng_call_signalled(call);
	sv->count.dialogs += !err && begins;
	if (err && begins && d)
		ng_end_dialog(sv, d, NODE_END_STOPPED, NULL);
	else if (err && !d && LIST_EMPTY(&call->dialogs))
		ng_call_free(&sv->calls, call);
	return err;
}
