/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The conversions of a campaign: files that the daemon converts beside calls.
 */
#include <string.h>

#include "campaign/parts.h"

/* What the daemon can make of WAV files. */
static int read_out(const struct section *s, struct campaign_endpoint *out)
{
	int rc = read_endpoint(s, out);

	if (rc)
		return rc;
	if (strcmp(out->codec->name, "amr") != 0 &&
	    strcmp(out->codec->name, "amr-wb") != 0)
		return section_fail(s, "codec",
				    "codec=%s: files are converted to amr or "
				    "amr-wb",
				    out->codec->name);
	if (section_has(s, "octet-align"))
		return section_fail(s, "octet-align",
				    "octet-align: is of packets, not of files");
	return 0;
}

int read_conversions(const struct section *s, cr_ns duration,
		     struct campaign_conversions *c)
{
	const struct section *out = section_below(s, "out");
	int rc;

	if (!section_any(s))
		return 0;
	c->line = section_line(s, NULL);
	rc = section_values(s, c);
	if (rc)
		return rc;
	if (!c->count)
		return section_fail(s, NULL, "needs count (files to convert)");
	if (c->at >= duration)
		return section_fail(s, "at",
				    "at: the campaign has ended by then");
	if (!section_any(out))
		return section_fail(s, NULL, "'out' is missing");
	rc = read_out(out, &c->out);
	if (!rc)
		rc = read_expect(section_below(s, "expect"), METRIC_FINISHED,
				 c->expect);
	return rc ? rc
		  : section_copy_list(s, "input", &c->input, &c->input_count);
}
