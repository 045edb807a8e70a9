/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of calls as lines of JSON.
 */
#ifndef PROTOCOL_RECORDS_H
#define PROTOCOL_RECORDS_H

#include "node/node.h"
#include "observe/lines.h"

/** Put the record of @nc, which is over, into @to; NULL: nowhere. What there is
 * no room or memory for is dropped. Control thread. */
void records_put(struct lines *to, struct node_call *nc);

#endif
