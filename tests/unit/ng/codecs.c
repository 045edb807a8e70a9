/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Codecs between offer and answer: the words that telephone systems use, and
 * that as little as possible is transcoded.
 *
 * A list is written "0 PCMU/8000, 96 AMR/8000 octet-align=1".
 */
#include "cmocka_cr.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "json_text.h"
#include "ng/codecs.h"

struct line {
	char text[512];
	struct sdp_format formats[16];
	struct sdp_line line;
};

/* Not to be moved then. */
static void line_of(struct line *l, const char *text)
{
	char *save = NULL;

	memset(l, 0, sizeof(*l));
	(void)snprintf(l->text, sizeof(l->text), "%s", text);
	l->line.formats = l->formats;
	for (char *p = strtok_r(l->text, ",", &save); p;
	     p = strtok_r(NULL, ",", &save)) {
		struct sdp_format *f = &l->formats[l->line.nformats++];
		char *end;

		f->pt = (uint8_t)strtoul(p, &end, 10);
		f->name = end + 1;
		end = strchr(f->name, '/');
		*end++ = '\0';
		f->rate = (unsigned)strtoul(end, &end, 10);
		f->channels =
			*end == '/' ? (unsigned)strtoul(end + 1, &end, 10) : 1;
		f->fmtp = *end == ' ' ? end + 1 : "";
	}
}

static void text_of(const struct sdp_format *f, unsigned n, char *out,
		    size_t size)
{
	size_t at = 0;

	out[0] = '\0';
	for (unsigned i = 0; i < n; i++) {
		at += (size_t)snprintf(out + at, size - at, "%s%u %s/%u",
				       i ? ", " : "", f[i].pt, f[i].name,
				       f[i].rate);
		if (f[i].channels > 1)
			at += (size_t)snprintf(out + at, size - at, "/%u",
					       f[i].channels);
		if (*f[i].fmtp)
			at += (size_t)snprintf(out + at, size - at, " %s",
					       f[i].fmtp);
	}
}

static void rules_of(struct codec_rules *r, const char *json)
{
	struct cr_err e = { "" };
	json_t *o = json_text(json);

	if (codec_rules_read(r, o, &e))
		fail_msg("%s", e.text);
	json_decref(o);
}

/* free(list) */
struct made {
	struct line line;
	struct codec_rules rules;
	struct codec_offer offer;
	struct codec_list *list;
};

static void make_after(struct made *m, const char *offer, const char *json,
		       const struct sdp_format *spoken)
{
	struct cr_err e = { "" };

	line_of(&m->line, offer);
	rules_of(&m->rules, json);
	m->offer.line = &m->line.line;
	m->offer.rules = &m->rules;
	m->offer.spoken = spoken;
	if (codec_offer_make(&m->offer, &m->list, &e))
		fail_msg("%s", e.text);
}

static void make(struct made *m, const char *offer, const char *json)
{
	make_after(m, offer, json, NULL);
}

#define PHONE "0 PCMU/8000, 8 PCMA/8000, 101 telephone-event/8000 0-15"
#define NOISY "0 PCMU/8000, 13 CN/8000, 101 telephone-event/8000 0-15"
#define MOBILE "96 AMR/8000 mode-set=7, 8 PCMA/8000"

/* An offer, rules, and what the other party is shown. */
struct shown {
	const char *offer, *rules, *becomes;
};

static void expect_shown(const struct shown *all, unsigned n)
{
	static struct made m;
	char text[512];

	for (unsigned i = 0; i < n; i++) {
		struct sdp_format shown[SDP_FORMATS_MAX];

		make(&m, all[i].offer, all[i].rules);
		text_of(shown, codec_shown(m.list, shown), text, sizeof(text));
		if (strcmp(text, all[i].becomes) != 0)
			fail_msg("%s\nwith %s\nbecomes %s\nnot     %s",
				 all[i].offer, all[i].rules, text,
				 all[i].becomes);
		free(m.list);
	}
}

