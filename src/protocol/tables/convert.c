/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is asked and told of conversions of files.
 */
#include "protocol/tables/convert.h"

#include "protocol/tables/node.h"

const struct field convert_start_fields[] = {
	{ ROW_TEXT(convert_start, "in", in), .required = CONVERT_WHICH_FILE,
	  .help = "file of the spool folder; its ending (.wav, .amr, .awb) "
		  "says what it is" },
	{ ROW_TEXT(convert_start, "out", out), .required = CONVERT_WHICH_FILE,
	  .help = "file to be made there; its ending says what it becomes" },
	{ ROW_MODE(convert_start, "mode", mode), .without = "the codec's",
	  .help = "AMR, AMR-WB: bit rate by name" },
	{ ROW_BOOL(convert_start, "dtx", dtx),
	  .help = "AMR, AMR-WB: discontinuous transmission" },
	{ ROW_INT(convert_start, "rate", rate), .min = 8000, .max = 16000,
	  .unit = "Hz", .without = "the input's",
	  .help = "WAV: sampling rate, 8000 or 16000" },
	{ ROW_BOOL(convert_start, "overwrite", overwrite),
	  .help = "the output may be there already" },
	{ 0 },
};

const struct field conversion_reference_fields[] = {
	{ ROW_INT(conversion_reference, "conversion", conversion), .min = 1,
	  .max = UINT32_MAX, .required = "which conversion?",
	  .help = "id of the conversion" },
	{ 0 },
};

const struct field conversion_info_fields[] = {
	{ ROW_INT(conversion_info, "conversion", id),
	  .help = "id of the conversion" },
	{ ROW_TEXT(conversion_info, "state", state),
	  .help = "asked, waiting, running, ending; done, failed, "
		  "cancelled" },
	{ ROW_TEXT(conversion_info, "in", in), .help = "file that is read" },
	{ ROW_TEXT(conversion_info, "out", out),
	  .help = "file that is written" },
	{ ROW_TEXT(conversion_info, "from", from),
	  .help = "what is read: \"wav/16000\"" },
	{ ROW_TEXT(conversion_info, "to", to),
	  .help = "what is written: \"amr/12.2\"" },
	{ ROW_INT(conversion_info, "frames", frames), .unit = "frames",
	  .help = "frames done" },
	{ ROW_REAL(conversion_info, "progress", progress),
	  .help = "0 to 1, of the input" },
	{ ROW_TIME(conversion_info, "age", age, "s"),
	  .help = "since it was asked for" },
	{ ROW_TIME(conversion_info, "running", running, "s"),
	  .help = "since its turn came" },
	{ ROW_TEXT(conversion_info, "why", why),
	  .help = "why it failed or waits" },
	{ 0 },
};

const struct field convert_list_fields[] = {
	{ ROW_EACH(convert_list, "conversions", conversions, conversion_info),
	  .help = "conversions, as convert.query tells them" },
	{ ROW_BOOL(convert_list, "more", more),
	  .help = "there are some behind these: ask again after the last" },
	{ 0 },
};

const struct field conversions_fields[] = {
	{ ROW_INT(conversions, "waiting", waiting),
	  .help = "conversions that wait for their turn" },
	{ ROW_INT(conversions, "running", running),
	  .help = "conversions that run" },
	{ ROW_INT(conversions, "submitted", submitted),
	  .help = "conversions that were taken" },
	{ ROW_INT(conversions, "refused", refused),
	  .help = "conversions that were refused" },
	{ ROW_INT(conversions, "done", done),
	  .help = "conversions that are done" },
	{ ROW_INT(conversions, "failed", failed),
	  .help = "conversions that failed" },
	{ ROW_INT(conversions, "cancelled", cancelled),
	  .help = "conversions that were cancelled" },
	{ ROW_INT(conversions, "frames", frames), .unit = "frames",
	  .help = "frames of conversions that are over" },
	{ 0 },
};
