/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loader: read the file, walk it for places, let libcyaml load the texts,
 * convert and check them.
 */
#include "base/nearest.h"
#include "campaign/campaign.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "campaign/convert.h"
#include "schedulers/registry.h"

#define MAX_FILE (1u << 20)

static const char *const key_preempts[] = { "frame", "quantum", "full", NULL };

struct top_values {
	TOP_KEYS(VALUE_ROW, KEY_SKIP)
};
struct platform_values {
	PLATFORM_KEYS(VALUE_ROW, KEY_SKIP)
};
struct daemon_values {
	DAEMON_KEYS(VALUE_ROW, KEY_SKIP)
};

#define TOP_ROW(...)                                                           \
	KEY_ROW(struct raw_campaign, struct top_values, __VA_ARGS__)
#define PLATFORM_ROW(...)                                                      \
	KEY_ROW(struct raw_platform, struct platform_values, __VA_ARGS__)
#define OVERHEAD_ROW(...)                                                      \
	KEY_ROW(struct raw_overhead, struct campaign_overhead, __VA_ARGS__)
#define DAEMON_ROW(...)                                                        \
	KEY_ROW(struct raw_daemon, struct daemon_values, __VA_ARGS__)
#define END_ROW                                                                \
	{                                                                      \
		{ .name = NULL }, 0                                            \
	}

static const struct key_row top_rows[] = { TOP_KEYS(TOP_ROW, KEY_SKIP)
						   END_ROW };
static const struct key_row platform_rows[] = { PLATFORM_KEYS(
	PLATFORM_ROW, KEY_SKIP) END_ROW };
static const struct key_row overhead_rows[] = { OVERHEAD_KEYS(
	OVERHEAD_ROW, KEY_SKIP) END_ROW };
static const struct key_row daemon_rows[] = { DAEMON_KEYS(DAEMON_ROW, KEY_SKIP)
						      END_ROW };

/* Our own walk has refused with a better message what this would refuse. */
static const cyaml_config_t yaml_config = {
	.mem_fn = cyaml_mem,
	.flags = CYAML_CFG_NO_ALIAS,
};

static int run_queues(struct loader *l, const char *text,
		      struct campaign_platform *p)
{
	struct cr_err e;

	if (!campaign_set_run_queues(p, text ? text : "global", &e))
		return 0;
	return convert_fail(l, "platform", "run-queues", "%.350s", e.text);
}

static int convert_platform(struct loader *l, const struct raw_campaign *raw,
			    struct campaign_platform *p)
{
	struct platform_values pv;
	struct daemon_values dv;
	int rc =
		convert_rows(l, platform_rows, "platform", &raw->platform, &pv);

	if (!rc)
		rc = convert_rows(l, overhead_rows, "platform.overhead",
				  &raw->platform.overhead, &p->overhead);
	if (!rc)
		rc = convert_rows(l, daemon_rows, "daemon", &raw->daemon, &dv);
	if (rc)
		return rc;
	p->cpus = pv.cpus;
	p->preempt = pv.preempt;
	p->quantum = pv.quantum;
	p->admission = dv.admission;
	p->max_age = dv.max_age;
	p->convert_floor = dv.convert_floor;
	return run_queues(l, raw->platform.run_queues, p);
}

/* Built-in policies and their options are checked here; outside ones, which
 * would have to be loaded, by the daemon. */
static int check_schedulers(struct loader *l, const struct raw_campaign *raw)
{
	for (unsigned i = 0; i < raw->schedulers_count; i++) {
		const char *spec = raw->schedulers[i];
		char place[PLACE_MAX];
		struct cr_err e;

		(void)snprintf(place, sizeof(place), "schedulers[%u]", i);
		if (strchr(spec, '/'))
			continue;
		if (cr_scheduler_check(spec, &e))
			return convert_fail(l, place, NULL, "%.350s", e.text);
	}
	return 0;
}

static int convert_top(struct loader *l, const struct raw_campaign *raw,
		       struct campaign *c)
{
	struct top_values v;
	int rc;

