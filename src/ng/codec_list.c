/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The codecs of an offer, what becomes of it on its way; and of the answer,
 * what both have settled on.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "ng/codecs.h"
#include "sdp/fmtp.h"

enum { DYNAMIC_FIRST = 96, TYPES = 128 };

/*
 * Return how packets of @f are laid out: of AMR, by its parameters; 0 for
 * others. Formats with a negative layout are like no other.
 */
static int format_layout(const struct sdp_format *f)
{
	struct fmtp_amr amr;

	if (!format_is_amr(f))
		return 0;
	if (fmtp_amr_read(&amr, f->fmtp, 16, NULL))
		return -1;
	return fmtp_amr_layout(&amr);
}

/* Do both mean the same speech, but for their layouts? By what a description
 * says, not by codec_use_same(): it may be a codec that is not known here. */
static bool format_same_name(const struct sdp_format *a,
			     const struct sdp_format *b)
{
	return !strcasecmp(a->name, b->name) && a->rate == b->rate &&
	       a->channels == b->channels;
}

bool format_same(const struct sdp_format *a, const struct sdp_format *b)
{
	return format_same_name(a, b) && format_layout(a) >= 0 &&
	       format_layout(a) == format_layout(b);
}

/* --- making an offer --- */

/* The treatment of a format of the offer. */
enum fate {
	FATE_GONE,
	FATE_HIDDEN,   /* from the answerer */
	FATE_KEPT,     /* shown, and not used towards the offerer */
	FATE_RESTORED, /* shown, in the order of "transcode" */
	FATE_SHOWN
};

static bool matches(const struct codec_offer *o, enum codec_rule rule,
		    const struct sdp_format *f)
{
	return codec_rules_find(o->rules, rule, f) != NULL;
}

/* Is it one that "transcode" names? Events are at any clock: they follow the
 * speech (RFC 4733, 2.1). */
static bool is_wanted(const struct codec_offer *o, const struct sdp_format *f)
{
	const struct codec_item *s;
	unsigned k = 0;

	if (format_kind(f) != FORMAT_EVENTS)
		return matches(o, CODEC_TRANSCODE, f);
	while ((s = codec_rules_next(o->rules, CODEC_TRANSCODE, &k)))
		if (!strcasecmp(s->format.name, f->name))
			return true;
	return false;
}

static enum fate fate_of(const struct codec_offer *o,
			 const struct sdp_format *f)
{
	const struct codec_rules *r = o->rules;
	bool strips = r->all[CODEC_STRIP];
	bool masks = r->all[CODEC_MASK] || r->all[CODEC_CONSUME];
	bool full = r->full[CODEC_STRIP] || r->full[CODEC_MASK] ||
		    r->full[CODEC_CONSUME];
	bool except = matches(o, CODEC_EXCEPT, f) || matches(o, CODEC_OFFER, f);
	bool restored = !full && is_wanted(o, f);
	bool ignored = o->ignores &&
		       (r->all[CODEC_IGNORE] || matches(o, CODEC_IGNORE, f));
	bool able = codec_able(f);

	if (!(able || codec_passes(f)) || matches(o, CODEC_STRIP, f) ||
	    (strips && !except && !restored))
		return FATE_GONE;
	/* both have it then, or nobody */
	if (matches(o, CODEC_MASK, f) || matches(o, CODEC_CONSUME, f) ||
	    (masks && !except && !restored))
		return ignored || !able ? FATE_GONE : FATE_HIDDEN;
	if (ignored)
		return able ? FATE_KEPT : FATE_GONE;
	return (strips || masks) && !except ? FATE_RESTORED : FATE_SHOWN;
}

static bool is_speech(const struct sdp_format *f)
{
	return format_kind(f) == FORMAT_SPEECH;
}

/* Is there anything of the offerer that a codec could be made from? */
static bool has_source(const struct codec_offer *o)
{
	for (unsigned i = 0; i < o->line->nformats; i++) {
		const struct sdp_format *f = &o->line->formats[i];

		if (is_speech(f) && o->fate[i] != FATE_GONE &&
		    o->fate[i] != FATE_KEPT && codec_able(f))
			return true;
	}
	return false;
}

