/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The node's addresses; and their ports: free pairs as a queue in a circle, and
 * pairs of sockets, whose lock is held for the books only, never for a system
 * call.
 */
#include "node/interfaces.h"

#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/address.h"
#include "base/assert.h"
#include "base/random.h"
#include "udp/socket.h"

#define TEXT_MAX 160u

/* --- as text --- */

static const char *family_name(sa_family_t family)
{
	return family == AF_INET6 ? "IPv6" : "IPv4";
}

/* Names stand in replies, metrics and on command lines. */
static int read_interface_name(const char *text, size_t n,
			       char name[INTERFACE_NAME_MAX], struct cr_err *e)
{
	bool good = n > 0 && n < INTERFACE_NAME_MAX;

	for (size_t i = 0; i < n && good; i++)
		good = isalnum((unsigned char)text[i]) ||
		       strchr("-_.", text[i]);
	if (!good)
		return cr_fail(e, -EINVAL,
			       "the name before '/' must be 1 to %u letters, "
			       "digits, '-', '_' or '.'",
			       INTERFACE_NAME_MAX - 1);
	memcpy(name, text, n);
	name[n] = '\0';
	return 0;
}

/* Read the address behind "!", if there is one. */
static int read_advertised(const char *text,
			   const struct sockaddr_storage *local,
			   struct sockaddr_storage *out, struct cr_err *e)
{
	char host[64];

	memset(out, 0, sizeof(*out));
	(void)address_host_text(local, host, sizeof(host));
	if (!text && address_any(local))
		return cr_fail(e, -EINVAL,
			       "nobody can send to %s: add the address to "
			       "announce behind '!', such as %s",
			       host,
			       local->ss_family == AF_INET6
				       ? "[::]!2001:db8::1"
				       : "0.0.0.0!192.0.2.1");
	if (!text)
		return 0;
	if (address_parse_host(text, out))
		return cr_fail(e, -EINVAL,
			       "the address behind '!' must be numeric and "
			       "without a port, such as 192.0.2.1");
	if (address_any(out))
		return cr_fail(e, -EINVAL,
			       "nobody can send to %s, which stands behind '!'",
			       text);
	if (out->ss_family != local->ss_family)
		return cr_fail(e, -EINVAL, "%s is %s, but %s behind '!' is %s",
			       host, family_name(local->ss_family), text,
			       family_name(out->ss_family));
	return 0;
}

/* Copy @text into @buf and cut it at "!". Returns what is behind; NULL: there
 * is none. */
static const char *cut_word(const char *text, char buf[TEXT_MAX])
{
	char *mark;

	(void)snprintf(buf, TEXT_MAX, "%s", text);
	mark = strchr(buf, '!');
	if (mark)
		*mark++ = '\0';
	return mark;
}

int interface_parse(struct interface_cfg *out, const char *text,
		    struct cr_err *e)
{
	struct interface_cfg cfg = { .name = INTERFACE_DEFAULT };
	const char *slash = strchr(text, '/'), *behind;
	char buf[TEXT_MAX];
	int err = slash ? read_interface_name(text, (size_t)(slash - text),
					      cfg.name, e)
			: 0;

	if (err)
		return err;
	behind = cut_word(slash ? slash + 1 : text, buf);
	if (address_parse_host(buf, &cfg.local))
		return cr_fail(e, -EINVAL,
			       "must be [NAME/]ADDRESS[!ADVERTISED] with "
			       "numeric addresses, such as public/192.0.2.1");
	err = read_advertised(behind, &cfg.local, &cfg.advertised, e);
	if (!err)
		*out = cfg;
	return err;
}

int interface_parse_shared(struct sockaddr_storage *local,
			   struct sockaddr_storage *advertised,
			   const char *text, struct cr_err *e)
{
	struct sockaddr_storage at, shown;
	char buf[TEXT_MAX];
	const char *behind = cut_word(text, buf);
	int err;

	if (address_parse(buf, &at))
		return cr_fail(e, -EINVAL,
			       "must be a numeric address with a port, such as "
			       "127.0.0.1:40000 or [::1]:40000");
	err = read_advertised(behind, &at, &shown, e);
	if (err)
		return err;
	*local = at;
	*advertised = shown;
	return 0;
}

