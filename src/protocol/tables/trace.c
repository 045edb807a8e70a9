/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is asked and told of traces.
 */
#include "protocol/tables/trace.h"

const struct field trace_begin_fields[] = {
	{ ROW_TEXT(trace_begin, "name", name),
	  .required = "a file in the node's trace folder",
	  .help = "name of a file in the node's --trace-dir, without a "
		  "folder" },
	{ ROW_BOOL(trace_begin, "overwrite", overwrite),
	  .help = "replace the file if it exists; a symbolic link, a "
		  "pipe or a device is refused" },
	{ 0 },
};

const struct field trace_begun_fields[] = {
	{ ROW_TEXT(trace_begun, "path", path),
	  .help = "path of the file on the node" },
	{ 0 },
};

const struct field trace_result_fields[] = {
	{ ROW_INT(trace_result, "records", totals.written),
	  .help = "records in the file" },
	{ ROW_INT(trace_result, "lost", totals.lost),
	  .help = "records lost because a ring was full" },
	{ ROW_INT(trace_result, "unwritten", totals.unwritten),
	  .help = "records that could not be written to the file" },
	{ ROW_INT(trace_result, "bytes", totals.bytes), .unit = "bytes",
	  .help = "length of the file" },
	{ ROW_TEXT(trace_result, "error", error),
	  .help = "the first error in writing; missing if there was none" },
	{ 0 },
};
