/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parameters of scheduler.set and scheduler.tune.
 */
#include "protocol/tables/scheduler.h"

const struct field scheduler_set_fields[] = {
	{ ROW_TEXT(scheduler_set, "scheduler", scheduler), .required = "",
	  .help = "name of the scheduler, then its options after commas: "
		  "\"NAME,OPTION=VALUE\"; or a file NAME.so in the "
		  "node's --plugin-dir" },
	{ 0 },
};

const struct field scheduler_tune_fields[] = {
	{ ROW_TEXT(scheduler_tune, "options", options), .required = "",
	  .help = "options, separated by commas, such as \"quantum=2ms\"" },
	{ 0 },
};
