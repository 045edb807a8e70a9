/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queues of tasks for policies, by <sys/queue.h>. A task's private memory
 * begins with the node, so that cr_task_of() leads from there to the task; a
 * run queue's holds one head or several.
 */
#ifndef CR_LIST_H
#define CR_LIST_H

#include <sys/queue.h>

#include "cr/sched.h"

/** First in the private memory of a task. */
struct cr_list_node {
	TAILQ_ENTRY(cr_list_node) link;
};

/** TAILQ_INIT() it in rq_init(): a zeroed one is no empty list. */
TAILQ_HEAD(cr_list, cr_list_node);

/** The first task that may run on cpu[@cpu], still in the list; or NULL. */
static inline struct cr_task *cr_list_first(const struct cr_rq *rq,
					    const struct cr_list *list,
					    unsigned cpu)
{
	struct cr_list_node *n;

	TAILQ_FOREACH (n, list, link)
		if (cr_may_run(rq, cr_task_of(n), cpu))
			return cr_task_of(n);
	return NULL;
}

/** Are there @n tasks in the list, all of them queued on @rq? */
static inline bool cr_list_check(const struct cr_rq *rq,
				 const struct cr_list *list)
{
	struct cr_list_node *n;
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
