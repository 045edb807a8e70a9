/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/event_tree.h"

#include <errno.h>
#include <stdlib.h>

int event_tree_open(struct event_tree *t, uint32_t owners)
{
	uint32_t leaves = 1;

	while (leaves < owners)
		leaves *= 2;
	t->node = calloc(2 * (size_t)leaves, sizeof(*t->node));
	if (!t->node)
		return -ENOMEM;
	t->leaves = leaves;
	for (uint32_t i = 0; i < leaves; i++)
		event_tree_set(t, i, CR_NEVER);
	return 0;
}

void event_tree_close(struct event_tree *t)
{
	free(t->node);
	*t = (struct event_tree){ 0 };
}

/* Of equal ones the left player wins, who has the lower number. By masks: gcc
 * would make a branch of a condition. Where the winner stays the same, nothing
 * changes above: what is set late ends there. */
void event_tree_set(struct event_tree *t, uint32_t owner, cr_ns at)
{
	struct event e = { .at = at, .owner = owner };
	uint32_t i = t->leaves + owner;

	t->node[i] = e;
	for (; i > 1; i /= 2) {
		const struct event *other = &t->node[i ^ 1];
		struct event *won = &t->node[i / 2];
		cr_ns mask = -(cr_ns)(other->at - (i & 1) < e.at);

		e.at ^= (e.at ^ other->at) & mask;
		e.owner ^= (e.owner ^ other->owner) & (uint32_t)mask;
		if (won->owner == e.owner && won->at == e.at)
			break;
		*won = e;
	}
}
