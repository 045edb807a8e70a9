/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose conversions there are: those that are not over, also while their files
 * are looked at and nobody has heard of them.
 *
 * Thread rule: control.
 */
#ifndef CONVERT_OWNERS_H
#define CONVERT_OWNERS_H

#include <stdbool.h>
#include <sys/queue.h>

#include "convert/conversion.h"

TAILQ_HEAD(conversion_owners, conversion);

/** Put @cv, of @owner, into @list. */
void owners_add(struct conversion_owners *list, struct conversion *cv,
		const char *owner);
/** Take it out: it is over, or refused. */
void owners_drop(struct conversion_owners *list, struct conversion *cv);
/** Is one of them @owner's? */
bool owners_have(const struct conversion_owners *list, const char *owner);
/** Those of @from are @to's from now on. */
void owners_pass(struct conversion_owners *list, const char *from,
		 const char *to);

#endif
