/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The codecs of an offer, what becomes of it on its way; and of the answer,
 * what both have settled on.
 */
#include "ng/codec_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "ng/codec_map.h"
#include "node/requests.h"
#include "sdp/fmtp.h"

enum { DYNAMIC_FIRST = 96, TYPES = 128 };

enum format_kind format_kind(const struct sdp_format *f)
{
	if (!strcasecmp(f->name, "telephone-event"))
		return FORMAT_EVENTS;
	return strcasecmp(f->name, "CN") ? FORMAT_SPEECH : FORMAT_NOISE;
}

bool format_is_amr(const struct sdp_format *f)
{
	return !strcasecmp(f->name, "AMR") || !strcasecmp(f->name, "AMR-WB");
}

/*
 * What parameters say of how packets of @f are written: of AMR's; 0 of others.
 * Formats with a negative one are like no other.
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

/* Do both mean the same speech, but for their layouts? */
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

struct offer {
	struct codec_list *out;
	struct codec_room *room;
	const struct sdp_line *line;
	const struct codec_rules *rules;
	const struct codec_abilities *can;
	const struct codec_spoken *spoken;
	bool ignores; /* "ignore" can be followed */
};

static bool matches(const struct offer *o, enum codec_rule rule,
		    const struct sdp_format *f)
{
	return codec_rules_find(o->rules, rule, f) != NULL;
}

/* What becomes of a format of the offer. */
enum fate {
	FATE_GONE,
	FATE_HIDDEN,   /* from who is offered to */
	FATE_KEPT,     /* shown, and not used towards who offers */
	FATE_RESTORED, /* shown, in the order of "transcode" */
	FATE_SHOWN
};

/* Is it one that "transcode" names? Events are at any clock: they follow the
 * speech (RFC 4733, 2.1). */
static bool is_wanted(const struct offer *o, const struct sdp_format *f)
{
	const struct codec_spec *s;
	unsigned k = 0;

	if (format_kind(f) != FORMAT_EVENTS)
		return matches(o, CODEC_TRANSCODE, f);
	while ((s = codec_rules_next(o->rules, CODEC_TRANSCODE, &k)))
		if (!strcasecmp(s->name, f->name))
			return true;
	return false;
}

