/* SPDX-License-Identifier: Apache-2.0 */
#include "asking.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_cr.h"
#include "seed.h"

enum { SDP_MAX = 4096, FORMATS = 6 };

static const char *const calls[ASKING_CALLS] = { "one", "two", "three",
						 "four" };
static const char *const callers[] = { "a", "a", "a", "a", "b", "c", "" };
static const char *const callees[] = { "b", "b", "b", "c", "a" };
static const char *const branches[] = { "z9hG4bK1", "z9hG4bK2" };
static const char *const commands[] = {
	"offer",  "offer", "offer", "offer",	  "answer", "answer", "answer",
	"delete", "query", "list",  "statistics", "ping",   "dance",
};
static const struct {
	unsigned pt;
	const char *rtpmap, *fmtp;
} formats[FORMATS] = {
	{ 0, "PCMU/8000", NULL },  { 8, "PCMA/8000", NULL },
	{ 9, "G722/8000", NULL },  { 96, "AMR/8000", "octet-align=1" },
	{ 97, "EVS/16000", NULL }, { 101, "telephone-event/8000", "0-15" },
};
static const char *const flags[] = {
	"{'codec': {'mask': ['all'], 'transcode': ['AMR/8000']}}",
	"{'codec': {'strip': ['PCMA'], 'transcode': ['G722', 'PCMU']}}",
	"{'codec': {'transcode': ['PCMA', 'EVS/16000']}}",
	"{'codec': {'accept': ['G722', 'PCMU'], 'transcode': ['AMR']}}",
	"{'replace': ['origin', 'session connection', 'SDP version']}",
	"{'flags': ['single codec', 'trust-address', 'asymmetric', 'x']}",
	"{'rtcp-mux': ['require']}",
	"{'rtcp-mux': ['reject', 'demux']}",
	"{'rtcp-mux': ['offer']}",
	"{'ICE': 'force', 'SDES': ['off'], 'record-call': 'yes'}",
	"{'address family': 'IP4', 'ptime': 40, 'ptime-reverse': '30'}",
	"{'address family': 'IP6'}",
	"{'media address': '127.0.0.9', 'endpoint-learning': 'immediate'}",
	"{'direction': ['nowhere', 'nowhere']}",
	"{'supports': ['load limit']}",
	"{'transport-protocol': 'RTP/SAVP'}",
	"{'call-id': 7, 'from-tag': [], 'sdp': {'v': 0}}",
	"{'codec': {'mask': [[[[[[]]]]]], 'transcode': 'PCMA'}}",
	"{'flags': {'a': {'b': {'c': ['d']}}}, 'limit': -1}",
	"{'to-tag': 'a\\u0000b'}",
	("{'rtpp-flags': 'replace-origin RTP AVP direction=nowhere "
	 "codec=[mask=[all] transcode=[PCMA]]'}"),
	"{'rtpp_flags': 'a=[b=[c=[d=[e]]]] transcode=', 'Flags': 'x'}",
	"{'flags': 'codec-mask-PCMA to-tag=c via-branch=auto', 'ICE': []}",
};

#define ONE_OF(list, seed)                                                     \
	((list)[test_below(seed, sizeof(list) / sizeof(*(list)))])

const char *asking_call(unsigned i)
{
	return calls[i];
}

/* A text that grows. */
struct text {
	char octets[SDP_MAX];
	size_t n;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *t,
						      const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	t->n += (size_t)vsnprintf(t->octets + t->n, sizeof(t->octets) - t->n,
				  fmt, ap);
	va_end(ap);
	assert_true(t->n < sizeof(t->octets));
}

static void add_format(struct text *t, unsigned i)
{
	add(t, "a=rtpmap:%u %s\r\n", formats[i].pt, formats[i].rtpmap);
	if (formats[i].fmtp)
		add(t, "a=fmtp:%u %s\r\n", formats[i].pt, formats[i].fmtp);
}

