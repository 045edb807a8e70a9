/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate before the library, which loops for ever over some texts that are
 * no description, and reads others as something that nobody wrote
 * (libsofia-sip-ua 1.12.11). It sees only lines that have the shape they should
 * have, ended by LF, without blanks behind.
 *
 * Of the order of lines only what somebody could be misled by is required:
 * phones do write "t=" before "c=", and "b=" after "a=".
 */
#include <errno.h>
#include <string.h>

#include "base/utf8.h"
#include "sdp/sdp_grammar.h"
#include "sdp/sdp_impl.h"

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

static int wrong_octet(const struct screen *s, unsigned char c)
{
	return cr_fail(s->e, -EINVAL,
		       "line %u of the SDP: it has the octet 0x%02x", s->line,
		       c);
}

/* Texts may have tabs, and any character that is not of ASCII. */
static int screen_octets(const struct screen *s, const char *p, const char *end)
{
	for (; p < end; p++)
		if (utf8_is_control(*p))
			return wrong_octet(s, (unsigned char)*p);
	return 0;
}

static bool has(const char *letters, char letter)
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
	if (!has(media ? "micbka" : "vosiuepcbtrzkam", letter))
		return cr_fail(s->e, -EINVAL, "line %u of the SDP: %c= %s",
			       s->line, letter,
			       has("vosiueptrz", letter)
				       ? "belongs before the first m="
				       : "is unknown");
	if (has(media ? "ik" : "vosiuckz", letter) && (s->seen & BIT(letter)))
		return cr_fail(s->e, -EINVAL,
			       "line %u of the SDP: it has %c= once more",
			       s->line, letter);
	if (has("rz", letter) && !(s->seen & BIT('t')))
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

static int screen_counts(const struct screen *s)
{
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

/* Of what is refused anyway it does not matter: *@keeps is false then. */
static int screen_shape(struct screen *s, const char *p, const char *end,
			bool *keeps)
{
	const char *like = sdp_line_wrong(p[0], p + 2, end, &s->place);

	*keeps = !like;
	if (!like || (s->place.media && !s->place.carried && p[0] != 'm'))
		return 0;
	return cr_fail(s->e, -EINVAL, "line %u of the SDP: it is not as in %s",
		       s->line, like);
}

static int screen_line(struct screen *s, const char *p, const char *end,
		       bool *keeps)
{
	int err = screen_octets(s, p, end);

	if (err)
		return err;
	if (end - p < 2 || p[0] < 'a' || p[0] > 'z' || p[1] != '=')
		return cr_fail(s->e, -EINVAL,
			       "line %u of the SDP: a line is a small letter, "
			       "=, and a value",
			       s->line);
	err = screen_order(s, p[0]);
	if (!err)
		err = screen_shape(s, p, end, keeps);
	if (err)
		return err;
	s->lines++;
	return screen_counts(s);
}

static const char *without_blanks(const char *p, const char *end)
{
	while (end > p && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	return end;
}

static void copy(struct screen *s, const char *p, const char *end)
{
	memcpy(s->to, p, (size_t)(end - p));
	s->to += end - p;
}

/* The third word of "m=video 0 RTP/AVP 255" */
static const char *transport(const char *p, const char *end)
{
	for (unsigned i = 0; i < 2; i++) {
		p = memchr(p, ' ', (size_t)(end - p));
		while (*p == ' ')
			p++;
	}
	return p;
}

static int keep_line(struct screen *s, const char *p, const char *end)
{
	static const char mark[] = SDP_MISTYPED;
	bool keeps = false;
	int err = screen_line(s, p, end, &keeps);

	if (err || !keeps)
		return err;
	if (*p == 'm' && s->place.mistyped) {
		const char *at = transport(p, end);

		copy(s, p, at);
		copy(s, mark, mark + strlen(mark));
		s->out->mistyped |= 1u << (s->place.media - 1);
		p = at;
	}
	copy(s, p, end);
	*s->to++ = '\n';
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
		last = without_blanks(text, last);
		if (last > text)
			err = keep_line(s, text, last);
		text = lf ? lf + 1 : end;
	}
	return err;
}

int sdp_screen(su_home_t *home, const char *text, size_t bytes,
	       struct sdp_screened *out, struct cr_err *e)
{
	const size_t most =
		bytes + 1 + SDP_LINES_MAX * (sizeof(SDP_MISTYPED) - 1);
	struct screen s = { .out = out, .e = e };
	int err;

	*out = (struct sdp_screened){ .text = su_alloc(home, (isize_t)most) };
	if (!out->text)
		return cr_fail(e, -ENOMEM, "out of memory for an SDP");
	s.to = out->text;
	err = screen_text(&s, text, bytes);
	if (err)
		return err;
	if (!s.lines || (!s.place.media && !(s.seen & BIT('o'))))
		return cr_fail(e, -EINVAL, "this is no SDP: it %s",
			       s.lines ? "has no line o=" : "is empty");
	out->bytes = (size_t)(s.to - out->text);
	return 0;
}
