/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loader: read the file into sections, and these into numbers.
 */
#include "base/nearest.h"
#include "campaign/campaign.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "campaign/parts.h"
#include "engine/scheduler.h"

#define MAX_FILE (1u << 20)
#define SETTING_PLACE 200u /* a longer setting is cut in messages */

static int read_receivers(const struct section *s, struct campaign_receivers *r)
{
	int rc = section_values(s, r);

	if (!rc && section_any(s) && !section_has(s, "count"))
		rc = section_fail(s, NULL, "'count' is missing");
	return rc;
}

static int read_max_age(const struct section *daemon, int64_t *out)
{
	const struct cr_opt opt = { .name = "max-age",
				    .kind = CR_OPT_TIME,
				    .min = CR_MS,
				    .max = CR_NEVER };
	const char *text = section_text(daemon, "max-age");

	*out = CR_NEVER;
	if (!text)
		return 0;
	if (!strcmp(text, "auto"))
		*out = CAMPAIGN_AGE_AUTO;
	else if (strcmp(text, "none") && option_parse(&opt, text, out, NULL))
		return section_fail(daemon, "max-age",
				    "max-age=%.64s: needs none, auto or a "
				    "time of 1ms or more",
				    text);
	return 0;
}

static int read_platform(const struct section *top, struct campaign_platform *p)
{
	const struct section *s = section_below(top, "platform");
	const char *rqs = section_text(s, "run-queues");
	struct cr_err e;
	int rc = section_values(s, p);

	if (!rc)
		rc = section_values(section_below(s, "overhead"), &p->overhead);
	if (!rc)
		rc = read_receivers(section_below(s, "receivers"),
				    &p->receivers);
	if (!rc)
		rc = section_values(section_below(top, "daemon"), p);
	if (!rc)
		rc = read_max_age(section_below(top, "daemon"), &p->max_age);
	if (rc)
		return rc;
	if (campaign_set_run_queues(p, rqs ? rqs : "global", &e))
		return section_fail(s, "run-queues", "%.350s", e.text);
	return 0;
}

/* Built-in policies and their options are checked here; outside ones, which
 * would have to be loaded, by the daemon. */
static int read_schedulers(const struct section *top, struct campaign *c)
{
	const struct value *v = section_get(top, "schedulers");

	for (unsigned i = 0; i < v->count; i++) {
		const char *spec = v->entries[i].text;
		struct cr_err e;

		if (!strchr(spec, '/') && scheduler_check(spec, &e))
			return section_fail_entry(top, "schedulers", i, e.text);
	}
	return section_copy_list(top, "schedulers", &c->schedulers,
				 &c->scheduler_count);
}

static int check_flow_among(const struct section *s, const struct campaign *c,
			    unsigned i)
{
	const struct section *start = section_below(s, "start");
	const struct campaign_flow *f = &c->flows[i];

	for (unsigned k = 0; k + f->party.side < i; k++)
		if (strcmp(f->name, c->flows[k].name) == 0 ||
		    strcmp(campaign_title(f), campaign_title(&c->flows[k])) ==
			    0)
			return section_fail(
				s, "name", "name=%s: flow of line %u has it",
				campaign_title(f), c->flows[k].line);
	if (f->start.at >= c->duration)
		return section_fail(start, "at",
				    "at: the campaign has ended by then");
	if (f->start.spread > c->duration - f->start.at)
		return section_fail(start, "spread",
				    "spread: reaches beyond the campaign");
	return 0;
}

/* The flow that flow @i is like: one above that is like none. */
static int find_like(const struct section *s, struct campaign *c, unsigned i)
{
	const char *like = section_text(s, "like");
	const char *names[65] = { NULL };
	char hint[300];
	unsigned n = 0;

	c->flows[i].like = -1;
	for (unsigned k = 0; like && k < i; k++) {
		if (c->flows[k].like >= 0)
			continue;
		if (strcmp(campaign_title(&c->flows[k]), like) == 0)
			c->flows[i].like = (int)k;
		if (n < 64)
			names[n++] = campaign_title(&c->flows[k]);
	}
	if (!like || c->flows[i].like >= 0)
		return 0;
	return section_fail(s, "like", "like=%s: no such flow above; %s", like,
			    nearest_hint(like, names, hint, sizeof(hint)));
}

/* A share of the rate count / hold, where the count is another flow's. */
static int check_share(const struct section *s, const struct campaign *c,
		       const struct campaign_flow *f)
{
	const struct campaign_flow *like;

	if (f->like < 0 || !f->start.poisson.of_hold)
		return 0;
	like = &c->flows[f->like];
	if (like->count || like->load_ppm)
		return 0;
	return section_fail(section_below(s, "start"), "poisson",
			    "poisson: a share is of what keeps count calls up, "
			    "but flow %s has neither count nor load; give it "
			    "one, or calls per second here",
			    like->name);
}

/* Flow @i among those above it. */
static int place_flow(const struct section *s, struct campaign *c, unsigned i)
{
	int rc = check_flow_among(s, c, i);

	if (!rc)
		rc = find_like(s, c, i);
	/* what b says is said as often as what a says */
	if (!rc && c->flows[i].party.side && c->flows[i].like < 0) {
		c->flows[i].like = (int)i - 1;
		c->flows[i].count = c->flows[i].load_ppm = 0;
	}
	return rc ? rc : check_share(s, c, &c->flows[i]);
}

