/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A policy that is fifo for a while and then breaks its contract, by option.
 * Built as an outside one: it sees cr/sched.h only.
 */
#include <sys/queue.h>

#include "cr/sched.h"

enum mischief { TWICE, LOSE, STALL, SLEEPER, FORGET, LEAVE };

struct options {
	int64_t mischief, after;
};

struct node {
	TAILQ_ENTRY(node) link;
};

TAILQ_HEAD(list, node);

struct queue {
	struct list list;
	int64_t picks;
	struct cr_task *last;
};

static int rq_init(struct cr_rq *rq)
{
	TAILQ_INIT(&CR_RQ(rq, struct queue)->list);
	return 0;
}

static void enqueue(struct cr_rq *rq, struct cr_task *t, enum cr_enq why,
		    cr_ns now)
{
	(void)why, (void)now;
	TAILQ_INSERT_TAIL(&CR_RQ(rq, struct queue)->list,
			  CR_TASK(t, struct node), link);
}

static void dequeue(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	(void)now;
	TAILQ_REMOVE(&CR_RQ(rq, struct queue)->list, CR_TASK(t, struct node),
		     link);
}

static struct cr_task *take(struct queue *q)
{
	struct node *n = TAILQ_FIRST(&q->list);

	if (!n)
		return NULL;
	TAILQ_REMOVE(&q->list, n, link);
	cr_task_of(n)->slice = CR_NEVER;
	return cr_task_of(n);
}

static struct cr_task *pick(struct cr_rq *rq, unsigned cpu, cr_ns now)
{
	const struct options *o = CR_OPTS(rq, struct options);
	struct queue *q = CR_RQ(rq, struct queue);
	struct cr_task *before = q->last;

	(void)cpu;
	if (q->picks++ < o->after)
		return q->last = take(q);
	switch (o->mischief) {
	case TWICE: /* a task is picked, and once more by the next one */
		return before ? before : (q->last = take(q));
	case LOSE:
		if (q->picks == o->after + 1)
			(void)take(q);
		return take(q);
	case FORGET: /* as LOSE, and there is always a tick to come */
		if (rq->next_tick == CR_NEVER)
			rq->next_tick = now + CR_MS;
		if (q->picks == o->after + 1)
			(void)take(q);
		return take(q);
	case SLEEPER:
		return before;
	case LEAVE: /* a task is picked, and is still in the queue */
		if (q->picks == o->after + 1 && TAILQ_FIRST(&q->list)) {
			q->last = cr_task_of(TAILQ_FIRST(&q->list));
			q->last->slice = CR_NEVER;
			return q->last;
		}
		return take(q);
	default:
		return NULL;
	}
}

static void stop(struct cr_rq *rq, unsigned cpu, struct cr_task *t, cr_ns ran,
		 enum cr_stop why, cr_ns now)
{
	(void)rq, (void)cpu, (void)t, (void)ran, (void)why, (void)now;
}

static unsigned explain(const struct cr_task *t, struct cr_kv *kv, unsigned max)
{
	if (!max)
		return 0;
	kv[0] = (struct cr_kv){ "alibi", (int64_t)t->id, CR_KV_COUNT };
	return 1;
}

/* Only where no answer of pick() is wrong. */
static bool check(const struct cr_rq *rq)
{
	const struct queue *q = CR_RQ(rq, struct queue);
	const struct node *n = TAILQ_FIRST(&q->list);
	unsigned queued = 0;

	while (n && queued <= rq->nqueued) {
		n = TAILQ_NEXT(n, link);
		queued++;
	}
	return CR_OPTS(rq, struct options)->mischief != LEAVE ||
	       queued == rq->nqueued;
}

static const char *const mischiefs[] = { "twice",  "lose",  "stall", "sleeper",
					 "forget", "leave", NULL };

static const struct cr_opt opts[] = {
	{ "mischief", "which promise to break", CR_OPT_ENUM,
	  offsetof(struct options, mischief), 0, 5, TWICE, mischiefs },
	{ "after", "picks that are honest", CR_OPT_INT,
	  offsetof(struct options, after), 0, INT32_MAX, 100, NULL },
	{ NULL, NULL, CR_OPT_INT, 0, 0, 0, 0, NULL },
};

extern const struct cr_sched_ops cr_sched_plugin;

const struct cr_sched_ops cr_sched_plugin = {
	.abi = CR_SCHED_ABI,
	.name = "saboteur",
	.help = "breaks its contract",
	.rq_size = sizeof(struct queue),
	.task_size = sizeof(struct node),
	.opts_size = sizeof(struct options),
	.opts = opts,
	.rq_init = rq_init,
	.enqueue = enqueue,
	.dequeue = dequeue,
	.pick = pick,
	.stop = stop,
	.explain = explain,
	.check = check,
};
