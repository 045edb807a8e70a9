/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks a format and its arguments together.
 *
 *     found=%s why="%s" %s
 *     `---´ key         `-- without a key
 *           `-- to the next blank, or of what is in quotation marks all
 */
#include "observe/log_values.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define KEY_SIGNS                                                              \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
#define DIGITS "0123456789"

enum { SPEC_MAX = 32 };

struct walk {
	const char *at; /* in the format */
	va_list ap;
	bool lost; /* an argument that cannot be read, nor those behind it */
	bool cut;  /* the value */
	size_t len;
	char text[LOG_VALUE_MAX];
};

/* --- one conversion --- */

/* "%-8.3lf" taken apart. */
struct spec {
	char flags[SPEC_MAX]; /* width and precision, too */
	char size[3];
	char what;
};

static size_t span(const char *text, const char *set, char *to, size_t room)
{
	size_t n = strspn(text, set);

	if (n >= room)
		return 0;
	memcpy(to, text, n);
	to[n] = '\0';
	return n;
}

/* Takes it out of the format. */
static struct spec take_spec(struct walk *w)
{
	struct spec s = { .what = '\0' };
	const char *p = w->at + 1;

	p += span(p, "-+ #.*" DIGITS, s.flags, sizeof(s.flags) - 4);
	p += span(p, "hlzjt", s.size, sizeof(s.size));
	s.what = *p;
	w->at = p + (*p != '\0');
	return s;
}

/* An '*' becomes the number that it stands for. */
static void fill_star(struct walk *w, struct spec *s)
{
	char *star = strchr(s->flags, '*'), rest[SPEC_MAX];
	size_t room;

	if (!star)
		return;
	room = sizeof(s->flags) - 4 - (size_t)(star - s->flags);
	memcpy(rest, star + 1, strlen(star + 1) + 1);
	(void)snprintf(star, room, "%d%s", va_arg(w->ap, int), rest);
}

static intmax_t signed_of(struct walk *w, const char *size)
{
	if (!strcmp(size, "ll"))
		return va_arg(w->ap, long long);
	if (!strcmp(size, "l"))
		return va_arg(w->ap, long);
	if (!strcmp(size, "z") || !strcmp(size, "t"))
		return va_arg(w->ap, ptrdiff_t);
	if (!strcmp(size, "j"))
		return va_arg(w->ap, intmax_t);
	return va_arg(w->ap, int);
}

static uintmax_t unsigned_of(struct walk *w, const char *size)
{
	if (!strcmp(size, "ll"))
		return va_arg(w->ap, unsigned long long);
	if (!strcmp(size, "l"))
		return va_arg(w->ap, unsigned long);
	if (!strcmp(size, "z") || !strcmp(size, "t"))
		return va_arg(w->ap, size_t);
	if (!strcmp(size, "j"))
		return va_arg(w->ap, uintmax_t);
	return va_arg(w->ap, unsigned);
}

/* The argument of @s as text; -1: it is of no kind that is known here. */
static int print_argument(struct walk *w, const struct spec *s, char *to,
			  size_t room)
{
	char fmt[SPEC_MAX + 8];
	bool whole = strchr("diuoxX", s->what) != NULL;

	if (!s->what || (*s->size && !whole))
		return -1;
	(void)snprintf(fmt, sizeof(fmt), "%%%s%s%c", s->flags, whole ? "j" : "",
		       s->what);
	if (s->what == 'd' || s->what == 'i')
		return snprintf(to, room, fmt, signed_of(w, s->size));
	if (whole)
		return snprintf(to, room, fmt, unsigned_of(w, s->size));
	if (strchr("aAeEfFgG", s->what))
		return snprintf(to, room, fmt, va_arg(w->ap, double));
	if (s->what == 'c')
		return snprintf(to, room, fmt, va_arg(w->ap, int));
	if (s->what == 's')
		return snprintf(to, room, fmt, va_arg(w->ap, const char *));
	return s->what == 'p' ? snprintf(to, room, fmt, va_arg(w->ap, void *))
			      : -1;
}

/* --- a value --- */

static void put(struct walk *w, const char *text, size_t n)
{
	size_t room = sizeof(w->text) - w->len;

	w->cut |= n > room;
	n = n < room ? n : room;
	memcpy(w->text + w->len, text, n);
	w->len += n;
}

/* Returns what kind it was: the letter of its conversion. */
static char put_conversion(struct walk *w)
{
	const char *from = w->at;
	char text[LOG_VALUE_MAX + 1];
	struct spec s = take_spec(w);
	int n;

	if (s.what == '%') {
		put(w, "%", 1);
		return '%';
	}
	fill_star(w, &s);
	fill_star(w, &s);
	n = print_argument(w, &s, text, sizeof(text));
	if (n < 0) {
		w->lost = true;
		put(w, from, (size_t)(w->at - from));
		return '\0';
	}
	w->cut |= (size_t)n >= sizeof(text);
	put(w, text, (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
	return s.what;
}

/* Is that a number as JSON writes it (RFC 8259, 6)? */
static bool is_number(const char *text, size_t n)
{
	char copy[64], *p = copy;
	size_t digits;

	if (!n || n >= sizeof(copy))
		return false;
	memcpy(copy, text, n);
	copy[n] = '\0';
	p += *p == '-';
	digits = strspn(p, DIGITS);
	if (!digits || (digits > 1 && *p == '0'))
		return false;
	p += digits;
	if (*p == '.') {
		digits = strspn(++p, DIGITS);
		p += digits;
		if (!digits)
			return false;
	}
	return !*p;
}

/* Up to @end, or to the end of the format. */
static void take_value(struct walk *w, char end, struct log_value *v)
{
	char last = '\0';
	unsigned parts = 0;

	w->len = 0;
	w->cut = false;
	while (*w->at && *w->at != end) {
		parts++;
		if (*w->at == '%' && !w->lost) {
			last = put_conversion(w);
			continue;
		}
		put(w, w->at, 1);
		w->at++;
	}
	v->text = w->text;
	v->len = w->len;
	v->cut = w->cut;
	v->number = end == ' ' && parts == 1 && last && strchr("diufF", last) &&
		    is_number(w->text, w->len);
}

static void take_pair(struct walk *w, struct log_value *v)
{
	size_t n = strspn(w->at, KEY_SIGNS);
	bool quoted;

	*v = (struct log_value){ .key = "text", .key_len = 4 };
	v->named = n && w->at[n] == '=';
	if (v->named) {
		v->key = w->at;
		v->key_len = n;
		w->at += n + 1;
	}
	quoted = *w->at == '"';
	w->at += quoted;
	take_value(w, quoted ? '"' : ' ', v);
	w->at += quoted && *w->at == '"';
	v->quoted = quoted;
}

void log_values_va(const char *fmt, va_list ap,
		   void (*each)(void *arg, const struct log_value *v),
		   void *arg)
{
	struct walk w = { .at = fmt };

	va_copy(w.ap, ap);
	while (*(w.at += strspn(w.at, " "))) {
		struct log_value v;

		take_pair(&w, &v);
		/* log_plain() has none */
		if (v.len || v.named)
			each(arg, &v);
	}
	va_end(w.ap);
}
