/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection to a store, by hiredis. It never blocks in the library: what
 * waits is poll(), in short pieces.
 */
#define _GNU_SOURCE
#include "node/replica_store.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <hiredis/hiredis.h>
#ifdef HAVE_HIREDIS_SSL
#include <hiredis/hiredis_ssl.h>
#endif

#include "base/clock.h"

/* No answer is longer: HMGET of some texts; HKEYS. */
#define ANSWER_MAX (4u << 20)
enum { ELEMENTS_MAX = 1 << 16 };
/* So late it sees that it is to stop. */
enum { POLL_MS = 20 };
/* Where the system has the certificates of those that it trusts. */
static const char SYSTEM_CAS[] = "/etc/ssl/certs";

/* --- the address --- */

static int hex_digit(char c)
{
	const char *digits = "0123456789abcdef", *at;

	at = c ? strchr(digits, c | 0x20) : NULL;
	return at ? (int)(at - digits) : -1;
}

/* @n characters of @text, with %XX as what it means, into @out. */
static bool decode(char out[REPLICA_TEXT_MAX], const char *text, size_t n)
{
	size_t k = 0;

	for (size_t i = 0; i < n && k < REPLICA_TEXT_MAX - 1; i++) {
		char c = text[i];

		if (c == '%') {
			int high = i + 2 < n ? hex_digit(text[i + 1]) : -1;
			int low = high < 0 ? -1 : hex_digit(text[i + 2]);

			if (low < 0 || !(high || low))
				return false;
			c = (char)(high << 4 | low);
			i += 2;
		}
		out[k++] = c;
		if (i + 1 == n) {
			out[k] = '\0';
			return true;
		}
	}
	out[0] = '\0';
	return n == 0;
}

/* A number of digits only, from 0 to @max. */
static bool read_digits(const char *text, size_t n, unsigned max, unsigned *out)
{
	char copy[8], *end;
	unsigned long v;

	if (!n || n >= sizeof(copy) || strspn(text, "0123456789") < n)
		return false;
	(void)snprintf(copy, sizeof(copy), "%.*s", (int)n, text);
	v = strtoul(copy, &end, 10);
	*out = (unsigned)v;
	return v <= max;
}

/* "name=NODE&ca=FILE" */
static bool read_query(struct replica_url *out, const char *text)
{
	while (*text) {
		size_t n = strcspn(text, "&"), key = strcspn(text, "=&");
		char *to = NULL;

		if (key == 4 && !strncmp(text, "name", key))
			to = out->name;
		else if (key == 2 && !strncmp(text, "ca", key))
			to = out->ca;
		if (!to || key >= n ||
		    !decode(to, text + key + 1, n - key - 1) || !*to)
			return false;
		text += n + (text[n] == '&');
	}
	return true;
}

/* "HOST", "HOST:PORT", "[IPV6]:PORT" */
static bool read_host(struct replica_url *out, const char *text, size_t n)
{
	const char *end = text[0] == '[' ? memchr(text, ']', n) : NULL;
	const char *colon = memrchr(text, ':', n);
	size_t host = n;

	if (text[0] == '[' && !end)
		return false;
	if (colon && colon > (end ? end : text)) {
		host = (size_t)(colon - text);
		if (!read_digits(colon + 1, n - host - 1, 65535, &out->port) ||
		    !out->port)
			return false;
	}
	if (end && end != text + host - 1)
		return false;
	if (!end && memchr(text, ':', host))
		return false; /* IPv6 without brackets */
	return end ? decode(out->host, text + 1, host - 2) && *out->host
		   : decode(out->host, text, host) && *out->host;
}

static bool read_login(struct replica_url *out, const char *text, size_t n)
{
	const char *colon = memchr(text, ':', n);

	return colon && decode(out->user, text, (size_t)(colon - text)) &&
	       decode(out->password, colon + 1,
		      n - (size_t)(colon - text) - 1) &&
	       *out->password;
}

int replica_url_parse(struct replica_url *out, const char *text,
		      struct cr_err *e)
{
	struct replica_url url = { .port = REPLICA_PORT };
	size_t scheme = strcspn(text, ":"), n;
	const char *at, *slash;
	bool ok = true;

