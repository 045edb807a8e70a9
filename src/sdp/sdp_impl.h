/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What reading and writing share. Of this room only.
 */
#ifndef SDP_SDP_IMPL_H
#define SDP_SDP_IMPL_H

#include <sofia-sip/sdp.h>
#include <sofia-sip/su_alloc.h>

#include "sdp/sdp.h"

struct sdp {
	su_home_t home[1]; /* all its memory */
	sdp_session_t *session;
	struct sdp_line line[SDP_LINES_MAX];
	const sdp_media_t *media[SDP_LINES_MAX]; /* that it was read from */
	unsigned nlines;
};

/** Refuse what the library cannot stand. 0, or -EINVAL with @e. */
int sdp_screen(const char *text, size_t bytes, struct cr_err *e);

#endif
