/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the protocol says of traces.
 */
#ifndef PROTOCOL_TABLES_TRACE_H
#define PROTOCOL_TABLES_TRACE_H

#include "observe/trace.h"
#include "protocol/field.h"

struct trace_start_request {
	const char *name;
	bool overwrite;
};

struct trace_start_result {
	const char *path;
};

struct trace_stop_result {
	struct trace_totals totals;
	const char *error; /**< NULL: none */
};

FIELD_TABLE_DECLARE(trace_begin, struct trace_start_request);
FIELD_TABLE_DECLARE(trace_begun, struct trace_start_result);
FIELD_TABLE_DECLARE(trace_result, struct trace_stop_result);

#endif
