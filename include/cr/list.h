/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue that fifo and rr share: tasks in a list, first that may run here.
 * Private memory of task and run queue is exactly this node and head.
 */
#ifndef CR_LIST_H
#define CR_LIST_H

#include <sys/queue.h>

#include "cr/sched.h"

struct list_node {
	TAILQ_ENTRY(list_node) link;
};

TAILQ_HEAD(list_head, list_node);

/** The first task that may run on cpu[@cpu], still in the list; or NULL. */
static inline struct cr_task *list_first(const struct cr_rq *rq,
					 const struct list_head *list,
					 unsigned cpu)
{
	struct list_node *n;

	TAILQ_FOREACH (n, list, link)
		if (cr_may_run(rq, cr_task_of(n), cpu))
			return cr_task_of(n);
	return NULL;
}

/** Are there @n tasks in the list, all of them queued on @rq? */
static inline bool list_check(const struct cr_rq *rq,
			      const struct list_head *list)
{
	struct list_node *n;
	unsigned count = 0;

	TAILQ_FOREACH (n, list, link) {
		const struct cr_task *t = cr_task_of(n);

		if (t->state != CR_QUEUED || t->rq != rq)
			return false;
		count++;
	}
	return count == rq->nqueued;
}

#endif
