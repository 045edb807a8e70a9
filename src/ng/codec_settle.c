/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The answer: what both have settled on.
 */
#include <errno.h>
#include <string.h>

#include "ng/codec_fmtp.h"
#include "ng/codec_list.h"

struct settling {
	struct codec_settled *out;
	const struct codec_list *offered;
	const struct sdp_line *line;
	bool single;
};

/* What was offered to who answers with @f: by its type where that still means
 * the same, else by what it is (RFC 3264, 6.1: numbers may differ). */
static const struct codec_item *offered_as(const struct settling *s,
					   const struct sdp_format *f)
{
	const struct codec_item *same = NULL;

	for (unsigned i = 0; i < s->offered->n; i++) {
		const struct codec_item *it = &s->offered->item[i];

		if (it->hidden || !format_same(&it->format, f))
			continue;
		if (it->format.pt == f->pt)
			return it;
		same = same ? same : it;
	}
	return same;
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

/* Might who offered send it, beside the one it is sent? */
static bool is_own_speech(const struct codec_item *it)
{
	return !it->added && format_kind(&it->format) == FORMAT_SPEECH;
}

/* Can speech be sent that cannot be passed on as it is: that of @own, which was
 * answered with @b, or what who answers has refused? */
static bool needs_codec(const struct settling *s, const struct codec_item *own,
			const struct sdp_format *b)
{
	for (unsigned i = 0; i < s->offered->n && !s->single; i++) {
		const struct codec_item *it = &s->offered->item[i];

		if (is_own_speech(it) && it->accepted && !answer_of(s, it))
			return true;
	}
	return s->out->transcoded || !codec_modes_agree(&own->format, b);
}

/* May who offered send it, beside @a? A relay maps the type of @a only, and
 * leaves the others where they are if that is one number for both. */
static bool is_welcome(const struct settling *s, const struct codec_item *it,
		       const struct codec_item *a, const struct sdp_format *b)
{
	const struct sdp_format *f = answer_of(s, it);

	if (it == a || !is_own_speech(it) || !(it->accepted || f))
		return false;
	return s->out->needs_codec ||
	       (a->format.pt == b->pt && f && f->pt == it->format.pt &&
		codec_modes_agree(&it->format, f));
}

static void put_answer(const struct settling *s, const struct codec_item *it)
{
	const struct sdp_format *f = answer_of(s, it);
	struct sdp_format *to = &s->out->answer[s->out->nanswer++];

	*to = it->format;
	to->fmtp = f && !s->out->needs_codec ? codec_fmtp_passed(&it->format, f)
					     : codec_fmtp_own(&it->format);
}

/* @b is what was answered of @a, or of what is made of it. */
static void list_offerers(const struct settling *s, const struct codec_item *a,
			  const struct sdp_format *b)
{
	struct codec_choice *c = &s->out->party[0];

	put_answer(s, a);
	for (unsigned i = 0; i < s->offered->n && !s->single; i++) {
		const struct codec_item *it = &s->offered->item[i];

		if (!is_welcome(s, it, a, b))
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

/* Of a kind that travels among the speech: the one at its clock; of events,
 * else the first. */
struct kind_choice {
	enum format_kind kind;
	unsigned rate;
	const struct sdp_format *best;
};

static void consider(struct kind_choice *c, const struct sdp_format *f)
{
	if (format_kind(f) != c->kind || (c->best && c->best->rate == c->rate))
		return;
	if (f->rate == c->rate || (c->kind == FORMAT_EVENTS && !c->best))
		c->best = f;
}

static const struct sdp_format *answered_kind(const struct settling *s,
					      enum format_kind kind,
					      unsigned rate)
{
	struct kind_choice c = { .kind = kind, .rate = rate };

	for (unsigned i = 0; i < s->line->nformats; i++)
		if (offered_as(s, &s->line->formats[i]))
			consider(&c, &s->line->formats[i]);
	return c.best;
}

static const struct sdp_format *offerers_kind(const struct settling *s,
					      enum format_kind kind,
					      unsigned rate)
{
	struct kind_choice c = { .kind = kind, .rate = rate };

	for (unsigned i = 0; i < s->offered->n; i++)
		if (!s->offered->item[i].added)
			consider(&c, &s->offered->item[i].format);
	return c.best;
}

/* What travels among the speech: both must know it. */
static void settle_kind(const struct settling *s, enum format_kind kind,
			int *offerers, int *answerers)
{
	struct codec_settled *out = s->out;
	const struct sdp_format *b =
		answered_kind(s, kind, out->party[1].speech.rate);
	const struct sdp_format *a =
		b ? offerers_kind(s, kind, out->party[0].speech.rate) : NULL;

	*offerers = a ? a->pt : -1;
	*answerers = a ? b->pt : -1;
	if (a)
		out->answer[out->nanswer++] = *a;
}

int codec_settle(struct codec_settled *out, const struct codec_list *offered,
		 const struct sdp_line *line, bool single,
		 const struct codec_abilities *can, struct cr_err *e)
{
	struct settling s = {
		.out = out, .offered = offered, .line = line, .single = single
	};
	const struct codec_item *as, *own;
	const struct sdp_format *b = first_answered(&s, &as);

	memset(out, 0, sizeof(*out));
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
	out->transcoded = own != as;
	out->needs_codec = needs_codec(&s, own, b);
	list_offerers(&s, own, b);
	list_answerers(&s, b);
	settle_kind(&s, FORMAT_EVENTS, &out->party[0].events,
		    &out->party[1].events);
	settle_kind(&s, FORMAT_NOISE, &out->party[0].noise,
		    &out->party[1].noise);
	return 0;
}
