/* SPDX-License-Identifier: Apache-2.0 */
#include "sdp/fmtp.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char blanks[] = " \t";
static const char between[] = ";, \t";

/* One parameter; a text without "=" is a name alone, or a value alone. */
struct parameter {
	const char *name, *value;
	size_t name_bytes, value_bytes;
};

/* A blank or comma ends a value, unless it is a list of numbers that goes on.
 */
static const char *value_end(const char *p)
{
	const char *end, *next;

	do {
		end = p + strcspn(p, between);
		next = end + strspn(end, blanks);
		p = next + (*next == ',');
		p += strspn(p, blanks);
	} while (*next == ',' && (*p == ',' || (*p >= '0' && *p <= '9')));
	return end;
}

/* The next parameter of *@fmtp, which goes on behind it. They are separated by
 * ";" and blanks; some write commas. False: there is none. */
static bool next_parameter(const char **fmtp, struct parameter *out)
{
	const char *p = *fmtp + strspn(*fmtp, between);

	out->name = p;
	out->name_bytes = strcspn(p, "=;, \t");
	p += out->name_bytes;
	out->value = p;
	out->value_bytes = 0;
	if (p[strspn(p, blanks)] == '=') {
		p += strspn(p, blanks) + 1;
		p += strspn(p, blanks);
		out->value = p;
		p = value_end(p);
		out->value_bytes = (size_t)(p - out->value);
	}
	*fmtp = p;
	return p > out->name;
}

static bool find_parameter(const char *fmtp, const char *name, size_t bytes,
			   struct parameter *out)
{
	while (next_parameter(&fmtp, out))
		if (out->name_bytes == bytes &&
		    !strncasecmp(out->name, name, bytes))
			return true;
	return false;
}

const char *fmtp_find(const char *fmtp, const char *name, size_t *bytes)
{
	struct parameter p;

	if (!find_parameter(fmtp, name, strlen(name), &p))
		return NULL;
	*bytes = p.value_bytes;
	return p.value;
}

/* @text[@bytes] is decimal digits, and no more than @max. */
static bool parameter_number(const char *text, size_t bytes, unsigned max,
			     unsigned *out)
{
	unsigned long n = 0;

	for (size_t i = 0; i < bytes; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		n = n * 10 + (unsigned)(text[i] - '0');
		if (n > max)
			return false;
	}
	*out = (unsigned)n;
	return bytes > 0;
}

unsigned fmtp_number(const char *fmtp, const char *name, unsigned absent)
{
	size_t bytes;
	const char *value = fmtp_find(fmtp, name, &bytes);
	unsigned n;

	return value && parameter_number(value, bytes, INT_MAX, &n) ? n
								    : absent;
}

static bool is_one(const char *fmtp, const char *name)
{
	return fmtp_number(fmtp, name, 0) == 1;
}

/* Take the next number of a list with commas. */
static bool next_number(const char **list, const char *end, unsigned max,
			unsigned *out)
{
	const char *p = *list + strspn(*list, blanks);
	const char *comma = memchr(p, ',', (size_t)(end - p));
	const char *stop = comma ? comma : end;

	*list = comma ? comma + 1 : end;
	while (stop > p && strchr(blanks, stop[-1]))
		stop--;
	return parameter_number(p, (size_t)(stop - p), max, out);
}

/* --- AMR --- */

int fmtp_amr_read(struct fmtp_amr *out, const char *fmtp, unsigned modes,
		  struct cr_err *e)
{
	size_t bytes;
	const char *list = fmtp_find(fmtp, "mode-set", &bytes), *p = list;
	const char *end = list ? list + bytes : NULL;
	unsigned mode;

	*out = (struct fmtp_amr){
		.crc = is_one(fmtp, "crc"),
		.robust_sorting = is_one(fmtp, "robust-sorting"),
		.interleaving = fmtp_find(fmtp, "interleaving", &bytes) != NULL,
		.mode_second = fmtp_number(fmtp, "mode-change-period", 1) == 2,
		.mode_next = is_one(fmtp, "mode-change-neighbor"),
	};
	/* each of these implies it (RFC 4867, 8.1) */
	out->octet_align = is_one(fmtp, "octet-align") || out->crc ||
			   out->robust_sorting || out->interleaving;
	while (p < end) {
		if (!next_number(&p, end, modes - 1, &mode))
			return cr_fail(e, -EINVAL,
				       "mode-set=%.*s: modes are numbers from "
				       "0 to %u, with commas",
				       (int)(end - list < 40 ? end - list : 40),
				       list, modes - 1);
		out->mode_set = (uint16_t)(out->mode_set | 1u << mode);
	}
	return 0;
}

