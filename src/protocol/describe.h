/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is built in: codecs and schedulers.
 */
#ifndef PROTOCOL_DESCRIBE_H
#define PROTOCOL_DESCRIBE_H

#include "engine/scheduler.h"
#include "protocol/tables/node.h"

/** All codecs (struct codec_info). */
extern const struct field_each describe_codecs;

/** The schedulers that a daemon can be switched to, without the kernel's
 * (struct scheduler_info). */
extern const struct field_each describe_schedulers;

/** Name, help, options, and the test that tasks are admitted by, as it says in
 * a verdict: the guard's where @s has none. */
void describe_scheduler(const struct scheduler *s, struct scheduler_info *out);

#endif
