/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of be_server.h: one algorithm over several curves.
 */
#include "schedulers/be_server.h"

void be_server_curve(struct be_server *s, const struct residual *r, cr_ns smax,
		     cr_ns least)
{
	struct curve e;

	residual_curve(r, smax, &e);
	switch (s->rule) {
	case BE_TBS:
		curve_line_from_origin(&e, least, &s->curve);
		return;
	case BE_LINE:
		curve_line(&e, &s->request, &s->curve);
		return;
	case BE_TWO_LINE:
	case BE_TWO_LINE_APPROX:
		curve_two_lines(&e, least, &s->curve);
		return;
	case BE_EXACT:
		s->curve = e;
		return;
	case BE_BACKGROUND:
		s->curve.n = 0;
		return;
	}
}

/* Does a sum of @work lie on the last piece, which has no end? */
static bool is_far(const struct be_server *s, cr_ns work)
{
	const struct curve *c = &s->curve;

	return c->top == CR_NEVER && work > c->piece[c->n - 1].y;
}

/* The demand of @p now: all that was promised from it on. */
static cr_ns be_ask(const struct be_server *s, const struct be_past *p)
{
	return cr_ns_add(p->at, curve_inverse(&s->curve, s->since - p->before));
}

/* On the last piece, does @a ask for more than @b, now and always? Exactly: in
 * full ns both could ask for the same now. */
static bool asks_more(const struct be_server *s, const struct be_past *a,
		      const struct be_past *b)
{
	int64_t slope = s->curve.piece[s->curve.n - 1].slope;

	return (__int128)(a->at - b->at) * slope >
	       (__int128)(a->before - b->before) * CURVE_ONE;
}

static void keep_far(struct be_server *s, const struct be_past *p)
{
	if (!s->has_far || asks_more(s, p, &s->far))
		s->far = *p;
	s->has_far = true;
}

/* The demand of all past jobs; those that have become far are taken out. */
static cr_ns ask_past(struct be_server *s)
{
	cr_ns d = s->has_far ? be_ask(s, &s->far) : 0;
	unsigned kept = 0;

	for (unsigned i = 0; i < s->npast; i++) {
		struct be_past *p = &s->past[i];

		d = cr_ns_max(d, be_ask(s, p));
		if (is_far(s, s->since - p->before))
			keep_far(s, p);
		else
			s->past[kept++] = *p;
	}
	s->undo.moved = kept < s->npast;
	s->npast = kept;
	return d;
}

/* Two neighbours, the nearest in time, become one: @at of the later, work of
 * both. */
static void coarsen(struct be_server *s)
{
	unsigned best = 0;

	for (unsigned i = 1; i + 1 < s->npast; i++)
		if (s->past[i + 1].at - s->past[i].at <
		    s->past[best + 1].at - s->past[best].at)
			best = i;
	s->past[best].at = s->past[best + 1].at;
	for (unsigned i = best + 1; i + 1 < s->npast; i++)
		s->past[i] = s->past[i + 1];
	s->npast--;
}

/* The job of this promise, unless one that came at the same time stands for
 * both: the former asks for more. */
static void be_remember(struct be_server *s, const struct be_past *p)
{
	if (s->npast && s->past[s->npast - 1].at == p->at)
		return;
	if (s->npast == BE_SERVER_PAST)
		coarsen(s);
	s->past[s->npast++] = *p;
	s->undo.own = true;
}

static cr_ns by_history(struct be_server *s, cr_ns at, cr_ns work)
{
	const struct be_past own = { at, s->since - work };
	cr_ns d = cr_ns_max(be_ask(s, &own), ask_past(s));

	if (is_far(s, work))
		keep_far(s, &own);
	else
		be_remember(s, &own);
	return d;
}

/* As if all that the curve allows until the last deadline had been promised. */
static cr_ns without_history(const struct be_server *s, cr_ns at, cr_ns work)
{
	const struct curve *c = &s->curve;
	cr_ns d = cr_ns_add(at, curve_inverse(c, work)), before;

	if (!s->busy)
		return d;
	before = cr_ns_add(curve_at(c, s->last - s->at), work);
	return cr_ns_max(d, cr_ns_add(s->at, curve_inverse(c, before)));
}

cr_ns be_server_promise(struct be_server *s, cr_ns at, cr_ns work)
{
	cr_ns d;

	/* what was promised without end would be due now and then */
	if (!s->curve.n || (s->has_far && s->curve.top != CR_NEVER))
		return CR_NEVER;
	at = cr_ns_max(at, s->at);
	s->undo = (struct be_undo){ .at = s->at,
				    .last = s->last,
				    .far = s->far,
				    .work = work,
				    .busy = s->busy,
				    .has_far = s->has_far };
	s->since += work;
	d = s->rule == BE_TWO_LINE_APPROX ? without_history(s, at, work)
					  : by_history(s, at, work);
	s->at = at;
	s->last = d;
	s->busy = true;
	if (d == CR_NEVER)
		be_server_refund(s);
	return d;
}

/* Jobs that became far with it stay there: later deadlines, not earlier. */
void be_server_refund(struct be_server *s)
{
	const struct be_undo *u = &s->undo;

	if (u->spent)
		return;
	s->since -= u->work;
	s->npast -= u->own;
	s->at = u->at;
	s->last = u->last;
	s->busy = u->busy;
	if (!u->moved) {
		s->far = u->far;
		s->has_far = u->has_far;
	}
	s->undo.spent = true;
}

void be_server_charge(struct be_server *s, cr_ns now, cr_ns over)
{
	(void)be_server_promise(s, now, over);
	s->undo.spent = true;
}

void be_server_reset(struct be_server *s, cr_ns now)
{
	s->since = 0;
	s->at = now;
	s->npast = 0;
	s->has_far = s->busy = false;
}

bool be_server_check(const struct be_server *s)
{
	for (unsigned i = 0; i + 1 < s->npast; i++)
		if (s->past[i].at >= s->past[i + 1].at ||
		    s->past[i].before >= s->past[i + 1].before)
			return false;
	return s->npast <= BE_SERVER_PAST &&
	       (!s->npast || s->past[s->npast - 1].before <= s->since);
}
