/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A message of the NG protocol: a cookie, a space, and a dictionary in bencode
 * or JSON. The answer has the cookie and the encoding of its request.
 *
 *   COOKIE SPACE DICTIONARY COOKIE SPACE DICTIONARY ...
 *
 * In a stream there is nothing between messages: one ends where its dictionary
 * does. Blanks and line feeds before a cookie are passed over. What is in a
 * dictionary is looked at only as far as its end needs it; ng_message_read()
 * says whether it is one. Every octet is looked at once.
 *
 * Pure but for memory.
 */
#ifndef NG_MESSAGE_H
#define NG_MESSAGE_H

#include <jansson.h>
#include <stddef.h>

#include "cr/error.h"

/** Longer messages are refused: what a UDP datagram holds. */
#define NG_BYTES_MAX 65507u
#define NG_COOKIE_MAX 64u

enum ng_encoding { NG_BENCODE, NG_JSON };

struct ng_message {
	char cookie[NG_COOKIE_MAX + 1];
	enum ng_encoding encoding;
	json_t *body; /**< an object; ng_message_free() */
};

/** Parse the @bytes at @text. 0; or with @e -EINVAL: @out->cookie and encoding
 * are good for an answer if the cookie is not "". */
int ng_message_read(struct ng_message *out, const char *text, size_t bytes,
		    struct cr_err *e);
void ng_message_free(struct ng_message *m);

/** Write the answer @body to @request into @text[@size]. Its length, or
 * -ENOSPC. */
long ng_message_write(const struct ng_message *request, const json_t *body,
		      char *text, size_t size);

/* --- where messages end in a stream of octets (TCP) --- */

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
	FRAMING_BROKEN /**< the framing of the rest is lost */
};

/** Go on with the next @bytes at @text; *@used of them. */
enum framing_is framing_feed(struct framing *f, const char *text, size_t bytes,
			     size_t *used);

/* --- encodings --- */

/** Dictionaries and lists within each other; more are refused. */
#define BENCODE_DEPTH_MAX 16u

/** @text as JSON; what is no ASCII becomes '?' where it is no UTF-8. NULL: out
 * of memory. */
json_t *ng_text(const char *text);

/** {"result": @result, @key: @text}; NULL: out of memory. */
json_t *ng_result(const char *result, const char *key, const char *text);

/** The value of all the @bytes at @text, or NULL with @e: no bencode, deeper
 * than BENCODE_DEPTH_MAX, a key twice, an octet 0 in a key, more behind the
 * value, or out of memory. */
json_t *bencode_read(const char *text, size_t bytes, struct cr_err *e);

/** Write @value to @text[@size]. Returns its length, -ENOSPC: it is longer, or
 * -EINVAL: bencode has no such value (null, true, reals). */
long bencode_write(const json_t *value, char *text, size_t size);

#endif