static int read_flows(const struct section *top, struct campaign *c)
{
	const struct value *v = section_get(top, "flows");
	int rc = 0;

	c->flows = calloc(2 * (size_t)v->count, sizeof(*c->flows));
	if (!c->flows)
		return cr_fail(top->file->err, -ENOMEM, "%s: out of memory",
			       c->path);
	for (unsigned i = 0; i < v->count && !rc; i++) {
		const struct section *s = v->entries[i].below;
		unsigned at = c->flow_count;
		bool both = is_conversation(s);

		c->flow_count += 1 + both;
		rc = both ? read_conversation(s, i, &c->flows[at])
			  : read_flow(s, i, &c->flows[at]);
		for (; !rc && at < c->flow_count; at++)
			rc = place_flow(s, c, at);
	}
	return rc;
}

static int read_campaign(const struct section *top, struct campaign *c)
{
	int rc;

	if (!section_has(top, "duration"))
		return section_fail(top, NULL, "'duration' is missing");
	rc = section_values(top, c);
	if (!rc)
		rc = read_platform(top, &c->platform);
	if (!section_has(section_below(top, "daemon"), "ports"))
		c->platform.ports = c->ports;
	if (!rc)
		rc = read_expect(section_below(top, "expect"), METRIC_LOSS,
				 c->expect);
	if (!rc)
		rc = read_schedulers(top, c);
	if (!rc)
		rc = read_conversions(section_below(top, "conversions"),
				      c->duration, &c->conversions);
	return rc ? rc : read_flows(top, c);
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
	return 0;
}

/* A copy of @set for the run folder. */
static int take_settings(struct campaign *c,
			 const struct campaign_settings *set)
{
	if (!set->count)
		return 0;
	c->settings = calloc(set->count, sizeof(*c->settings));
	if (!c->settings)
		return -ENOMEM;
	for (; c->setting_count < set->count; c->setting_count++) {
		char *one = strdup(set->item[c->setting_count]);

		if (!one)
			return -ENOMEM;
		c->settings[c->setting_count] = one;
	}
	return 0;
}

/* The place of a setting, for messages. */
struct setting_place {
	struct campaign_file file;
	char name[SETTING_PLACE];
};

static void place_setting(struct setting_place *at, const char *setting,
			  struct cr_err *e)
{
	(void)snprintf(at->name, sizeof(at->name), "--set %s", setting);
	at->file = (struct campaign_file){ at->name, e, .setting = true };
}

static int put_settings(struct section *top, struct setting_place *at,
			const struct campaign *c, struct cr_err *e)
{
	int rc = 0;

	for (unsigned i = 0; i < c->setting_count && !rc; i++) {
		place_setting(&at[i], c->settings[i], e);
		rc = section_set(top, &at[i].file, c->settings[i]);
	}
	return rc ? rc : section_check_complete(top);
}

/* What the file and settings say against each other has the file's place: the
 * settings are told with it. */
static void name_settings(const struct campaign *c, struct cr_err *e)
{
	size_t n = e ? strlen(e->text) : 0;

	if (!n || strncmp(e->text, "--set ", 6) == 0)
		return;
	for (unsigned i = 0; i < c->setting_count && n < sizeof(e->text); i++)
		n += (size_t)snprintf(e->text + n, sizeof(e->text) - n,
				      "%s--set %s%s", i ? " " : " (with ",
				      c->settings[i],
				      i + 1 < c->setting_count ? "" : ")");
}

/* The file with its settings, into @c. */
static int read_all(struct campaign *c, const char *text, size_t n,
		    struct cr_err *e)
{
	const struct campaign_file file = { .name = c->path, .err = e };
	struct setting_place *at = calloc(c->setting_count + 1, sizeof(*at));
	struct section *top = NULL;
	int rc = at ? section_parse(&file, text, n, &top)
		    : cr_fail(e, -ENOMEM, "%s: out of memory", c->path);

	if (!rc) {
		rc = put_settings(top, at, c, e);
		if (!rc)
			rc = read_campaign(top, c);
		if (rc)
			name_settings(c, e);
	}
	section_free(top);
	free(at);
	return rc;
}

int campaign_parse_with(const char *text, size_t n, const char *path,
			const struct campaign_settings *set,
			struct campaign **out, struct cr_err *e)
{
	static const struct campaign_settings none;
	struct campaign *c = calloc(1, sizeof(*c));
	int rc;

	if (!c || take_text(c, text, n, path) ||
	    take_settings(c, set ? set : &none))
		rc = cr_fail(e, -ENOMEM, "%s: out of memory", path);
	else
		rc = read_all(c, text, n, e);
	if (rc)
		campaign_free(c);
	else
		*out = c;
	return rc;
}

int campaign_parse(const char *text, size_t n, const char *path,
		   struct campaign **out, struct cr_err *e)
{
	return campaign_parse_with(text, n, path, NULL, out, e);
}

int campaign_load(const char *path, struct campaign **c, struct cr_err *e)
{
	return campaign_load_with(path, NULL, c, e);
}

int campaign_load_with(const char *path, const struct campaign_settings *set,
		       struct campaign **c, struct cr_err *e)
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
	/* analyzer: errno is not 0 where there is no file */
	if (!rc && ferror(f))
		rc = cr_fail(e, -EIO, "%s: cannot be read (a folder?)", path);
	if (!rc && n > MAX_FILE)
		rc = cr_fail(e, -EFBIG, "%s: larger than %u bytes", path,
			     MAX_FILE);
	if (f)
		(void)fclose(f);
	if (!rc)
		rc = campaign_parse_with(text, n, path, set, c, e);
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
	free_list(c->settings, c->setting_count);
	free(c->flows);
	free(c->text);
	free(c->path);
	free(c);
}