int fmtp_amr_layout(const struct fmtp_amr *amr)
{
	return amr->octet_align | amr->crc << 1 | amr->robust_sorting << 2 |
	       amr->interleaving << 3;
}

/* --- others --- */

void fmtp_opus_read(struct fmtp_opus *out, const char *fmtp)
{
	*out = (struct fmtp_opus){
		.max_rate = fmtp_number(fmtp, "maxplaybackrate", 48000),
		.max_bit_rate = fmtp_number(fmtp, "maxaveragebitrate", 0),
		.fec = is_one(fmtp, "useinbandfec"),
		.dtx = is_one(fmtp, "usedtx"),
	};
}

void fmtp_write(char text[FMTP_BYTES], const char *codec,
		const struct fmtp_amr *amr, unsigned rate)
{
	bool speaks_amr =
		!strcasecmp(codec, "AMR") || !strcasecmp(codec, "AMR-WB");
	const char *before = "mode-set=";
	size_t at = 0;

	text[0] = '\0';
	for (unsigned i = 0; speaks_amr && amr->mode_set >> i; i++) {
		if (!(amr->mode_set >> i & 1u))
			continue;
		at += (size_t)snprintf(text + at, FMTP_BYTES - at, "%s%u",
				       before, i);
		before = ",";
	}
	if (speaks_amr && amr->octet_align)
		(void)snprintf(text + at, FMTP_BYTES - at, "%soctet-align=1",
			       at ? ";" : "");
	else if (!strcasecmp(codec, "opus") && rate)
		(void)snprintf(text, FMTP_BYTES, "maxplaybackrate=%u", rate);
	else if (!strcasecmp(codec, "G729"))
		(void)snprintf(text, FMTP_BYTES, "annexb=no");
}

bool fmtp_says_no(const char *fmtp, const char *name)
{
	size_t bytes;
	const char *value = fmtp_find(fmtp, name, &bytes);

	return value && bytes == 2 && !strncasecmp(value, "no", 2);
}

/* Values of parameters that are not there. */
static const struct usual {
	const char *codec, *parameters;
} usual[] = {
	/* RFC 4867, 8.1 and 8.2 */
	{ "AMR", "octet-align=0; mode-set=0,1,2,3,4,5,6,7; crc=0; "
		 "robust-sorting=0; mode-change-period=1; "
		 "mode-change-capability=1; mode-change-neighbor=0" },
	{ "AMR-WB", "octet-align=0; mode-set=0,1,2,3,4,5,6,7,8; crc=0; "
		    "robust-sorting=0; mode-change-period=1; "
		    "mode-change-capability=1; mode-change-neighbor=0" },
	/* RFC 7587, 6.1 */
	{ "opus", "maxplaybackrate=48000; sprop-maxcapturerate=48000; "
		  "stereo=0; sprop-stereo=0; cbr=0; useinbandfec=0; "
		  "usedtx=0" },
	/* RFC 4856, 2.1.9 and 2.1.5 */
	{ "G729", "annexb=yes" },
	{ "G723", "annexa=yes" },
	/* RFC 3952, 5 */
	{ "iLBC", "mode=30" },
	/* RFC 5574, 3.1 */
	{ "speex", "vbr=off; cng=off" },
};

/* The same numbers of a list, in any order, or the same text. */
static bool same_value(const struct parameter *a, const struct parameter *b)
{
	const char *p = a->value, *q = b->value;
	const char *p_end = p + a->value_bytes, *q_end = q + b->value_bytes;
	uint64_t in_a = 0, in_b = 0;
	unsigned n;

	if (a->value_bytes == b->value_bytes &&
	    !strncasecmp(p, q, a->value_bytes))
		return true;
	if (!memchr(p, ',', a->value_bytes) || !memchr(q, ',', b->value_bytes))
		return false;
	while (p < p_end && next_number(&p, p_end, 63, &n))
		in_a |= UINT64_C(1) << n;
	while (q < q_end && next_number(&q, q_end, 63, &n))
		in_b |= UINT64_C(1) << n;
	return p == p_end && q == q_end && in_a == in_b;
}

bool fmtp_has_all(const char *codec, const char *fmtp, const char *wanted)
{
	const size_t n = sizeof(usual) / sizeof(*usual);
	const char *unsaid = "";
	struct parameter w, is;

	for (size_t i = 0; i < n; i++)
		if (!strcasecmp(usual[i].codec, codec))
			unsaid = usual[i].parameters;
	while (next_parameter(&wanted, &w))
		if ((!find_parameter(fmtp, w.name, w.name_bytes, &is) &&
		     !find_parameter(unsaid, w.name, w.name_bytes, &is)) ||
		    !same_value(&w, &is))
			return false;
	return true;
}