	url.tls = scheme == 6 && !strncmp(text, "rediss", scheme);
	if ((!url.tls && (scheme != 5 || strncmp(text, "redis", scheme))) ||
	    strncmp(text + scheme, "://", 3) != 0)
		return cr_fail(e, -EINVAL,
			       "must begin with redis:// or rediss://");
#ifndef HAVE_HIREDIS_SSL
	if (url.tls)
		return cr_fail(e, -ENOTSUP,
			       "rediss:// needs a libhiredis with TLS "
			       "(Debian 13), which this program was not built "
			       "with");
#endif
	text += scheme + 3;
	n = strcspn(text, "/?");
	at = memrchr(text, '@', n);
	if (at) {
		ok = read_login(&url, text, (size_t)(at - text));
		n -= (size_t)(at + 1 - text);
		text = at + 1;
	}
	if (!ok)
		return cr_fail(e, -EINVAL,
			       "before @ there must be USER:PASSWORD or "
			       ":PASSWORD, with %%XX for : / ? @ and %%");
	if (!n || !read_host(&url, text, n))
		return cr_fail(e, -EINVAL,
			       "needs HOST or HOST:PORT, with brackets around "
			       "an IPv6 address");
	slash = text + n;
	text = slash + strcspn(slash, "?");
	if (text > slash + 1 &&
	    !read_digits(slash + 1, (size_t)(text - slash) - 1, 65535, &url.db))
		return cr_fail(e, -EINVAL,
			       "after / there must be the number of a "
			       "database");
	if (*text && !read_query(&url, text + 1))
		return cr_fail(e, -EINVAL,
			       "after ? there may be name=NODE and ca=FILE, "
			       "with & between");
	*out = url;
	return 0;
}

/* --- the connection --- */

struct replica_store {
	redisContext *c;
	const atomic_bool *stop;
	bool unsent; /* commands */
	bool failed; /* to send one, for want of memory */
	redisReplyObjectFunctions fn;
	const redisReplyObjectFunctions *all; /* the library's */
#ifdef HAVE_HIREDIS_SSL
	redisSSLContext *ssl;
#endif
};

static int fail_store(const struct replica_store *s, struct cr_err *e)
{
	return cr_fail(e, -EIO, "%s",
		       s->c && *s->c->errstr ? s->c->errstr
					     : "the connection was lost");
}

/* 0; or -EINTR with @e. */
static int check_stop(const struct replica_store *s, struct cr_err *e)
{
	return atomic_load_explicit(s->stop, memory_order_acquire)
		       ? cr_fail(e, -EINTR, "it is to stop")
		       : 0;
}

/* Wait a little for @events. 0; -EINTR: it is to stop; -ETIMEDOUT: @end. */
static int wait_piece(const struct replica_store *s, short events, cr_ns end,
		      struct cr_err *e)
{
	struct pollfd p = { .fd = s->c->fd, .events = events };
	int err = check_stop(s, e);

	if (err)
		return err;
	if (clock_now() >= end)
		return cr_fail(e, -ETIMEDOUT, "no answer in time");
	(void)poll(&p, 1, POLL_MS);
	return 0;
}

static int wait_connected(const struct replica_store *s, cr_ns end,
			  struct cr_err *e)
{
	struct pollfd p = { .fd = s->c->fd, .events = POLLOUT };
	socklen_t len = sizeof(int);
	int err = 0, what = 0;

	while (!err && poll(&p, 1, 0) != 1)
		err = wait_piece(s, POLLOUT, end, e);
	if (err)
		return err;
	if (getsockopt(s->c->fd, SOL_SOCKET, SO_ERROR, &what, &len) || what)
		return cr_fail(e, what ? -what : -EIO, "%s",
			       strerror(what ? what : EIO));
	return 0;
}

static int begin_tls(struct replica_store *s, const struct replica_url *at,
		     struct cr_err *e)
{
#ifdef HAVE_HIREDIS_SSL
	redisSSLContextError why = REDIS_SSL_CTX_NONE;

	if (!at->tls)
		return 0;
	(void)redisInitOpenSSL();
	s->ssl = redisCreateSSLContext(*at->ca ? at->ca : NULL,
				       *at->ca ? NULL : SYSTEM_CAS, NULL, NULL,
				       at->host, &why);
	if (!s->ssl)
		return cr_fail(e, -EIO, "TLS: %s",
			       redisSSLContextGetError(why));
	if (redisInitiateSSLWithContext(s->c, s->ssl) != REDIS_OK)
		return fail_store(s, e);
#else
	(void)s, (void)at, (void)e, (void)SYSTEM_CAS;
#endif
	return 0;
}

static int log_in(struct replica_store *s, const struct replica_url *at,
		  cr_ns end, struct cr_err *e)
{
	char db[16];
	int err = 0;

	if (*at->user)
		replica_say(s, "AUTH", at->user, at->password);
	else if (*at->password)
		replica_say(s, "AUTH", at->password);
	if (*at->password)
		err = replica_store_reply(s, REDIS_REPLY_STATUS, end, NULL, e);
	/* one that does not know AUTH repeats what it was told */
	if (err == -EPROTO && strstr(e->text, "unknown command"))
		err = cr_fail(e, err, "the store does not know AUTH");
	if (err)
		return err;
	(void)snprintf(db, sizeof(db), "%u", at->db);
	replica_say(s, "SELECT", db);
	return replica_store_reply(s, REDIS_REPLY_STATUS, end, NULL, e);
}

#if HIREDIS_MAJOR < 1
typedef int elements_count;
#else
typedef size_t elements_count;
#endif

