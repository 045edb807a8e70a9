/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of a description, by the ABNF of RFC 8866, 9. More generous than that
 * where phones are: several blanks between fields, empty texts, no formats.
 * Stricter where the library would read something else than it writes.
 */
#include "sdp/sdp_grammar.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

/* What is left of a line. */
struct span {
	const char *p, *end;
};

#define HOST_BYTES_MAX 255
/* Seconds with which nothing overflows when they turn out to be days. */
#define SECONDS_MAX 99999999999u

/* --- characters and words --- */

static bool is_digit(unsigned char c)
{
	return c >= '0' && c <= '9';
}

/* token-char */
static bool is_token(unsigned char c)
{
	return c == '!' || (c >= '#' && c <= '\'') || c == '*' || c == '+' ||
	       c == '-' || c == '.' || is_digit(c) || (c >= 'A' && c <= 'Z') ||
	       (c >= '^' && c <= '~');
}

static bool is_blank(unsigned char c)
{
	return c == ' ';
}

/* non-ws-string */
static bool is_word(unsigned char c)
{
	return c > ' ' && c != 0x7f;
}

/* An address or a name of a host, perhaps with a zone. */
static bool is_host(unsigned char c)
{
	return c > ' ' && c < 0x7f && c != '/';
}

/* Pass over characters that @is, one at least. */
static bool some(struct span *s, bool (*is)(unsigned char))
{
	const char *from = s->p;

	while (s->p < s->end && is((unsigned char)*s->p))
		s->p++;
	return s->p > from;
}

static bool one(struct span *s, char c)
{
	return s->p < s->end && *s->p == c && (s->p++, true);
}

static bool done(const struct span *s)
{
	return s->p == s->end;
}

/* The next token is @word, in whatever case. */
static bool word(struct span *s, const char *word)
{
	const char *from = s->p;
	size_t bytes = strlen(word);

	return some(s, is_token) && (size_t)(s->p - from) == bytes &&
	       !strncasecmp(from, word, bytes);
}

/* Digits, and no more than @max. */
static bool number(struct span *s, uint64_t max)
{
	const char *from = s->p;
	uint64_t n = 0;

	for (; s->p < s->end && is_digit((unsigned char)*s->p); s->p++) {
		n = n * 10 + (unsigned)(*s->p - '0');
		if (n > max)
			return false;
	}
	return s->p > from;
}

/* --- lines --- */

static bool is_any(struct span s, struct sdp_place *at)
{
	(void)s;
	(void)at;
	return true;
}

static bool is_version(struct span s, struct sdp_place *at)
{
	(void)at;
	return one(&s, '0') && done(&s);
}

/* IN IP4 192.0.2.1 */
static bool address(struct span *s, bool *ip6)
{
	struct span family;
	const char *from;

	if (!word(s, "IN") || !some(s, is_blank))
		return false;
	family = *s;
	*ip6 = word(s, "IP6");
	if (!*ip6 && !word(&family, "IP4"))
		return false;
	if (!some(s, is_blank))
		return false;
	from = s->p;
	return some(s, is_host) && s->p - from <= HOST_BYTES_MAX;
}

/* alice 2890844526 7 IN IP4 192.0.2.1 */
static bool is_origin(struct span s, struct sdp_place *at)
{
	bool ip6;

	(void)at;
	return some(&s, is_word) && some(&s, is_blank) && some(&s, is_digit) &&
	       some(&s, is_blank) && some(&s, is_digit) && some(&s, is_blank) &&
	       address(&s, &ip6) && done(&s);
}

/* IN IP4 192.0.2.1, or of a group IN IP4 233.252.0.1/127/3 */
static bool is_connection(struct span s, struct sdp_place *at)
{
	bool ip6;

	(void)at;
	if (!address(&s, &ip6))
		return false;
	if (one(&s, '/') && !number(&s, UINT8_MAX))
		return false;
	if (!ip6 && one(&s, '/') && !number(&s, UINT16_MAX))
		return false;
	return done(&s);
}

/* AS:80 */
static bool is_bandwidth(struct span s, struct sdp_place *at)
{
	(void)at;
	return some(&s, is_token) && one(&s, ':') && number(&s, UINT32_MAX) &&
	       done(&s);
}

static bool is_time(struct span s, struct sdp_place *at)
{
	(void)at;
	return number(&s, SECONDS_MAX) && some(&s, is_blank) &&
	       number(&s, SECONDS_MAX) && done(&s);
}

/* 7d */
static bool typed_time(struct span *s)
{
	return number(s, SECONDS_MAX) && (one(s, 'd') || one(s, 'h') ||
					  one(s, 'm') || one(s, 's') || true);
}

/* 7d 1h 0 25h */
static bool is_repeat(struct span s, struct sdp_place *at)
{
	unsigned n = 1;

	(void)at;
	if (!typed_time(&s))
		return false;
	for (; !done(&s); n++)
		if (!some(&s, is_blank) || !typed_time(&s))
			return false;
	return n >= 3;
}

/* 2882844526 -1h 2898848070 0 */
static bool is_zone(struct span s, struct sdp_place *at)
{
	(void)at;
	do {
		if (!number(&s, SECONDS_MAX) || !some(&s, is_blank))
			return false;
		(void)one(&s, '-');
		if (!typed_time(&s))
			return false;
	} while (some(&s, is_blank));
	return done(&s);
}

/* prompt, or clear:secret */
static bool is_key(struct span s, struct sdp_place *at)
{
	(void)at;
	return some(&s, is_token) && (done(&s) || one(&s, ':'));
}

/* RTP/AVP and what is built like it, over whatever: @last is what its last
 * slash is before. */