static void decide_fates(struct codec_offer *o, bool ignores)
{
	o->ignores = ignores;
	for (unsigned i = 0; i < o->line->nformats; i++)
		o->fate[i] = (uint8_t)fate_of(o, &o->line->formats[i]);
}

/* --- what the list has --- */

/* Is any of this kind shown, at the clock of @f (NULL: any)? */
static bool shows_kind(const struct codec_offer *o, enum format_kind kind,
		       const struct sdp_format *f)
{
	for (unsigned i = 0; i < o->n; i++) {
		const struct codec_item *it = &o->item[i];

		if (!it->hidden && format_kind(&it->format) == kind &&
		    (!f || it->format.rate == f->rate))
			return true;
	}
	return false;
}

static bool shows_codec(const struct codec_offer *o, const struct sdp_format *f)
{
	for (unsigned i = 0; i < o->n; i++)
		if (!o->item[i].hidden && codec_is(f, &o->item[i].format))
			return true;
	return false;
}

/* Does the answerer know @pt as something else? What only the offerer knows has
 * no number there, but a dynamic one of both is easier to tell apart. */
static bool is_used(const struct codec_offer *o, unsigned pt)
{
	for (unsigned i = 0; i < o->n; i++)
		if (o->item[i].format.pt == pt && !o->item[i].hidden)
			return true;
	for (unsigned i = 0; i < o->line->nformats; i++)
		if (o->line->formats[i].pt == pt && pt >= DYNAMIC_FIRST)
			return true;
	return false;
}

static bool is_spoken(const struct codec_offer *o, const struct sdp_format *f)
{
	return o->spoken && format_same(o->spoken, f);
}

static void mark_unmet(struct codec_offer *o, enum codec_rule rule,
		       enum codec_unmet why)
{
	o->unmet_all[rule] = o->rules->all[rule] ? (uint8_t)why : CODEC_MET;
	for (unsigned k = 0; k < o->rules->n; k++)
		if (o->rules->item[k].rule == rule)
			o->unmet[k] = (uint8_t)why;
}

/* --- what is put into it --- */

static struct codec_item *push(struct codec_offer *o,
			       const struct sdp_format *f)
{
	struct codec_item *i;

	if (o->n == SDP_FORMATS_MAX)
		return NULL;
	i = &o->item[o->n++];
	*i = (struct codec_item){ .format = *f, .rank = SDP_FORMATS_MAX };
	return i;
}

/* Format @k of the line. */
static void put_as(struct codec_offer *o, unsigned k, enum fate fate)
{
	const struct sdp_format *f = &o->line->formats[k];
	const struct codec_item *set = codec_rules_find(o->rules, CODEC_SET, f);
	struct codec_item *i = push(o, f);

	if (!i)
		return;
	i->rank = k;
	i->hidden = fate == FATE_HIDDEN;
	i->added = fate == FATE_KEPT;
	i->accepted = !i->added && (o->rules->all[CODEC_ACCEPT] ||
				    matches(o, CODEC_ACCEPT, f));
	i->bit_rate = set ? set->bit_rate : 0;
}

static bool has_rank(const struct codec_offer *o, unsigned rank)
{
	for (unsigned i = 0; i < o->n; i++)
		if (o->item[i].rank == rank)
			return true;
	return false;
}

/* Speech of the line that is @wanted, or any: what "transcode" is to restore,
 * or what it is not. */
static void put_speech(struct codec_offer *o, const struct sdp_format *wanted,
		       bool restored)
{
	for (unsigned i = 0; i < o->line->nformats; i++) {
		const struct sdp_format *f = &o->line->formats[i];

		if (is_speech(f) && o->fate[i] != FATE_GONE &&
		    (o->fate[i] == FATE_RESTORED) == restored &&
		    !has_rank(o, i) && (!wanted || codec_is(wanted, f)))
			put_as(o, i, (enum fate)o->fate[i]);
	}
}

/* Add @f by a payload type that nobody has: what has been spoken has the number
 * that it had, others @wanted if that is free (-1: any). NULL: none is left. */
static struct codec_item *add_format(struct codec_offer *o,
				     struct sdp_format *f, int wanted)
{
	struct codec_item *i;
	int pt = DYNAMIC_FIRST;

