/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is recorded of a call (--records).
 */
#ifndef PROTOCOL_TABLES_RECORD_FIELDS_H
#define PROTOCOL_TABLES_RECORD_FIELDS_H

#include "node/info.h"
#include "protocol/field_json.h"

FIELD_TABLE_DECLARE(record_in, struct record_stream);
FIELD_TABLE_DECLARE(record_out, struct record_stream);
FIELD_TABLE_DECLARE(record_heard, struct record_heard);
FIELD_TABLE_DECLARE(record_delay, struct record_delay);
FIELD_TABLE_DECLARE(record_quality, struct record_quality);
FIELD_TABLE_DECLARE(record_stream, struct record_stream);
FIELD_TABLE_DECLARE(record, struct node_record);

#endif
