/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is built in, as JSON: codecs and schedulers.
 */
#ifndef NODE_DESCRIBE_H
#define NODE_DESCRIBE_H

#include <jansson.h>

#include "cr/sched.h"

json_t *describe_codecs(void);
json_t *describe_schedulers(void);

/** The test that @ops admits tasks by, as it says in a verdict; the guard's
 * where it has none. Static text. */
const char *describe_admission(const struct cr_sched_ops *ops);

#endif