static void a_codec_is_hidden_or_put_first(void **state)
{
	static const struct shown all[] = {
		{ PHONE, "{}", PHONE },
		{ PHONE, "{'codec':{'strip':['PCMU']}}",
		  "8 PCMA/8000, 101 telephone-event/8000 0-15" },
		/* what is ignored is offered all the same */
		{ PHONE, "{'codec':{'ignore':['PCMU']}}", PHONE },
		{ PHONE, "{'codec':{'ignore':['PCMU'],'mask':['PCMU']}}",
		  "8 PCMA/8000, 101 telephone-event/8000 0-15" },
		{ PHONE, "{'codec':{'offer':['PCMA']}}",
		  "8 PCMA/8000, 0 PCMU/8000, 101 telephone-event/8000 0-15" },
		{ PHONE, "{'codec':{'offer':['telephone-event','PCMA']}}",
		  "8 PCMA/8000, 0 PCMU/8000, 101 telephone-event/8000 0-15" },
		/* to strip all leaves nothing: nobody means that */
		{ PHONE, "{'codec':{'strip':['all']}}", PHONE },
		{ PHONE, "{'codec':{'mask':['PCMU','PCMA']}}", PHONE },
		/* unless something was to come in its place */
		{ PHONE, "{'codec':{'mask':['all'],'transcode':['EVS']}}", "" },
		{ PHONE, "{'codec':{'mask':['PCMU'],'transcode':['EVS']}}",
		  "8 PCMA/8000, 101 telephone-event/8000 0-15" },
	};

	expect_shown(all, sizeof(all) / sizeof(*all));
}

static void a_codec_is_added(void **state)
{
	static const struct shown all[] = {
		/* there is nothing to make it from */
		{ PHONE, "{'codec':{'strip':['all'],'transcode':['AMR']}}",
		  "" },
		{ PHONE, "{'codec':{'transcode':['AMR']}}",
		  "0 PCMU/8000, 8 PCMA/8000, 96 AMR/8000, "
		  "101 telephone-event/8000 0-15" },
		/* Kamailio's words for it */
		{ PHONE,
		  "{'flags':['codec-mask-all','codec-transcode-AMR/8000/1/"
		  "12200//mode-set--7;octet-align--1']}",
		  "96 AMR/8000 mode-set=7;octet-align=1" },
		{ PHONE,
		  "{'flags':['codec_mask_all','Codec Transcode "
		  "G722','Transcode_AMR']}",
		  "9 G722/8000, 96 AMR/8000" },
		{ PHONE, "{'flags':['transcode-G722','codec-strip-PCMU']}",
		  "8 PCMA/8000, 9 G722/8000, 101 telephone-event/8000 0-15" },
		/* what was there is not added again */
		{ PHONE, "{'codec':{'mask':['all'],'transcode':['PCMA']}}",
		  "8 PCMA/8000" },
		/* unless it was named; a static number stays */
		{ PHONE, "{'codec':{'mask':['PCMA'],'transcode':['PCMA']}}",
		  "0 PCMU/8000, 8 PCMA/8000, 101 telephone-event/8000 0-15" },
		{ PHONE, "{'codec':{'strip':['PCMU'],'transcode':['PCMU']}}",
		  "8 PCMA/8000, 0 PCMU/8000, 101 telephone-event/8000 0-15" },
		{ PHONE, "{'codec':{'mask':['full'],'transcode':['PCMA']}}",
		  "8 PCMA/8000" },
		{ "96 AMR/8000, 9 G722/8000",
		  "{'codec':{'mask':['G722'],'transcode':['G722']}}",
		  "96 AMR/8000, 9 G722/8000" },
		/* as long as it is not something else's */
		{ "8 AMR/8000, 0 PCMU/8000", "{'codec':{'transcode':['PCMA']}}",
		  "8 AMR/8000, 0 PCMU/8000, 96 PCMA/8000" },
	};

	expect_shown(all, sizeof(all) / sizeof(*all));
}

static void the_order_is_that_of_the_rules(void **state)
{
	static const struct shown all[] = {
		/* the order is the list's where all is masked, else as it
		 * came */
		{ PHONE,
		  "{'codec':{'mask':['all'],'transcode':['opus','PCMU']}}",
		  "96 opus/48000/2, 0 PCMU/8000" },
		{ PHONE,
		  "{'codec':{'strip':['all'],'transcode':['PCMA','AMR','PCMU']"
		  "}}",
		  "8 PCMA/8000, 96 AMR/8000, 0 PCMU/8000" },
		{ PHONE,
		  "{'codec':{'mask':['full'],'transcode':['opus','PCMU']}}",
		  "96 opus/48000/2, 0 PCMU/8000" },
		{ PHONE,
		  "{'codec':{'mask':['all'],'transcode':['opus'],"
		  "'offer':['PCMA'],'except':['PCMU']}}",
		  "8 PCMA/8000, 0 PCMU/8000, 96 opus/48000/2" },
		{ "0 PCMU/8000, 8 PCMA/8000",
		  "{'codec':{'transcode':['opus','PCMA','PCMU']}}",
		  "0 PCMU/8000, 8 PCMA/8000, 96 opus/48000/2" },
	};

	expect_shown(all, sizeof(all) / sizeof(*all));
}

