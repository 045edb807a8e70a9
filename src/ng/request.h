/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request of the NG protocol, read: which command, about which call, and how
 * the session description is to be changed on its way.
 *
 * Keys and flags are written with spaces, underscores or hyphens, in capitals
 * or not. What has no meaning here is named in @unknown, and what is asked for
 * and cannot be done, or cannot be understood, in @warning; neither is an
 * error: telephone systems send the same flags to any node. An error is what
 * leaves open which call it is about, or would have it unsecured.
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
#include "ng/codecs.h"

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

/** Wishes about RTCP at RTP's port (RFC 5761); as bits. */
enum ng_mux {
	NG_MUX_REQUIRE = 1,
	NG_MUX_REJECT = 2,
	NG_MUX_OFFER = 4,
	NG_MUX_DEMUX = 8
};

/** The tags and the branch that mean a dialog of a call. */
struct ng_dialog_key {
	const char *from, *to, *branch; /**< NULL: not said */
};

struct ng_request {
	enum ng_command command;
	/* NULL where it is not said; texts are the request's */
	const char *call_id;
	struct ng_dialog_key key;
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
	const char *interface[2]; /**< towards the offerer, and the other one */
	int family;		  /**< AF_INET, AF_INET6; 0: any */
	/** Of the party, in place of what it says; no family: that. */
	struct sockaddr_storage host;
	/** Written in place of our address; no family: that. */
	struct sockaddr_storage shown;
	int learn;	    /**< enum learn_mode; -1: unsaid */
	bool strict_source; /**< where nothing is learned, only that is heard */

	bool load_limit; /**< it knows the answer "load limit" */
	bool fatal;	 /**< delete: an unknown call is an error */
	bool sip_source; /**< a party is where its signalling came from */
	unsigned limit;	 /**< list: so many */

	const json_t *body;    /**< that it was read from */
	struct cr_err warning; /**< "" for none */
	char unknown[NG_UNKNOWN_MAX][NG_UNKNOWN_BYTES];
	unsigned nunknown;

	struct codec_rules codecs; /**< of the session description; last */
};

/** Read @body, an NG dictionary; its keys have their usual names then, and what
 * it said in one string of flags ("rtpp-flags") is said by keys. 0, or with @e:
 * -EINVAL (no such command, a key that it needs is missing, or a value of the
 * wrong kind), -ENOMEM. */
int ng_request_read(struct ng_request *out, json_t *body, struct cr_err *e);

/** Behind @name with hyphens, which @text begins with, or NULL: it does not. As
 * ng_is_named(). */
const char *ng_behind(const char *text, const char *name);

/** Is @text what @name says with hyphens? It may have spaces or underscores in
 * their place, and capitals. */
bool ng_is_named(const char *text, const char *name);

/** Deeper brackets are refused. */
#define RTPP_FLAGS_DEPTH_MAX 4u

/** Add to @body, a request, what the words of @text are: flags to its list
 * "flags", which may be missing, and keys; members to lists that are there, in
 * place of other values. But "via-branch", which names in such a text what the
 * proxy is to look for, counts only where nothing else says it. 0, or with @e:
 * -EINVAL (brackets), -ENOMEM. */
int rtpp_flags_read(json_t *body, const char *text, struct cr_err *e);

#endif
