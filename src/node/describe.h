/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is built in, as JSON: codecs and schedulers.
 */
#ifndef NODE_DESCRIBE_H
#define NODE_DESCRIBE_H

#include <jansson.h>

#include "cr/sched.h"

json_t *describe_codecs(void);

/** Those that a daemon can be switched to: without the kernel's. */
json_t *describe_schedulers(void);

/** name, help, admission and options of @ops. NULL: out of memory. */
json_t *describe_scheduler(const struct cr_sched_ops *ops);

/** The test that @ops admits tasks by, as it says in a verdict; the guard's
 * where it has none. Static text. */
const char *describe_admission(const struct cr_sched_ops *ops);

#endif
