/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of conversions of files: requests and results.
 */
#include "protocol/tables/convert_fields.h"

#include "protocol/tables/node_fields.h"

const struct field convert_start_fields[] = {
	{ ROW_TEXT(convert_start, "in", in), .required = CONVERT_WHICH_FILE,
	  .help = "file in the spool folder; its extension (.wav, .amr, "
		  ".awb) gives the format" },
	{ ROW_TEXT(convert_start, "out", out), .required = CONVERT_WHICH_FILE,
	  .help = "file to write in the spool folder; its extension gives "
		  "the format" },
	{ ROW_MODE(convert_start, "mode", mode), .without = "the codec's",
	  .help = "AMR and AMR-WB: bit rate, by name" },
	{ ROW_BOOL(convert_start, "dtx", dtx),
	  .help = "AMR and AMR-WB: discontinuous transmission" },
	{ ROW_INT(convert_start, "rate", rate), .min = 8000, .max = 16000,
	  .unit = "Hz", .without = "the input's",
	  .help = "WAV: sampling rate, 8000 or 16000" },
	{ ROW_BOOL(convert_start, "overwrite", overwrite),
	  .help = "replace the output file if it exists" },
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
	  .help = "asked, waiting, running or ending; at the end done, "
		  "failed or cancelled" },
	{ ROW_TEXT(conversion_info, "in", in), .help = "the input file" },
	{ ROW_TEXT(conversion_info, "out", out), .help = "the output file" },
	{ ROW_TEXT(conversion_info, "from", from),
	  .help = "format of the input, such as \"wav/16000\"" },
	{ ROW_TEXT(conversion_info, "to", to),
	  .help = "format of the output, such as \"amr/12.2\"" },
	{ ROW_INT(conversion_info, "frames", frames), .unit = "frames",
	  .help = "frames converted so far" },
	{ ROW_REAL(conversion_info, "progress", progress), .unit = "share",
	  .help = "part of the input that has been converted" },
	{ ROW_TIME(conversion_info, "age", age, "s"),
	  .help = "time since the request" },
	{ ROW_TIME(conversion_info, "running", running, "s"),
	  .help = "time since the conversion began to run" },
	{ ROW_TEXT(conversion_info, "why", why),
	  .help = "why the conversion failed or waits" },
	{ 0 },
};

const struct field convert_list_fields[] = {
	{ ROW_EACH(convert_list, "conversions", items, conversion_info),
	  .help = "the conversions, as convert.query returns them" },
	{ ROW_BOOL(convert_list, "more", more),
	  .help = "there are more conversions: ask again, with after set to "
		  "the last id" },
	{ 0 },
};

const struct field conversions_fields[] = {
	{ ROW_INT(conversions, "waiting", waiting),
	  .help = "conversions that wait for their turn" },
	{ ROW_INT(conversions, "running", running),
	  .help = "conversions that run" },
	{ ROW_INT(conversions, "submitted", submitted),
	  .help = "conversions that were accepted" },
	{ ROW_INT(conversions, "refused", refused),
	  .help = "conversions that were refused" },
	{ ROW_INT(conversions, "done", done),
	  .help = "conversions that are done" },
	{ ROW_INT(conversions, "failed", failed),
	  .help = "conversions that failed" },
	{ ROW_INT(conversions, "cancelled", cancelled),
	  .help = "conversions that were cancelled" },
	{ ROW_INT(conversions, "frames", frames), .unit = "frames",
	  .help = "frames of conversions that have ended" },
	{ 0 },
};

int convert_params(struct convert_request *out, const json_t *params,
		   struct cr_err *e)
{
	field_defaults(convert_start_fields, out);
	return field_read(convert_start_fields, params, out, e);
}
