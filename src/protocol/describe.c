/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is built in: codecs and schedulers.
 */
#include "protocol/describe.h"

#include "base/options.h"
#include "cr/codec.h"
#include "engine/core.h"

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

/* What the core says when a task asks; the guard where there is no policy. */
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

	(void)arg;
	if (!s.policy)
		return false;
	describe_scheduler(&s, item);
	return true;
}

const struct field_each describe_schedulers = { scheduler_at, NULL };
