/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any offer, any rules, any answer: each payload type means one thing, who
 * offered is answered what it has offered, and a list has its own texts. The
 * input is choices, an octet each.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "ng/codecs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct sdp_format pool[] = {
	{ 0, "PCMU", 8000, 1, "" },
	{ 8, "PCMA", 8000, 1, "" },
	{ 9, "G722", 8000, 1, "" },
	{ 96, "AMR", 8000, 1, "mode-set=7" },
	{ 97, "AMR", 8000, 1, "octet-align=1" },
	{ 98, "AMR-WB", 16000, 1, "" },
	{ 99, "opus", 48000, 2, "useinbandfec=1" },
	{ 100, "telephone-event", 8000, 1, "0-15" },
	{ 101, "telephone-event", 16000, 1, "0-15" },
	{ 102, "telephone-event", 48000, 1, "" },
	{ 13, "CN", 8000, 1, "" },
	{ 103, "EVS", 16000, 1, "" },
	{ 104, "", 0, 1, "" },
};

static const char *const words[] = { "all",
				     "full",
				     "PCMU",
				     "PCMA",
				     "AMR",
				     "AMR-WB",
				     "opus",
				     "G722/8000/1",
				     "EVS",
				     "telephone-event",
				     "AMR/8000/1/12200//mode-set--7" };

enum {
	POOL = sizeof(pool) / sizeof(*pool),
	WORDS = sizeof(words) / sizeof(*words)
};

struct choices {
	const uint8_t *p, *end;
};

static unsigned choose(struct choices *c, unsigned n)
{
	return c->p < c->end ? *c->p++ % n : 0;
}

/* Formats of the pool, each once, by other numbers at times. */
static unsigned choose_formats(struct choices *c, struct sdp_format *out)
{
	bool used[POOL] = { false };
	unsigned n = 0, want = choose(c, POOL + 1);

	for (unsigned i = 0; i < want; i++) {
		unsigned k = choose(c, POOL);

		if (used[k])
			continue;
		used[k] = true;
		out[n] = pool[k];
		if (pool[k].pt >= 96 && choose(c, 4) == 3)
			out[n].pt = (uint8_t)(pool[k].pt + 16);
		n++;
	}
	return n;
}

static void choose_rules(struct choices *c, struct codec_rules *r)
{
	json_t *request = json_object(), *codec = json_object();
	static const char *const names[] = { "ignore",	"strip",     "mask",
					     "consume", "accept",    "except",
					     "offer",	"transcode", "set" };
	struct cr_err e;

	for (unsigned i = choose(c, 5); i > 0; i--) {
		json_t *list = json_array();

		for (unsigned k = choose(c, 4); k > 0; k--)
			(void)json_array_append_new(
				list, json_string(words[choose(c, WORDS)]));
		(void)json_object_set_new(codec, names[choose(c, 9)], list);
	}
	(void)json_object_set_new(request, "codec", codec);
	CR_ASSERT(!codec_rules_read(r, request, &e));
	json_decref(request);
}

static bool has(const struct sdp_format *f, unsigned n,
		const struct sdp_format *is)
{
	for (unsigned i = 0; i < n; i++)
		if (f[i].pt == is->pt && f[i].rate == is->rate &&
		    !strcmp(f[i].name, is->name) &&
		    !strcmp(f[i].fmtp, is->fmtp))
			return true;
	return false;
}

/* Who is offered to has a number once; what is ignored is as if it was added.
 */
static void check_list(const struct codec_list *l, const struct sdp_line *line)
{
	for (unsigned i = 0; i < l->n; i++) {
		const struct codec_item *it = &l->item[i];

		for (unsigned k = 0; k < i; k++)
			CR_ASSERT(l->item[k].hidden || it->hidden ||
				  l->item[k].format.pt != it->format.pt);
		CR_ASSERT((it->rank < line->nformats) ||
			  (it->added && it->rank == SDP_FORMATS_MAX));
		CR_ASSERT(it->rank >= line->nformats ||
			  has(line->formats + it->rank, 1, &it->format));
		CR_ASSERT(!it->added || !it->hidden);
		CR_ASSERT(codec_able(&it->format) ||
			  (codec_passes(&it->format) && !it->added &&
			   !it->hidden));
	}
}

/* Is that what @p sends, by a codec of ours or passed on? */
static bool may_send(const struct endpoint_spec *p, unsigned pt)
{
	bool may = p->side.pt == (int)pt || passed_has(&p->passed, (uint8_t)pt);

	for (unsigned i = 0; i < p->nalso; i++)
		may |= p->also[i].pt == (int)pt;
	return may;
}

static void check_settled(const struct codec_settled *s,
			  const struct sdp_line *offer,
			  const struct sdp_line *answer, bool single)
{
	unsigned speech = 0;

	CR_ASSERT(s->nanswer >= 1 && s->nanswer <= SDP_FORMATS_MAX);
	for (unsigned i = 0; i < s->nanswer; i++) {
		CR_ASSERT(has(offer->formats, offer->nformats, &s->answer[i]));
		for (unsigned k = 0; k < i; k++)
			CR_ASSERT(s->answer[k].pt != s->answer[i].pt);
		if (format_kind(&s->answer[i]) != FORMAT_SPEECH)
			continue;
		speech++;
		CR_ASSERT(may_send(s->party[0], s->answer[i].pt));
	}
	CR_ASSERT(speech >= 1 + s->party[0]->nalso);
	CR_ASSERT(!single || speech == 1);
	CR_ASSERT(has(answer->formats, answer->nformats, s->speech[1]));
	CR_ASSERT(s->transcoded || format_same(s->speech[0], s->speech[1]));
	for (unsigned k = 0; k < 2; k++)
		CR_ASSERT(s->party[k]->side.pt == s->speech[k]->pt);
	CR_ASSERT(!s->party[0]->types.events == !s->party[1]->types.events);
	CR_ASSERT(!s->party[0]->types.noise == !s->party[1]->types.noise);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct codec_rules rules;
	static struct endpoint_spec party[2];
	static struct codec_offer made;
	struct sdp_format offered[POOL], answered[POOL];
	struct choices c = { data, data + size };
	struct sdp_line offer = { .formats = offered };
	struct sdp_line answer = { .formats = answered };
	bool single = choose(&c, 2);
	struct codec_list *list;
	struct codec_settled s = { .party = { &party[0], &party[1] } };
	struct cr_err e;

	offer.nformats = choose_formats(&c, offered);
	choose_rules(&c, &rules);
	made.line = &offer;
	made.rules = &rules;
	made.spoken = NULL;
	CR_ASSERT(!codec_offer_make(&made, &list, &e));
	check_list(list, &offer);
	memset(&made, 0x55, sizeof(made)); /* the list needs nothing of it */
	answer.nformats = choose_formats(&c, answered);
	if (!codec_settle(&s, list, &answer, single, &e))
		check_settled(&s, &offer, &answer, single);
	free(list);
	return 0;
}
