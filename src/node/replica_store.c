/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection to a store: hiredis writes commands and reads answers, OpenSSL
 * has TLS. Nothing blocks in a library, but looking up a name: what waits is
 * poll(), in short pieces.
 */
#define _GNU_SOURCE
#include "node/replica_store.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <hiredis/hiredis.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "base/clock.h"

/* No answer is longer: HMGET of some texts; HKEYS. */
#define ANSWER_MAX (4u << 20)
enum { ELEMENTS_MAX = 1 << 16 };
/* Interval at which it checks *stop, ms. */
enum { POLL_MS = 20 };
/* What is sent or received at a time: a record of TLS. */
enum { PIECE = 16384 };

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
	int fd;
	const atomic_bool *stop;
	struct evbuffer *out; /* commands that were not sent */
	bool failed;	      /* to put one there, for want of memory */
	redisReader *reader;
	redisReplyObjectFunctions fn;
	const redisReplyObjectFunctions *all; /* the library's */
	SSL *ssl;			      /* NULL: no TLS */
};

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
	struct pollfd p = { .fd = s->fd, .events = events };
	int err = check_stop(s, e);

	if (err)
		return err;
	if (clock_now() >= end)
		return cr_fail(e, -ETIMEDOUT, "no answer in time");
	(void)poll(&p, 1, POLL_MS);
	return 0;
}

/* Connect to @ai. 0; or -errno with @e. */
static int connect_store_at(struct replica_store *s, const struct addrinfo *ai,
			    cr_ns end, struct cr_err *e)
{
	struct pollfd p = { .events = POLLOUT };
	socklen_t len = sizeof(int);
	int err = 0, what = 0;

	s->fd = socket(ai->ai_family,
		       SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (s->fd < 0 || (connect(s->fd, ai->ai_addr, ai->ai_addrlen) &&
			  errno != EINPROGRESS))
		return cr_fail(e, -errno, "%s", strerror(errno));
	p.fd = s->fd;
	while (!err && poll(&p, 1, 0) != 1)
		err = wait_piece(s, POLLOUT, end, e);
	if (err || getsockopt(s->fd, SOL_SOCKET, SO_ERROR, &what, &len) || what)
		return err ? err : cr_fail(e, -EIO, "%s", strerror(what));
	return 0;
}

/* Connect to the first address of @at that takes it, within @limit from when
 * they are known: *@end. Each has its share of what is left of that. */
static int connect_host(struct replica_store *s, const struct replica_url *at,
			cr_ns limit, cr_ns *end, struct cr_err *e)
{
	const struct addrinfo hints = { .ai_family = AF_UNSPEC,
					.ai_socktype = SOCK_STREAM };
	struct addrinfo *list = NULL;
	char port[16];
	int err, left = 0;

	(void)snprintf(port, sizeof(port), "%u", at->port);
	err = getaddrinfo(at->host, port, &hints, &list);
	if (err)
		return cr_fail(e, -EHOSTUNREACH, "%s", gai_strerror(err));
	*end = clock_now() + limit;
	err = -EHOSTUNREACH;
	for (const struct addrinfo *ai = list; ai; ai = ai->ai_next)
		left++;
	for (const struct addrinfo *ai = list; ai && err && err != -EINTR;
	     ai = ai->ai_next) {
		const cr_ns now = clock_now();

		if (s->fd >= 0)
			(void)close(s->fd);
		err = connect_store_at(s, ai, now + (*end - now) / left--, e);
	}
	freeaddrinfo(list);
	return err;
}

static int fail_tls(const struct replica_store *s, struct cr_err *e)
{
	const long cert = s->ssl ? SSL_get_verify_result(s->ssl) : X509_V_OK;
	const char *why =
		cert == X509_V_OK
			? ERR_reason_error_string(ERR_peek_last_error())
			: X509_verify_cert_error_string(cert);

	return cr_fail(e, -EIO, "TLS: %s",
		       why ? why : "the connection was lost");
}

/* The store is to show a certificate of its host's name, or address. */
static int begin_tls(struct replica_store *s, const struct replica_url *at,
		     struct cr_err *e)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());

	if (!ctx)
		return fail_tls(s, e);
	if (!(*at->ca ? SSL_CTX_load_verify_file(ctx, at->ca)
		      : SSL_CTX_set_default_verify_paths(ctx))) {
		SSL_CTX_free(ctx);
		return cr_fail(e, -EIO, "TLS: cannot read certificates of %s",
			       *at->ca ? at->ca : "the system");
	}
	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
	(void)SSL_CTX_set_mode(ctx,
			       SSL_MODE_ENABLE_PARTIAL_WRITE |
				       SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	s->ssl = SSL_new(ctx);
	SSL_CTX_free(ctx);
	if (!s->ssl || !SSL_set_fd(s->ssl, s->fd))
		return fail_tls(s, e);
	if (!X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(s->ssl), at->host) &&
	    (!SSL_set1_host(s->ssl, at->host) ||
	     !SSL_set_tlsext_host_name(s->ssl, at->host)))
		return fail_tls(s, e);
	SSL_set_connect_state(s->ssl);
	return 0;
}

