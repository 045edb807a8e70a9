/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All methods and notifications of the protocol.
 */
#include "protocol/tables/method.h"

#include <string.h>

#include "protocol/tables/call_fields.h"
#include "protocol/tables/endpoint_fields.h"
#include "protocol/tables/convert_fields.h"
#include "protocol/tables/node_fields.h"
#include "protocol/tables/record_fields.h"

#define METHOD(id, n, kind, p, r, h)                                           \
	{ .name = (n),                                                         \
	  .help = (h),                                                         \
	  .params = p##_fields,                                                \
	  .result = r##_fields },

const struct method methods[] = {
	METHODS(METHOD){ .name = "bye",
			 .help = "end the session and its calls, and close the "
				 "association",
			 .params = nothing_fields,
			 .result = nothing_fields },
	{ 0 },
};

const struct method notifications[] = {
	{ .name = "stream.ended",
	  .help = "a stream of this session's calls has ended; its call ends "
		  "with the last one",
	  .params = stream_ended_fields },
	{ .name = "convert.ended",
	  .help = "a conversion of this session has ended",
	  .params = conversion_info_fields },
	{ .name = "congestion",
	  .help = "in the last second, frames were lost for lack of "
		  "time",
	  .params = congestion_fields },
	{ 0 },
};

const struct object objects[] = {
	{ "call", "A call: its streams, and its parties if it has two.",
	  call_info_fields },
	{ "stream", "A stream: its parameters and its counters.",
	  stream_info_fields },
	{ "conversion", "A conversion of a file.", conversion_info_fields },
	{ "capacity", "The node's capacity, and its use.", capacity_fields },
	{ "codec", "A codec.", codec_info_fields },
	{ "record",
	  "A finished or running call: a line of the file of --records. A call "
	  "ends when its last packet has been sent; then the line is appended.",
	  record_fields },
	{ "scheduler", "A scheduler.", scheduler_info_fields },
	{ 0 },
};

const struct object *object_of(const struct field *table)
{
	for (const struct object *o = objects; o->name; o++)
		if (o->members == table)
			return o;
	return NULL;
}

const struct method *method_find(const char *name)
{
	for (const struct method *m = methods; m->name; m++)
		if (!strcmp(m->name, name))
			return m;
	return NULL;
}
