/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conversations whose parties change: new offers and answers.
 */
#include "node/conversation_impl.h"

/* A deadline at the end of the period stays there. */
static void take_period(struct call_cfg *cfg, cr_ns period)
{
	if (cfg->terms.deadline == cfg->release.period)
		cfg->terms.deadline = period;
	cfg->release.period = period;
}

/* Stream @i goes on as @to, by what it is now. */
static void go_on(const struct conversation *c, struct call_cfg *to, unsigned i,
		  const struct call_cfg *asked, bool relays)
{
	struct call_cfg now = node_call_cfg(c->stream[i]);
	unsigned mode = now.media.out.cfg.mode; /* that a CMR may have set */
	bool same = !relays && pipeline_side_same_speech(&now.media.out,
							 &asked->media.out);

	*to = now;
	take_period(to, asked->release.period);
	to->media = asked->media;
	to->pt_in = asked->pt_in;
	to->pt_out = asked->pt_out;
	to->codecs = asked->codecs;
	to->receive_stage = asked->receive_stage;
	to->pt_event_out = asked->pt_event_out;
	to->clock_event_out = asked->clock_event_out;
	to->pt_noise_out = asked->pt_noise_out;
	if (same)
		to->media.out.cfg.mode = mode;
}

/* What the streams become if the parties speak as @to says. */
static int plan_change(const struct conversation *c,
		       const struct party_terms to[2],
		       struct conversation_plan *plan, struct cr_err *e)
{
	struct conversation_request r = { .relay = c->request };
	struct call_cfg stream[2];
	int err;

	for (unsigned i = 0; i < 2; i++) {
		party_request_of(c->party[i], &r.party[i]);
		party_request_speaks(&r.party[i], &to[i].codecs);
		r.party[i].types = to[i].types;
		if (!r.party[i].in_ptime && !c->stream[i]->untold)
			r.party[i].in_ptime = node_call_settings(c->stream[i])
						      ->release.period;
	}
	err = conversation_check(stream, &r, e);
	if (!err)
		err = conversation_codecs(plan->codecs, stream, &r, e);
	if (err)
		return err;
	plan->relays = conversation_may_relay(stream, &r);
	for (unsigned i = 0; i < 2; i++)
		go_on(c, &plan->stream[i], i, &stream[i], plan->relays);
	return 0;
}

static int recode(struct conversation *c, const struct party_terms to[2],
		  struct conversation_plan *plan, struct cr_err *e)
{
	int err = plan_change(c, to, plan, e);

	if (!err)
		err = node_streams_recode(c->stream, plan->stream, plan->relays,
					  e);
	if (err)
		return err;
	c->relays = plan->relays;
	conversation_use_rtcp(c, plan->stream);
	return 0;
}

static int check_parties(const struct conversation *c,
			 const struct party_change to[2],
			 struct party_terms terms[2], struct cr_err *e)
{
	int err = 0;

	for (unsigned i = 0; i < 2 && !err; i++)
		err = party_check_change(&terms[i], c->party[i], &to[i],
					 &conversation_party_names[i], e);
	return err;
}

/* By what codecs cost now: what is to be is weighed by the same. */
static int64_t load_now(const struct conversation *c)
{
	struct call_cfg stream[2];
	struct cr_err e;
	int64_t ppm;

	for (unsigned i = 0; i < 2; i++)
		stream[i] = node_call_cfg(c->stream[i]);
	if (!c->relays && !conversation_load(c->node, stream, false, &ppm, &e))
		return ppm;
	ppm = 0;
	for (unsigned i = 0; i < 2; i++)
		if (c->stream[i]->call)
			ppm += node_load_of(call_settings(c->stream[i]->call));
	return ppm;
}

int conversation_weigh_change(struct conversation *c,
			      const struct party_change to[2],
			      const struct conversation_promise *promised,
			      int64_t *ppm, struct conversation_plan *plan,
			      struct cr_err *e)
{
	struct party_terms terms[2];
	int err = check_parties(c, to, terms, e);

	*ppm = 0;
	if (err || !(terms[0].speaks || terms[1].speaks))
		return err;
	err = plan_change(c, terms, plan, e);
	if (!err)
		err = conversation_load(c->node, plan->stream, plan->relays,
					ppm, e);
	if (err)
		return err;
	*ppm -= load_now(c);
	if (*ppm > 0)
		return conversation_room(c->node, *ppm, promised, e);
	*ppm = 0;
	return 0;
}

void conversation_now(const struct conversation *c, struct party_change now[2])
{
	for (unsigned i = 0; i < 2; i++)
		party_change_of(c->party[i], &now[i]);
}

int conversation_change(struct conversation *c, const struct party_change to[2],
			struct conversation_plan *plan, struct cr_err *e)
{
	struct party_terms terms[2];
	int err = check_parties(c, to, terms, e);

	if (!err && (terms[0].speaks || terms[1].speaks))
		err = recode(c, terms, plan, e);
	for (unsigned i = 0; i < 2 && !err; i++)
		party_change(c->party[i], &terms[i]);
	return err;
}

int conversation_change_party(struct party *p, const struct party_change *to,
			      struct conversation_plan *plan, struct cr_err *e)
{
	static const struct party_names own = { .path = "",
						.address = "address" };
	struct conversation *c = p->conversation;
	struct party_terms terms[2];
	unsigned i = c && c->party[1] == p;
	int err = party_check_change(&terms[i], p, to, &own, e);

	if (!err && c && terms[i].speaks) {
		terms[!i].codecs = c->party[!i]->codecs;
		terms[!i].types = c->party[!i]->types;
		err = recode(c, terms, plan, e);
	}
	if (!err)
		party_change(p, &terms[i]);
	return err;
}