static enum fate fate_of(const struct offer *o, const struct sdp_format *f)
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

	bool able = o->can->able(f);

	if (!(able || o->can->passes(f)) || matches(o, CODEC_STRIP, f) ||
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

static struct codec_item *push(struct offer *o, const struct sdp_format *f)
{
	struct codec_item *i;

	if (o->out->n == SDP_FORMATS_MAX)
		return NULL;
	i = &o->out->item[o->out->n++];
	*i = (struct codec_item){ .format = *f, .rank = SDP_FORMATS_MAX };
	return i;
}

static void put_as(struct offer *o, const struct sdp_format *f, enum fate fate)
{
	const struct codec_spec *set = codec_rules_find(o->rules, CODEC_SET, f);
	struct codec_item *i = push(o, f);

	if (!i)
		return;
	i->rank = (unsigned)(f - o->line->formats);
	i->hidden = fate == FATE_HIDDEN;
	i->added = fate == FATE_KEPT;
	i->accepted = !i->added && (o->rules->all[CODEC_ACCEPT] ||
				    matches(o, CODEC_ACCEPT, f));
	i->bit_rate = set ? set->bit_rate : 0;
}

static bool shows_format(const struct offer *o, const struct sdp_format *f)
{
	for (unsigned i = 0; i < o->out->n; i++)
		if (o->out->item[i].rank == (unsigned)(f - o->line->formats))
			return true;
	return false;
}

/* Speech of the line that is @spec, or any: what "transcode" is to restore, or
 * what it is not. */
static void put_speech(struct offer *o, const struct codec_spec *spec,
		       bool restored)
{
	for (unsigned i = 0; i < o->line->nformats; i++) {
		const struct sdp_format *f = &o->line->formats[i];
		enum fate fate = fate_of(o, f);

		if (format_kind(f) == FORMAT_SPEECH && fate != FATE_GONE &&
		    (fate == FATE_RESTORED) == restored &&
		    !shows_format(o, f) && (!spec || codec_spec_is(spec, f)))
			put_as(o, f, fate);
	}
}

/* Has who offers anything that a codec could be made from? */
static bool has_source(const struct offer *o)
{
	for (unsigned i = 0; i < o->line->nformats; i++) {
		const struct sdp_format *f = &o->line->formats[i];
		enum fate fate = fate_of(o, f);

		if (format_kind(f) == FORMAT_SPEECH && fate != FATE_GONE &&
		    fate != FATE_KEPT && o->can->able(f))
			return true;
	}
	return false;
}

static void mark_unmet(struct offer *o, enum codec_rule rule,
		       enum codec_unmet why)
{
	o->room->unmet_all[rule] =
		o->rules->all[rule] ? (uint8_t)why : CODEC_MET;
	for (unsigned k = 0; k < o->rules->n; k++)
		if (o->rules->item[k].rule == rule)
			o->room->unmet[k] = (uint8_t)why;
}

static bool is_shown(const struct offer *o, const struct codec_spec *spec)
{
	for (unsigned i = 0; i < o->out->n; i++)
		if (!o->out->item[i].hidden &&
		    codec_spec_is(spec, &o->out->item[i].format))
			return true;
	return false;
}

/* Does who is offered to know @pt as something else? What only who offers knows
 * has no number there, but a dynamic one of both is easier to tell apart. */
static bool is_used(const struct offer *o, unsigned pt)
{
	for (unsigned i = 0; i < o->out->n; i++)
		if (o->out->item[i].format.pt == pt && !o->out->item[i].hidden)
			return true;
	for (unsigned i = 0; i < o->line->nformats; i++)
		if (o->line->formats[i].pt == pt && pt >= DYNAMIC_FIRST)
			return true;
	return false;
}

/* A payload type that nobody has; -1: there is none left. */
static int free_type(const struct offer *o, int request)
{
	if (request >= 0 && !is_used(o, (unsigned)request))
		return request;
	for (int pt = DYNAMIC_FIRST; pt < TYPES; pt++)
		if (!is_used(o, (unsigned)pt))
			return pt;
	return -1;
}

static bool is_spoken(const struct offer *o, const struct sdp_format *f)
{
	const struct codec_spec *s = &o->spoken->spec;
	const struct sdp_format spoken = {
		.name = s->name,
		.rate = s->rate,
		.channels = s->channels,
		.fmtp = s->fmtp,
	};

	return *s->name && format_same(&spoken, f);
}

/* What has been spoken has the number that it had. */
static struct codec_item *add_format(struct offer *o, struct sdp_format *f,
				     int request)
{
	struct codec_item *i;
	int pt = -1;

	if (is_spoken(o, f) && o->spoken->pt >= DYNAMIC_FIRST &&
	    !is_used(o, o->spoken->pt))
		pt = o->spoken->pt;
	if (pt < 0)
		pt = free_type(o, request);
	if (pt < 0)
		return NULL;
	f->pt = (uint8_t)pt;
	i = push(o, f);
	if (i)
		i->added = true;
	return i;
}

/* Add @s, which is not there. */
static enum codec_unmet add_codec(struct offer *o, const struct codec_spec *s)
{
	struct codec_item *i;
	struct sdp_format f;
	int request;

	if (!o->can->resolve(s, &f, &request))
		return CODEC_LACKING;
	if (!has_source(o))
		return CODEC_NO_SOURCE;
	i = add_format(o, &f, request);
	if (!i)
		return CODEC_NO_TYPE;
	i->bit_rate = s->bit_rate;
	i->ptime = s->ptime;
	return CODEC_MET;
}

static enum format_kind spec_kind(const struct codec_spec *s)
{
	return format_kind(&(struct sdp_format){ .name = s->name });
}

static void add_transcoded(struct offer *o)
{
	const struct codec_rules *r = o->rules;

	for (unsigned k = 0; k < r->n; k++) {
		const struct codec_spec *s = &r->item[k].spec;

		if (r->item[k].rule != CODEC_TRANSCODE ||
		    spec_kind(s) != FORMAT_SPEECH)
			continue;
		put_speech(o, s, true);
		if (!is_shown(o, s))
			o->room->unmet[k] = (uint8_t)add_codec(o, s);
	}
}

/* Who has spoken a codec here can go on with it, whatever is offered now. */
static void add_spoken(struct offer *o)
{
	for (unsigned i = 0; i < o->out->n; i++)
		if (!o->out->item[i].hidden &&
		    is_spoken(o, &o->out->item[i].format))
			return;
	if (*o->spoken->spec.name)
		(void)add_codec(o, &o->spoken->spec);
}

static bool speech_at(const struct offer *o, unsigned rate)
{
	for (unsigned i = 0; i < o->out->n; i++) {
		const struct codec_item *it = &o->out->item[i];

		if (!it->hidden && it->format.rate == rate &&
		    format_kind(&it->format) == FORMAT_SPEECH)
			return true;
	}
	return false;
}

/* Events that may be shown. */
static const struct sdp_format *events_at(const struct offer *o, unsigned rate)
{
	for (unsigned i = 0; i < o->line->nformats; i++) {
		const struct sdp_format *f = &o->line->formats[i];

		if (format_kind(f) == FORMAT_EVENTS &&
		    fate_of(o, f) > FATE_HIDDEN && (!rate || f->rate == rate))
			return f;
	}
	return NULL;
}

/* What travels among the speech: noise at its clock, else it is hidden; events
 * at any (RFC 4733, 2.3.5). */
static void put_kind(struct offer *o, enum format_kind kind)
{
	for (unsigned i = 0; i < o->line->nformats; i++) {
		const struct sdp_format *f = &o->line->formats[i];
		enum fate fate = fate_of(o, f);

		if (format_kind(f) != kind || fate == FATE_GONE ||
		    (kind == FORMAT_EVENTS && fate > FATE_HIDDEN &&
		     events_at(o, f->rate) != f))
			continue;
		if (kind == FORMAT_NOISE && !speech_at(o, f->rate))
			fate = fate == FATE_KEPT ? FATE_GONE : FATE_HIDDEN;
		if (fate != FATE_GONE)
			put_as(o, f, fate);
	}
}

static bool shows_events(const struct offer *o, unsigned rate)
{
	bool shows = false;

	for (unsigned i = 0; i < o->out->n; i++)
		shows |=
			format_kind(&o->out->item[i].format) == FORMAT_EVENTS &&
			!o->out->item[i].hidden &&
			o->out->item[i].format.rate == rate;
	return shows;
}

/* Events as they came, and at the clock of each codec that is added (RFC 4733,
 * 2.1), if who offers has any. */
static void put_events(struct offer *o)
{
	const struct sdp_format *any = events_at(o, 0);
	unsigned speech = o->out->n;

	put_kind(o, FORMAT_EVENTS);
	for (unsigned i = 0; i < speech && any; i++) {
		struct sdp_format f = *any;

		f.rate = o->out->item[i].format.rate;
		if (o->out->item[i].added && !shows_events(o, f.rate))
			(void)add_format(o, &f, -1);
	}
}

static bool adds(const struct codec_rules *r)
{
	unsigned k = 0;

	return codec_rules_next(r, CODEC_TRANSCODE, &k);
}

static void put_all_codecs(struct offer *o)
{
	const struct codec_rules *r = o->rules;
	const struct codec_spec *s;
	unsigned k = 0;

	o->out->n = 0;
	o->ignores = true;
	o->ignores = has_source(o);
	if (!o->ignores && has_source(o))
		mark_unmet(o, CODEC_IGNORE, CODEC_NEEDED);
	/* first what is to be first, then as it came */
	while ((s = codec_rules_next(r, CODEC_OFFER, &k)))
		put_speech(o, s, false);
	put_speech(o, NULL, false);
	add_transcoded(o);
	add_spoken(o);
	if (!codec_shows_speech(o->out))
		return;
	put_events(o);
	put_kind(o, FORMAT_NOISE);
	/* They can be shown, and not made. */
	for (k = 0; k < r->n; k++)
		if (r->item[k].rule == CODEC_TRANSCODE &&
		    spec_kind(&r->item[k].spec) != FORMAT_SPEECH &&
		    !is_shown(o, &r->item[k].spec))
			o->room->unmet[k] = CODEC_NO_SOURCE;
}

int codec_offer(struct codec_list *out, struct codec_room *room,
		const struct codec_asked *asked, struct cr_err *e)
{
	static const struct codec_rules none;
	struct offer o = { .out = out,
			   .room = room,
			   .line = asked->line,
			   .rules = asked->rules,
			   .can = asked->can,
			   .spoken = asked->spoken };

	*out = (struct codec_list){ .item = room->item };
	memset(room->unmet, CODEC_MET, sizeof(room->unmet));
	memset(room->unmet_all, CODEC_MET, sizeof(room->unmet_all));
	put_all_codecs(&o);
	/* nobody means that, unless something was to come in its place */
	if (!codec_shows_speech(out) && !adds(asked->rules)) {
		o.rules = &none;
		put_all_codecs(&o);
		o.rules = asked->rules;
		for (enum codec_rule r = CODEC_STRIP; r <= CODEC_CONSUME; r++)
			if (codec_shows_speech(out))
				mark_unmet(&o, r, CODEC_NEEDED);
	}
	if (out->n == SDP_FORMATS_MAX)
		return cr_fail(e, -EINVAL,
			       "with what is to be added the offer has more "
			       "than %u payload types",
			       SDP_FORMATS_MAX - 1);
	return 0;
}

bool codec_shows_speech(const struct codec_list *list)
{
	for (unsigned k = 0; k < list->n; k++)
		if (!list->item[k].hidden &&
		    format_kind(&list->item[k].format) == FORMAT_SPEECH)
			return true;
	return false;
}

const struct codec_item *codec_own_speech(const struct codec_list *list,
					  const struct codec_abilities *can)
{
	const struct codec_item *best = NULL;

	for (unsigned i = 0; i < list->n; i++) {
		const struct codec_item *it = &list->item[i];

		if (!it->added && format_kind(&it->format) == FORMAT_SPEECH &&
		    can->able(&it->format) && (!best || it->rank < best->rank))
			best = it;
	}
	return best;
}

/* --- keeping one --- */

static char *keep_text(char **to, const char *text)
{
	size_t n = strlen(text) + 1;
	char *at = *to;

	memcpy(at, text, n);
	*to += n;
	return at;
}

struct codec_list *codec_list_copy(const struct codec_list *from)
{
	struct codec_list *to;
	size_t text = 0;
	char *p;

	for (unsigned i = 0; i < from->n; i++)
		text += strlen(from->item[i].format.name) +
			strlen(from->item[i].format.fmtp) + 2;
	to = malloc(sizeof(*to) + from->n * sizeof(*to->item) + text);
	if (!to)
		return NULL;
	to->n = from->n;
	to->item = (struct codec_item *)(to + 1);
	p = (char *)(to->item + to->n);
	for (unsigned i = 0; i < to->n; i++) {
		to->item[i] = from->item[i];
		to->item[i].format.name =
			keep_text(&p, from->item[i].format.name);
		to->item[i].format.fmtp =
			keep_text(&p, from->item[i].format.fmtp);
	}
	return to;
}

unsigned codec_shown(const struct codec_list *list, struct sdp_format *out)
{
	unsigned n = 0;

	for (unsigned i = 0; i < list->n; i++)
		if (!list->item[i].hidden)
			out[n++] = list->item[i].format;
	return n;
}

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

static void pass_format(struct codec_choice *c, const struct sdp_format *f,
			uint8_t as)
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
		pass_format(&s->out->party[1], f, it->format.pt);
		if (!s->single || it == own || format_kind(f) != FORMAT_SPEECH)
			pass_format(&s->out->party[0], &it->format, f->pt);
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
	bool codes = can_code(s);

	/* Of who offered: those that are passed on, those at the clocks of
	 * speech that is not, or else any one. */
	for (unsigned round = 0; round < 2 && !a->nevents; round++)
		for (unsigned i = 0; i < s->offered->n; i++) {
			const struct codec_item *it = &s->offered->item[i];
			const struct sdp_format *f = &it->format;

			if (it->added || (round && a->nevents))
				continue;
			if (is_passed(a, f) ||
			    (codes && (round || has_coded(a, f->rate))))
				add_events(a, f);
		}
	put_best_first(a);
	list_answerers_events(s);
	if (!a->nevents || !b->nevents)
		a->nevents = b->nevents = 0;
	for (unsigned i = 0; i < s->offered->n; i++) {
		const struct codec_item *it = &s->offered->item[i];
		const struct sdp_format *f = &it->format;
		bool known = is_passed(a, f);

		for (unsigned k = 0; k < a->nevents; k++)
			known |= a->events[k].pt == f->pt;
		if (known && !it->added && format_kind(f) == FORMAT_EVENTS)
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
	int layout[SDP_FORMATS_MAX];
	struct codec_choice *c = &out->party[1];

	memset(out, 0, sizeof(*out));
	for (unsigned i = 0; i < s.offered->n; i++)
		layout[i] = format_layout(&s.offered->item[i].format);
	for (unsigned i = 0; i < s.line->nformats; i++)
		s.as[i] = find_offered(&s, &s.line->formats[i], layout);
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
	for (unsigned i = 0; i < s.line->nformats; i++) {
		const struct sdp_format *f = &s.line->formats[i];

		if (f != b && format_kind(f) == FORMAT_SPEECH &&
		    offered_as(&s, f))
			c->also[c->nalso++] = *f;
	}
	settle_events(&s);
	settle_noise(&s);
	return 0;
}