static void events_and_noise_are_among_all(void **state)
{
	static const struct shown all[] = {
		/* what travels among the speech is one of all, too */
		{ NOISY, "{'codec':{'strip':['all'],'except':['PCMU']}}",
		  "0 PCMU/8000" },
		{ NOISY, "{'codec':{'mask':['all'],'except':['PCMU','CN']}}",
		  "0 PCMU/8000, 13 CN/8000" },
		{ NOISY, "{'codec':{'consume':['all'],'offer':['PCMU']}}",
		  "0 PCMU/8000" },
		{ NOISY, "{'codec':{'mask':['telephone-event']}}",
		  "0 PCMU/8000, 13 CN/8000" },
		{ NOISY, "{'codec':{'mask':['CN']}}",
		  "0 PCMU/8000, 101 telephone-event/8000 0-15" },
		{ NOISY, "{'codec':{'strip':['CN','telephone-event']}}",
		  "0 PCMU/8000" },
		{ NOISY, "{'codec':{'ignore':['CN','telephone-event']}}",
		  "0 PCMU/8000, 101 telephone-event/8000 0-15, 13 CN/8000" },
		{ NOISY,
		  "{'codec':{'mask':['all'],'transcode':['AMR','CN',"
		  "'telephone-event']}}",
		  "96 AMR/8000, 101 telephone-event/8000 0-15, 13 CN/8000" },
		/* events at the clock of what is added, and as they came */
		{ PHONE,
		  "{'codec':{'mask':['all'],'transcode':['AMR-WB',"
		  "'telephone-event/16000']}}",
		  "96 AMR-WB/16000, 101 telephone-event/8000 0-15, "
		  "97 telephone-event/16000 0-15" },
		{ PHONE,
		  "{'codec':{'mask':['all'],'transcode':['AMR-WB'],"
		  "'except':['telephone-event']}}",
		  "96 AMR-WB/16000, 101 telephone-event/8000 0-15, "
		  "97 telephone-event/16000 0-15" },
		{ "98 AMR-WB/16000, 101 telephone-event/8000", "{}",
		  "98 AMR-WB/16000, 101 telephone-event/8000" },
		{ "98 AMR-WB/16000, 101 telephone-event/8000",
		  "{'codec':{'transcode':['opus','PCMU']}}",
		  "98 AMR-WB/16000, 96 opus/48000/2, 0 PCMU/8000, "
		  "101 telephone-event/8000, 97 telephone-event/48000" },
		{ "0 PCMU/8000", "{'codec':{'transcode':['opus']}}",
		  "0 PCMU/8000, 96 opus/48000/2" },
		/* a payload type that is taken stays so */
		{ "96 telephone-event/8000, 0 PCMU/8000",
		  "{'codec':{'transcode':['AMR']}}",
		  "0 PCMU/8000, 97 AMR/8000, 96 telephone-event/8000" },
	};

	expect_shown(all, sizeof(all) / sizeof(*all));
}

static void what_the_node_lacks_is_passed_on(void **state)
{
	static const struct shown all[] = {
		/* nobody here has them: others may */
		{ "18 G729/8000, 0 PCMU/8000, 99 red/8000", "{}",
		  "18 G729/8000, 0 PCMU/8000" },
		{ "97 EVS/16000", "{}", "97 EVS/16000" },
		{ "97 EVS/16000, 0 PCMU/8000",
		  "{'codec':{'transcode':['AMR']}}",
		  "97 EVS/16000, 0 PCMU/8000, 96 AMR/8000" },
		{ "97 EVS/16000, 0 PCMU/8000",
		  "{'codec':{'mask':['all'],'transcode':['AMR','EVS']}}",
		  "96 AMR/8000, 97 EVS/16000" },
		/* but to hide one that nothing can be made from is no use */
		{ "97 EVS/16000, 0 PCMU/8000",
		  "{'codec':{'mask':['EVS'],'ignore':['PCMU']}}",
		  "0 PCMU/8000" },
		{ "97 EVS/16000, 0 PCMU/8000", "{'codec':{'ignore':['EVS']}}",
		  "0 PCMU/8000" },
		{ "97 EVS/16000",
		  "{'codec':{'mask':['all'],'transcode':['AMR']}}", "" },
		{ PHONE, "{'codec':{'transcode':['EVS']}}", PHONE },
		{ "0 PCMU/8000, 13 CN/8000", "{}", "0 PCMU/8000, 13 CN/8000" },
	};

	expect_shown(all, sizeof(all) / sizeof(*all));
}

