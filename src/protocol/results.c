/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The results of methods and notifications; the codecs and schedulers that are
 * built in; and counters from where they are counted.
 */
#include "protocol/results.h"

#include <string.h>

#include "base/field.h"
#include "cr/codec.h"
#include "engine/core.h"
#include "observe/line_file.h"
#include "observe/log.h"
#include "protocol/field_json.h"
#include "protocol/methods.h"

/* --- codecs --- */

/* @arg: the codec; the walker only reads. */
static bool mode_at(void *arg, unsigned i, void *item)
{
	const struct cr_codec *c = arg;

	if (i >= c->nmodes)
		return false;
	*(struct cr_codec_mode *)item = c->modes[i];
	return true;
}

static bool codec_at(void *arg, unsigned i, void *item)
{
	const struct cr_codec *c = cr_codecs[i];

	(void)arg;
	if (!c)
		return false;
	*(struct codec_info *)item = (struct codec_info){
		.name = c->name,
		.rtp_name = c->rtp_name,
		.help = c->help,
		.rate = c->sample_rate,
		.clock = c->rtp_clock,
		.frame = (cr_ns)c->samples * CR_SEC / c->sample_rate,
		.decodes = c->decoder_open != NULL,
		.encodes = c->encoder_open != NULL,
		.default_mode = c->modes[c->default_mode].name,
		.modes = { mode_at, (void *)(uintptr_t)c },
	};
	return true;
}

const struct field_each describe_codecs = { codec_at, NULL };

/* --- schedulers --- */

/* @arg: the table of options; the walker only reads. */
static bool option_at(void *arg, unsigned i, void *item)
{
	const struct cr_opt *o = arg;
	struct option_info *out = item;

	while (o && o->name && i--)
		o++;
	if (!o || !o->name)
		return false;
	out->name = o->name;
	option_describe(o, out->help, sizeof(out->help));
	return true;
}

/* The core's answer when a task asks; the guard's where there is no policy. */
static const char *admission_of(const struct cr_sched_ops *ops)
{
	const struct core_config cfg = { .ops = ops,
					 .ncpu = 1,
					 .admission = true };
	struct cr_task probe = { .cls = CR_HARD,
				 .period = 20 * CR_MS,
				 .rel_deadline = 20 * CR_MS,
				 .cost = { .mean = CR_US, .p99 = CR_US },
				 .weight = 1024 };
	struct cr_verdict v = { 0 };
	struct core *c;

	cr_cpus_add(&probe.cpus, 0);
	if (core_open(&c, &cfg, 0, NULL))
		return "?";
	(void)core_admit(c, &probe, &v);
	core_close(c);
	return v.rule ? v.rule : "?";
}

void describe_scheduler(const struct scheduler *s, struct scheduler_info *out)
{
	const struct cr_opt *opts = scheduler_opts(s);

	*out = (struct scheduler_info){
		.name = scheduler_name(s),
		.help = scheduler_help(s),
		.admission = admission_of(s->policy),
		.options = { option_at, (void *)(uintptr_t)opts },
	};
}

static bool scheduler_at(void *arg, unsigned i, void *item)
{
	const struct scheduler s = { .policy = cr_schedulers[i] };
	struct scheduler_info *out = item;
	const char *in_use = arg;
	size_t n = strcspn(in_use, ",");

	if (!s.policy)
		return false;
	describe_scheduler(&s, out);
	out->in_use = strlen(out->name) == n && !strncmp(out->name, in_use, n);
	return true;
}

struct field_each describe_schedulers(const char *in_use)
{
	return (struct field_each){ scheduler_at, (void *)(uintptr_t)in_use };
}

static bool cost_at(void *arg, unsigned i, void *item)
{
	return node_cost(arg, i, item);
}

void result_capacity(struct node *n, struct capacity_result *out)
{
	node_capacity(n, &out->capacity);
	out->costs = (struct field_each){ cost_at, n };
}

static bool place_row_at(void *arg, unsigned i, void *item)
{
	const struct node_place_info *row = node_place(arg, i);

	if (row)
		*(struct node_place_info *)item = *row;
	return row;
}

struct field_each result_places(struct node *n)
{
	return (struct field_each){ place_row_at, n };
}

static bool interface_at(void *arg, unsigned i, void *item)
{
	return node_interface(arg, i, item);
}

struct field_each result_interfaces(struct node *n)
{
	return (struct field_each){ interface_at, n };
}

json_t *result_conversion_json(const struct conversion *cv)
{
	struct node_conversion_info info;

	node_conversion_info(cv, &info);
	return field_write(conversion_info_fields, &info);
}

void stats_collect(struct service *sv, struct stats_reported *to)
{
	struct stats_result *result = &to->result;

	*result = (struct stats_result){ .draining = sv->draining,
					 .config = sv->cfg.config };
	node_stats(sv->node, &result->node);
	if (node_converter(sv->node)) {
		to->conversions = converter_counts(node_converter(sv->node));
		result->conversions = &to->conversions;
	}
	if (sv->cfg.records) {
		lines_stats(sv->cfg.records, &to->records);
		result->records = &to->records;
	}
	if (sv->cfg.replicate) {
		replicate_stats(sv->cfg.replicate, &to->replicate);
		result->replicate = &to->replicate;
	}
	rpc_server_stats(sv->server, &result->control);
	log_stats(&result->log);
	result_capacity(sv->node, &result->capacity);
	result->places = result_places(sv->node);
}