static void add_line(struct text *t, uint64_t *seed)
{
	static const char *const attributes[] = {
		"sendrecv",
		"sendonly",
		"inactive",
		"rtcp-mux",
		"ptime:20",
		"ptime:60",
		"maxptime:20",
		"rtcp:20001",
		"candidate:1 1 UDP 1 127.0.0.1 9 typ host",
		"label:x y z",
	};
	unsigned chosen = 1 + test_below(seed, (1 << FORMATS) - 1);

	add(t, "m=%s %u RTP/%s", test_below(seed, 12) ? "audio" : "video",
	    test_below(seed, 8) ? 20000 + 2 * test_below(seed, 100) : 0,
	    test_below(seed, 12) ? "AVP" : "SAVP");
	for (unsigned i = 0; i < FORMATS; i++)
		if (chosen >> i & 1)
			add(t, " %u", formats[i].pt);
	add(t, "\r\n");
	if (!test_below(seed, 8))
		add(t, "c=IN IP4 %s\r\n",
		    test_below(seed, 2) ? "0.0.0.0" : "phone.example");
	for (unsigned i = 0; i < FORMATS; i++)
		if (chosen >> i & 1)
			add_format(t, i);
	for (unsigned i = test_below(seed, 3); i; i--)
		add(t, "a=%s\r\n", ONE_OF(attributes, seed));
}

/* Some octets are others, or it ends early. */
static void spoil(struct text *t, uint64_t *seed)
{
	for (unsigned i = 1 + test_below(seed, 3); i; i--)
		t->octets[test_below(seed, (unsigned)t->n)] =
			(char)(1 + test_below(seed, 126));
	if (!test_below(seed, 3))
		t->n = test_below(seed, (unsigned)t->n);
}

static json_t *description(uint64_t *seed)
{
	static struct text t;

	t.n = 0;
	add(&t,
	    "v=0\r\no=- 1 %u IN IP4 127.0.0.1\r\ns=-\r\n"
	    "c=IN IP4 127.0.0.1\r\nt=0 0\r\n",
	    test_below(seed, 1000));
	for (unsigned i = test_below(seed, 16) ? 1 + !test_below(seed, 8) +
							 !test_below(seed, 8)
					       : 0;
	     i; i--)
		add_line(&t, seed);
	if (!test_below(seed, 12))
		spoil(&t, seed);
	return json_stringn_nocheck(t.octets, t.n);
}

static void set_flags(json_t *r, uint64_t *seed)
{
	/* what is altogether wrong comes last, and seldom */
	unsigned n = sizeof(flags) / sizeof(*flags);
	unsigned i = test_below(seed, test_below(seed, 8) ? n - 6 : n);
	char *text = strdup(flags[i]);
	json_t *o;

	for (char *q = strchr(text, '\''); q; q = strchr(q, '\''))
		*q = '"';
	o = json_loads(text, JSON_ALLOW_NUL, NULL);
	assert_non_null(o);
	assert_int_equal(json_object_update(r, o), 0);
	json_decref(o);
	free(text);
}

json_t *asking_request(uint64_t *seed)
{
	const char *command = ONE_OF(commands, seed);
	bool answers = !strcmp(command, "answer");
	json_t *r = json_pack("{s:s, s:s}", "command", command, "call-id",
			      ONE_OF(calls, seed));

	assert_non_null(r);
	if (test_below(seed, 16))
		(void)json_object_set_new(r, "from-tag",
					  json_string(ONE_OF(callers, seed)));
	if (test_below(seed, answers ? 16 : 3) > !answers)
		(void)json_object_set_new(r, "to-tag",
					  json_string(ONE_OF(callees, seed)));
	if (!test_below(seed, 5))
		(void)json_object_set_new(r, "via-branch",
					  json_string(ONE_OF(branches, seed)));
	if (test_below(seed, 20))
		(void)json_object_set_new(r, "sdp", description(seed));
	for (unsigned i = test_below(seed, 3); i; i--)
		set_flags(r, seed);
	return r;
}