	if (!raw->duration)
		return convert_fail(l, "", NULL, "'duration' is missing");
	rc = convert_rows(l, top_rows, "", raw, &v);
	if (rc)
		return rc;
	c->seed = v.seed;
	c->duration = v.duration;
	rc = convert_platform(l, raw, &c->platform);
	if (!rc)
		rc = convert_expect(l, "expect", &raw->expect, c->expect);
	if (!rc)
		rc = check_schedulers(l, raw);
	if (!rc && raw->schedulers_count)
		rc = convert_list(l, raw->schedulers, raw->schedulers_count,
				  &c->schedulers, &c->scheduler_count);
	return rc;
}

static int check_flow_among(struct loader *l, const struct campaign *c,
			    unsigned i)
{
	const struct campaign_flow *f = &c->flows[i];
	char path[PLACE_MAX];

	(void)snprintf(path, sizeof(path), "flows[%u]", i);
	for (unsigned k = 0; k < i; k++)
		if (strcmp(f->name, c->flows[k].name) == 0)
			return convert_fail(l, path, "name",
					    "name=%s: flow of line %u has it",
					    f->name, c->flows[k].line);
	(void)snprintf(path, sizeof(path), "flows[%u].start", i);
	if (f->start.at >= c->duration)
		return convert_fail(l, path, "at",
				    "at: the campaign has ended by then");
	if (f->start.spread > c->duration - f->start.at)
		return convert_fail(l, path, "spread",
				    "spread: reaches beyond the campaign");
	return 0;
}

/* The flow that flow @i is like: one above that is like none. */
static int find_like(struct loader *l, const char *like, struct campaign *c,
		     unsigned i)
{
	const char *names[65] = { NULL };
	char path[PLACE_MAX], hint[300];
	unsigned n = 0;

	c->flows[i].like = -1;
	for (unsigned k = 0; like && k < i; k++) {
		if (c->flows[k].like >= 0)
			continue;
		if (strcmp(c->flows[k].name, like) == 0)
			c->flows[i].like = (int)k;
		if (n < 64)
			names[n++] = c->flows[k].name;
	}
	if (!like || c->flows[i].like >= 0)
		return 0;
	(void)snprintf(path, sizeof(path), "flows[%u]", i);
	return convert_fail(l, path, "like", "like=%s: no such flow above; %s",
			    like,
			    nearest_hint(like, names, hint, sizeof(hint)));
}

/* A share of the rate count / hold, where the count is another flow's. */
static int check_share(struct loader *l, const struct campaign *c, unsigned i)
{
	const struct campaign_flow *f = &c->flows[i], *like;
	char path[PLACE_MAX];

	if (f->like < 0 || !f->start.poisson.of_hold)
		return 0;
	like = &c->flows[f->like];
	if (like->count || like->load_ppm)
		return 0;
	(void)snprintf(path, sizeof(path), "flows[%u].start", i);
	return convert_fail(l, path, "poisson",
			    "poisson: a share is of what keeps count calls up, "
			    "but flow %s has neither count nor load; give it "
			    "one, or calls per second here",
			    like->name);
}

static int convert_campaign(struct loader *l, const struct raw_campaign *raw,
			    struct campaign *c)
{
	int rc = convert_top(l, raw, c);

	if (rc)
		return rc;
	rc = convert_conversions(l, &raw->conversions, c);
	if (rc)
		return rc;
	c->flows = calloc(raw->flows_count, sizeof(*c->flows));
	if (!c->flows)
		return cr_fail(l->err, -ENOMEM, "%s: out of memory", c->path);
	for (unsigned i = 0; i < raw->flows_count && !rc; i++) {
		c->flow_count = i + 1;
		rc = convert_flow(l, i, &raw->flows[i], &c->flows[i]);
		if (!rc)
			rc = check_flow_among(l, c, i);
		if (!rc)
			rc = find_like(l, raw->flows[i].like, c, i);
		if (!rc)
			rc = check_share(l, c, i);
	}
	return rc;
}

