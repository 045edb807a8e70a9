/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What reading and writing share. Of this room only.
 */
#ifndef SDP_SDP_IMPL_H
#define SDP_SDP_IMPL_H

#include <sofia-sip/sdp.h>
#include <sofia-sip/su_alloc.h>

#include "sdp/sdp.h"

/* How a message begins of what passed sdp_screen() and not the library: the
 * grammar of ours is to leave nothing of that. */
#define SDP_LIBRARY_REFUSES "this is no SDP: libsofia says: "

struct sdp {
	su_home_t home[1]; /* all its memory */
	sdp_session_t *session;
	struct sdp_line line[SDP_LINES_MAX];
	const sdp_media_t *media[SDP_LINES_MAX]; /* that it was read from */
	unsigned nlines;
	unsigned mistyped; /* lines, as bits; see below */
};

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
