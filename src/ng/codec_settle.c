/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The answer: what both have settled on.
 */
#include <errno.h>
#include <string.h>

#include "ng/codec_fmtp.h"
#include "ng/codec_list.h"
#include "node/conversation_request.h"
#include "sdp/fmtp.h"

struct settling {
	struct codec_settled *out;
	const struct codec_list *offered;
	const struct sdp_line *line;
	const struct codec_abilities *can;
	bool single;
	/* of each format of the line, what it was offered as, or NULL */
	const struct codec_item *as[SDP_FORMATS_MAX];
};

/* More formats that differ in parameters only are not looked at for those of
 * the answer: to compare these takes long. */
enum { ALIKE_MAX = 4 };

/* What was offered to who answers with @f: by its type where that still means
 * the same, else by what it is (RFC 3264, 6.1: numbers may differ), with the
 * same parameters if there are several. @layout: of what was offered. */
static const struct codec_item *find_offered(const struct settling *s,
					     const struct sdp_format *f,
					     const int *layout)
{
	const struct codec_item *same = NULL, *equal = NULL;
	const int is = format_layout(f);
	unsigned alike = 0;

	for (unsigned i = 0; i < s->offered->n && is >= 0; i++) {
		const struct codec_item *it = &s->offered->item[i];

		if (it->hidden || layout[i] != is ||
		    !format_same_name(&it->format, f))
			continue;
		if (it->format.pt == f->pt)
			return it;
		same = same ? same : it;
		if (!equal && alike++ < ALIKE_MAX &&
		    fmtp_has_all(f->name, it->format.fmtp, f->fmtp))
			equal = it;
	}
	return equal ? equal : same;
}

static void find_all_offered(struct settling *s)
{
	int layout[SDP_FORMATS_MAX];

	for (unsigned i = 0; i < s->offered->n; i++)
		layout[i] = format_layout(&s->offered->item[i].format);
	for (unsigned i = 0; i < s->line->nformats; i++)
		s->as[i] = find_offered(s, &s->line->formats[i], layout);
}

/* @f is one of the line. */
static const struct codec_item *offered_as(const struct settling *s,
					   const struct sdp_format *f)
{
	return s->as[f - s->line->formats];
}

/* The first speech of the answer that was offered. */
static const struct sdp_format *first_answered(const struct settling *s,
					       const struct codec_item **as)
{
	for (unsigned i = 0; i < s->line->nformats; i++) {
		const struct sdp_format *f = &s->line->formats[i];

		*as = format_kind(f) == FORMAT_SPEECH ? offered_as(s, f) : NULL;
		if (*as)
			return f;
	}
	return NULL;
}

/* What was answered of @it, or NULL. */
static const struct sdp_format *answer_of(const struct settling *s,
					  const struct codec_item *it)
{
	for (unsigned i = 0; i < s->line->nformats; i++)
		if (offered_as(s, &s->line->formats[i]) == it)
			return &s->line->formats[i];
	return NULL;
}

/* --- what is passed on --- */

static void pass(struct codec_choice *c, const struct sdp_format *f, uint8_t as)
{
	struct passed_types *p = &c->passed;

	if (p->n < PASSED_TYPES_MAX)
		p->one[p->n++] = (struct passed_type){
			.pt = f->pt,
			.as = as,
			.clock = format_kind(f) == FORMAT_SPEECH ? f->rate : 0,
		};
}

/* What both have, each by its own number. @own: what is answered, if only one
 * codec is. */
static void list_passed(const struct settling *s, const struct codec_item *own)
{
	for (unsigned i = 0; i < s->offered->n; i++) {
		const struct codec_item *it = &s->offered->item[i];
		const struct sdp_format *f =
			it->added ? NULL : answer_of(s, it);

		if (!f || !codec_modes_agree(&it->format, f))
			continue;
		pass(&s->out->party[1], f, it->format.pt);
		if (!s->single || it == own || format_kind(f) != FORMAT_SPEECH)
			pass(&s->out->party[0], &it->format, f->pt);
	}
}

static bool is_passed(const struct codec_choice *c, const struct sdp_format *f)
{
	return passed_has(&c->passed, f->pt);
}

