/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of calls as lines of JSON.
 */
#include "protocol/records.h"

#include <stdlib.h>

#include "observe/log.h"
#include "protocol/field_json.h"
#include "protocol/tables/record.h"
#include "rpc/jsonrpc.h"

void records_put(struct lines *to, const struct node_record *r)
{
	json_t *object = field_write(record_fields, r);
	char *text = object ? json_dumps(object, JSONRPC_DUMP) : NULL;

	if (!text || !lines_put(to, text))
		log_event(LOG_WARN, "record-dropped", "id=\"%s\" why=\"%s\"",
			  r->id, text ? "the disk is slow" : "out of memory");
	free(text);
	json_decref(object);
}
