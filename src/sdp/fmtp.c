/* SPDX-License-Identifier: Apache-2.0 */
#include "sdp/fmtp.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <strings.h>

static const char blanks[] = " \t";

const char *fmtp_find(const char *fmtp, const char *name, size_t *bytes)
{
	const size_t length = strlen(name);

	while (*fmtp) {
		const char *p = fmtp + strspn(fmtp, blanks);
		const char *end = p + strcspn(p, ";");
		const char *is = memchr(p, '=', (size_t)(end - p));
		size_t n = strcspn(p, "=; \t");

		fmtp = *end ? end + 1 : end;
		if (n != length || strncasecmp(p, name, n) != 0)
			continue;
		if (!is)
			is = end - 1; /* no value */
		p = is + 1 + strspn(is + 1, blanks);
		if (p > end)
			p = end;
		while (end > p && strchr(blanks, end[-1]))
			end--;
		*bytes = (size_t)(end - p);
		return p;
	}
	return NULL;
}

/* @text[@bytes] is decimal digits, and no more than @max. */
static bool number(const char *text, size_t bytes, unsigned max, unsigned *out)
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

	return value && number(value, bytes, INT_MAX, &n) ? n : absent;
}

static bool is_one(const char *fmtp, const char *name)
{
	return fmtp_number(fmtp, name, 0) == 1;
}

/* --- lists of numbers --- */

/* Take the next item of a list with commas: "2", or with @ranges "2-5". */
static bool next_range(const char **list, const char *end, unsigned max,
		       bool ranges, unsigned *from, unsigned *to)
{
	const char *p = *list + strspn(*list, blanks);
	const char *comma = memchr(p, ',', (size_t)(end - p));
	const char *stop = comma ? comma : end;
	const char *dash = ranges ? memchr(p, '-', (size_t)(stop - p)) : NULL;

	*list = comma ? comma + 1 : end;
	while (stop > p && strchr(blanks, stop[-1]))
		stop--;
	if (!dash)
		return number(p, (size_t)(stop - p), max, from) &&
		       (*to = *from, true);
	return number(p, (size_t)(dash - p), max, from) &&
	       number(dash + 1, (size_t)(stop - dash - 1), max, to) &&
	       *from <= *to;
}

/* --- AMR --- */

static int read_mode_set(struct fmtp_amr *out, const char *fmtp, unsigned modes,
			 struct cr_err *e)
{
	size_t bytes;
	const char *list = fmtp_find(fmtp, "mode-set", &bytes);
	const char *end = list ? list + bytes : NULL;
	const char *p = list;
	unsigned mode, same;

	out->mode_set = 0;
	while (p < end) {
		if (!next_range(&p, end, modes - 1, false, &mode, &same))
			return cr_fail(e, -EINVAL,
				       "mode-set=%.*s: modes are numbers from "
				       "0 to %u, with commas",
				       (int)(bytes < 40 ? bytes : 40), list,
				       modes - 1);
		out->mode_set = (uint16_t)(out->mode_set | 1u << mode);
	}
	return 0;
}

int fmtp_amr_read(struct fmtp_amr *out, const char *fmtp, unsigned modes,
		  struct cr_err *e)
{
	size_t bytes;

	*out = (struct fmtp_amr){
		.crc = is_one(fmtp, "crc"),
		.robust_sorting = is_one(fmtp, "robust-sorting"),
		.interleaving = fmtp_find(fmtp, "interleaving", &bytes) != NULL,
		.mode_change_period =
			fmtp_number(fmtp, "mode-change-period", 1) == 2 ? 2 : 1,
		.mode_change_capability =
			fmtp_number(fmtp, "mode-change-capability", 1) == 2 ? 2
									    : 1,
		.mode_change_neighbor = is_one(fmtp, "mode-change-neighbor"),
		.max_red = fmtp_number(fmtp, "max-red", UINT_MAX),
	};
	/* each of these implies it (RFC 4867, 8.1) */
	out->octet_align = is_one(fmtp, "octet-align") || out->crc ||
			   out->robust_sorting || out->interleaving;
	return read_mode_set(out, fmtp, modes, e);
}

bool fmtp_amr_same_payload(const struct fmtp_amr *a, const struct fmtp_amr *b)
{
	return a->octet_align == b->octet_align && a->crc == b->crc &&
	       a->robust_sorting == b->robust_sorting &&
	       a->interleaving == b->interleaving;
}

/* --- others --- */

void fmtp_opus_read(struct fmtp_opus *out, const char *fmtp)
{
	*out = (struct fmtp_opus){
		.max_rate = fmtp_number(fmtp, "maxplaybackrate", 48000),
		.max_bit_rate = fmtp_number(fmtp, "maxaveragebitrate", 0),
		.stereo = is_one(fmtp, "stereo"),
		.fec = is_one(fmtp, "useinbandfec"),
		.dtx = is_one(fmtp, "usedtx"),
		.constant = is_one(fmtp, "cbr"),
	};
}

int fmtp_events_read(struct fmtp_events *out, const char *fmtp,
		     struct cr_err *e)
{
	const char *list = *fmtp ? fmtp : "0-15", *p = list;
	const char *end = list + strlen(list);
	unsigned from, to;

	memset(out, 0, sizeof(*out));
	while (p < end) {
		if (!next_range(&p, end, 255, true, &from, &to))
			return cr_fail(e, -EINVAL,
				       "%.40s: events are numbers from 0 to "
				       "255, as in 0-15,66",
				       list);
		for (unsigned n = from; n <= to; n++)
			out->set[n / 64] |= UINT64_C(1) << n % 64;
	}
	return 0;
}

static bool is_no(const char *fmtp, const char *name)
{
	size_t bytes;
	const char *value = fmtp_find(fmtp, name, &bytes);

	return value && bytes == 2 && !strncasecmp(value, "no", 2);
}

bool fmtp_g729_annexb(const char *fmtp)
{
	return !is_no(fmtp, "annexb");
}

bool fmtp_g723_annexa(const char *fmtp)
{
	return !is_no(fmtp, "annexa");
}
