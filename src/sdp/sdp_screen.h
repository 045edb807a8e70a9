/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate before the library that reads descriptions. Of this room only.
 */
#ifndef SDP_SDP_SCREEN_H
#define SDP_SDP_SCREEN_H

#include <sofia-sip/su_alloc.h>

#include "sdp/sdp.h"

/* The begin of a message about a text that passed sdp_screen() and not the
 * library: our grammar is to leave nothing of that. */
#define SDP_LIBRARY_REFUSES "this is no SDP: libsofia says: "

/** A description as lines that the library can stand. */
struct sdp_screened {
	char *text;   /**< from the home's memory     */
	size_t bytes; /**< of it                      */
	/** Media lines, as bits, that are called RTP and have formats that are
	 * no payload types. Their transport is called SDP_MISTYPED for the
	 * library, which has the formats as words then. */
	unsigned mistyped;
};

#define SDP_MISTYPED "no-"

/** Read the @bytes at @text to @out. 0, or with @e -EINVAL, -ENOMEM. */
int sdp_screen(su_home_t *home, const char *text, size_t bytes,
	       struct sdp_screened *out, struct cr_err *e);

#endif