void interface_text(const struct sockaddr_storage *local,
		    const struct sockaddr_storage *advertised, unsigned port,
		    char *buf, size_t size)
{
	struct sockaddr_storage a =
		advertised->ss_family ? *advertised : *local;

	address_set_port(&a, port);
	(void)address_text(&a, buf, size);
}

/* --- all of them --- */

static const struct interface *find_interface(const struct interfaces *i,
					      const char *name,
					      sa_family_t family)
{
	for (unsigned k = 0; k < i->n; k++) {
		const struct interface_cfg *cfg = &i->one[k].cfg;

		if ((!name || !strcmp(cfg->name, name)) &&
		    (!family || cfg->local.ss_family == family))
			return &i->one[k];
	}
	return NULL;
}

static int add_interface(struct interfaces *i, const struct interface_cfg *cfg,
			 const struct port_pairs_config *each, struct cr_err *e)
{
	struct port_pairs_config ports = *each;
	struct interface *to = &i->one[i->n];
	int err;

	if (find_interface(i, cfg->name, cfg->local.ss_family))
		return cr_fail(e, -EINVAL,
			       "two interfaces called %s have an address of "
			       "%s: give them different names",
			       cfg->name, family_name(cfg->local.ss_family));
	ports.local = cfg->local;
	ports.seed += i->n;
	err = port_pairs_new(&to->ports, &ports, e);
	if (err)
		return err;
	to->cfg = *cfg;
	i->n++;
	return 0;
}

int interfaces_open(struct interfaces *to, const struct interface_cfg *cfg,
		    unsigned n, const struct port_pairs_config *each,
		    struct cr_err *e)
{
	int err = 0;

	to->n = 0;
	for (unsigned k = 0; k < n && !err; k++)
		err = add_interface(to, &cfg[k], each, e);
	if (err)
		interfaces_close(to);
	return err;
}

void interfaces_close(struct interfaces *i)
{
	while (i->n)
		port_pairs_free(i->one[--i->n].ports);
}

/* "public, private", each once. */
static const char *names(const struct interfaces *i, char *buf, size_t size)
{
	size_t len = 0;

	*buf = '\0';
	for (unsigned k = 0; k < i->n && len < size; k++)
		if (find_interface(i, i->one[k].cfg.name, 0) == &i->one[k])
			len += (size_t)snprintf(buf + len, size - len, "%s%s",
						len ? ", " : "",
						i->one[k].cfg.name);
	return buf;
}

int interfaces_choose(struct interfaces *i,
		      const struct interface_request *request,
		      struct interface **out, struct cr_err *e)
{
	const sa_family_t family = request->to.ss_family;
	const struct interface *found =
		find_interface(i, request->name, family);
	char all[200];

	if (found) {
		*out = &i->one[found - i->one];
		return 0;
	}
	if (!request->name)
		return cr_fail(e, -EINVAL,
			       "%s: this node has no %s address for calls "
			       "(--interface)",
			       request->to_path, family_name(family));
	if (find_interface(i, request->name, 0))
		return cr_fail(
			e, -EINVAL, "%s: the interface %.40s has no %s address",
			request->to_path, request->name, family_name(family));
	return cr_fail(e, -EINVAL,
		       "%sinterface: there is none called %.40s; there are: %s",
		       request->path, request->name,
		       names(i, all, sizeof(all)));
}

/* --- where to --- */

static bool is_same_host(const struct sockaddr_storage *a,
			 const struct sockaddr_storage *b)
{
	const struct in6_addr x = address_mapped(a), y = address_mapped(b);

	return !memcmp(&x, &y, sizeof(x));
}

bool interface_is_host(const struct interface_cfg *i,
		       const struct own_hosts *here,
		       const struct sockaddr_storage *a)
{
	if (!a->ss_family)
		return false;
	if (is_same_host(a, &i->local) ||
	    (i->advertised.ss_family && is_same_host(a, &i->advertised)))
		return true;
	/* what goes to any address goes to loopback */
	return address_any(a) ||
	       (address_any(&i->local) && own_hosts_has(here, a));
}