static int log_in(struct replica_store *s, const struct replica_url *at,
		  cr_ns end, struct cr_err *e)
{
	char db[16];
	int err = 0;

	if (*at->user)
		replica_queue(s, "AUTH", at->user, at->password);
	else if (*at->password)
		replica_queue(s, "AUTH", at->password);
	if (*at->password)
		err = replica_store_reply(s, REDIS_REPLY_STATUS, end, NULL, e);
	/* one that does not know AUTH repeats what it was told */
	if (err == -EPROTO && strstr(e->text, "unknown command"))
		err = cr_fail(e, err, "the store does not know AUTH");
	if (err)
		return err;
	(void)snprintf(db, sizeof(db), "%u", at->db);
	replica_queue(s, "SELECT", db);
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
		       cr_ns limit, const atomic_bool *stop, struct cr_err *e)
{
	struct replica_store *s = calloc(1, sizeof(*s));
	cr_ns end = 0;
	int err = 0;

	if (!s)
		return cr_fail(e, -ENOMEM, "out of memory");
	s->fd = -1;
	s->stop = stop;
	s->out = evbuffer_new();
	s->reader = redisReaderCreate();
	if (!s->out || !s->reader) {
		err = cr_fail(e, -ENOMEM, "out of memory");
	} else {
		s->all = s->reader->fn;
		s->fn = *s->all;
		s->fn.createArray = bounded_array;
		s->reader->fn = &s->fn;
		s->reader->privdata = s;
		err = connect_host(s, at, limit, &end, e);
	}
	if (!err && at->tls)
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
	SSL_free(s->ssl);
	ERR_clear_error();
	if (s->fd >= 0)
		(void)close(s->fd);
	if (s->reader)
		redisReaderFree(s->reader);
	if (s->out)
		evbuffer_free(s->out);
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

void replica_store_queue(struct replica_store *s, struct replica_command *c)
{
	char *text = NULL;
	long long n = -1;

	if (c->n <= c->room)
		n = redisFormatCommandArgv(&text, (int)c->n, c->word, c->bytes);
	s->failed |= n < 0 || evbuffer_add(s->out, text, (size_t)n);
	redisFreeCommand(text);
	replica_command_drop(c);
}

void replica_queue_words(struct replica_store *s, const char *const *word)
{
	struct replica_command c = { 0 };

	while (*word)
		replica_word(&c, *word++);
	replica_store_queue(s, &c);
}

/* What came of a call of OpenSSL: as transfer(). */
static int tls_result(const struct replica_store *s, int n, short *waits,
		      struct cr_err *e)
{
	if (n > 0)
		return n;
	switch (SSL_get_error(s->ssl, n)) {
	case SSL_ERROR_WANT_READ:
		*waits |= POLLIN;
		return 0;
	case SSL_ERROR_WANT_WRITE:
		*waits |= POLLOUT;
		return 0;
	default:
		return fail_tls(s, e);
	}
}

/* Send (@sends) or receive up to @n bytes. Returns how many; 0, with @waits:
 * for what it has to wait; or -errno with @e. */
static int transfer(const struct replica_store *s, bool sends, void *at,
		    size_t n, short *waits, struct cr_err *e)
{
	ssize_t some;

	ERR_clear_error();
	if (s->ssl)
		return tls_result(s,
				  sends ? SSL_write(s->ssl, at, (int)n)
					: SSL_read(s->ssl, at, (int)n),
				  waits, e);
	some = sends ? send(s->fd, at, n, MSG_NOSIGNAL) : recv(s->fd, at, n, 0);
	if (some > 0)
		return (int)some;
	if (some < 0 && (errno == EAGAIN || errno == EINTR)) {
		*waits |= sends ? POLLOUT : POLLIN;
		return 0;
	}
	return cr_fail(e, -EIO, "%s",
		       some ? strerror(errno)
			    : "the store has closed the connection");
}

/* Send and receive what can be, @had bytes more. 0, with @waits: for what it
 * has to wait if nothing came; or -errno with @e. */
static int exchange(struct replica_store *s, size_t *had, short *waits,
		    struct cr_err *e)
{
	char piece[PIECE];
	int n = 1;

	while (n > 0 && evbuffer_get_length(s->out)) {
		n = (int)evbuffer_copyout(s->out, piece, sizeof(piece));
		n = transfer(s, true, piece, (size_t)n, waits, e);
		if (n > 0)
			(void)evbuffer_drain(s->out, (size_t)n);
	}
	if (n < 0)
		return n;
	n = transfer(s, false, piece, sizeof(piece), waits, e);
	if (n <= 0)
		return n;
	*had += (size_t)n;
	*waits = 0;
	return redisReaderFeed(s->reader, piece, (size_t)n) == REDIS_OK
		       ? 0
		       : cr_fail(e, -EPROTO, "%s", s->reader->errstr);
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
		if (!evbuffer_get_length(s->out) &&
		    redisReaderGetReply(s->reader, &r) != REDIS_OK)
			return cr_fail(e, -EPROTO, "%s", s->reader->errstr);
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