static void one_of_two_of_a_name_is_meant(void **state)
{
	static const struct shown all[] = {
		/* one of two of a name, whatever is said of it */
		{ "96 AMR/8000, 97 AMR/8000 octet-align=1",
		  "{'codec':{'strip':['AMR/8000/1///octet-align=1']}}",
		  "96 AMR/8000" },
		{ "96 AMR/8000, 97 AMR/8000 octet-align=1",
		  "{'codec':{'strip':['AMR/8000/1///octet-align=0']}}",
		  "97 AMR/8000 octet-align=1" },
		{ "96 AMR/8000, 97 AMR/8000 mode-set=7 ; Octet-Align = 1",
		  "{'codec':{'strip':['AMR/8000/1///octet-align=1;"
		  "mode-set=7']}}",
		  "96 AMR/8000" },
	};

	expect_shown(all, sizeof(all) / sizeof(*all));
}

static int events_of(const struct endpoint_spec *p)
{
	return p->types.events ? p->types.events : -1;
}

/* Codecs that it may send beside what it is sent: those of ours, and those that
 * are passed on. */
static unsigned also_of(const struct endpoint_spec *p)
{
	unsigned n = p->nalso;

	for (unsigned i = 0; i < p->passed.n; i++) {
		const struct passed_type *t = &p->passed.one[i];
		bool counted = !t->clock || p->side.pt == t->pt;

		for (unsigned k = 0; k < p->nalso; k++)
			counted |= p->also[k].pt == t->pt;
		n += !counted;
	}
	return n;
}

static struct endpoint_spec party[2];

static void what_is_settled(const struct codec_settled *s, char *text,
			    size_t size)
{
	char answer[256];

	text_of(s->answer, s->nanswer, answer, sizeof(answer));
	(void)snprintf(text, size, "%u %s, %u: %u %s, %u; %d-%d; %s",
		       s->speech[0]->pt, s->speech[0]->name,
		       also_of(s->party[0]), s->speech[1]->pt,
		       s->speech[1]->name, also_of(s->party[1]),
		       events_of(s->party[0]), events_of(s->party[1]), answer);
}

/* A's codec and how many more; B's; their types of events; A's answer. */
struct agreed {
	const char *offer, *rules, *answer, *is;
	bool single, transcoded;
};

static void expect_agreed(const struct agreed *all, unsigned n)
{
	static struct made m;

	for (unsigned i = 0; i < n; i++) {
		struct codec_list *kept;
		struct codec_settled s = { .party = { &party[0], &party[1] } };
		struct cr_err e = { "" };
		struct line answer;
		char text[512];

		make(&m, all[i].offer, all[i].rules);
		kept = m.list;
		memset(&m, 0x55, sizeof(m)); /* it needs nothing of that */
		line_of(&answer, all[i].answer);
		if (codec_settle(&s, kept, &answer.line, all[i].single, &e))
			fail_msg("%s", e.text);
		what_is_settled(&s, text, sizeof(text));
		if (strcmp(text, all[i].is) != 0)
			fail_msg("%s\nwith %s, %s\nis  %s\nnot %s",
				 all[i].offer, all[i].rules, all[i].answer,
				 text, all[i].is);
		assert_int_equal(s.transcoded, all[i].transcoded);
		free(kept);
	}
}

static void both_settle_on_the_least(void **state)
{
	static const struct agreed all[] = {
		{ PHONE, "{}", "8 PCMA/8000, 101 telephone-event/8000",
		  "8 PCMA, 0: 8 PCMA, 0; 101-101; 8 PCMA/8000, "
		  "101 telephone-event/8000 0-15",
		  false, false },
		{ PHONE, "{}", "8 PCMA/8000, 0 PCMU/8000",
		  "8 PCMA, 1: 8 PCMA, 1; -1--1; 8 PCMA/8000, 0 PCMU/8000",
		  false, false },
		{ PHONE, "{}", "8 PCMA/8000, 0 PCMU/8000",
		  "8 PCMA, 0: 8 PCMA, 1; -1--1; 8 PCMA/8000", true, false },
		/* a codec that only one of them has */
		{ PHONE, "{'codec':{'transcode':['AMR']}}",
		  "96 AMR/8000, 101 telephone-event/8000",
		  "0 PCMU, 0: 96 AMR, 0; 101-101; 0 PCMU/8000, "
		  "101 telephone-event/8000 0-15",
		  false, true },
		/* it prefers the added one, and takes the other, too */
		{ PHONE, "{'codec':{'transcode':['AMR']}}",
		  "96 AMR/8000, 8 PCMA/8000",
		  "0 PCMU, 1: 96 AMR, 1; -1--1; 0 PCMU/8000, 8 PCMA/8000",
		  false, true },
		{ PHONE,
		  "{'codec':{'mask':['all'],'transcode':['AMR-WB'],"
		  "'except':['telephone-event']}}",
		  "96 AMR-WB/16000, 97 telephone-event/16000",
		  "0 PCMU, 0: 96 AMR-WB, 0; 101-97; 0 PCMU/8000, "
		  "101 telephone-event/8000 0-15",
		  false, true },
		/* what is hidden is not spoken of, unless the other one has it
		 */
		{ PHONE, "{'codec':{'mask':['telephone-event']}}",
		  "0 PCMU/8000", "0 PCMU, 0: 0 PCMU, 0; -1--1; 0 PCMU/8000",
		  false, false },
	};

	expect_agreed(all, sizeof(all) / sizeof(*all));
}

