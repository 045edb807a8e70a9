/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is built in, as JSON: codecs and schedulers.
 */
#include "node/describe.h"

#include "base/options.h"
#include "cr/codec.h"
#include "engine/core.h"
#include "schedulers/registry.h"

static json_t *describe_modes(const struct cr_codec *c)
{
	json_t *modes = json_array();

	for (unsigned m = 0; m < c->nmodes; m++)
		(void)json_array_append_new(
			modes,
			json_pack("{s:s,s:i,s:i}", "name", c->modes[m].name,
				  "bit_rate", (int)c->modes[m].bit_rate,
				  "bytes", (int)c->modes[m].bytes));
	return modes;
}

json_t *describe_codecs(void)
{
	json_t *list = json_array();

	for (unsigned i = 0; cr_codecs[i]; i++) {
		const struct cr_codec *c = cr_codecs[i];

		(void)json_array_append_new(
			list,
			json_pack("{s:s,s:s,s:s,s:i,s:i,s:f,s:b,s:b,s:s,s:o}",
				  "name", c->name, "rtp_name", c->rtp_name,
				  "help", c->help, "rate", (int)c->sample_rate,
				  "clock", (int)c->rtp_clock, "frame_ms",
				  1e3 * c->samples / c->sample_rate, "decodes",
				  c->decoder_open != NULL, "encodes",
				  c->encoder_open != NULL, "default_mode",
				  c->modes[c->default_mode].name, "modes",
				  describe_modes(c)));
	}
	return list;
}

static json_t *describe_options(const struct cr_sched_ops *ops)
{
	json_t *list = json_array();
	char line[256];

	for (const struct cr_opt *o = ops->opts; o && o->name; o++) {
		option_describe(o, line, sizeof(line));
		(void)json_array_append_new(
			list,
			json_pack("{s:s,s:s}", "name", o->name, "help", line));
	}
	return list;
}

const char *describe_admission(const struct cr_sched_ops *ops)
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

json_t *describe_scheduler(const struct cr_sched_ops *ops)
{
	return json_pack("{s:s,s:s,s:s,s:o}", "name", ops->name, "help",
			 ops->help, "admission", describe_admission(ops),
			 "options", describe_options(ops));
}

json_t *describe_schedulers(void)
{
	json_t *list = json_array();

	for (unsigned i = 0; cr_schedulers[i]; i++)
		(void)json_array_append_new(
			list, describe_scheduler(cr_schedulers[i]));
	return list;
}
