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

bool format_same(const struct sdp_format *a, const struct sdp_format *b)
{
	struct fmtp_amr x, y;

	if (strcasecmp(a->name, b->name) != 0 || a->rate != b->rate ||
	    a->channels != b->channels)
		return false;
	if (!format_is_amr(a))
		return true;
	return !fmtp_amr_read(&x, a->fmtp, 16, NULL) &&
	       !fmtp_amr_read(&y, b->fmtp, 16, NULL) &&
	       fmtp_amr_same_payload(&x, &y);
}

/* --- making an offer --- */

struct offer {
	struct codec_list *out;
	const struct sdp_line *line;
	const struct codec_rules *rules;
	const struct codec_abilities *can;
	bool used[TYPES]; /* payload types */
};

static bool matches(const struct offer *o, enum codec_rule rule,
		    const struct sdp_format *f)
{
	return codec_rules_find(o->rules, rule, f) != NULL;
}

/* Is it exempt from what happens to all? */
static bool restored(const struct offer *o, const struct sdp_format *f)
{
	bool full = o->rules->full[CODEC_STRIP] || o->rules->full[CODEC_MASK] ||
		    o->rules->full[CODEC_CONSUME];

	return matches(o, CODEC_EXCEPT, f) || matches(o, CODEC_OFFER, f) ||
	       (!full && matches(o, CODEC_TRANSCODE, f));
}

static bool stripped(const struct offer *o, const struct sdp_format *f)
{
	return matches(o, CODEC_IGNORE, f) || matches(o, CODEC_STRIP, f) ||
	       (o->rules->all[CODEC_STRIP] && !restored(o, f)) ||
	       !o->can->able(f);
}

static bool masked(const struct offer *o, const struct sdp_format *f)
{
	bool all = o->rules->all[CODEC_MASK] || o->rules->all[CODEC_CONSUME];

	return matches(o, CODEC_MASK, f) || matches(o, CODEC_CONSUME, f) ||
	       (all && !restored(o, f));
}

static struct codec_item *push(struct offer *o, const struct sdp_format *f)
{
	struct codec_item *i;

	if (o->out->n == SDP_FORMATS_MAX)
		return NULL;
	i = &o->out->item[o->out->n++];
	*i = (struct codec_item){ .format = *f };
	o->used[f->pt & 127u] = true;
	return i;
}

static void put_as(struct offer *o, const struct sdp_format *f, bool hidden)
{
	const struct codec_spec *set = codec_rules_find(o->rules, CODEC_SET, f);
	struct codec_item *i = push(o, f);

	if (!i)
		return;
	i->hidden = hidden;
	i->accepted =
		o->rules->all[CODEC_ACCEPT] || matches(o, CODEC_ACCEPT, f);
	i->bit_rate = set ? set->bit_rate : 0;
}

static bool is_there(const struct offer *o, const struct sdp_format *f)
{
	for (unsigned i = 0; i < o->out->n; i++)
		if (o->out->item[i].format.pt == f->pt &&
		    !o->out->item[i].added)
			return true;
	return false;
}

/* Speech of the line: first what the rules want first, then as it came. */
static void put_speech(struct offer *o)
{
	const struct sdp_line *l = o->line;
	const struct codec_spec *spec;
	unsigned k = 0;

	while ((spec = codec_rules_next(o->rules, CODEC_OFFER, &k)))
		for (unsigned i = 0; i < l->nformats; i++) {
			const struct sdp_format *f = &l->formats[i];

			if (format_kind(f) == FORMAT_SPEECH &&
			    codec_spec_is(spec, f) && !is_there(o, f) &&
			    !stripped(o, f))
				put_as(o, f, false);
		}
	for (unsigned i = 0; i < l->nformats; i++) {
		const struct sdp_format *f = &l->formats[i];

		if (format_kind(f) == FORMAT_SPEECH && !is_there(o, f) &&
		    !stripped(o, f))
			put_as(o, f, masked(o, f));
	}
}

static bool is_shown(const struct offer *o, const struct codec_spec *spec)
{
	for (unsigned i = 0; i < o->out->n; i++)
		if (!o->out->item[i].hidden &&
		    codec_spec_is(spec, &o->out->item[i].format))
			return true;
	return false;
}

