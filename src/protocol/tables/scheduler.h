/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parameters of scheduler.set and scheduler.tune.
 */
#ifndef PROTOCOL_TABLES_SCHEDULER_H
#define PROTOCOL_TABLES_SCHEDULER_H

#include "protocol/field.h"

struct scheduler_set_request {
	const char *scheduler;
};

struct scheduler_tune_request {
	const char *options;
};

FIELD_TABLE_DECLARE(scheduler_set, struct scheduler_set_request);
FIELD_TABLE_DECLARE(scheduler_tune, struct scheduler_tune_request);

#endif
