/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Table-driven conversion and the one place where a message gets its file and
 * line.
 */
#include "campaign/convert.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "base/units.h"
#include "campaign/campaign.h"

int convert_fail(struct loader *l, const char *path, const char *key,
		 const char *fmt, ...)
{
	char place[PLACE_MAX], text[400];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	(void)snprintf(place, sizeof(place), "%.60s%s%.30s", path,
		       *path && key ? "." : "", key ? key : "");
	return cr_fail(l->err, -EINVAL, "%s:%u: %s%s%s", l->places.file,
		       places_line(&l->places, place), path, *path ? ": " : "",
		       text);
}

const char *convert_below(char *buf, const char *path, const char *section)
{
	(void)snprintf(buf, PLACE_MAX, "%.40s.%s", path, section);
	return buf;
}

int convert_rate(struct loader *l, const char *path, const char *key,
		 const char *text, int64_t *ppm)
{
	int64_t rate;

	if (units_parse_rate(text, &rate) || rate < CAMPAIGN_RATE_MIN ||
	    rate > CAMPAIGN_RATE_MAX)
		return convert_fail(l, path, key,
				    "%s=%.64s: needs a number per second, such "
				    "as 5/s or 0.5/s, from 0.001/s to "
				    "100000/s",
				    key, text);
	*ppm = rate;
	return 0;
}

unsigned convert_series(const char *text, convert_parse_fn *parse, int64_t *out,
			unsigned most)
{
	for (unsigned n = 0; n < most; n++) {
		const char *dots = strstr(text, "..");
		size_t length = dots ? (size_t)(dots - text) : strlen(text);
		char one[UNITS_TEXT];

		if (length >= sizeof(one))
			return 0;
		memcpy(one, text, length);
		one[length] = '\0';
		if (parse(one, &out[n]))
			return 0;
		if (!dots)
			return n + 1;
		text = dots + 2;
	}
	return 0;
}

static const char *raw_text(const void *raw, size_t offset)
{
	const unsigned char *base = raw;

	return *(char *const *)(const void *)(base + offset);
}

static int64_t *slot(void *out, size_t offset)
{
	return (int64_t *)(void *)((unsigned char *)out + offset);
}

int convert_rows(struct loader *l, const struct key_row *rows, const char *path,
		 const void *raw, void *out)
{
	struct cr_err e;
	const char *text;
	int64_t v;

	for (; rows->opt.name; rows++) {
		text = raw_text(raw, rows->raw);
		if (!text) {
			*slot(out, rows->opt.offset) = rows->opt.dflt;
			continue;
		}
		if (option_parse(&rows->opt, text, &v, &e))
			return convert_fail(l, path, rows->opt.name, "%.350s",
					    e.text);
		*slot(out, rows->opt.offset) = v;
	}
	return 0;
}

int convert_copy(struct loader *l, const char *text, char **out)
{
	char *copy = strdup(text);

	if (!copy)
		return cr_fail(l->err, -ENOMEM, "%s: out of memory",
			       l->places.file);
	*out = copy;
	return 0;
}

int convert_list(struct loader *l, char *const *from, unsigned n, char ***to,
		 unsigned *count)
{
	char **list = calloc(n ? n : 1, sizeof(*list));
	int rc = 0;

	if (!list)
		return cr_fail(l->err, -ENOMEM, "%s: out of memory",
			       l->places.file);
	*to = list;
	for (unsigned i = 0; i < n && !rc; i++) {
		rc = convert_copy(l, from[i], &list[i]);
		if (!rc)
			*count = i + 1;
	}
	return rc;
}