/* --- speech --- */

static void put_answer(const struct settling *s, const struct codec_item *it)
{
	const struct sdp_format *f = is_passed(&s->out->party[0], &it->format)
					     ? answer_of(s, it)
					     : NULL;
	struct sdp_format *to = &s->out->answer[s->out->nanswer++];

	*to = it->format;
	to->fmtp = f ? codec_fmtp_passed(&it->format, f)
		     : codec_fmtp_own(&it->format);
}

/* May who offered send it, beside @own? What is not passed on needs codecs of
 * both. */
static bool is_welcome(const struct settling *s, const struct codec_item *it,
		       const struct codec_item *own)
{
	if (it == own || it->added || s->single ||
	    format_kind(&it->format) != FORMAT_SPEECH)
		return false;
	return is_passed(&s->out->party[0], &it->format) ||
	       (s->can->able(&own->format) && s->can->able(&it->format) &&
		(it->accepted || answer_of(s, it)));
}

static void list_offerers(const struct settling *s,
			  const struct codec_item *own)
{
	struct codec_choice *c = &s->out->party[0];
	unsigned coded = 0;

	put_answer(s, own);
	for (unsigned i = 0; i < s->offered->n; i++) {
		const struct codec_item *it = &s->offered->item[i];

		if (!is_welcome(s, it, own) ||
		    (!is_passed(c, &it->format) && coded++ >= PARTY_ALSO_MAX))
			continue;
		c->also[c->nalso++] = it->format;
		put_answer(s, it);
	}
}

static void list_answerers(const struct settling *s,
			   const struct sdp_format *first)
{
	struct codec_choice *c = &s->out->party[1];

	for (unsigned i = 0; i < s->line->nformats; i++) {
		const struct sdp_format *f = &s->line->formats[i];

		if (f != first && format_kind(f) == FORMAT_SPEECH &&
		    offered_as(s, f))
			c->also[c->nalso++] = *f;
	}
}

/* --- telephone events --- */

/* Has @c speech of that clock (0: any) that goes through a codec? */
static bool has_coded(const struct codec_choice *c, unsigned rate)
{
	bool has =
		(!rate || c->speech.rate == rate) && !is_passed(c, &c->speech);

	for (unsigned i = 0; i < c->nalso && !has; i++)
		has = (!rate || c->also[i].rate == rate) &&
		      !is_passed(c, &c->also[i]);
	return has;
}

static bool has_events(const struct codec_choice *c, unsigned rate)
{
	for (unsigned i = 0; i < c->nevents; i++)
		if (c->events[i].rate == rate)
			return true;
	return false;
}

static void add_events(struct codec_choice *c, const struct sdp_format *f)
{
	if (format_kind(f) == FORMAT_EVENTS &&
	    telephone_event_is_clock(f->rate) && !has_events(c, f->rate) &&
	    c->nevents < TELEPHONE_EVENT_TYPES)
		c->events[c->nevents++] = *f;
}

/* What it is sent comes first: at the clock of its speech, or that of most. */
static void put_best_first(struct codec_choice *c)
{
	unsigned best = 0;

	for (unsigned i = 1; i < c->nevents; i++) {
		unsigned rate = c->events[i].rate;

		if (c->events[best].rate != c->speech.rate &&
		    (rate == c->speech.rate || rate == 8000))
			best = i;
	}
	if (best) {
		const struct sdp_format first = c->events[best];

		c->events[best] = c->events[0];
		c->events[0] = first;
	}
}

/* Can what is not passed on go through a codec? */
static bool can_code(const struct settling *s)
{
	return s->can->able(&s->out->party[0].speech) &&
	       s->can->able(&s->out->party[1].speech);
}

/* Of who offered: those that are passed on, those at the clocks of speech that
 * is not, or else any one. */
static void list_offerers_events(const struct settling *s)
{
	struct codec_choice *c = &s->out->party[0];
	bool codes = can_code(s);

	for (unsigned round = 0; round < 2 && !c->nevents; round++)
		for (unsigned i = 0; i < s->offered->n; i++) {
			const struct codec_item *it = &s->offered->item[i];
			const struct sdp_format *f = &it->format;

			if (it->added || (round && c->nevents))
				continue;
			if (is_passed(c, f) ||
			    (codes && (round || has_coded(c, f->rate))))
				add_events(c, f);
		}
	put_best_first(c);
}

