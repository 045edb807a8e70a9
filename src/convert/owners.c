/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A list, as a node has few conversions at a time (--max-conversions).
 */
#include "convert/owners.h"

#include <stdio.h>
#include <string.h>

static void set_owner(struct conversion *cv, const char *owner)
{
	(void)snprintf(cv->owner, sizeof(cv->owner), "%s", owner);
}

void owners_add(struct conversion_owners *list, struct conversion *cv,
		const char *owner)
{
	set_owner(cv, owner);
	TAILQ_INSERT_TAIL(list, cv, owned);
}

void owners_drop(struct conversion_owners *list, struct conversion *cv)
{
	TAILQ_REMOVE(list, cv, owned);
}

bool owners_have(const struct conversion_owners *list, const char *owner)
{
	const struct conversion *cv;

	TAILQ_FOREACH (cv, list, owned)
		if (!strcmp(cv->owner, owner))
			return true;
	return false;
}

void owners_pass(struct conversion_owners *list, const char *from,
		 const char *to)
{
	struct conversion *cv;

	TAILQ_FOREACH (cv, list, owned)
		if (!strcmp(cv->owner, from))
			set_owner(cv, to);
}