static void both_settle_on_what_the_node_lacks(void **state)
{
	static const struct agreed all[] = {
		/* what nobody here has a codec of is passed on */
		{ "97 EVS/16000, 8 PCMA/8000", "{}", "101 EVS/16000",
		  "97 EVS, 0: 101 EVS, 0; -1--1; 97 EVS/16000", false, false },
		{ "97 EVS/16000, 8 PCMA/8000", "{}",
		  "8 PCMA/8000, 97 EVS/16000",
		  "8 PCMA, 1: 8 PCMA, 1; -1--1; 8 PCMA/8000, 97 EVS/16000",
		  false, false },
		{ "97 G7221/16000 bitrate=24000, 98 G7221/16000 bitrate=32000",
		  "{}", "101 G7221/16000 bitrate=32000",
		  "98 G7221, 0: 101 G7221, 0; -1--1; 98 G7221/16000 "
		  "bitrate=32000",
		  false, false },
		/* and is no use beside speech that is not */
		{ "8 PCMA/8000, 97 EVS/16000",
		  "{'codec':{'transcode':['AMR']}}",
		  "96 AMR/8000, 97 EVS/16000, 8 PCMA/8000",
		  "8 PCMA, 0: 96 AMR, 1; -1--1; 8 PCMA/8000", false, true },
		{ "97 EVS/16000, 8 PCMA/8000", "{'codec':{'accept':['all']}}",
		  "97 EVS/16000", "97 EVS, 0: 97 EVS, 0; -1--1; 97 EVS/16000",
		  false, false },
		{ "8 PCMA/8000, 97 EVS/16000", "{'codec':{'accept':['all']}}",
		  "8 PCMA/8000", "8 PCMA, 0: 8 PCMA, 0; -1--1; 8 PCMA/8000",
		  false, false },
	};

	expect_agreed(all, sizeof(all) / sizeof(*all));
}

static void the_offerer_s_preference_and_rules_count(void **state)
{
	static const struct agreed all[] = {
		/* what who offers likes best, not what is shown first */
		{ "8 PCMA/8000, 0 PCMU/8000",
		  "{'codec':{'mask':['all'],'transcode':['AMR','PCMU']}}",
		  "96 AMR/8000", "8 PCMA, 0: 96 AMR, 0; -1--1; 8 PCMA/8000",
		  false, true },
		/* who offers is kept from what is ignored */
		{ PHONE, "{'codec':{'ignore':['PCMA']}}",
		  "8 PCMA/8000, 101 telephone-event/8000",
		  "0 PCMU, 0: 8 PCMA, 0; 101-101; 0 PCMU/8000, "
		  "101 telephone-event/8000 0-15",
		  false, true },
		{ PHONE, "{'codec':{'ignore':['PCMA']}}",
		  "0 PCMU/8000, 8 PCMA/8000",
		  "0 PCMU, 0: 0 PCMU, 1; -1--1; 0 PCMU/8000", false, false },
		{ PHONE, "{'codec':{'ignore':['telephone-event']}}",
		  "0 PCMU/8000, 101 telephone-event/8000",
		  "0 PCMU, 0: 0 PCMU, 0; -1--1; 0 PCMU/8000", false, false },
		{ MOBILE, "{'codec':{'ignore':['AMR'],'transcode':['G722']}}",
		  "96 AMR/8000 mode-set=7",
		  "8 PCMA, 0: 96 AMR, 0; -1--1; 8 PCMA/8000", false, true },
	};

	expect_agreed(all, sizeof(all) / sizeof(*all));
}

