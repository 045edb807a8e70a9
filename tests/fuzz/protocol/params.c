/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any JSON as the parameters of call.start, with those of call.change behind
 * it, or of convert.start, the first octet says which: what is taken is within
 * its bounds, what is refused has a reason.
 */
#include <string.h>

#include "base/assert.h"
#include "node/call_check.h"
#include "convert/conversion.h"
#include "node/requests.h"
#include "protocol/tables/call_fields.h"
#include "protocol/tables/convert_fields.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_side(const struct codec_use *s)
{
	CR_ASSERT(s->codec && s->cfg.mode < s->codec->nmodes);
	CR_ASSERT(codec_use_rate(s) == 8000 || codec_use_rate(s) == 16000);
	CR_ASSERT(s->cfg.samples <= CR_FRAME_SAMPLES_MAX);
}

static void check_terms(const struct stream_cfg *cfg)
{
	CR_ASSERT(cfg->terms.cls <= CR_BE && cfg->terms.weight);
	CR_ASSERT(cfg->terms.nice >= -20 && cfg->terms.nice <= 19);
	CR_ASSERT(cfg->terms.deadline > 0);
	CR_ASSERT(cfg->media.out.cfg.mode < cfg->media.out.codec->nmodes);
}

static void try_change(struct stream_cfg *cfg, const json_t *params)
{
	struct call_spec r;
	struct cr_err e = { "" };

	if (call_change_params(&r, call_change_fields, params, &e) ||
	    call_check_change(cfg, &r, &e))
		CR_ASSERT(e.text[0]);
	else
		check_terms(cfg);
}

/* Of call.start; or an array of those and call.change's. */
static void try_call(const json_t *params)
{
	const json_t *change = json_array_get(params, 1);
	struct call_spec r;
	struct stream_cfg cfg;
	struct cr_err e = { "" };

	if (json_is_array(params))
		params = json_array_get(params, 0);
	if (call_params(&r, params, &e) || call_check(&cfg, &r, &e)) {
		CR_ASSERT(e.text[0]);
		return;
	}
	check_side(&cfg.media.in);
	check_side(&cfg.media.out);
	check_terms(&cfg);
	CR_ASSERT(cfg.release.period > 0 && cfg.release.x > 0);
	CR_ASSERT(cfg.release.y > 0);
	CR_ASSERT(cfg.media.in.pt < 128 && cfg.media.out.pt < 128);
	CR_ASSERT(cfg.to.ss_family);
	if (change)
		try_change(&cfg, change);
}

static void try_conversion(const json_t *params)
{
	struct convert_request r;
	struct conversion_cfg cfg;
	struct cr_err e = { "" };

	if (convert_params(&r, params, &e) || convert_check(&cfg, &r, &e)) {
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
		try_conversion(params);
	else if (params)
		try_call(params);
	json_decref(params);
	return 0;
}
