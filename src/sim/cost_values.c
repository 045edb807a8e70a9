/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values and counts, and the histogram file.
 */
#include "sim/cost_values.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "campaign/campaign.h"

static int grow(struct cost_values *v)
{
	size_t room = v->room ? 2 * v->room : 64;
	cr_ns *value = realloc(v->value, room * sizeof(*value));
	uint64_t *upto;

	if (!value)
		return -ENOMEM;
	v->value = value;
	upto = realloc(v->upto, room * sizeof(*upto));
	if (!upto)
		return -ENOMEM;
	v->upto = upto;
	v->room = room;
	return 0;
}

int cost_values_add(struct cost_values *v, cr_ns value, uint64_t times)
{
	uint64_t before = v->count ? v->upto[v->count - 1] : 0;

	if (times > UINT64_MAX - before)
		return -ERANGE;
	if (v->count == v->room && grow(v))
		return -ENOMEM;
	v->value[v->count] = value;
	v->upto[v->count++] = before + times;
	return 0;
}

void cost_values_fini(struct cost_values *v)
{
	free(v->value);
	free(v->upto);
	*v = (struct cost_values){ 0 };
}

/* "COST [COUNT]"; false: something else. */
static bool parse_line(char *line, cr_ns *value, int64_t *times)
{
	char *rest, *cost, *count;

	line[strcspn(line, "#\n")] = '\0';
	cost = strtok_r(line, " \t\r", &rest);
	*times = 0;
	if (!cost)
		return true; /* nothing on it */
	count = strtok_r(NULL, " \t\r", &rest);
	*times = 1;
	if (units_parse_time(cost, value) || *value <= 0 ||
	    *value > CAMPAIGN_COST_MAX)
		return false;
	if (count && (units_parse_int(count, times) || *times <= 0))
		return false;
	return !count || !strtok_r(NULL, " \t\r", &rest);
}

static int add_line(struct cost_values *v, const char *path, unsigned n,
		    char *line, struct cr_err *e)
{
	int64_t times;
	cr_ns value;
	int rc;

	if (!parse_line(line, &value, &times))
		return cr_fail(e, -EINVAL,
			       "%s:%u: needs a cost and a count, such as '70us "
			       "120'",
			       path, n);
	rc = times ? cost_values_add(v, value, (uint64_t)times) : 0;
	return rc ? cr_fail(e, rc, "%s:%u: %s", path, n, strerror(-rc)) : 0;
}

static int read_lines(struct cost_values *v, const char *path, FILE *f,
		      struct cr_err *e)
{
	char *line = NULL;
	size_t room = 0;
	int rc = 0;

	for (unsigned n = 1; !rc && getline(&line, &room, f) >= 0; n++)
		rc = add_line(v, path, n, line, e);
	free(line);
	if (rc)
		return rc;
	if (!feof(f))
		return cr_fail(e, -EIO, "%s: cannot be read: %s", path,
			       strerror(errno));
	if (!v->count)
		return cr_fail(e, -ENODATA, "%s: no costs in it", path);
	return 0;
}

int cost_values_read(struct cost_values *v, const char *path, struct cr_err *e)
{
	FILE *f = fopen(path, "r");
	int rc;

	if (!f)
		return cr_fail(e, -errno, "%s: %s", path, strerror(errno));
	rc = read_lines(v, path, f, e);
	(void)fclose(f);
	return rc;
}

cr_ns cost_values_draw(const struct cost_values *v, struct random *r)
{
	size_t low = 0, high = v->count - 1;
	uint64_t all, at;

	if (!v->count)
		return 0;
	all = v->upto[v->count - 1];
	at = (uint64_t)((unsigned __int128)random_next(r) * all >> 64);
	if (all == v->count) /* each came once: as measured */
		return v->value[at];
	while (low < high) {
		size_t middle = (low + high) / 2;

		if (v->upto[middle] > at)
			high = middle;
		else
			low = middle + 1;
	}
	return v->value[low];
}