static void each_side_keeps_its_numbers_and_parameters(void **state)
{
	static const struct agreed all[] = {
		/* other numbers for the same */
		{ MOBILE, "{}", "100 AMR/8000 mode-set=7",
		  "96 AMR, 0: 100 AMR, 0; -1--1; 96 AMR/8000 mode-set=7", false,
		  false },
		{ MOBILE, "{}", "100 AMR/8000 mode-set=7, 8 PCMA/8000",
		  "96 AMR, 1: 100 AMR, 1; -1--1; 96 AMR/8000 mode-set=7, "
		  "8 PCMA/8000",
		  false, false },
		{ "8 PCMA/8000, 96 AMR/8000", "{}", "8 PCMA/8000, 97 AMR/8000",
		  "8 PCMA, 1: 8 PCMA, 1; -1--1; 8 PCMA/8000, 96 AMR/8000",
		  false, false },
		/* what is passed on has the answer's parameters */
		{ "8 PCMA/8000, 96 AMR/8000", "{}",
		  "8 PCMA/8000, 96 AMR/8000 mode-set=7",
		  "8 PCMA, 1: 8 PCMA, 1; -1--1; 8 PCMA/8000, 96 AMR/8000 "
		  "mode-set=7",
		  false, false },
		/* but modes that were not offered are none */
		{ "96 AMR/8000", "{}", "96 AMR/8000 mode-set=7",
		  "96 AMR, 0: 96 AMR, 0; -1--1; 96 AMR/8000 mode-set=7", false,
		  false },
		{ "96 AMR/8000 mode-set=7", "{}", "96 AMR/8000",
		  "96 AMR, 0: 96 AMR, 0; -1--1; 96 AMR/8000 mode-set=7", false,
		  false },
		{ "96 AMR/8000 mode-set=7", "{}", "96 AMR/8000 mode-set=2",
		  "96 AMR, 0: 96 AMR, 0; -1--1; 96 AMR/8000 mode-set=7", false,
		  true },
		{ PHONE, "{'codec':{'accept':['PCMU']}}", "8 PCMA/8000",
		  "8 PCMA, 1: 8 PCMA, 0; -1--1; 8 PCMA/8000, 0 PCMU/8000",
		  false, false },
	};

	expect_agreed(all, sizeof(all) / sizeof(*all));
}

/* The answer is not by the rules (RFC 4867, 8.3.1): nobody is sent a mode that
 * it has not named. */
static void other_modes_than_were_offered_need_a_codec(void **state)
{
	static const struct {
		const char *answer;
		bool transcoded, amr; /* the latter is passed on */
	} all[] = {
		{ "96 AMR/8000 mode-set=0;2", true, false },
		{ "96 AMR/8000 mode-set=7", false, true },
		{ "96 AMR/8000", false, true },
		{ "8 PCMA/8000, 96 AMR/8000 mode-set=2", false, false },
	};
	static struct made m;

	make(&m, MOBILE, "{}");
	for (unsigned i = 0; i < 4; i++) {
		struct codec_settled s = { .party = { &party[0], &party[1] } };
		struct cr_err e;
		struct line answer;

		line_of(&answer, all[i].answer);
		assert_int_equal(
			codec_settle(&s, m.list, &answer.line, false, &e), 0);
		assert_int_equal(s.transcoded, all[i].transcoded);
		for (unsigned k = 0; k < 2; k++)
			assert_int_equal(passed_has(&s.party[k]->passed, 96),
					 all[i].amr);
	}
	free(m.list);
}

static void who_has_nothing_in_common_is_told(void **state)
{
	static const char *const wrong[] = {
		"9 G722/8000", "", "101 telephone-event/8000",
		/* not the payload that was offered */
		"96 AMR/8000 octet-align=1"
	};
	static struct made m;
	struct codec_settled s = { .party = { &party[0], &party[1] } };
	struct cr_err e;
	struct line answer;

	make(&m, MOBILE, "{}");
	for (unsigned i = 0; i < 4; i++) {
		line_of(&answer, wrong[i]);
		assert_int_equal(
			codec_settle(&s, m.list, &answer.line, false, &e),
			-ENOENT);
		assert_non_null(strstr(e.text, "no codec that was offered"));
	}
	free(m.list);
}

/* By name or by "all", and why not. */
static void a_rule_that_cannot_be_followed_is_named(void **state)
{
	static const struct {
		const char *offer, *rules;
		unsigned why[3]; /* of each rule */
		unsigned all;	 /* of "all" of any */
	} all[] = {
		{ PHONE,
		  "{'codec':{'transcode':['AMR','EVS','AMR/16000']}}",
		  { CODEC_MET, CODEC_LACKING, CODEC_LACKING },
		  CODEC_MET },
		{ PHONE,
		  "{'codec':{'mask':['all'],'transcode':['EVS']}}",
		  { CODEC_LACKING },
		  CODEC_MET },
		{ PHONE,
		  "{'codec':{'strip':['all'],'transcode':['AMR']}}",
		  { CODEC_NO_SOURCE },
		  CODEC_MET },
		{ "0 PCMU/8000",
		  "{'codec':{'transcode':['telephone-event','CN','PCMU']}}",
		  { CODEC_NO_SOURCE, CODEC_NO_SOURCE, CODEC_MET },
		  CODEC_MET },
		{ PHONE,
		  "{'codec':{'mask':['all']}}",
		  { CODEC_MET },
		  CODEC_NEEDED },
		{ PHONE,
		  "{'codec':{'strip':['PCMU'],'mask':['PCMA']}}",
		  { CODEC_NEEDED, CODEC_NEEDED },
		  CODEC_MET },
		{ PHONE,
		  "{'codec':{'ignore':['all']}}",
		  { CODEC_MET },
		  CODEC_NEEDED },
		{ PHONE,
		  "{'codec':{'ignore':['PCMU','PCMA']}}",
		  { CODEC_NEEDED, CODEC_NEEDED },
		  CODEC_MET },
		/* what is not there need not be hidden, or put first */
		{ PHONE,
		  "{'codec':{'mask':['AMR'],'except':['opus'],"
		  "'offer':['AMR']}}",
		  { CODEC_MET, CODEC_MET, CODEC_MET },
		  CODEC_MET },
	};
	static struct made m;

	for (unsigned i = 0; i < sizeof(all) / sizeof(*all); i++) {
		unsigned of_all = CODEC_MET;

		make(&m, all[i].offer, all[i].rules);
		for (unsigned k = 0; k < CODEC_RULES; k++)
			of_all |= m.offer.unmet_all[k];
		for (unsigned k = 0; k < 3; k++)
			if (m.offer.unmet[k] != all[i].why[k])
				fail_msg("%s: rule %u: %u", all[i].rules, k,
					 m.offer.unmet[k]);
		assert_int_equal(of_all, all[i].all);
		free(m.list);
	}
}

