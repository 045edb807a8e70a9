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
};

/** Copy the @bytes at @text to @to, which has @bytes + 1, as lines that the
 * library can stand. 0 and their length in *@kept, or -EINVAL with @e. */
int sdp_screen(const char *text, size_t bytes, char *to, size_t *kept,
	       struct cr_err *e);

#endif
