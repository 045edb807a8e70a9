/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of calls as lines of JSON.
 */
#ifndef PROTOCOL_RECORDS_H
#define PROTOCOL_RECORDS_H

#include "node/record.h"
#include "observe/line_file.h"

/** Put @r into @to. What there is no room or memory for is dropped. Control
 * thread. */
void records_put(struct lines *to, const struct node_record *r);

#endif
