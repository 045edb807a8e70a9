/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values that are more than one number: rates, and series of times, shares or
 * rates.
 */
#include <string.h>

#include "base/units.h"
#include "campaign/parts.h"

int read_rate(const struct section *s, const char *name, int64_t *ppm)
{
	const char *text = section_text(s, name);
	int64_t rate;

	if (!text)
		return 0;
	if (units_parse_rate(text, &rate) || rate < CAMPAIGN_RATE_MIN ||
	    rate > CAMPAIGN_RATE_MAX)
		return section_fail(s, name,
				    "%s=%.64s: needs a number per second, such "
				    "as 5/s or 0.5/s, from 0.001/s to "
				    "100000/s",
				    name, text);
	*ppm = rate;
	return 0;
}

unsigned read_series(const char *text, series_parse_fn *parse, int64_t *out,
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