	if (is_spoken(o, f) && o->spoken->pt >= DYNAMIC_FIRST &&
	    !is_used(o, o->spoken->pt))
		pt = o->spoken->pt;
	else if (wanted >= 0 && !is_used(o, (unsigned)wanted))
		pt = wanted;
	else
		while (pt < TYPES && is_used(o, (unsigned)pt))
			pt++;
	if (pt == TYPES)
		return NULL;
	f->pt = (uint8_t)pt;
	i = push(o, f);
	if (i)
		i->added = true;
	return i;
}

/* Add @s, which is not there. */
static enum codec_unmet add_codec(struct codec_offer *o,
				  const struct codec_item *s)
{
	struct codec_item *i;
	struct sdp_format f = s->format;
	int wanted;

	if (!codec_resolve(&f, &wanted))
		return CODEC_LACKING;
	if (!has_source(o))
		return CODEC_NO_SOURCE;
	i = add_format(o, &f, wanted);
	if (!i)
		return CODEC_NO_TYPE;
	i->bit_rate = s->bit_rate;
	i->ptime = s->ptime;
	return CODEC_MET;
}

/* Add the codecs that "transcode" names, in its order. */
static void add_transcoded(struct codec_offer *o)
{
	const struct codec_rules *r = o->rules;

	for (unsigned k = 0; k < r->n; k++) {
		const struct codec_item *s = &r->item[k].codec;

		if (r->item[k].rule != CODEC_TRANSCODE ||
		    !is_speech(&s->format))
			continue;
		put_speech(o, &s->format, true);
		if (!shows_codec(o, &s->format))
			o->unmet[k] = (uint8_t)add_codec(o, s);
	}
}

/* The first events that may be shown, at the clock @rate (0: any). */
static const struct sdp_format *events_at(const struct codec_offer *o,
					  unsigned rate)
{
	for (unsigned i = 0; i < o->line->nformats; i++) {
		const struct sdp_format *f = &o->line->formats[i];

		if (format_kind(f) == FORMAT_EVENTS &&
		    o->fate[i] > FATE_HIDDEN && (!rate || f->rate == rate))
			return f;
	}
	return NULL;
}

/* Put the formats that travel among the speech: noise at its clock, else it is
 * hidden; events at any (RFC 4733, 2.3.5). */
static void put_kind(struct codec_offer *o, enum format_kind kind)
{
	for (unsigned i = 0; i < o->line->nformats; i++) {
		const struct sdp_format *f = &o->line->formats[i];
		enum fate fate = (enum fate)o->fate[i];

		if (format_kind(f) != kind || fate == FATE_GONE ||
		    (kind == FORMAT_EVENTS && fate > FATE_HIDDEN &&
		     events_at(o, f->rate) != f))
			continue;
		if (kind == FORMAT_NOISE && !shows_kind(o, FORMAT_SPEECH, f))
			fate = fate == FATE_KEPT ? FATE_GONE : FATE_HIDDEN;
		if (fate != FATE_GONE)
			put_as(o, i, fate);
	}
}

/* Events as they came, and at the clock of each codec that is added (RFC 4733,
 * 2.1), if the offerer has any. */
static void put_events(struct codec_offer *o)
{
	const struct sdp_format *any = events_at(o, 0);
	unsigned speech = o->n;

	put_kind(o, FORMAT_EVENTS);
	for (unsigned i = 0; i < speech && any; i++) {
		struct sdp_format f = *any;

		f.rate = o->item[i].format.rate;
		if (o->item[i].added && !shows_kind(o, FORMAT_EVENTS, &f))
			(void)add_format(o, &f, -1);
	}
}

static void put_all_codecs(struct codec_offer *o)
{
	const struct codec_rules *r = o->rules;
	const struct codec_item *s;
	bool goes_on = false;
	unsigned k = 0;

	o->n = 0;
	decide_fates(o, true);
	if (!has_source(o)) {
		decide_fates(o, false);
		if (has_source(o))
			mark_unmet(o, CODEC_IGNORE, CODEC_NEEDED);
	}
	/* first what is to be first, then as it came */
	while ((s = codec_rules_next(r, CODEC_OFFER, &k)))
		put_speech(o, &s->format, false);
	put_speech(o, NULL, false);
	add_transcoded(o);
	/* A party that has spoken a codec that is here can go on with it,
	 * whatever is offered now. */
	for (k = 0; k < o->n; k++)
		goes_on |=
			!o->item[k].hidden && is_spoken(o, &o->item[k].format);
	if (!goes_on && o->spoken)
		(void)add_codec(o,
				&(struct codec_item){ .format = *o->spoken });
	if (!shows_kind(o, FORMAT_SPEECH, NULL))
		return;
	put_events(o);
	put_kind(o, FORMAT_NOISE);
	/* They can be shown, and not made. */
	for (k = 0; k < r->n; k++)
		if (r->item[k].rule == CODEC_TRANSCODE &&
		    !is_speech(&r->item[k].codec.format) &&
		    !shows_codec(o, &r->item[k].codec.format))
			o->unmet[k] = CODEC_NO_SOURCE;
}

