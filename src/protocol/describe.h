/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is built in: codecs and schedulers.
 */
#ifndef PROTOCOL_DESCRIBE_H
#define PROTOCOL_DESCRIBE_H

#include "cr/sched.h"
#include "protocol/tables/node.h"

/** All codecs (struct codec_info). */
extern const struct field_each describe_codecs;

/** The schedulers that a daemon can be switched to, without the kernel's
 * (struct scheduler_info). */
extern const struct field_each describe_schedulers;

/** Name, help, admission and options of @ops. */
void describe_scheduler(const struct cr_sched_ops *ops,
			struct scheduler_info *out);

/** The test that @ops admits tasks by, as it says in a verdict; the guard's
 * where it has none. Static text. */
const char *describe_admission(const struct cr_sched_ops *ops);

#endif
