/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request of the NG protocol, read: which command, about whom, and how the
 * session description is to be changed on its way.
 *
 * Keys and flags are written with spaces or hyphens. What has no meaning here
 * is named in @unknown, and what is wished for and cannot be done in @warning;
 * neither is an error: telephone systems send the same flags to any node.
 *
 * Pure but for memory.
 */
#ifndef NG_REQUEST_H
#define NG_REQUEST_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "cr/error.h"
#include "ng/codec_rules.h"

enum ng_command {
	NG_PING,
	NG_OFFER,
	NG_ANSWER,
	NG_DELETE,
	NG_QUERY,
	NG_LIST,
	NG_STATISTICS,
	NG_COMMANDS
};

/** "offer"; the names of the commands, NG_COMMANDS. */
extern const char *const ng_command_names[];

/** Longer texts that name a call or a party are refused, octets. */
#define NG_NAME_MAX 255u
/** More names that are not known are not listed. */
#define NG_UNKNOWN_MAX 8u
#define NG_UNKNOWN_BYTES 48u

/** What is asked for of RTCP at RTP's port (RFC 5761); as bits. */
enum ng_mux {
	NG_MUX_REQUIRE = 1,
	NG_MUX_REJECT = 2,
	NG_MUX_OFFER = 4,
	NG_MUX_DEMUX = 8
};

struct ng_request {
	enum ng_command command;
	/* NULL where it is not said; texts are the request's */
	const char *call_id, *from_tag, *to_tag, *via_branch;
	const char *sdp;
	size_t sdp_bytes;

	/* the session description */
	const char *proto;		  /**< "RTP/AVP"; NULL: as it came */
	bool origin, connection, version; /**< what is replaced */
	bool version_rises;		  /**< even if nothing else changes */
	unsigned ptime, ptime_reverse;	  /**< ms; 0: as it came */
	unsigned mux;			  /**< enum ng_mux */
	bool no_rtcp;			  /**< "a=rtcp" is not written     */
	bool full_rtcp;			  /**< but with the address, too   */
	bool single_codec;

	/* where parties are */
	const char *interface[2]; /**< towards who asks, and the other one */
	int family;		  /**< AF_INET, AF_INET6; 0: any */
	/** Of the party, in place of what it says; no family: that. */
	struct sockaddr_storage host;
	int learn; /**< enum learn_mode; -1: unsaid */

	bool load_limit; /**< it knows the answer "load limit" */
	bool fatal;	 /**< delete: an unknown call is an error */
	unsigned limit;	 /**< list: so many */

	struct cr_err warning; /**< "" for none */
	char unknown[NG_UNKNOWN_MAX][NG_UNKNOWN_BYTES];
	unsigned nunknown;

	struct codec_rules codecs; /**< of the session description; last */
};

/** Read @body, an NG dictionary. 0, or -EINVAL with @e: no such command, a key
 * that it needs is missing, or a value of the wrong kind. */
int ng_request_read(struct ng_request *out, const json_t *body,
		    struct cr_err *e);

/** Something that is wished for cannot be done: the first one is told. */
void ng_request_warn(struct ng_request *r, const char *text);

#endif
