/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The node's addresses.
 */
#include "node/interfaces.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/address.h"

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