/* Who has spoken a codec is offered that one, under its number: once, whatever
 * its answer said of it. */
static void what_was_spoken_is_offered_once(void **state)
{
	static const struct {
		struct sdp_format spoken;
		const char *rules, *becomes;
	} all[] = {
		{ { .name = "G722",
		    .rate = 8000,
		    .channels = 1,
		    .fmtp = "bitrate=64000",
		    .pt = 9 },
		  "{'codec':{'transcode':['G722']}}",
		  "8 PCMA/8000, 9 G722/8000" },
		{ { .name = "amr-wb",
		    .rate = 16000,
		    .channels = 1,
		    .fmtp = "mode-set=0; mode-change-capability=2",
		    .pt = 99 },
		  "{'codec':{'transcode':['AMR-WB']}}",
		  "8 PCMA/8000, 99 AMR-WB/16000" },
		{ { .name = "AMR",
		    .rate = 8000,
		    .channels = 1,
		    .fmtp = "octet-align=0",
		    .pt = 98 },
		  "{'codec':{'transcode':['AMR']}}",
		  "8 PCMA/8000, 98 AMR/8000" },
		{ { .name = "opus",
		    .rate = 48000,
		    .channels = 2,
		    .fmtp = "useinbandfec=1",
		    .pt = 111 },
		  "{'codec':{'mask':['all'],'transcode':['opus']}}",
		  "111 opus/48000/2" },
		{ { 8, "pcma", 8000, 1, "" }, "{}", "8 PCMA/8000" },
		/* another payload is another codec */
		{ { .name = "AMR",
		    .rate = 8000,
		    .channels = 1,
		    .fmtp = "octet-align=1",
		    .pt = 98 },
		  "{'codec':{'transcode':['AMR']}}",
		  "8 PCMA/8000, 96 AMR/8000, 98 AMR/8000 octet-align=1" },
		/* what the rules do not name it goes on with */
		{ { .name = "AMR",
		    .rate = 8000,
		    .channels = 1,
		    .fmtp = "mode-set=7",
		    .pt = 98 },
		  "{}",
		  "8 PCMA/8000, 98 AMR/8000 mode-set=7" },
		/* and what nobody here has it cannot */
		{ { 98, "EVS", 16000, 1, "" }, "{}", "8 PCMA/8000" },
	};
	static struct made m;
	struct sdp_format shown[SDP_FORMATS_MAX];
	char text[512];

	for (unsigned i = 0; i < sizeof(all) / sizeof(*all); i++) {
		make_after(&m, "8 PCMA/8000", all[i].rules, &all[i].spoken);
		text_of(shown, codec_shown(m.list, shown), text, sizeof(text));
		assert_string_equal(text, all[i].becomes);
		for (unsigned k = 0; k < CODEC_RULES_MAX; k++)
			assert_int_equal(m.offer.unmet[k], CODEC_MET);
		free(m.list);
	}
}

static void bit_rates_go_with_their_codec(void **state)
{
	static struct made m;
	struct codec_settled s = { .party = { &party[0], &party[1] } };
	struct cr_err e;
	struct line answer;

	make(&m, "96 AMR/8000",
	     "{'codec':{'set':['AMR/8000/1/7400'],'mask':['all'],"
	     "'transcode':['AMR-WB/16000/1/12650']}}");
	line_of(&answer, "97 AMR-WB/16000");
	assert_int_equal(codec_settle(&s, m.list, &answer.line, false, &e), 0);
	assert_string_equal(s.party[0]->side.mode, "7.40");
	assert_string_equal(s.party[1]->side.mode, "12.65");
	assert_true(s.transcoded);
	free(m.list);
}

