/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a flow's calls begin, and how long they last.
 */
#include "campaign/campaign.h"
#include "campaign/convert.h"

static const char *const key_holds[] = { "constant", "exponential", NULL };

#define START_ROW(...)                                                         \
	KEY_ROW(struct raw_start, struct campaign_start, __VA_ARGS__)
#define HOLD_ROW(...)                                                          \
	KEY_ROW(struct raw_hold, struct campaign_hold, __VA_ARGS__)
#define END_ROW                                                                \
	{                                                                      \
		{ .name = NULL }, 0                                            \
	}

static const struct key_row start_rows[] = { START_KEYS(START_ROW, KEY_SKIP)
						     END_ROW };
static const struct key_row hold_rows[] = { HOLD_KEYS(HOLD_ROW, KEY_SKIP)
						    END_ROW };

static int check_start(struct loader *l, const char *path,
		       const struct raw_start *raw, struct campaign_start *s)
{
	char buf[PLACE_MAX];
	int rc = convert_rows(l, start_rows, convert_below(buf, path, "start"),
			      raw, s);

	if (rc || !raw->poisson)
		return rc;
	if (raw->spread)
		return convert_fail(l, buf, "spread",
				    "spread and poisson exclude each other");
	return convert_rate(l, buf, "poisson", raw->poisson, &s->poisson_ppm);
}

static int check_hold(struct loader *l, const char *path,
		      const struct raw_hold *raw, struct campaign_hold *h)
{
	char buf[PLACE_MAX];
	int rc = convert_rows(l, hold_rows, convert_below(buf, path, "hold"),
			      raw, h);

	if (!rc && raw->exponential && !raw->mean)
		return convert_fail(l, buf, "model", "'mean' is missing");
	return rc;
}

int convert_start(struct loader *l, const char *path,
		  const struct raw_flow *raw, struct campaign_flow *f)
{
	int rc = check_start(l, path, &raw->start, &f->start);

	return rc ? rc : check_hold(l, path, &raw->hold, &f->hold);
}
