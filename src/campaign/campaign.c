/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loader: read the file into sections, and these into numbers; what must
 * hold, what is converted, and how CPUs are dealt out.
 */
#include "campaign/campaign.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "base/field.h"
#include "base/units.h"
#include "campaign/section.h"
#include "engine/scheduler.h"

/* --- expectations: "<= 0.1%" against a metric, read and judged --- */

static const struct field *metric_row_of(enum campaign_metric m)
{
	return m < NCALL_METRICS ? &expect_keys[m]
				 : &conversions_expect_keys[m - NCALL_METRICS];
}

const char *campaign_metric_name(enum campaign_metric m)
{
	return metric_row_of(m)->name;
}

bool campaign_metric_is_time(enum campaign_metric m)
{
	return metric_row_of(m)->kind == FIELD_TIME;
}

bool campaign_expect_met(const struct campaign_expect *x, int64_t value)
{
	if (value == x->bound)
		return !x->strict;
	return x->at_least == (value > x->bound);
}

static int read_one(const struct section *s, enum campaign_metric m,
		    const char *text, struct campaign_expect *x)
{
	const struct field *row = metric_row_of(m);
	const char *value = text;
	struct cr_err e;

	/* "<=", "<", ">=" or ">" and blanks; a bare value means <=, for
	 * admitted, digits and finished >= */
	x->at_least = m == METRIC_ADMITTED || m == METRIC_DIGITS ||
		      m == METRIC_FINISHED;
	x->strict = false;
	if (*value == '<' || *value == '>') {
		x->at_least = *value++ == '>';
		x->strict = *value != '=';
		value += !x->strict;
	}
	value += strspn(value, " ");
	if (field_parse(row, value, &x->bound, &e))
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

	for (unsigned i = 0; i < s->count && !rc; i++)
		if (s->below[i].text)
			rc = read_one(s, first + i, s->below[i].text,
				      &out[first + i]);
	return rc;
}

/* --- conversions: files that the daemon converts beside calls --- */

