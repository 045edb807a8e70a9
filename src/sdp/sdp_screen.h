/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate before the reader of descriptions. Of this room only.
 */
#ifndef SDP_SDP_SCREEN_H
#define SDP_SDP_SCREEN_H

#include "sdp/sdp.h"

/** A description as lines that have the shape that they should have. */
struct sdp_screened {
	size_t bytes;	  /**< of its text: lines, each with a 0 at its end */
	unsigned media;	  /**< lines "m="                                   */
	unsigned formats; /**< of all of them                               */
};

/** Read the @bytes at @text to @to, which has room for one more than these, and
 * @out. 0, or with @e -EINVAL. */
int sdp_screen(char *to, const char *text, size_t bytes,
	       struct sdp_screened *out, struct cr_err *e);

#endif
