/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of a call can change while it runs: class, deadline, weight, nice, the
 * contract and the mode of its output. call.start and call.change read it in
 * the same way.
 */
#ifndef NODE_CALL_TERMS_H
#define NODE_CALL_TERMS_H

#include "media/call.h"
#include "node/args.h"

/** Names of enum cr_class, as the protocol writes them; NULL-terminated. */
extern const char *const call_class_names[];

/** Read the members that @a has into @cfg, which holds what goes for those that
 * are missing; null: as if never said. False, with the error in @a: something
 * is no good or contradicts the rest. */
bool call_terms_read(struct args *a, struct call_cfg *cfg);

/**
 * Read call.change's @params into @to, a copy of the call's configuration whose
 * mode is the one in use. 0, or -EINVAL with @e naming the member and the way
 * out. The member "call" is not looked at.
 */
int call_change_params(struct call_cfg *to, const json_t *params,
		       struct cr_err *e);

/** Do call.change's @params ask for a mode of the output? */
bool call_change_names_mode(const json_t *params);

/** The contract as it was asked for, with units: a JSON object of what can be
 * sent again. */
json_t *call_contract_json(const struct contract *k);

/** What the call counts as: class, cost, load. */
json_t *call_admitted_json(const struct call_cfg *cfg);

#endif