/* Check that the daemon can convert WAV files to it. */
static int check_made(const struct section *s, struct codec_use *out)
{
	int rc = section_check_codec(s, out);

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

/* The conversions of a campaign that lasts @duration. */
static int check_conversions(const struct section *s, cr_ns duration,
			     struct campaign_conversions *c)
{
	const struct section *out = section_get(s, "out");
	int rc;

	if (!section_any(s))
		return 0;
	c->line = section_line(s, NULL);
	if (!c->count)
		return section_fail(s, NULL, "needs count (files to convert)");
	if (c->at >= duration)
		return section_fail(s, "at",
				    "at: the campaign has ended by then");
	if (!section_any(out))
		return section_fail(s, NULL, "'out' is missing");
	rc = check_made(out, &c->out);
	return rc ? rc
		  : read_expect(section_get(s, "expect"), METRIC_FINISHED,
				c->expect);
}

/* --- how a platform's CPUs are dealt out to run queues: equally, and the last
 * one gets what is left; so not every number of run queues can be had --- */

static int64_t div_up(int64_t a, int64_t b)
{
	return (a + b - 1) / b;
}

int64_t campaign_cpus_per_rq(const struct campaign_platform *p)
{
	return div_up(p->cpus, p->run_queues);
}

int campaign_check_run_queues(const struct campaign_platform *p,
			      struct cr_err *e)
{
	int64_t each = campaign_cpus_per_rq(p);
	int64_t made = div_up(p->cpus, each);

	if (made == p->run_queues)
		return 0;
	return cr_fail(e, -EINVAL,
		       "run-queues=%lld: %lld CPUs make %lld run queues of "
		       "%lld, or %lld of %lld",
		       (long long)p->run_queues, (long long)p->cpus,
		       (long long)made, (long long)each,
		       (long long)div_up(p->cpus, each - 1),
		       (long long)each - 1);
}

int campaign_set_run_queues(struct campaign_platform *p, const char *text,
			    struct cr_err *e)
{
	const struct field_word words[] = { { "global", 1 },
					    { "partitioned", p->cpus },
					    { 0 } };
	const struct field row = { .name = "run-queues",
				   .kind = FIELD_INT,
				   .min = 1,
				   .max = p->cpus,
				   .words = words };
	struct campaign_platform with = *p;
	int rc = field_parse(&row, text, &with.run_queues, e);

	with.partitioned = strcmp(text, "partitioned") == 0;
	if (!rc)
		rc = campaign_check_run_queues(&with, e);
	if (!rc)
		*p = with;
	return rc;
}

/* --- the loader --- */

#define MAX_FILE (1u << 20)
#define SETTING_PLACE 200u /* a longer setting is cut in messages */

static int check_platform_keys(const struct section *s,
			       struct campaign_platform *p)
{
	const char *rqs = section_text(s, "run-queues");
	const struct section *receivers = section_get(s, "receivers");
	struct cr_err e;

	if (section_any(receivers) && !section_has(receivers, "count"))
		return section_fail(receivers, NULL, "'count' is missing");
	if (campaign_set_run_queues(p, rqs ? rqs : "global", &e))
		return section_fail(s, "run-queues", "%.350s", e.text);
	return 0;
}

/* Built-in policies and their options are checked here; outside ones, which
 * would have to be loaded, by the daemon. */
static int check_scheduler_keys(const struct section *list,
				const struct campaign *c)
{
	for (unsigned i = 0; i < c->schedulers.count; i++) {
		const char *spec = c->schedulers.item[i];
		struct cr_err e;

		if (!strchr(spec, '/') && scheduler_check(spec, &e))
			return section_fail(&list->below[i], NULL, "%.400s",
					    e.text);
	}
	return 0;
}

static int check_flow_among(const struct section *s, const struct campaign *c,
			    unsigned i)
{
	const struct section *start = section_get(s, "start");
	const struct campaign_flow *f = &c->flows[i];

	for (unsigned k = 0; k + f->party.side < i; k++)
		if (strcmp(f->name, c->flows[k].name) == 0 ||
		    strcmp(flow_title(f), flow_title(&c->flows[k])) == 0)
			return section_fail(s, "name",
					    "name=%s: flow of line %u has it",
					    flow_title(f), c->flows[k].line);
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
		if (strcmp(flow_title(&c->flows[k]), like) == 0)
			c->flows[i].like = (int)k;
		if (n < 64)
			names[n++] = flow_title(&c->flows[k]);
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
	return section_fail(section_get(s, "start"), "poisson",
			    "poisson: a share is of what keeps count calls up, "
			    "but flow %s has neither count nor load; give it "
			    "one, or calls per second here",
			    like->name);
}

static int read_flows(const struct section *top, struct campaign *c)
{
	const struct section *v = section_get(top, "flows");
	int rc = 0;

	c->flows = calloc(2 * (size_t)v->count, sizeof(*c->flows));
	if (!c->flows)
		return campaign_no_memory(top->file);
	for (unsigned i = 0; i < v->count && !rc; i++) {
		struct section *s = &v->below[i];
		unsigned at = c->flow_count;

		c->flow_count += 1 + section_is_two_way(s);
		rc = read_flow(s, i, &c->flows[at]);
		for (; !rc && at < c->flow_count; at++) {
			struct campaign_flow *f = &c->flows[at];

			rc = check_flow_among(s, c, at);
			if (!rc)
				rc = find_like(s, c, at);
			/* what b says is said as often as what a says */
			if (!rc && f->party.side && f->like < 0) {
				f->like = (int)at - 1;
				f->count = f->load_ppm = 0;
			}
			if (!rc)
				rc = check_share(s, c, f);
		}
	}
	return rc;
}

static int read_sections(struct section *top, struct campaign *c)
{
	int rc = section_values(top, c);

	if (!section_has(section_get(top, "daemon"), "ports"))
		c->platform.ports = c->ports;
	if (!rc)
		rc = check_platform_keys(section_get(top, "platform"),
					 &c->platform);
	if (!rc)
		rc = read_expect(section_get(top, "expect"), METRIC_LOSS,
				 c->expect);
	if (!rc)
		rc = check_scheduler_keys(section_get(top, "schedulers"), c);
	if (!rc)
		rc = check_conversions(section_get(top, "conversions"),
				       c->duration, &c->conversions);
	return rc ? rc : read_flows(top, c);
}

/* The place of a setting, for messages. */
struct setting_place {
	struct campaign_file file;
	char name[SETTING_PLACE];
};

/* A contradiction between file and settings has the file's place, so add the
 * settings to the message. */
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

/* The file with its settings, into @c. Its sections, which stay, are not to
 * make messages any more: what these name ends here. */
static int read_campaign(struct campaign *c, const char *text, size_t n,
			 struct cr_err *e)
{
	const struct campaign_file file = { .name = c->path, .err = e };
	struct setting_place *at = calloc(c->setting_count + 1, sizeof(*at));
	int rc;

	c->sections = calloc(1, sizeof(*c->sections));
	rc = at && c->sections ? section_parse(&file, text, n, c->sections)
			       : campaign_no_memory(&file);
	if (!rc) {
		for (unsigned i = 0; i < c->setting_count && !rc; i++) {
			(void)snprintf(at[i].name, sizeof(at[i].name),
				       "--set %s", c->settings[i]);
			at[i].file =
				(struct campaign_file){ at[i].name, e, true };
			rc = section_set(c->sections, &at[i].file,
					 c->settings[i]);
		}
		if (!rc)
			rc = section_check_complete(c->sections);
		if (!rc)
			rc = read_sections(c->sections, c);
		if (rc)
			name_settings(c, e);
	}
	free(at);
	return rc;
}

/* Copies of what is read, for messages and the run folder. False: no memory. */
static bool keep_texts(struct campaign *c, const char *text, size_t n,
		       const char *path, const struct campaign_settings *set)
{
	c->path = strdup(path);
	c->text = calloc(1, n + 1);
	c->settings = calloc(set->count + 1, sizeof(*c->settings));
	if (!c->path || !c->text || !c->settings)
		return false;
	memcpy(c->text, text, n);
	for (; c->setting_count < set->count; c->setting_count++) {
		char *one = strdup(set->item[c->setting_count]);

		if (!one)
			return false;
		c->settings[c->setting_count] = one;
	}
	return true;
}

int campaign_parse(const char *text, size_t n, const char *path,
		   const struct campaign_settings *set, struct campaign **out,
		   struct cr_err *e)
{
	static const struct campaign_settings none;
	struct campaign *c = calloc(1, sizeof(*c));
	int rc;

	if (!c || !keep_texts(c, text, n, path, set ? set : &none))
		rc = cr_fail(e, -ENOMEM, "%s: out of memory", path);
	else
		rc = read_campaign(c, text, n, e);
	if (rc)
		campaign_free(c);
	else
		*out = c;
	return rc;
}

int campaign_load(const char *path, const struct campaign_settings *set,
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
		rc = campaign_parse(text, n, path, set, c, e);
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

void campaign_free(struct campaign *c)
{
	if (!c)
		return;
	for (unsigned i = 0; i < c->setting_count; i++)
		free(c->settings[i]);
	if (c->sections)
		section_fini(c->sections);
	free(c->sections);
	free(c->settings);
	free(c->flows);
	free(c->text);
	free(c->path);
	free(c);
}