/* A payload type that nobody has; -1: there is none left. */
static int free_type(struct offer *o, int wish)
{
	if (wish >= 0 && !o->used[wish])
		return wish;
	for (int pt = DYNAMIC_FIRST; pt < TYPES; pt++)
		if (!o->used[pt])
			return pt;
	return -1;
}

static void add_format(struct offer *o, struct sdp_format *f, int wish,
		       const struct codec_spec *spec)
{
	int pt = free_type(o, wish);
	struct codec_item *i;

	if (pt < 0)
		return;
	f->pt = (uint8_t)pt;
	i = push(o, f);
	if (!i)
		return;
	i->added = true;
	if (spec) {
		i->bit_rate = spec->bit_rate;
		i->ptime = spec->ptime;
	}
}

static void add_transcoded(struct offer *o)
{
	const struct codec_spec *s;
	unsigned k = 0;

	while ((s = codec_rules_next(o->rules, CODEC_TRANSCODE, &k))) {
		struct sdp_format f;
		int wish;

		if (!is_shown(o, s) && o->can->resolve(s, &f, &wish))
			add_format(o, &f, wish, s);
	}
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

static const struct sdp_format *events_at(const struct offer *o, unsigned rate)
{
	for (unsigned i = 0; i < o->line->nformats; i++) {
		const struct sdp_format *f = &o->line->formats[i];

		if (format_kind(f) == FORMAT_EVENTS &&
		    !matches(o, CODEC_STRIP, f) &&
		    !matches(o, CODEC_IGNORE, f) && (!rate || f->rate == rate))
			return f;
	}
	return NULL;
}

/* Events at the clock of each codec that is shown (RFC 4733, 2.1), if who
 * offers has them; what it has at other clocks is hidden. */
static void put_events(struct offer *o)
{
	const struct sdp_format *any = events_at(o, 0);
	unsigned speech = o->out->n;

	if (!any)
		return;
	for (unsigned i = 0; i < o->line->nformats; i++) {
		const struct sdp_format *f = &o->line->formats[i];

		if (format_kind(f) == FORMAT_EVENTS &&
		    events_at(o, f->rate) == f)
			put_as(o, f, !speech_at(o, f->rate));
	}
	for (unsigned i = 0; i < speech; i++) {
		struct sdp_format f = *any;

		f.rate = o->out->item[i].format.rate;
		if (!o->out->item[i].hidden && !events_at(o, f.rate)) {
			bool there = false;

			for (unsigned k = speech; k < o->out->n; k++)
				there |= o->out->item[k].format.rate == f.rate;
			if (!there)
				add_format(o, &f, -1, NULL);
		}
	}
}

static void put_noise(struct offer *o)
{
	for (unsigned i = 0; i < o->line->nformats; i++) {
		const struct sdp_format *f = &o->line->formats[i];

		if (format_kind(f) == FORMAT_NOISE &&
		    !matches(o, CODEC_STRIP, f) && !matches(o, CODEC_IGNORE, f))
			put_as(o, f, !speech_at(o, f->rate));
	}
}

static bool shows_speech(const struct offer *o)
{
	for (unsigned i = 0; i < o->out->n; i++)
		if (!o->out->item[i].hidden)
			return true;
	return false;
}

int codec_offer(struct codec_list *out, struct codec_room *room,
		const struct sdp_line *line, const struct codec_rules *rules,
		const struct codec_abilities *can, struct cr_err *e)
{
	static const struct codec_rules none;
	struct offer o = {
		.out = out, .line = line, .rules = rules, .can = can
	};

	*out = (struct codec_list){ .item = room->item };
	for (unsigned i = 0; i < line->nformats; i++)
		o.used[line->formats[i].pt & 127u] = true;
	put_speech(&o);
	add_transcoded(&o);
	if (!shows_speech(&o)) { /* nobody meant that: as it came */
		out->n = 0;
		o.rules = &none;
		put_speech(&o);
	}
	put_events(&o);
	put_noise(&o);
	if (out->n == SDP_FORMATS_MAX)
		return cr_fail(e, -EINVAL,
			       "with what is to be added the offer has more "
			       "than %u payload types",
			       SDP_FORMATS_MAX - 1);
	return 0;
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
