/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expectations: "<= 0.1%" against a metric, read and judged.
 */
#include <string.h>

#include "base/options.h"
#include "campaign/parts.h"

static const struct cr_opt *row_of(enum campaign_metric m)
{
	return m < NCALL_METRICS
		       ? &expect_keys[m].opt
		       : &conversions_expect_keys[m - NCALL_METRICS].opt;
}

const char *campaign_metric_name(enum campaign_metric m)
{
	return row_of(m)->name;
}

bool campaign_metric_is_time(enum campaign_metric m)
{
	return row_of(m)->kind == CR_OPT_TIME;
}

bool campaign_expect_met(const struct campaign_expect *x, int64_t value)
{
	if (value == x->bound)
		return !x->strict;
	return x->at_least == (value > x->bound);
}

/* "<=", "<", ">=" or ">" and blanks; a bare value means <=, for admitted,
 * digits and finished >=. */
static const char *operator(const char *text, enum campaign_metric m,
			    struct campaign_expect *x)
{
	x->at_least = m == METRIC_ADMITTED || m == METRIC_DIGITS ||
		      m == METRIC_FINISHED;
	x->strict = false;
	if (*text == '<' || *text == '>') {
		x->at_least = *text++ == '>';
		x->strict = *text != '=';
		text += !x->strict;
	}
	return text + strspn(text, " ");
}

static int read_one(const struct section *s, enum campaign_metric m,
		    const char *text, struct campaign_expect *x)
{
	const struct cr_opt *row = row_of(m);
	const char *value = operator(text, m, x);
	struct cr_err e;

	if (option_parse(row, value, &x->bound, &e))
		return section_fail(s, row->name,
				    "%.300s, after <= or >=", e.text);
	x->line = section_line(s, row->name);
	x->given = true;
	(void)snprintf(x->text, sizeof(x->text), "%s%s %.16s",
		       x->at_least ? ">" : "<", x->strict ? "" : "=", value);
	return 0;
}

int read_expect(const struct section *s, enum campaign_metric first,
		struct campaign_expect *out)
{
	int rc = 0;

	for (unsigned i = 0; s->keys[i].opt.name && !rc; i++)
		if (s->values[i].text)
			rc = read_one(s, first + i, s->values[i].text,
				      &out[first + i]);
	return rc;
}
