/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection to a store of keys and values: Redis or Valkey, maybe by TLS.
 * Commands are gathered, sent together, and answered in order.
 *
 * Whatever the store does or says, a call here returns: at its end, when
 * *@stop is set, or when an answer is longer than any that was asked for. It is
 * closed then; a name that has to be looked up is waited for.
 *
 * Thread rule: one thread.
 */
#ifndef NODE_REPLICA_STORE_H
#define NODE_REPLICA_STORE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "cr/error.h"
#include "cr/time.h"

struct redisReply;
struct replica_store;

enum { REPLICA_TEXT_MAX = 256, REPLICA_PORT = 6379 };

/** Where a store is, and how it lets us in. */
struct replica_url {
	bool tls;
	char host[REPLICA_TEXT_MAX]; /**< an address or a name */
	unsigned port, db;
	char user[REPLICA_TEXT_MAX];	 /**< "": none, or the default one */
	char password[REPLICA_TEXT_MAX]; /**< "": none                     */
	char name[REPLICA_TEXT_MAX];	 /**< of the node there; "": its own */
	char ca[REPLICA_TEXT_MAX];	 /**< file of certificates; "": the
					  * system's */
};

/** Read "redis[s]://[[USER]:PASSWORD@]HOST[:PORT][/DB][?name=NODE&ca=FILE]";
 * %XX is a character anywhere. 0; -EINVAL with @e, which never has the
 * password. */
int replica_url_parse(struct replica_url *out, const char *text,
		      struct cr_err *e);

/** Look up, connect and log in, the last two within @limit. 0; or -errno with
 * @e. */
int replica_store_open(struct replica_store **out, const struct replica_url *at,
		       cr_ns limit, const atomic_bool *stop, struct cr_err *e);
/** NULL is fine. */
void replica_store_close(struct replica_store *s);

/** A command, which is sent by the next replica_store_reply(). */
struct replica_command {
	unsigned n, room;
	const char **word;
	size_t *bytes;
};

/** Add a word, which is borrowed. */
void replica_word(struct replica_command *c, const char *word);
/** Queue @c, and empty it. After an allocation failure every later reply
 * fails. */
void replica_store_queue(struct replica_store *s, struct replica_command *c);
/** Empty it, not queued. */
void replica_command_drop(struct replica_command *c);
/** Queue a command of these words. */
#define replica_queue(s, ...)                                                  \
	replica_queue_words((s), (const char *const[]){ __VA_ARGS__, NULL })
void replica_queue_words(struct replica_store *s, const char *const *word);

/** The answer to the first command that has none yet, which is of @type
 * (REDIS_REPLY_...), or nothing (NIL): into *@out, to be freed by
 * freeReplyObject(); NULL: it is of no interest. 0; or -errno with @e, and
 * *@out is NULL. */
int replica_store_reply(struct replica_store *s, int type, cr_ns end,
			struct redisReply **out, struct cr_err *e);

#endif