bool interface_is_at(const struct interface_cfg *i,
		     const struct own_hosts *here,
		     const struct sockaddr_storage *a, unsigned port,
		     unsigned n)
{
	return a->ss_family && address_port(a) >= port &&
	       address_port(a) < port + n && interface_is_host(i, here, a);
}

bool interface_is_local(const struct interface_cfg *i)
{
	return address_loopback(&i->local) || address_loopback(&i->advertised);
}

int interface_may_send(const struct interface_cfg *from,
		       const struct send_to *s,
		       const struct sockaddr_storage *to, unsigned ports,
		       const char *name, struct cr_err *e)
{
	const char *why =
		send_to_refuses(s, to, ports, interface_is_local(from));
	char text[64];

	if (!why)
		return 0;
	return cr_fail(e, -EINVAL, "%s: %s %s", name,
		       address_text(to, text, sizeof(text)), why);
}

/* --- ports: free pairs --- */

static int read_range_end(const char *text, const char **end, uint16_t *port)
{
	char *after;
	unsigned long n = strtoul(text, &after, 10);

	if (*text < '0' || *text > '9' || !n || n > UINT16_MAX)
		return -EINVAL;
	*port = (uint16_t)n;
	*end = after;
	return 0;
}

static unsigned first_even(const struct port_range *r)
{
	return r->from + (r->from & 1u);
}

unsigned port_range_pairs(const struct port_range *r)
{
	unsigned first = first_even(r), end = r->to + 1u;

	return r->from && end > first ? (end - first) / 2 : 0;
}

int port_range_parse(struct port_range *out, const char *text, struct cr_err *e)
{
	struct port_range r;
	const char *at;

	if (read_range_end(text, &at, &r.from) || *at != '-' ||
	    read_range_end(at + 1, &at, &r.to) || *at)
		return cr_fail(e, -EINVAL,
			       "must be two ports from 1 to 65535, such as "
			       "30000-40000");
	if (!port_range_pairs(&r))
		return cr_fail(e, -EINVAL,
			       "%.32s has no even port with the odd one above "
			       "it",
			       text);
	*out = r;
	return 0;
}

const char *port_range_text(const struct port_range *r,
			    char buf[PORT_RANGE_TEXT])
{
	(void)snprintf(buf, PORT_RANGE_TEXT, "%u-%u", r->from, r->to);
	return buf;
}

/* Fisher and Yates: every order is as likely as any other. */
static void shuffle(uint16_t *queue, unsigned n, uint64_t seed)
{
	for (unsigned i = n; i > 1; i--) {
		unsigned j = (unsigned)(splitmix64(&seed) % i);
		uint16_t x = queue[i - 1];

		queue[i - 1] = queue[j];
		queue[j] = x;
	}
}

int port_pool_init(struct port_pool *p, const struct port_range *r,
		   uint64_t seed)
{
	unsigned n = port_range_pairs(r);

	*p = (struct port_pool){
		.first = first_even(r),
		.npairs = n,
		.nfree = n,
		.queue = calloc(n, sizeof(*p->queue)),
		.in_use = calloc(n, sizeof(*p->in_use)),
	};
	if (n && (!p->queue || !p->in_use)) {
		port_pool_fini(p);
		return -ENOMEM;
	}
	for (unsigned i = 0; i < n; i++)
		p->queue[i] = (uint16_t)i;
	shuffle(p->queue, n, seed);
	return 0;
}

void port_pool_fini(struct port_pool *p)
{
	free(p->queue);
	free(p->in_use);
	*p = (struct port_pool){ 0 };
}

unsigned port_pool_take(struct port_pool *p)
{
	unsigned pair;

	if (!p->nfree)
		return 0;
	pair = p->queue[p->head];
	p->head = (p->head + 1) % p->npairs;
	p->nfree--;
	p->in_use[pair] = true;
	return p->first + 2 * pair;
}

bool port_pool_take_at(struct port_pool *p, unsigned port)
{
	unsigned pair = (port - p->first) / 2, last;

	if (port < p->first || pair >= p->npairs || p->in_use[pair])
		return false;
	last = (p->head + --p->nfree) % p->npairs;
	for (unsigned i = p->head; p->queue[last] != pair;
	     i = (i + 1) % p->npairs)
		if (p->queue[i] == pair) {
			p->queue[i] = p->queue[last];
			break;
		}
	p->in_use[pair] = true;
	return true;
}

