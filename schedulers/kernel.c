/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parameters for the kernel's schedulers, thesis (6.1) and (6.2).
 *
 * A codec's weight is the number of CPUs that so many calls of it need
 * (scale; 12 million in the thesis, chosen for its machine), so a call that
 * takes the share u of a CPU weighs u * scale, and
 *
 *   nice    = log(1024 / weight) / log(1.25)          (6.1)
 *   runtime = period * weight / scale + overhead      (6.2, without its units)
 *
 * that is, the mean cost of a frame and the overhead.
 */
#define _GNU_SOURCE
#include "schedulers/kernel.h"

#include <math.h>
#include <sched.h>

/* Weight of nice 0, and the ratio of one step of it (sched(7)). */
#define NICE_0_WEIGHT 1024.0
#define NICE_STEP 1.25
/* The least runtime that the kernel takes (sched(7)). */
#define LEAST_RUNTIME 1024

struct kernel_opts {
	int64_t number; /* priority, scale, or ns of overhead */
};

#define OPTION(what, text, how, least, most, usual)                            \
	{                                                                      \
		{ .name = what,                                                \
		  .help = text,                                                \
		  .kind = how,                                                 \
		  .offset = offsetof(struct kernel_opts, number),              \
		  .min = least,                                                \
		  .max = most,                                                 \
		  .dflt = usual },                                             \
			{ .name = NULL },                                      \
	}

/* The receiver is above them: it has 99. */
static const struct cr_opt priority_opts[] = OPTION(
	"priority", "real-time priority of every call", CR_OPT_INT, 1, 98, 10);
static const struct cr_opt nice_opts[] =
	OPTION("scale", "a codec's weight is the CPUs that so many calls need",
	       CR_OPT_INT, 1, 1000000000, 12000000);
static const struct cr_opt deadline_opts[] =
	OPTION("overhead", "added to every runtime", CR_OPT_TIME, 0, CR_SEC,
	       5 * CR_US);

/* --- callbacks that nobody calls: the threads do not ask --- */

static void enqueue(struct cr_rq *rq, struct cr_task *t, enum cr_enq why,
		    cr_ns now)
{
	(void)rq, (void)t, (void)why, (void)now;
}

static void dequeue(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	(void)rq, (void)t, (void)now;
}

static struct cr_task *pick(struct cr_rq *rq, unsigned cpu, cr_ns now)
{
	(void)rq, (void)cpu, (void)now;
	return NULL;
}

static void stop(struct cr_rq *rq, unsigned cpu, struct cr_task *t, cr_ns ran,
		 enum cr_stop why, cr_ns now)
{
	(void)rq, (void)cpu, (void)t, (void)ran, (void)why, (void)now;
}

#define CALLBACKS                                                              \
	.abi = CR_SCHED_ABI, .enqueue = enqueue, .dequeue = dequeue,           \
	.pick = pick, .stop = stop

static const struct cr_sched_ops other = {
	CALLBACKS,
	.name = "kernel:other",
	.help = "a thread per call under SCHED_OTHER, nice 0",
};

static const struct cr_sched_ops nice = {
	CALLBACKS,
	.name = "kernel:nice",
	.help = "a thread per call under SCHED_OTHER, nice by codec weight",
	.opts_size = sizeof(struct kernel_opts),
	.opts = nice_opts,
};

static const struct cr_sched_ops fifo = {
	CALLBACKS,
	.name = "kernel:fifo",
	.help = "a thread per call under SCHED_FIFO, one priority",
	.opts_size = sizeof(struct kernel_opts),
	.opts = priority_opts,
};

static const struct cr_sched_ops rr = {
	CALLBACKS,
	.name = "kernel:rr",
	.help = "a thread per call under SCHED_RR, one priority",
	.opts_size = sizeof(struct kernel_opts),
	.opts = priority_opts,
};

static const struct cr_sched_ops deadline = {
	CALLBACKS,
	.name = "kernel:deadline",
	.help = "a thread per call under SCHED_DEADLINE, runtime by codec "
		"weight",
	.opts_size = sizeof(struct kernel_opts),
	.opts = deadline_opts,
};

const struct cr_sched_ops *const cr_kernel_schedulers[] = {
	&other, &nice, &fifo, &rr, &deadline, NULL,
};

bool cr_kernel_scheduler(const struct cr_sched_ops *ops)
{
	for (unsigned i = 0; cr_kernel_schedulers[i]; i++)
		if (cr_kernel_schedulers[i] == ops)
			return true;
	return false;
}

static int64_t number_of(const struct cr_sched *s)
{
	return ((const struct kernel_opts *)s->opts)->number;
}

/* (6.1), rounded and cut to what there is. */
static int nice_of(int64_t scale, const struct cr_task *t)
{
	double share = (double)t->cost.mean / (double)t->period;
	double n =
		log(NICE_0_WEIGHT / (share * (double)scale)) / log(NICE_STEP);

	if (!(n < 19)) /* costs nothing: the least there is */
		return 19;
	return n < -20 ? -20 : (int)lround(n);
}

/* (6.2); the kernel wants runtime <= deadline <= period. */
static struct cr_kernel_attr deadline_of(cr_ns overhead,
					 const struct cr_task *t)
{
	cr_ns runtime = cr_ns_max(t->cost.mean + overhead, LEAST_RUNTIME);

	return (struct cr_kernel_attr){
		.policy = SCHED_DEADLINE,
		.runtime = cr_ns_min(runtime, t->period),
		.deadline = t->period,
		.period = t->period,
	};
}

struct cr_kernel_attr cr_kernel_attr_of(const struct cr_sched *s,
					const struct cr_task *t)
{
	struct cr_kernel_attr a = { .policy = SCHED_OTHER };

	if (t->cls == CR_BE) {
		a.nice = 19;
	} else if (s->ops == &nice) {
		a.nice = nice_of(number_of(s), t);
	} else if (s->ops == &deadline) {
		a = deadline_of(number_of(s), t);
	} else if (s->ops != &other) {
		a.policy = s->ops == &fifo ? SCHED_FIFO : SCHED_RR;
		a.priority = (unsigned)number_of(s);
	}
	return a;
}
