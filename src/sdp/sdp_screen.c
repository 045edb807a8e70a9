/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate before the reader, which sees only lines that have the shape they
 * should have, without blanks behind.
 *
 * Lines are checked by the ABNF of RFC 8866, 9. More generous than that where
 * phones are: several blanks between fields, empty texts, no formats.
 *
 * Of the order of lines only what somebody could be misled by is required:
 * phones do write "t=" before "c=", and "b=" after "a=".
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/utf8.h"
#include "sdp/sdp_screen.h"

/** The place of a line. */
struct sdp_place {
	unsigned media;	  /**< lines "m=" until here, this one too      */
	unsigned formats; /**< of the last of them                      */
	bool rtp;	  /**< its formats are payload types, 0 to 127  */
	bool carried;	  /**< it is audio, and not refused             */
};

/* The rest of a line. */
struct span {
	const char *p, *end;
};

#define HOST_BYTES_MAX 255
/* Seconds with which nothing overflows when they turn out to be days. */
#define SECONDS_MAX 99999999999u

/* --- characters and words --- */

static bool is_screen_digit(unsigned char c)
{
	return c >= '0' && c <= '9';
}

/* token-char */
static bool is_token(unsigned char c)
{
	return c == '!' || (c >= '#' && c <= '\'') || c == '*' || c == '+' ||
	       c == '-' || c == '.' || is_screen_digit(c) ||
	       (c >= 'A' && c <= 'Z') || (c >= '^' && c <= '~');
}

static bool is_blank(unsigned char c)
{
	return c == ' ';
}