void port_pool_give(struct port_pool *p, unsigned port)
{
	unsigned pair = (port - p->first) / 2;

	CR_ASSERT(port >= p->first && pair < p->npairs && p->in_use[pair]);
	p->in_use[pair] = false;
	p->queue[(p->head + p->nfree) % p->npairs] = (uint16_t)pair;
	p->nfree++;
}

/* --- ports: pairs of sockets --- */

/* Number of times that the kernel is asked for another port whose neighbour may
 * be free.
 * Each try fails about as often as ports are in use. */
#define TRIES 64u

struct port_pairs {
	struct port_pairs_config cfg;

	pthread_mutex_t lock; /* protects what follows */
	struct port_pool pool;
	unsigned used;
	uint64_t passed_over;
};

int port_pairs_new(struct port_pairs **out, const struct port_pairs_config *cfg,
		   struct cr_err *e)
{
	struct port_pairs *p = calloc(1, sizeof(*p));

	if (p && cfg->range.from &&
	    port_pool_init(&p->pool, &cfg->range, cfg->seed)) {
		free(p);
		p = NULL;
	}
	if (!p)
		return cr_fail(e, -ENOMEM, "out of memory for ports");
	p->cfg = *cfg;
	(void)pthread_mutex_init(&p->lock, NULL);
	*out = p;
	return 0;
}

void port_pairs_free(struct port_pairs *p)
{
	if (!p)
		return;
	CR_ASSERT(!p->used);
	port_pool_fini(&p->pool);
	(void)pthread_mutex_destroy(&p->lock);
	free(p);
}

/* A pair of the range, 0: none. @nfree: so many were free. */
static unsigned take_port(struct port_pairs *p, unsigned *nfree)
{
	unsigned port;

	(void)pthread_mutex_lock(&p->lock);
	*nfree = p->pool.nfree;
	port = port_pool_take(&p->pool);
	p->used += port != 0;
	(void)pthread_mutex_unlock(&p->lock);
	return port;
}

static void give_port(struct port_pairs *p, unsigned port, bool passed_over)
{
	(void)pthread_mutex_lock(&p->lock);
	if (p->pool.npairs)
		port_pool_give(&p->pool, port);
	p->used--;
	p->passed_over += passed_over;
	(void)pthread_mutex_unlock(&p->lock);
}

void port_pairs_info(struct port_pairs *p, struct port_pairs_info *out)
{
	(void)pthread_mutex_lock(&p->lock);
	*out = (struct port_pairs_info){
		.pairs = p->pool.npairs,
		.used = p->used,
		.passed_over = p->passed_over,
	};
	(void)pthread_mutex_unlock(&p->lock);
}

static int open_port_socket(const struct port_pairs *p, unsigned port,
			    struct cr_err *e)
{
	struct sockaddr_storage at = p->cfg.local;
	int fd;

	address_set_port(&at, port);
	fd = udp_socket_small(&at, p->cfg.bytes, e);
	/* a kernel that does not take it sends packets all the same */
	if (fd >= 0 && p->cfg.tos)
		(void)tos_set(fd, at.ss_family, p->cfg.tos);
	return fd;
}

static void close_port_sockets(struct port_pair *pair)
{
	if (pair->rtp >= 0)
		(void)close(pair->rtp);
	if (pair->rtcp >= 0)
		(void)close(pair->rtcp);
	*pair = (struct port_pair){ .rtp = -1, .rtcp = -1 };
}

/* Both, or none. */
static int open_pair(const struct port_pairs *p, unsigned port, bool rtcp,
		     struct port_pair *out, struct cr_err *e)
{
	struct port_pair pair = { .rtcp = -1, .port = port };

	pair.rtp = open_port_socket(p, port, e);
	if (pair.rtp < 0)
		return pair.rtp;
	if (rtcp) {
		pair.rtcp = open_port_socket(p, port + 1, e);
		if (pair.rtcp < 0) {
			int err = pair.rtcp;

			close_port_sockets(&pair);
			return err;
		}
	}
	*out = pair;
	return 0;
}