/* Of who answers, which may send all that it has said. But for one that has
 * been offered beside a codec that was refused nothing needs a codec. */
static void list_answerers_events(const struct settling *s)
{
	struct codec_choice *c = &s->out->party[1];
	bool codes = can_code(s), all = codes && has_coded(c, 0);

	for (unsigned round = 0; round < 2 && !c->nevents; round++)
		for (unsigned i = 0; i < s->line->nformats; i++) {
			const struct sdp_format *f = &s->line->formats[i];

			if (offered_as(s, f) &&
			    (all || (codes && round) || is_passed(c, f)))
				add_events(c, f);
		}
	put_best_first(c);
}

/* Both must know some. */
static void settle_events(const struct settling *s)
{
	struct codec_settled *out = s->out;
	struct codec_choice *a = &out->party[0], *b = &out->party[1];

	list_offerers_events(s);
	list_answerers_events(s);
	if (!a->nevents || !b->nevents)
		a->nevents = b->nevents = 0;
	for (unsigned i = 0; i < s->offered->n; i++) {
		const struct codec_item *it = &s->offered->item[i];
		const struct sdp_format *f = &it->format;
		bool told = is_passed(a, f);

		for (unsigned k = 0; k < a->nevents; k++)
			told |= a->events[k].pt == f->pt;
		if (told && !it->added && format_kind(f) == FORMAT_EVENTS)
			out->answer[out->nanswer++] = *f;
	}
}

/* --- comfort noise --- */

static bool is_noise(const struct sdp_format *f, unsigned rate)
{
	return format_kind(f) == FORMAT_NOISE && f->rate == rate;
}

/* What of comfort noise at the clocks of what they are sent both know, and what
 * is passed on. */
static void settle_noise(const struct settling *s)
{
	struct codec_settled *out = s->out;
	struct codec_choice *a = &out->party[0], *b = &out->party[1];

	a->noise = b->noise = -1;
	for (unsigned i = 0; i < s->line->nformats && b->noise < 0; i++)
		if (is_noise(&s->line->formats[i], b->speech.rate) &&
		    offered_as(s, &s->line->formats[i]))
			b->noise = s->line->formats[i].pt;
	for (unsigned i = 0; i < s->offered->n; i++) {
		const struct codec_item *it = &s->offered->item[i];
		const struct sdp_format *f = &it->format;
		bool best = b->noise >= 0 && a->noise < 0 && !it->added &&
			    is_noise(f, a->speech.rate);

		if (best)
			a->noise = f->pt;
		if (best || (is_passed(a, f) && is_noise(f, f->rate)))
			out->answer[out->nanswer++] = *f;
	}
	if (a->noise < 0)
		b->noise = -1;
}

int codec_settle(struct codec_settled *out, const struct codec_list *offered,
		 const struct sdp_line *line, bool single,
		 const struct codec_abilities *can, struct cr_err *e)
{
	struct settling s = { .out = out,
			      .offered = offered,
			      .line = line,
			      .can = can,
			      .single = single };
	const struct codec_item *as, *own;
	const struct sdp_format *b;

	memset(out, 0, sizeof(*out));
	find_all_offered(&s);
	b = first_answered(&s, &as);
	if (!b)
		return cr_fail(e, -ENOENT,
			       "the answer has no codec that was offered");
	own = as->added ? codec_own_speech(offered, can) : as;
	if (!own)
		return cr_fail(e, -ENOENT,
			       "the answer's %s was added, and who offered "
			       "has no codec that it could be made from",
			       b->name);
	out->party[0].speech = own->format;
	out->party[0].bit_rate = own->bit_rate;
	out->party[1].speech = *b;
	out->party[1].bit_rate = as->bit_rate;
	out->transcoded = own != as || !codec_modes_agree(&own->format, b);
	if (!out->transcoded)
		list_passed(&s, own);
	list_offerers(&s, own);
	list_answerers(&s, b);
	settle_events(&s);
	settle_noise(&s);
	return 0;
}
