/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any JSON as the parameters of call.start or job.submit, the first octet says
 * which: what is taken is within its bounds, what is refused has a reason.
 */
#include <string.h>

#include "base/assert.h"
#include "node/call_params.h"
#include "node/job_params.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_side(const struct pipeline_side *s)
{
	CR_ASSERT(s->codec && s->cfg.mode < s->codec->nmodes);
	CR_ASSERT(pipeline_side_rate(s) == 8000 ||
		  pipeline_side_rate(s) == 16000);
	CR_ASSERT(s->cfg.samples <= CR_FRAME_SAMPLES_MAX);
}

static void try_call(const json_t *params)
{
	struct call_request r;
	struct cr_err e = { "" };

	if (call_params(&r, params, &e)) {
		CR_ASSERT(e.text[0]);
		return;
	}
	check_side(&r.cfg.media.in);
	check_side(&r.cfg.media.out);
	CR_ASSERT(r.cfg.cls <= CR_BE && r.cfg.weight);
	CR_ASSERT(r.cfg.nice >= -20 && r.cfg.nice <= 19);
	CR_ASSERT(r.cfg.release.period > 0 && r.cfg.release.x > 0);
	CR_ASSERT(r.cfg.release.y > 0 && r.cfg.release.rel_deadline > 0);
	CR_ASSERT(r.cfg.pt_in < 128 && r.cfg.pt_out < 128);
	CR_ASSERT(r.cfg.to.ss_family);
}

static void try_job(const json_t *params)
{
	struct job_cfg cfg;
	struct cr_err e = { "" };

	if (job_params(&cfg, params, &e)) {
		CR_ASSERT(e.text[0]);
		return;
	}
	CR_ASSERT(strlen(cfg.in) < SPOOL_NAME);
	CR_ASSERT(*cfg.out && strlen(cfg.out) < SPOOL_NAME);
	CR_ASSERT(cfg.to.kind <= AUDIO_AWB);
	CR_ASSERT(cfg.mode < audio_codec(cfg.to.kind)->nmodes);
	CR_ASSERT(!cfg.to.rate || cfg.to.kind == AUDIO_WAV);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *params;

	if (!size)
		return 0;
	params = json_loadb((const char *)data + 1, size - 1,
			    JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, NULL);
	if (params && data[0] % 2)
		try_job(params);
	else if (params)
		try_call(params);
	json_decref(params);
	return 0;
}