/* An array is allocated when its length is read, whatever that is. NULL: "out
 * of memory". */
static void *bounded_array(const redisReadTask *task, elements_count n)
{
	const struct replica_store *s = task->privdata;

	return n > ELEMENTS_MAX ? NULL : s->all->createArray(task, n);
}

int replica_store_open(struct replica_store **out, const struct replica_url *at,
		       cr_ns end, const atomic_bool *stop, struct cr_err *e)
{
	struct replica_store *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return cr_fail(e, -ENOMEM, "out of memory");
	s->stop = stop;
	s->c = redisConnectNonBlock(at->host, (int)at->port);
	err = !s->c || s->c->err ? fail_store(s, e) : 0;
	if (!err) {
		s->all = s->c->reader->fn;
		s->fn = *s->all;
		s->fn.createArray = bounded_array;
		s->c->reader->fn = &s->fn;
		s->c->reader->privdata = s;
		err = wait_connected(s, end, e);
	}
	if (!err)
		err = begin_tls(s, at, e);
	if (!err)
		err = log_in(s, at, end, e);
	if (err) {
		replica_store_close(s);
		return err;
	}
	*out = s;
	return 0;
}

void replica_store_close(struct replica_store *s)
{
	if (!s)
		return;
	if (s->c)
		redisFree(s->c);
#ifdef HAVE_HIREDIS_SSL
	if (s->ssl)
		redisFreeSSLContext(s->ssl);
#endif
	free(s);
}

/* --- commands --- */

void replica_word(struct replica_command *c, const char *word)
{
	if (c->n == c->room) {
		unsigned room = c->room ? 2 * c->room : 16;
		const char **w = realloc((void *)c->word, room * sizeof(*w));
		size_t *b = realloc(c->bytes, room * sizeof(*b));

		if (w)
			c->word = w;
		if (b)
			c->bytes = b;
		if (w && b)
			c->room = room;
	}
	if (c->n < c->room) {
		c->word[c->n] = word;
		c->bytes[c->n++] = strlen(word);
	} else {
		c->n = c->room + 1; /* for ever too long */
	}
}

void replica_command_drop(struct replica_command *c)
{
	free((void *)c->word);
	free(c->bytes);
	*c = (struct replica_command){ 0 };
}

void replica_store_send(struct replica_store *s, struct replica_command *c)
{
	s->failed |= c->n > c->room ||
		     redisAppendCommandArgv(s->c, (int)c->n, c->word,
					    c->bytes) != REDIS_OK;
	s->unsent = true;
	replica_command_drop(c);
}

void replica_store_say(struct replica_store *s, const char *const *word)
{
	struct replica_command c = { 0 };

	while (*word)
		replica_word(&c, *word++);
	replica_store_send(s, &c);
}

/* Send and receive what can be. 0, with @waits: for what it has to wait. */
static int exchange(struct replica_store *s, size_t *had, short *waits,
		    struct cr_err *e)
{
	size_t before = s->c->reader->len;
	int all = 1;

	if (redisBufferWrite(s->c, &all) != REDIS_OK ||
	    redisBufferRead(s->c) != REDIS_OK)
		return fail_store(s, e);
	s->unsent = !all;
	*had += s->c->reader->len - before;
	*waits = s->c->reader->len > before ? 0
		 : all			    ? POLLIN
					    : POLLIN | POLLOUT;
	return 0;
}

/* Is @r what was asked for? */
static int check_answer(const redisReply *r, int type, struct cr_err *e)
{
	if (r->type == REDIS_REPLY_ERROR)
		return cr_fail(e, -EPROTO, "the store says: %.200s", r->str);
	if (r->type != type && r->type != REDIS_REPLY_NIL)
		return cr_fail(e, -EPROTO,
			       "the store answers nonsense: is it one?");
	return 0;
}

int replica_store_reply(struct replica_store *s, int type, cr_ns end,
			redisReply **out, struct cr_err *e)
{
	int err = s->failed ? cr_fail(e, -ENOMEM, "out of memory")
			    : check_stop(s, e);
	size_t had = 0;
	void *r = NULL;

	if (out)
		*out = NULL;
	while (!err) {
		short waits = 0;

		/* what comes before it was asked for is no answer */
		if (!s->unsent &&
		    redisReaderGetReply(s->c->reader, &r) != REDIS_OK)
			return cr_fail(e, -EPROTO, "%s", s->c->reader->errstr);
		if (r)
			break;
		err = exchange(s, &had, &waits, e);
		if (!err && had > ANSWER_MAX)
			err = cr_fail(e, -EPROTO,
				      "an answer of the store is too long");
		if (!err && waits)
			err = wait_piece(s, waits, end, e);
	}
	if (!err)
		err = check_answer(r, type, e);
	if (!err && out)
		*out = r;
	else if (r)
		freeReplyObject(r);
	return err;
}
