/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One side of a call from what is asked for, as call_check.h has it for the
 * whole call: its codec, mode, rate and payload.
 *
 * Pure: any thread.
 */
#ifndef NODE_CALL_CHECK_SIDE_H
#define NODE_CALL_CHECK_SIDE_H

#include "cr/error.h"
#include "media/call.h"
#include "node/call_request.h"

/** The side that @r asks for, without what follows from the other one and from
 * the packets' length. 0, or -EINVAL with @e; @path is what stands before a
 * member. */
int call_check_side(struct pipeline_side *s, const struct call_side_request *r,
		    const char *path, struct cr_err *e);

/** Index of the mode of @codec called @name (NULL: its default) into *@mode.
 * 0, or -EINVAL with @e; @path is what stands before the member "mode". */
int call_check_mode(unsigned *mode, const struct cr_codec *codec,
		    const char *name, const char *path, struct cr_err *e);

/** Is the mode of @s among @set, bit i: mode i, or @set 0? 0, or -EINVAL with
 * @e; @path as above. */
int call_check_in_set(const struct pipeline_side *s, unsigned set,
		      const char *path, struct cr_err *e);

#endif