static bool is_rtp(struct span last, bool alone)
{
	static const char *const profiles[] = { "AVP", "AVPF", "SAVP",
						"SAVPF" };

	if (alone)
		return word(&last, "RTP");
	for (unsigned i = 0; i < sizeof(profiles) / sizeof(*profiles); i++) {
		struct span s = last;

		if (word(&s, profiles[i]))
			return true;
	}
	return false;
}

static bool format(struct span *s, const struct sdp_place *at)
{
	return at->rtp ? number(s, 127) : some(s, is_token);
}

/* What is refused anyway may have any. */
static bool formats(struct span *s, struct sdp_place *at)
{
	struct span all = *s;

	for (at->formats = 0; !done(s); at->formats++)
		if (!some(s, is_blank) || !format(s, at))
			break;
	if (done(s))
		return true;
	at->mistyped = at->rtp && !at->carried;
	at->rtp = at->rtp && !at->mistyped;
	*s = all;
	for (at->formats = 0; at->mistyped && !done(s); at->formats++)
		if (!some(s, is_blank) || !some(s, is_token))
			return false;
	return at->mistyped;
}

/* audio 49170/2 RTP/AVP 0 96 */
static bool is_media(struct span s, struct sdp_place *at)
{
	struct span kind = s, port;
	const char *proto, *last;

	at->media++;
	at->mistyped = false;
	if (!some(&s, is_token) || !some(&s, is_blank))
		return false;
	port = s;
	if (!number(&s, UINT16_MAX) ||
	    (one(&s, '/') && !number(&s, UINT16_MAX)) || !some(&s, is_blank))
		return false;
	at->carried = word(&kind, "audio") && !number(&port, 0);
	proto = s.p;
	do {
		last = s.p;
		if (!some(&s, is_token))
			return false;
	} while (one(&s, '/'));
	at->rtp = is_rtp((struct span){ last, s.p }, last == proto);
	return formats(&s, at);
}

/* --- attributes --- */

/* 97 AMR/8000/1 */
static bool is_rtpmap(struct span s, struct sdp_place *at)
{
	(void)at;
	return number(&s, 127) && some(&s, is_blank) && some(&s, is_token) &&
	       one(&s, '/') && number(&s, UINT32_MAX) &&
	       (!one(&s, '/') || number(&s, UINT8_MAX)) && done(&s);
}

/* 97 mode-set=7; its parameters may be missing. */
static bool is_fmtp(struct span s, struct sdp_place *at)
{
	return format(&s, at) && (done(&s) || some(&s, is_blank));
}

/* 53020, or 53020 IN IP6 2001:db8::1 (RFC 3605) */
static bool is_rtcp(struct span s, struct sdp_place *at)
{
	bool ip6;

	(void)at;
	return number(&s, UINT16_MAX) &&
	       (done(&s) ||
		(some(&s, is_blank) && address(&s, &ip6) && done(&s)));
}

/* 20, or 2.5 */
static bool is_ptime(struct span s, struct sdp_place *at)
{
	(void)at;
	return number(&s, UINT32_MAX) &&
	       (!one(&s, '.') || some(&s, is_digit)) && done(&s);
}

/* --- all of them --- */

struct rule {
	const char *name;
	bool (*is)(struct span s, struct sdp_place *at);
	const char *like;
};

static const struct rule attributes[] = {
	{ "rtpmap", is_rtpmap, "a=rtpmap:97 AMR/8000" },
	{ "fmtp", is_fmtp, "a=fmtp:97 octet-align=1" },
	{ "rtcp", is_rtcp, "a=rtcp:5005 IN IP4 192.0.2.1" },
	{ "ptime", is_ptime, "a=ptime:20" },
	{ "maxptime", is_ptime, "a=maxptime:40" },
};

static const struct rule lines[] = {
	{ "v", is_version, "v=0" },
	{ "o", is_origin, "o=- 1 1 IN IP4 192.0.2.1" },
	{ "s", is_any, "s=-" },
	{ "i", is_any, "i=a text" },
	{ "u", is_any, "u=https://example.org/" },
	{ "e", is_any, "e=a@example.org" },
	{ "p", is_any, "p=+1 617 555-6011" },
	{ "c", is_connection, "c=IN IP4 192.0.2.1" },
	{ "b", is_bandwidth, "b=AS:80" },
	{ "t", is_time, "t=0 0" },
	{ "r", is_repeat, "r=7d 1h 0 25h" },
	{ "z", is_zone, "z=2882844526 -1h 2898848070 0" },
	{ "k", is_key, "k=prompt" },
	{ "m", is_media, "m=audio 5004 RTP/AVP 0 8" },
};

static const char *attribute_wrong(struct span s, struct sdp_place *at)
{
	const char *name = s.p;
	size_t bytes;

	if (!some(&s, is_token))
		return "a=name:value";
	bytes = (size_t)(s.p - name);
	if (!done(&s) && !one(&s, ':'))
		return "a=name:value";
	for (size_t i = 0; i < sizeof(attributes) / sizeof(*attributes); i++) {
		const struct rule *r = &attributes[i];

		if (bytes == strlen(r->name) &&
		    !strncasecmp(name, r->name, bytes))
			return r->is(s, at) ? NULL : r->like;
	}
	return NULL;
}

const char *sdp_line_wrong(char letter, const char *p, const char *end,
			   struct sdp_place *at)
{
	const struct span s = { p, end };

	if (letter == 'a')
		return attribute_wrong(s, at);
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		if (letter == *lines[i].name)
			return lines[i].is(s, at) ? NULL : lines[i].like;
	return "a=name:value";
}
