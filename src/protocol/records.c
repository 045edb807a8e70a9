/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of calls as lines of JSON.
 */
#include "protocol/records.h"

#include <stdlib.h>

#include "observe/log.h"
#include "protocol/field_json.h"
#include "protocol/tables/record.h"

void records_put(struct lines *to, struct node_call *nc)
{
	struct node_record record;
	json_t *object;
	char *text;

	if (!to)
		return;
	node_call_record(nc, &record);
	object = field_write(record_fields, &record);
	text = object ? json_dumps(object, JSON_COMPACT) : NULL;
	if (!text || !lines_put(to, text))
		log_event(LOG_WARN, "record-dropped", "call=%u why=\"%s\"",
			  node_call_id(nc),
			  text ? "the disk is slow" : "out of memory");
	free(text);
	json_decref(object);
}