/* non-ws-string */
static bool is_screen_word(unsigned char c)
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
static bool screen_number(struct span *s, uint64_t max)
{
	const char *from = s->p;
	uint64_t n = 0;

	for (; s->p < s->end && is_screen_digit((unsigned char)*s->p); s->p++) {
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
	return some(&s, is_screen_word) && some(&s, is_blank) &&
	       some(&s, is_screen_digit) && some(&s, is_blank) &&
	       some(&s, is_screen_digit) && some(&s, is_blank) &&
	       address(&s, &ip6) && done(&s);
}

/* IN IP4 192.0.2.1, or of a group IN IP4 233.252.0.1/127/3 */
static bool is_connection(struct span s, struct sdp_place *at)
{
	bool ip6;

	(void)at;
	if (!address(&s, &ip6))
		return false;
	if (one(&s, '/') && !screen_number(&s, UINT8_MAX))
		return false;
	if (!ip6 && one(&s, '/') && !screen_number(&s, UINT16_MAX))
		return false;
	return done(&s);
}

/* AS:80 */
static bool is_bandwidth(struct span s, struct sdp_place *at)
{
	(void)at;
	return some(&s, is_token) && one(&s, ':') &&
	       screen_number(&s, UINT32_MAX) && done(&s);
}

static bool is_time(struct span s, struct sdp_place *at)
{
	(void)at;
	return screen_number(&s, SECONDS_MAX) && some(&s, is_blank) &&
	       screen_number(&s, SECONDS_MAX) && done(&s);
}

/* 7d */
static bool typed_time(struct span *s)
{
	return screen_number(s, SECONDS_MAX) &&
	       (one(s, 'd') || one(s, 'h') || one(s, 'm') || one(s, 's') ||
		true);
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
		if (!screen_number(&s, SECONDS_MAX) || !some(&s, is_blank))
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
	return at->rtp ? screen_number(s, 127) : some(s, is_token);
}

/* Check formats; those of a line that is refused may be any. */
static bool formats(struct span *s, struct sdp_place *at)
{
	struct span all = *s;

	for (at->formats = 0; !done(s); at->formats++)
		if (!some(s, is_blank) || !format(s, at))
			break;
	if (done(s))
		return true;
	if (!at->rtp || at->carried)
		return false;
	at->rtp = false;
	*s = all;
	return formats(s, at);
}

/* audio 49170/2 RTP/AVP 0 96 */
static bool is_media(struct span s, struct sdp_place *at)
{
	struct span kind = s, port;
	const char *proto, *last;

	at->media++;
	if (!some(&s, is_token) || !some(&s, is_blank))
		return false;
	port = s;
	if (!screen_number(&s, UINT16_MAX) ||
	    (one(&s, '/') && !screen_number(&s, UINT16_MAX)) ||
	    !some(&s, is_blank))
		return false;
	at->carried = word(&kind, "audio") && !screen_number(&port, 0);
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
	return screen_number(&s, 127) && some(&s, is_blank) &&
	       some(&s, is_token) && one(&s, '/') &&
	       screen_number(&s, UINT32_MAX) &&
	       (!one(&s, '/') || screen_number(&s, UINT8_MAX)) && done(&s);
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
	return screen_number(&s, UINT16_MAX) &&
	       (done(&s) ||
		(some(&s, is_blank) && address(&s, &ip6) && done(&s)));
}

/* 20, or 2.5 */
static bool is_ptime(struct span s, struct sdp_place *at)
{
	(void)at;
	return screen_number(&s, UINT32_MAX) &&
	       (!one(&s, '.') || some(&s, is_screen_digit)) && done(&s);
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

/*
 * Return what is wrong with the line "@letter=" whose value is from @p to @end,
 * or NULL: nothing. It is an example of a right one, and static. A line "m="
 * changes @at.
 */
static const char *sdp_line_wrong(char letter, const char *p, const char *end,
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

/* One bit for each letter. */
#define BIT(letter) (1u << ((letter) - 'a'))

struct screen {
	unsigned line;	/* its number, from 1 */
	unsigned lines; /* not counting empty ones */
	unsigned seen;	/* BITs of the session, or of this media line */
	struct sdp_place place;
	struct sdp_screened *out;
	char *to;
	struct cr_err *e;
};

static bool screen_has(const char *letters, char letter)
{
	return strchr(letters, letter) != NULL;
}

/* A line with @letter comes now. */
static int screen_order(struct screen *s, char letter)
{
	bool media = s->place.media > 0;

	if (!s->lines && letter != 'v')
		return cr_fail(s->e, -EINVAL,
			       "line %u of the SDP: the first is v=0", s->line);
	if (!screen_has(media ? "micbka" : "vosiuepcbtrzkam", letter))
		return cr_fail(s->e, -EINVAL, "line %u of the SDP: %c= %s",
			       s->line, letter,
			       screen_has("vosiueptrz", letter)
				       ? "belongs before the first m="
				       : "is unknown");
	if (screen_has(media ? "ik" : "vosiuckz", letter) &&
	    (s->seen & BIT(letter)))
		return cr_fail(s->e, -EINVAL,
			       "line %u of the SDP: it has %c= once more",
			       s->line, letter);
	if (screen_has("rz", letter) && !(s->seen & BIT('t')))
		return cr_fail(s->e, -EINVAL,
			       "line %u of the SDP: %c= belongs after t=",
			       s->line, letter);
	if (letter == 'm' && !media && !(s->seen & BIT('o')))
		return cr_fail(s->e, -EINVAL,
			       "line %u of the SDP: o= belongs before it",
			       s->line);
	if (letter == 't')
		s->seen &= ~BIT('z'); /* each may have one */
	s->seen = letter == 'm' ? 0 : s->seen | BIT(letter);
	return 0;
}

/* A wrong shape of what is refused anyway does not matter: *@keeps is false
 * then. */
static int screen_line(struct screen *s, const char *p, const char *end,
		       bool *keeps)
{
	const char *like;
	int err;

	/* texts may have tabs, and any character that is not of ASCII */
	for (const char *c = p; c < end; c++)
		if (utf8_is_control(*c))
			return cr_fail(
				s->e, -EINVAL,
				"line %u of the SDP: it has the octet 0x%02x",
				s->line, (unsigned char)*c);
	if (end - p < 2 || p[0] < 'a' || p[0] > 'z' || p[1] != '=')
		return cr_fail(s->e, -EINVAL,
			       "line %u of the SDP: a line is a small letter, "
			       "=, and a value",
			       s->line);
	err = screen_order(s, p[0]);
	if (err)
		return err;
	like = sdp_line_wrong(p[0], p + 2, end, &s->place);
	*keeps = !like;
	if (like && (!s->place.media || s->place.carried || p[0] == 'm'))
		return cr_fail(s->e, -EINVAL,
			       "line %u of the SDP: it is not as in %s",
			       s->line, like);
	s->lines++;
	if (s->lines > SDP_TEXT_LINES_MAX)
		return cr_fail(s->e, -EINVAL, "the SDP has more than %u lines",
			       SDP_TEXT_LINES_MAX);
	if (s->place.media > SDP_LINES_MAX)
		return cr_fail(s->e, -EINVAL,
			       "line %u of the SDP: more than %u media lines",
			       s->line, SDP_LINES_MAX);
	if (s->place.formats > SDP_FORMATS_MAX)
		return cr_fail(s->e, -EINVAL,
			       "line %u of the SDP: more than %u payload types",
			       s->line, SDP_FORMATS_MAX);
	return 0;
}

static int keep_line(struct screen *s, const char *p, const char *end)
{
	bool keeps = false;
	int err = screen_line(s, p, end, &keeps);

	if (err || !keeps)
		return err;
	if (*p == 'm')
		s->out->formats += s->place.formats;
	memcpy(s->to, p, (size_t)(end - p));
	s->to += end - p;
	*s->to++ = '\0';
	return 0;
}

static int screen_text(struct screen *s, const char *text, size_t bytes)
{
	const char *const end = text + bytes;
	int err = 0;

	while (text < end && !err) {
		const char *lf = memchr(text, '\n', (size_t)(end - text));
		const char *stop = lf ? lf : end, *last = stop;

		s->line++;
		if (last > text && last[-1] == '\r')
			last--;
		while (last > text && (last[-1] == ' ' || last[-1] == '\t'))
			last--;
		if (last > text)
			err = keep_line(s, text, last);
		text = lf ? lf + 1 : end;
	}
	return err;
}

int sdp_screen(char *to, const char *text, size_t bytes,
	       struct sdp_screened *out, struct cr_err *e)
{
	struct screen s = { .out = out, .e = e, .to = to };
	int err;

	*out = (struct sdp_screened){ 0 };
	err = screen_text(&s, text, bytes);
	if (err)
		return err;
	if (!s.lines || (!s.place.media && !(s.seen & BIT('o'))))
		return cr_fail(e, -EINVAL, "this is no SDP: it %s",
			       s.lines ? "has no line o=" : "is empty");
	out->bytes = (size_t)(s.to - to);
	out->media = s.place.media;
	return 0;
}
