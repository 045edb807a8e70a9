/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is asked and told of traces.
 */
#include "protocol/tables/trace.h"

const struct field trace_begin_fields[] = {
	{ ROW_TEXT(trace_begin, "name", name),
	  .required = "a file in the node's trace folder",
	  .help = "plain name of a file in the node's --trace-dir" },
	{ ROW_BOOL(trace_begin, "overwrite", overwrite),
	  .help = "the file may be there already" },
	{ 0 },
};

const struct field trace_begun_fields[] = {
	{ ROW_TEXT(trace_begun, "path", path),
	  .help = "the file, as the node sees it" },
	{ 0 },
};

const struct field trace_result_fields[] = {
	{ ROW_INT(trace_result, "records", totals.written),
	  .help = "records in the file" },
	{ ROW_INT(trace_result, "lost", totals.lost),
	  .help = "records lost: a ring was full" },
	{ ROW_INT(trace_result, "unwritten", totals.unwritten),
	  .help = "records that the file system refused" },
	{ ROW_INT(trace_result, "bytes", totals.bytes), .unit = "bytes",
	  .help = "length of the file" },
	{ ROW_TEXT(trace_result, "error", error),
	  .help = "the first error in writing; missing: none" },
	{ 0 },
};