static void a_codecs_name_has_parts(void **state)
{
	static const char *const wrong[] = { "", "/8000", "AMR/x",
					     "AMR/8000/-1",
					     "AMR/99999999999999" };
	static struct codec_rule_item s;
	const struct sdp_format *f = &s.codec.format;
	struct cr_err e;

	assert_int_equal(
		codec_rule_item_read(&s,
				     "AMR/8000/1/12200/40/mode-set--7;"
				     "octet-align--1/CMR-interval--500",
				     &e),
		0);
	assert_string_equal(f->name, "AMR");
	assert_int_equal(f->rate, 8000);
	assert_int_equal(f->channels, 1);
	assert_int_equal(s.codec.bit_rate, 12200);
	assert_int_equal(s.codec.ptime, 40);
	assert_string_equal(f->fmtp, "mode-set=7;octet-align=1");
	assert_int_equal(codec_rule_item_read(&s, "PCMU", &e), 0);
	assert_int_equal(f->rate, 0);
	for (unsigned i = 0; i < 5; i++) {
		assert_int_equal(codec_rule_item_read(&s, wrong[i], &e),
				 -EINVAL);
		assert_non_null(strstr(e.text, "as in AMR/8000"));
	}
}

/* The whole node waits for it: many formats with long parameters, which differ
 * at their ends, are no more work than CPU time of a second or two. */
static void hostile_formats_are_settled_soon(void **state)
{
	enum { FORMATS = SDP_FORMATS_MAX - 2, TIMES = 100, SECONDS = 40 };
	static const struct codec_rules rules;
	static char fmtp[2][FORMATS][SDP_FMTP_MAX + 1];
	static struct sdp_format formats[2][FORMATS];
	static struct codec_settled settled = { .party = { &party[0],
							   &party[1] } };
	static struct codec_offer offer;
	struct codec_list *list;
	const struct rlimit cpu = { SECONDS, SECONDS };
	const struct sdp_line line[2] = {
		{ .formats = formats[0], .nformats = FORMATS },
		{ .formats = formats[1], .nformats = FORMATS }
	};
	struct cr_err e;

	for (unsigned i = 0; i < 2 * FORMATS; i++) {
		char *text = fmtp[i / FORMATS][i % FORMATS];

		memset(text, 'a', SDP_FMTP_MAX);
		for (unsigned k = 1; k < SDP_FMTP_MAX; k += 3)
			text[k] = ';';
		text[SDP_FMTP_MAX - 1] = (char)('a' + i / FORMATS);
		formats[i / FORMATS][i % FORMATS] =
			(struct sdp_format){ .pt = (uint8_t)i,
					     .name = "AMR",
					     .rate = 8000,
					     .channels = 1,
					     .fmtp = text };
	}
	assert_int_equal(setrlimit(RLIMIT_CPU, &cpu), 0);
	for (unsigned i = 0; i < TIMES; i++) {
		offer.line = &line[0];
		offer.rules = &rules;
		offer.spoken = NULL;
		assert_int_equal(codec_offer_make(&offer, &list, &e), 0);
		assert_int_equal(
			codec_settle(&settled, list, &line[1], false, &e), 0);
		assert_int_equal(settled.speech[0]->pt, formats[0][0].pt);
		free(list);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_codecs_name_has_parts),
		cmocka_unit_test(a_codec_is_hidden_or_put_first),
		cmocka_unit_test(a_codec_is_added),
		cmocka_unit_test(the_order_is_that_of_the_rules),
		cmocka_unit_test(events_and_noise_are_among_all),
		cmocka_unit_test(what_the_node_lacks_is_passed_on),
		cmocka_unit_test(one_of_two_of_a_name_is_meant),
		cmocka_unit_test(both_settle_on_the_least),
		cmocka_unit_test(both_settle_on_what_the_node_lacks),
		cmocka_unit_test(the_offerer_s_preference_and_rules_count),
		cmocka_unit_test(each_side_keeps_its_numbers_and_parameters),
		cmocka_unit_test(other_modes_than_were_offered_need_a_codec),
		cmocka_unit_test(who_has_nothing_in_common_is_told),
		cmocka_unit_test(a_rule_that_cannot_be_followed_is_named),
		cmocka_unit_test(what_was_spoken_is_offered_once),
		cmocka_unit_test(bit_rates_go_with_their_codec),
		cmocka_unit_test(hostile_formats_are_settled_soon),
	};

	return cmocka_run_group_tests_name("ng codecs", tests, NULL, NULL);
}