static const char *copy_codec_text(char **to, const char *text)
{
	const char *at = *to;

	*to = stpcpy(*to, text) + 1;
	return at;
}

struct codec_list *codec_list_copy(const struct codec_item *item, unsigned n)
{
	struct codec_list *to;
	size_t text = 0;
	char *p;

	for (unsigned i = 0; i < n; i++)
		text += strlen(item[i].format.name) +
			strlen(item[i].format.fmtp) + 2;
	to = malloc(sizeof(*to) + n * sizeof(*to->item) + text);
	if (!to)
		return NULL;
	to->n = n;
	p = (char *)&to->item[n];
	for (unsigned i = 0; i < n; i++) {
		struct sdp_format *f = &to->item[i].format;

		to->item[i] = item[i];
		f->name = copy_codec_text(&p, f->name);
		f->fmtp = copy_codec_text(&p, f->fmtp);
	}
	return to;
}

int codec_offer_make(struct codec_offer *o, struct codec_list **out,
		     struct cr_err *e)
{
	static const struct codec_rules none;
	const struct codec_rules *rules = o->rules;
	unsigned k = 0;

	memset(o->unmet, CODEC_MET, sizeof(o->unmet));
	memset(o->unmet_all, CODEC_MET, sizeof(o->unmet_all));
	put_all_codecs(o);
	/* nobody means that, unless something was to come in its place */
	if (!shows_kind(o, FORMAT_SPEECH, NULL) &&
	    !codec_rules_next(rules, CODEC_TRANSCODE, &k)) {
		o->rules = &none;
		put_all_codecs(o);
		o->rules = rules;
		for (enum codec_rule r = CODEC_STRIP; r <= CODEC_CONSUME; r++)
			if (shows_kind(o, FORMAT_SPEECH, NULL))
				mark_unmet(o, r, CODEC_NEEDED);
	}
	if (o->n == SDP_FORMATS_MAX)
		return cr_fail(e, -EINVAL,
			       "with what is to be added the offer has more "
			       "than %u payload types",
			       SDP_FORMATS_MAX - 1);
	*out = codec_list_copy(o->item, o->n);
	return *out ? 0 : cr_fail(e, -ENOMEM, "out of memory for codecs");
}

const struct codec_item *codec_best_shown(const struct codec_list *list)
{
	for (unsigned k = 0; k < list->n; k++)
		if (!list->item[k].hidden && is_speech(&list->item[k].format))
			return &list->item[k];
	return NULL;
}

/* Return the speech of the offerer if the answerer has something else: the one
 * it likes best of those that this node can code. NULL: there is none. */
static const struct codec_item *own_speech(const struct codec_list *list)
{
	const struct codec_item *best = NULL;

	for (unsigned i = 0; i < list->n; i++) {
		const struct codec_item *it = &list->item[i];

		if (!it->added && is_speech(&it->format) &&
		    codec_able(&it->format) && (!best || it->rank < best->rank))
			best = it;
	}
	return best;
}

unsigned codec_shown(const struct codec_list *list, struct sdp_format *out)
{
	unsigned n = 0;

	for (unsigned i = 0; i < list->n; i++)
		if (!list->item[i].hidden)
			out[n++] = list->item[i].format;
	return n;
}

/* --- an answer --- */

/* One of both. */
struct settling_party {
	struct endpoint_spec *spec;
	const struct sdp_format *speech;		/* what it is sent */
	const struct sdp_format *also[SDP_FORMATS_MAX]; /* may send, too */
	unsigned nalso;
};

