/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The conversions of a campaign: files that the daemon converts beside calls.
 */
#include <errno.h>
#include <string.h>

#include "base/options.h"
#include "campaign/campaign.h"
#include "campaign/convert.h"

#define SECTION "conversions"

struct conversions_values {
	CONVERSIONS_KEYS(VALUE_ROW, KEY_SKIP)
};

#define CONVERSIONS_ROW(...)                                                   \
	KEY_ROW(struct raw_conversions, struct conversions_values, __VA_ARGS__)

static const struct key_row rows[] = { CONVERSIONS_KEYS(
	CONVERSIONS_ROW, KEY_SKIP){ { .name = NULL }, 0 } };

static bool is_given(const struct raw_conversions *raw)
{
	const struct raw_conversions_expect *x = &raw->expect;

	return raw->count || raw->length || raw->at || raw->input_count ||
	       convert_leg_given(&raw->out) || x->finished ||
	       x->mean_turnaround || x->max_turnaround;
}

static int convert_values(struct loader *l, const struct raw_conversions *raw,
			  cr_ns duration, struct campaign_conversions *v)
{
	struct conversions_values cv;
	int rc = convert_rows(l, rows, SECTION, raw, &cv);

	if (rc)
		return rc;
	if (!cv.count)
		return convert_fail(l, SECTION, NULL,
				    "needs count (files to convert)");
	if (cv.at >= duration)
		return convert_fail(l, SECTION, "at",
				    "at: the campaign has ended by then");
	v->count = cv.count;
	v->length = cv.length;
	v->at = cv.at;
	return 0;
}

/* What the daemon can make of WAV files. */
static int convert_out(struct loader *l, const struct raw_leg *raw,
		       struct campaign_leg *out)
{
	static const char path[] = SECTION ".out";
	int rc;

	if (!convert_leg_given(raw))
		return convert_fail(l, SECTION, NULL, "'out' is missing");
	rc = convert_leg(l, path, raw, out);
	if (rc)
		return rc;
	if (strcmp(out->codec->name, "amr") != 0 &&
	    strcmp(out->codec->name, "amr-wb") != 0)
		return convert_fail(l, path, "codec",
				    "codec=%s: files are converted to amr or "
				    "amr-wb",
				    out->codec->name);
	if (raw->octet_align)
		return convert_fail(l, path, "octet-align",
				    "octet-align: is of packets, not of files");
	return 0;
}

int convert_conversions(struct loader *l, const struct raw_conversions *raw,
			struct campaign *c)
{
	struct campaign_conversions *v = &c->conversions;
	int rc;

	if (!is_given(raw))
		return 0;
	v->line = places_line(&l->places, SECTION);
	rc = convert_values(l, raw, c->duration, v);
	if (!rc)
		rc = convert_out(l, &raw->out, &v->out);
	if (!rc)
		rc = convert_conversions_expect(l, SECTION ".expect",
						&raw->expect, v->expect);
	if (!rc && raw->input_count)
		rc = convert_list(l, raw->input, raw->input_count, &v->input,
				  &v->input_count);
	return rc;
}