/* Both passes over the text; the raw campaign lives only in here. */
static int load_texts(struct loader *l, struct campaign *c)
{
	struct place_text t = { c->path, c->text, c->text_bytes };
	struct raw_campaign *raw = NULL;
	cyaml_err_t bad;
	int rc = places_read(&l->places, &t, &raw_schema, l->err);

	if (rc)
		return rc;
	bad = cyaml_load_data((const uint8_t *)c->text, c->text_bytes,
			      &yaml_config, &raw_schema, (cyaml_data_t **)&raw,
			      NULL);
	if (bad != CYAML_OK)
		return cr_fail(l->err, -EINVAL, "%s:1: not a campaign: %s",
			       c->path, cyaml_strerror(bad));
	rc = convert_campaign(l, raw, c);
	(void)cyaml_free(&yaml_config, &raw_schema, raw, 0);
	return rc;
}

static int take_text(struct campaign *c, const char *text, size_t n,
		     const char *path)
{
	c->path = strdup(path);
	c->text = malloc(n + 1);
	if (!c->path || !c->text)
		return -ENOMEM;
	memcpy(c->text, text, n);
	c->text[n] = '\0';
	c->text_bytes = n;
	return 0;
}

int campaign_parse(const char *text, size_t n, const char *path,
		   struct campaign **out, struct cr_err *e)
{
	struct loader l = { .err = e };
	struct campaign *c = calloc(1, sizeof(*c));
	int rc;

	if (!c || take_text(c, text, n, path)) {
		campaign_free(c);
		return cr_fail(e, -ENOMEM, "%s: out of memory", path);
	}
	rc = load_texts(&l, c);
	places_fini(&l.places);
	if (rc) {
		campaign_free(c);
		return rc;
	}
	*out = c;
	return 0;
}

int campaign_load(const char *path, struct campaign **c, struct cr_err *e)
{
	FILE *f = fopen(path, "rb");
	char *text = malloc(MAX_FILE + 1);
	size_t n = 0;
	int rc = 0;

	if (!f)
		rc = cr_fail(e, -errno, "%s: %s", path, strerror(errno));
	else if (!text)
		rc = cr_fail(e, -ENOMEM, "%s: out of memory", path);
	else
		n = fread(text, 1, MAX_FILE + 1, f);
	if (!rc && ferror(f))
		rc = cr_fail(e, -EIO, "%s: cannot be read (a folder?)", path);
	if (!rc && n > MAX_FILE)
		rc = cr_fail(e, -EFBIG, "%s: larger than %u bytes", path,
			     MAX_FILE);
	if (f)
		(void)fclose(f);
	if (!rc)
		rc = campaign_parse(text, n, path, c, e);
	free(text);
	return rc;
}

int campaign_check_live(const struct campaign *c, struct cr_err *e)
{
	for (unsigned i = 0; i < c->flow_count; i++) {
		const struct campaign_flow *f = &c->flows[i];

		if (f->synthetic)
			return cr_fail(e, -EINVAL,
				       "%s:%u: flow %s has no codecs ('in' and "
				       "'out'): it can only be simulated, with "
				       "codec-sim",
				       c->path, f->line, f->name);
		if (f->arrival.kind != ARRIVAL_PLAN)
			return cr_fail(e, -EINVAL,
				       "%s:%u: flow %s has an arrival model: "
				       "it can only be simulated, with "
				       "codec-sim; live flows have network and "
				       "talk",
				       c->path, f->line, f->name);
	}
	return 0;
}

int campaign_check_simulated(const struct campaign *c, struct cr_err *e)
{
	if (!c->conversions.count)
		return 0;
	return cr_fail(e, -EINVAL,
		       "%s:%u: conversions are a daemon's work: they can only "
		       "be played live, with codec-feeder; a flow of class "
		       "best-effort stands in for them here",
		       c->path, c->conversions.line);
}

static void free_list(char **list, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		free(list[i]);
	free(list);
}

void campaign_free(struct campaign *c)
{
	if (!c)
		return;
	for (unsigned i = 0; i < c->flow_count; i++) {
		free_list(c->flows[i].input, c->flows[i].input_count);
		free(c->flows[i].cost.file);
		free(c->flows[i].arrival.file);
	}
	free_list(c->conversions.input, c->conversions.input_count);
	free_list(c->schedulers, c->scheduler_count);
	free(c->flows);
	free(c->text);
	free(c->path);
	free(c);
}