struct settling {
	struct codec_settled *out;
	struct settling_party party[2];
	const struct codec_list *offered;
	const struct sdp_line *line;
	bool single;
	/* of each format of the line, what it was offered as, or NULL; of each
	 * that was offered, what was answered to it, or NULL */
	const struct codec_item *as[SDP_FORMATS_MAX];
	const struct sdp_format *answer[SDP_FORMATS_MAX];
};

/* More formats that differ in parameters only are not looked at for those of
 * the answer: to compare these takes long. */
enum { ALIKE_MAX = 4 };

/* As what @f of an answer was offered: by its type where that still means the
 * same, else by what it is (RFC 3264, 6.1: numbers may differ), with the same
 * parameters if there are several. @layout: of what was offered. */
static const struct codec_item *find_offered(const struct codec_list *offered,
					     const struct sdp_format *f,
					     const int *layout)
{
	const struct codec_item *same = NULL, *equal = NULL;
	const int is = format_layout(f);
	unsigned alike = 0;

	for (unsigned i = 0; i < offered->n && is >= 0; i++) {
		const struct codec_item *it = &offered->item[i];

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

/* Match the formats of the answer with those of the offer. */
static void match_formats(struct settling *s)
{
	int layout[SDP_FORMATS_MAX];

	for (unsigned i = 0; i < s->offered->n; i++)
		layout[i] = format_layout(&s->offered->item[i].format);
	for (unsigned i = 0; i < s->line->nformats; i++) {
		const struct sdp_format *f = &s->line->formats[i];
		const struct codec_item *as =
			find_offered(s->offered, f, layout);
		const struct sdp_format **answer =
			as ? &s->answer[as - s->offered->item] : NULL;

		s->as[i] = as;
		if (as && !*answer)
			*answer = f;
	}
}

/* --- what is passed on --- */

static void pass_format(struct settling_party *c, const struct sdp_format *f,
			uint8_t as)
{
	struct passed_types *p = &c->spec->passed;

	if (p->n < PASSED_TYPES_MAX)
		p->one[p->n++] = (struct passed_type){
			.pt = f->pt,
			.as = as,
			.clock = is_speech(f) ? f->rate : 0,
		};
}

/* List the formats that both have, each by its own number. @own: the one that
 * is answered, if only one codec is. */
static void list_passed(struct settling *s, const struct codec_item *own)
{
	for (unsigned i = 0; i < s->offered->n; i++) {
		const struct codec_item *it = &s->offered->item[i];
		const struct sdp_format *f = it->added ? NULL : s->answer[i];

		if (!f || !codec_modes_agree(&it->format, f))
			continue;
		pass_format(&s->party[1], f, it->format.pt);
		if (!s->single || it == own || !is_speech(f))
			pass_format(&s->party[0], &it->format, f->pt);
	}
}

static bool is_passed(const struct settling_party *c,
		      const struct sdp_format *f)
{
	return passed_has(&c->spec->passed, f->pt);
}

/* --- speech --- */

static void put_answer(const struct settling *s, const struct codec_item *it)
{
	const struct sdp_format *f = is_passed(&s->party[0], &it->format)
					     ? s->answer[it - s->offered->item]
					     : NULL;
	struct sdp_format *to = &s->out->answer[s->out->nanswer++];

	*to = it->format;
	to->fmtp = f ? codec_fmtp_passed(&it->format, f)
		     : codec_fmtp_own(&it->format);
}

/* The offerer is answered @own, and what it may send beside that: what is
 * passed on, and what both codecs are here for. */
static void list_offerers(struct settling *s, const struct codec_item *own)
{
	struct settling_party *c = &s->party[0];
	unsigned coded = 0;

	put_answer(s, own);
	for (unsigned i = 0; i < s->offered->n && !s->single; i++) {
		const struct codec_item *it = &s->offered->item[i];
		bool passed = is_passed(c, &it->format);

		if (it == own || it->added || !is_speech(&it->format))
			continue;
		if (!passed &&
		    (!codec_able(&own->format) || !codec_able(&it->format) ||
		     !(it->accepted || s->answer[i]) ||
		     coded++ >= PARTY_ALSO_MAX))
			continue;
		c->also[c->nalso++] = &it->format;
		put_answer(s, it);
	}
}

/* Take the codecs that the party may send beside those that it is sent: those
 * that are passed on (@passed), or the others. A codec that is not ours cannot
 * be heard. */
static void take_also(const struct settling_party *c, bool passed)
{
	struct endpoint_spec *to = c->spec;
	struct cr_err e;

	for (unsigned i = 0; i < c->nalso && to->nalso < PARTY_ALSO_MAX; i++) {
		const struct sdp_format *f = c->also[i];
		bool has = to->side.pt == f->pt;

		for (unsigned k = 0; k < to->nalso; k++)
			has |= to->also[k].pt == f->pt;
		if (!has && is_passed(c, f) == passed && codec_able(f) &&
		    !codec_side(&to->also[to->nalso], f, 0, &e))
			to->nalso++;
	}
}

/* --- telephone events --- */

/* Has @c speech of that clock (0: any) that goes through a codec? */
static bool has_coded(const struct settling_party *c, unsigned rate)
{
	bool has =
		(!rate || c->speech->rate == rate) && !is_passed(c, c->speech);

	for (unsigned i = 0; i < c->nalso && !has; i++)
		has = (!rate || c->also[i]->rate == rate) &&
		      !is_passed(c, c->also[i]);
	return has;
}

static void add_events(struct settling_party *c, const struct sdp_format *f)
{
	struct telephone_event_types *t = &c->spec->types.more;
	bool has = false;

	for (unsigned i = 0; i < t->n; i++)
		has |= t->one[i].clock == f->rate;
	if (format_kind(f) != FORMAT_EVENTS ||
	    !telephone_event_is_clock(f->rate) || has ||
	    t->n == TELEPHONE_EVENT_TYPES)
		return;
	t->one[t->n].pt = f->pt;
	t->one[t->n++].clock = f->rate;
}

/* Choose the events that it is sent: at the clock of its speech, or that of
 * most. It may send the others, too. */
static void take_events(const struct settling_party *c)
{
	struct aux_spec *to = &c->spec->types;
	struct telephone_event_types *t = &to->more;
	unsigned best = 0;

	for (unsigned i = 1; i < t->n; i++) {
		unsigned rate = t->one[i].clock;

		if (t->one[best].clock != c->speech->rate &&
		    (rate == c->speech->rate || rate == 8000))
			best = i;
	}
	to->events = t->one[best].pt;
	to->events_clock = t->one[best].clock;
	t->one[best] = t->one[0];
	memmove(&t->one[0], &t->one[1], --t->n * sizeof(t->one[0]));
}

/* Of the offerer: those that are passed on, those at the clocks of speech that
 * is not (if that @codes), or else any one. */
static void list_offerers_events(struct settling *s, bool codes)
{
	struct settling_party *c = &s->party[0];

	for (unsigned round = 0; round < 2 && !c->spec->types.more.n; round++)
		for (unsigned i = 0; i < s->offered->n; i++) {
			const struct codec_item *it = &s->offered->item[i];
			const struct sdp_format *f = &it->format;

			if (it->added || (round && c->spec->types.more.n))
				continue;
			if (is_passed(c, f) ||
			    (codes && (round || has_coded(c, f->rate))))
				add_events(c, f);
		}
}

/* Of the answerer, which may send all that it has said. But for one that has
 * been offered beside a codec that was refused nothing needs a codec. */
static void list_answerers_events(struct settling *s, bool codes)
{
	struct settling_party *c = &s->party[1];
	bool all = codes && has_coded(c, 0);

	for (unsigned round = 0; round < 2 && !c->spec->types.more.n; round++)
		for (unsigned i = 0; i < s->line->nformats; i++) {
			const struct sdp_format *f = &s->line->formats[i];

			if (s->as[i] &&
			    (all || (codes && round) || is_passed(c, f)))
				add_events(c, f);
		}
}

/* Both must know some. */
static void settle_events(struct settling *s)
{
	struct codec_settled *out = s->out;
	struct settling_party *a = &s->party[0], *b = &s->party[1];
	struct telephone_event_types *events;
	/* can what is not passed on go through a codec? */
	bool codes = codec_able(a->speech) && codec_able(b->speech);

	list_offerers_events(s, codes);
	list_answerers_events(s, codes);
	events = &a->spec->types.more;
	if (!events->n || !b->spec->types.more.n)
		events->n = b->spec->types.more.n = 0;
	for (unsigned i = 0; i < s->offered->n; i++) {
		const struct codec_item *it = &s->offered->item[i];
		const struct sdp_format *f = &it->format;
		bool known = is_passed(a, f);

		for (unsigned k = 0; k < events->n; k++)
			known |= events->one[k].pt == f->pt;
		if (known && !it->added && format_kind(f) == FORMAT_EVENTS)
			out->answer[out->nanswer++] = *f;
	}
	if (events->n) {
		take_events(a);
		take_events(b);
	}
}

/* --- comfort noise --- */

static bool is_noise(const struct sdp_format *f, unsigned rate)
{
	return format_kind(f) == FORMAT_NOISE && f->rate == rate;
}

/* Settle comfort noise: that at the clocks of what they are sent, if both know
 * it, and that which is passed on. */
static void settle_noise(const struct settling *s)
{
	struct codec_settled *out = s->out;
	const struct settling_party *a = &s->party[0], *b = &s->party[1];
	int of_a = -1, of_b = -1;

	for (unsigned i = 0; i < s->line->nformats && of_b < 0; i++)
		if (s->as[i] && is_noise(&s->line->formats[i], b->speech->rate))
			of_b = s->line->formats[i].pt;
	for (unsigned i = 0; i < s->offered->n; i++) {
		const struct codec_item *it = &s->offered->item[i];
		const struct sdp_format *f = &it->format;
		bool best = of_b >= 0 && of_a < 0 && !it->added &&
			    is_noise(f, a->speech->rate);

		if (best)
			of_a = f->pt;
		if (best || (is_passed(a, f) && is_noise(f, f->rate)))
			out->answer[out->nanswer++] = *f;
	}
	if (of_a < 0)
		return;
	a->spec->types.noise = of_a;
	b->spec->types.noise = of_b;
}

/* Let both speak @own and @as, which the answer's format @first answers. */
static int begin_settling(struct settling *s, const struct codec_item *own,
			  const struct codec_item *as,
			  const struct sdp_format *first, struct cr_err *e)
{
	struct codec_settled *out = s->out;
	int err;

	out->speech[0] = &own->format;
	out->speech[1] = first;
	out->transcoded = own != as || !codec_modes_agree(&own->format, first);
	out->nanswer = 0;
	for (unsigned k = 0; k < 2; k++) {
		*out->party[k] = (struct endpoint_spec)ENDPOINT_SPEC_UNSAID;
		s->party[k].spec = out->party[k];
		s->party[k].speech = out->speech[k];
	}
	err = codec_side(&out->party[0]->side, &own->format, own->bit_rate, e);
	return err ? err
		   : codec_side(&out->party[1]->side, first, as->bit_rate, e);
}

int codec_settle(struct codec_settled *out, const struct codec_list *offered,
		 const struct sdp_line *line, bool single, struct cr_err *e)
{
	struct settling s = {
		.out = out, .offered = offered, .line = line, .single = single
	};
	const struct codec_item *as, *own;
	struct settling_party *b = &s.party[1];
	unsigned first = 0;
	int err;

	match_formats(&s);
	while (first < line->nformats &&
	       !(s.as[first] && is_speech(&line->formats[first])))
		first++;
	if (first == line->nformats)
		return cr_fail(e, -ENOENT,
			       "the answer has no codec that was offered");
	as = s.as[first];
	own = as->added ? own_speech(offered) : as;
	if (!own)
		return cr_fail(e, -ENOENT,
			       "the answer's %s was added, and the offerer "
			       "has no codec that it could be made from",
			       line->formats[first].name);
	err = begin_settling(&s, own, as, &line->formats[first], e);
	if (err)
		return err;
	if (!out->transcoded)
		list_passed(&s, own);
	list_offerers(&s, own);
	for (unsigned i = first + 1; i < line->nformats; i++)
		if (s.as[i] && is_speech(&line->formats[i]))
			b->also[b->nalso++] = &line->formats[i];
	for (unsigned k = 0; k < 2; k++)
		if (codec_able(s.party[k].speech)) {
			take_also(&s.party[k], false);
			take_also(&s.party[k], true);
		}
	settle_events(&s);
	settle_noise(&s);
	return 0;
}
