/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where messages of NG end in a stream of octets (TCP). There is nothing
 * between them: a message ends where its dictionary does.
 *
 *   COOKIE SPACE DICTIONARY COOKIE SPACE DICTIONARY ...
 *
 * Blanks and line feeds before a cookie are passed over. What a dictionary has
 * in it is looked at only as far as its end needs it; ng_message_read() says
 * whether it is one. Every octet is looked at once. Pure.
 */
#ifndef NG_FRAMING_H
#define NG_FRAMING_H

#include <stddef.h>

enum framing_state {
	FRAMING_BEFORE, /**< no octet of a message yet */
	FRAMING_COOKIE,
	FRAMING_BEGIN, /**< of the dictionary         */
	FRAMING_ITEM,  /**< bencode: a value or an e  */
	FRAMING_INTEGER,
	FRAMING_LENGTH,
	FRAMING_OCTETS,
	FRAMING_JSON,
	FRAMING_STRING,
	FRAMING_ESCAPE,
	FRAMING_END,
	FRAMING_LOST
};

/** Zero: at the begin of a stream. */
struct framing {
	enum framing_state state;
	size_t bytes;	 /**< of the message, so far; whole, when it is done */
	size_t left;	 /**< of a string's octets, or its length so far     */
	unsigned depth;	 /**< of dictionaries and lists                      */
	const char *why; /**< FRAMING_BROKEN: what is wrong                  */
};

enum framing_is {
	FRAMING_MORE,  /**< all @bytes were used: more are needed          */
	FRAMING_DONE,  /**< a message ends here; it has framing.bytes      */
	FRAMING_BROKEN /**< what follows cannot be told apart any more     */
};

/** Go on with the next @bytes at @text; *@used of them. */
enum framing_is framing_feed(struct framing *f, const char *text, size_t bytes,
			     size_t *used);

#endif
