/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shape of each line of a description (RFC 8866, 9). Of this room only.
 * Pure.
 */
#ifndef SDP_SDP_GRAMMAR_H
#define SDP_SDP_GRAMMAR_H

#include <stdbool.h>

/** Where a line stands. */
struct sdp_place {
	unsigned media;	  /**< lines "m=" until here, this one too      */
	unsigned formats; /**< of the last of them                      */
	bool rtp;	  /**< its formats are payload types, 0 to 127  */
	bool carried;	  /**< it is audio, and not refused             */
	/** It is called RTP, and has formats that are no payload types; of one
	 * that is not @carried only. */
	bool mistyped;
};

/** What is wrong with the line "@letter=" whose value is from @p to @end, or
 * NULL: nothing. It is an example of a right one, and static. A line "m="
 * changes @at. */
const char *sdp_line_wrong(char letter, const char *p, const char *end,
			   struct sdp_place *at);

#endif
