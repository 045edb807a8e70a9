/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a session description means for a party of a conversation: where it is,
 * what it speaks, what it wants to be sent.
 *
 * Pure.
 */
#ifndef NG_TERMS_H
#define NG_TERMS_H

#include "ng/codecs.h"
#include "node/requests.h"

struct ng_terms {
	const struct sdp_line *line;	   /**< its own, of offer or answer   */
	const struct codec_choice *choice; /**< what both have settled on     */
	unsigned ptime;	   /**< ms, of what it is sent; 0: as its line says */
	unsigned in_ptime; /**< ms, that it was told to send; 0: unsaid     */
	unsigned comes;	   /**< ms, that the other one was told; 0: unsaid  */
	bool apart; /**< what it is sent does not follow what the other sends */
	struct sockaddr_storage
		host; /**< in place of its line's; or no family */
	int learn;    /**< enum learn_mode; -1: as it is      */
};

/** Where the party of @line is: at @host, if that has a family. No family: not
 * known. */
struct sockaddr_storage ng_terms_address(const struct sdp_line *line,
					 const struct sockaddr_storage *host);

/** Where "a=rtcp" says that it has its RTCP (RFC 3605), as endpoint_spec has
 * it.
 */
struct sockaddr_storage ng_terms_rtcp_address(
	const struct sdp_line *line, const struct sockaddr_storage *host);

/** Who may send, with hold by address (RFC 2543) as RFC 3264 has it. */
enum sdp_mode ng_terms_mode(const struct sdp_line *line);

/** What @t makes of a party. 0; -EINVAL with @e: a codec or parameters that
 * this node has not. */
int ng_terms_change(struct endpoint_spec *to, const struct ng_terms *t,
		    struct cr_err *e);

#endif
