/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a party speaks: the codec that it is sent, those that it may send, and
 * the length of their packets. Control thread.
 */
#ifndef NODE_PARTY_CODECS_H
#define NODE_PARTY_CODECS_H

#include "cr/error.h"
#include "node/conversation_request.h"

/** What a party speaks. Texts are static. */
struct party_codecs {
	/** What it is sent, and may send; codec NULL: not said yet. */
	struct call_side_request side;
	struct call_side_request also[PARTY_ALSO_MAX]; /**< may send, too */
	unsigned nalso;
	struct passed_types passed; /**< as party_request's */
	cr_ns ptime;	/**< of packets that it is sent; 0: not said */
	cr_ns in_ptime; /**< of packets that it sends; 0: not said   */
};

/** Does @r say how a codec is used? */
bool party_says_use(const struct call_side_request *r);

/** What the party says, @said, into @to; of what it does not say, that stays.
 * @path: before the members' names in @e: "a." 0, or -EINVAL with @e: @to is as
 * it was. */
int party_codecs_take(struct party_codecs *to, const struct party_codecs *said,
		      const char *path, struct cr_err *e);

#endif
