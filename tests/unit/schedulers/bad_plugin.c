/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Policies that must not load; BAD says what is wrong with this one.
 */
#include "cr/sched.h"

static void enqueue(struct cr_rq *rq, struct cr_task *t, enum cr_enq why,
		    cr_ns now)
{
	(void)rq, (void)t, (void)why, (void)now;
}

static void dequeue(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	(void)rq, (void)t, (void)now;
}

static void stop(struct cr_rq *rq, unsigned cpu, struct cr_task *t, cr_ns ran,
		 enum cr_stop why, cr_ns now)
{
	(void)rq, (void)cpu, (void)t, (void)ran, (void)why, (void)now;
}

#ifdef BAD_SYMBOL
#define cr_sched_plugin another_name
#endif

extern const struct cr_sched_ops cr_sched_plugin;

/* pick is missing, unless something else is to be wrong */
#ifndef BAD_PICK
static struct cr_task *pick(struct cr_rq *rq, unsigned cpu, cr_ns now)
{
	(void)rq, (void)cpu, (void)now;
	return NULL;
}
#endif

#ifdef BAD_OPTION
static const struct cr_opt options[] = {
	{ .name = "too-large", .help = "for opts_size", .max = 1 },
	{ .name = NULL },
};
#endif

#ifdef BAD_OPTIONS
#define ONE                                                                    \
	{                                                                      \
		.name = "one", .help = "of too many", .max = 1                 \
	}
#define EIGHT ONE, ONE, ONE, ONE, ONE, ONE, ONE, ONE
#define SIXTY_FOUR EIGHT, EIGHT, EIGHT, EIGHT, EIGHT, EIGHT, EIGHT, EIGHT
static const struct cr_opt options[] = { SIXTY_FOUR, SIXTY_FOUR, ONE, { 0 } };
#endif

const struct cr_sched_ops cr_sched_plugin = {
#ifdef BAD_OPTIONS
	.opts = options,
	.opts_size = sizeof(int64_t),
#endif
#ifdef BAD_OPTION
	.opts = options,
	.opts_size = sizeof(int64_t) / 2,
#endif
#ifdef BAD_ABI
	.abi = CR_SCHED_ABI + 1,
#else
	.abi = CR_SCHED_ABI,
#endif
	.name = "bad",
	.help = "does not load",
#ifdef BAD_SIZE
	.task_size = CR_TASK_PRIV + 1,
#endif
	.enqueue = enqueue,
	.dequeue = dequeue,
#ifndef BAD_PICK
	.pick = pick,
#endif
	.stop = stop,
};