/* @foreign: of all pairs, so many are other programs'. */
static int fail_exhausted(const struct port_pairs *p, unsigned foreign,
			  struct cr_err *e)
{
	struct sockaddr_storage at = p->cfg.local;
	char range[PORT_RANGE_TEXT], where[64], others[64] = "";

	if (foreign)
		(void)snprintf(others, sizeof(others),
			       " (%u of them by other programs)", foreign);
	address_set_port(&at, 0);
	return cr_fail(e, -EADDRINUSE,
		       "--rtp-ports %s: all %u pairs are in use%s at %s; widen "
		       "the range",
		       port_range_text(&p->cfg.range, range),
		       port_range_pairs(&p->cfg.range), others,
		       address_host_text(&at, where, sizeof(where)));
}

static int open_of_range(struct port_pairs *p, bool rtcp, struct port_pair *out,
			 struct cr_err *e)
{
	unsigned left, port = take_port(p, &left), foreign = 0;

	/* pairs given back while this looks are not looked at again */
	for (unsigned i = left; port; port = --i ? take_port(p, &left) : 0) {
		int err = open_pair(p, port, rtcp, out, e);

		if (!err)
			return 0;
		give_port(p, port, err == -EADDRINUSE);
		if (err != -EADDRINUSE)
			return err;
		foreign++;
	}
	return fail_exhausted(p, foreign, e);
}

/* A port that the kernel chose. */
static int open_any(const struct port_pairs *p, unsigned *port,
		    struct cr_err *e)
{
	struct sockaddr_storage at;
	socklen_t len = sizeof(at);
	int err, fd = open_port_socket(p, 0, e);

	if (fd < 0)
		return fd;
	if (getsockname(fd, (struct sockaddr *)&at, &len)) {
		err = -errno;
		(void)close(fd);
		return cr_fail(e, err, "getsockname: %s", strerror(-err));
	}
	*port = address_port(&at);
	return fd;
}

/* Open that port and its neighbour; RTP's is even. */
static int open_free_pair(const struct port_pairs *p, struct port_pair *out,
			  struct cr_err *e)
{
	int other = -EADDRINUSE;

	for (unsigned i = 0; i < TRIES && other == -EADDRINUSE; i++) {
		unsigned port;
		int fd = open_any(p, &port, e);

		if (fd < 0)
			return fd;
		other = open_port_socket(p, port ^ 1u, e);
		if (other < 0)
			(void)close(fd);
		else if (port & 1u)
			*out = (struct port_pair){ other, fd, port - 1 };
		else
			*out = (struct port_pair){ fd, other, port };
	}
	return other < 0 ? other : 0;
}

int port_pair_open_at(struct port_pairs *p, unsigned port, bool rtcp,
		      struct port_pair *out, struct cr_err *e)
{
	struct port_pair pair;
	int err = open_pair(p, port, rtcp, &pair, e);

	if (err)
		return err;
	if (!port_pair_adopt(p, &pair)) {
		close_port_sockets(&pair);
		return cr_fail(e, -EADDRINUSE,
			       "port %u is not free, or not of --rtp-ports",
			       port);
	}
	*out = pair;
	return 0;
}

int port_pair_open(struct port_pairs *p, bool rtcp, struct port_pair *out,
		   struct cr_err *e)
{
	struct port_pair one = { .rtcp = -1 };
	int err;

	if (p->cfg.range.from)
		return open_of_range(p, rtcp, out, e);
	if (rtcp)
		err = open_free_pair(p, &one, e);
	else
		err = one.rtp = open_any(p, &one.port, e);
	if (err < 0)
		return err;
	*out = one;
	(void)pthread_mutex_lock(&p->lock);
	p->used++;
	(void)pthread_mutex_unlock(&p->lock);
	return 0;
}

bool port_pair_adopt(struct port_pairs *p, const struct port_pair *pair)
{
	bool is;

	(void)pthread_mutex_lock(&p->lock);
	is = !p->cfg.range.from || port_pool_take_at(&p->pool, pair->port);
	p->used += is;
	(void)pthread_mutex_unlock(&p->lock);
	return is;
}

void port_pair_close(struct port_pairs *p, struct port_pair *pair)
{
	unsigned port = pair->port;

	if (pair->rtp < 0)
		return;
	close_port_sockets(pair);
	give_port(p, port, false);
}
