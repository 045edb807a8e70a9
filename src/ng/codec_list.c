/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The offer: what becomes of it on its way.
 */
#include "ng/codec_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

int format_layout(const struct sdp_format *f)
{
	struct fmtp_amr amr;

	if (!format_is_amr(f))
		return 0;
	if (fmtp_amr_read(&amr, f->fmtp, 16, NULL))
		return -1;
	return fmtp_amr_layout(&amr);
}

bool format_same_name(const struct sdp_format *a, const struct sdp_format *b)
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

static bool is_there(const struct offer *o, const struct sdp_format *f)
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
		    (fate == FATE_RESTORED) == restored && !is_there(o, f) &&
		    (!spec || codec_spec_is(spec, f)))
			put_as(o, f, fate);
	}
}

/* First what is to be first, then as it came. */
static void put_offered(struct offer *o)
{
	const struct codec_spec *s;
	unsigned k = 0;

	while ((s = codec_rules_next(o->rules, CODEC_OFFER, &k)))
		put_speech(o, s, false);
	put_speech(o, NULL, false);
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

/* They can be shown, and not made. */
static void check_kinds(struct offer *o)
{
	const struct codec_rules *r = o->rules;

	for (unsigned k = 0; k < r->n; k++)
		if (r->item[k].rule == CODEC_TRANSCODE &&
		    spec_kind(&r->item[k].spec) != FORMAT_SPEECH &&
		    !is_shown(o, &r->item[k].spec))
			o->room->unmet[k] = CODEC_NO_SOURCE;
}

static bool adds(const struct codec_rules *r)
{
	unsigned k = 0;

	return codec_rules_next(r, CODEC_TRANSCODE, &k);
}

static void put_all(struct offer *o)
{
	o->out->n = 0;
	o->ignores = true;
	o->ignores = has_source(o);
	if (!o->ignores && has_source(o))
		mark_unmet(o, CODEC_IGNORE, CODEC_NEEDED);
	put_offered(o);
	add_transcoded(o);
	add_spoken(o);
	if (!codec_shows_speech(o->out))
		return;
	put_events(o);
	put_kind(o, FORMAT_NOISE);
	check_kinds(o);
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
	put_all(&o);
	/* nobody means that, unless something was to come in its place */
	if (!codec_shows_speech(out) && !adds(asked->rules)) {
		o.rules = &none;
		put_all(&o);
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

static char *keep(char **to, const char *text)
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
		to->item[i].format.name = keep(&p, from->item[i].format.name);
		to->item[i].format.fmtp = keep(&p, from->item[i].format.fmtp);
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
