/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whatever is asked, in whatever order: what the service says that it has is
 * what the node has. Endpoints, calls, promises and shares are counted
 * after each answer, and when every call is deleted there are none. What was
 * refused has changed nothing that goes on.
 */
#include "cmocka_cr.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "asking.h"
#include "base/address.h"
#include "base/clock.h"
#include "desk.h"
#include "ng/ng_service_impl.h"
#include "node/node_endpoint.h"
#include "patience.h"
#include "seed.h"

enum {
	HOSTS = 8,
	REPLY_MAX = 1 << 16,
	STEPS = 2000,
	LINES = 14,
	OF_HOST = 9,
	RINGING = 4,
	OF_CALL = 2
};

static struct scratch scratch;
static struct ng_service *sv;
static int host[HOSTS];
static unsigned cookies, refused_for_room, most_calls, refusals;

/* --- asking --- */

static void open_host(unsigned i)
{
	char text[64];
	struct sockaddr_storage own, to;

	ng_service_local(sv, text, sizeof(text));
	assert_int_equal(address_parse(text, &to), 0);
	(void)snprintf(text, sizeof(text), "127.0.0.%u:0", 2 + i);
	assert_int_equal(address_parse(text, &own), 0);
	host[i] = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	assert_true(host[i] >= 0);
	assert_int_equal(
		bind(host[i], (struct sockaddr *)&own, address_length(&own)),
		0);
	assert_int_equal(
		connect(host[i], (struct sockaddr *)&to, address_length(&to)),
		0);
}

/* The answer that has our cookie: JSON behind it. */
static json_t *heard(int fd, const char *cookie)
{
	static char text[REPLY_MAX];
	cr_ns end = clock_now() + PATIENCE;
	ssize_t n;
	json_t *reply;

	while ((n = recv(fd, text, sizeof(text) - 1, 0)) < 0) {
		if (clock_now() > end)
			fail_msg("no answer");
		(void)event_base_loop(scratch.rig.base, EVLOOP_NONBLOCK);
	}
	text[n] = '\0';
	assert_memory_equal(text, cookie, strlen(cookie));
	reply = json_loads(text + strlen(cookie), 0, NULL);
	assert_non_null(reply);
	return reply;
}

/* Takes @request. The answer is the caller's. */
static json_t *ask(json_t *request)
{
	char *body = json_dumps(request, JSON_COMPACT), cookie[24];
	int fd = host[cookies % HOSTS];
	size_t n = strlen(body) + sizeof(cookie);
	char *text = malloc(n);

	assert_non_null(text);
	(void)snprintf(cookie, sizeof(cookie), "%u ", cookies++);
	n = (size_t)snprintf(text, n, "%s%s", cookie, body);
	assert_int_equal(send(fd, text, n, 0), n);
	free(text);
	free(body);
	json_decref(request);
	return heard(fd, cookie);
}

/* --- what the node has, and what the books say --- */

struct sums {
	unsigned endpoints, node_calls, promises, lines, ringing;
	int64_t ppm;
	size_t octets;
};

static unsigned parties(void)
{
	const struct node_endpoint *ep =
		node_endpoint_after(scratch.rig.node, 0);
	unsigned n = 0;

	for (; ep; ep = node_endpoint_after(scratch.rig.node, ep->id))
		n++;
	return n;
}

static unsigned calls_by_list(void)
{
	const struct node_call *c = node_call_after(scratch.rig.node, 0);
	unsigned n = 0;

	for (; c; c = node_call_after(scratch.rig.node, node_call_id(c)))
		n++;
	return n;
}

static void add_stream(struct sums *to, const struct ng_stream *s)
{
	if (s->node_call)
		to->node_calls +=
			!!node_call_find(scratch.rig.node, s->node_call);
	assert_true(s->promised.ppm >= 0);
	assert_true(s->offered.list || !s->promised.calls);
	to->promises += s->promised.calls;
	to->ppm += s->promised.ppm;
}

static void add_dialog(struct sums *to, const struct ng_dialog *d)
{
	for (unsigned i = 0; i < SDP_LINES_MAX; i++) {
		assert_true(i < d->nlines || (!d->stream[i].node_call &&
					      !d->stream[i].promised.calls));
		add_stream(to, &d->stream[i]);
	}
	assert_int_equal(d->nlines, d->due.lines);
	assert_int_equal(d->rings, !d->known);
	assert_int_equal(d->due.rings, !d->known);
	to->ringing += d->rings;
	assert_int_equal(d->octets[0] + d->octets[1], d->due.octets);
	to->lines += d->due.lines;
	to->octets += d->due.octets;
}

static void add_side(struct sums *to, const struct ng_side *s)
{
	for (unsigned i = 0; i < SDP_LINES_MAX; i++) {
		if (!s->endpoint[i].id)
			continue;
		assert_non_null(node_endpoint_find(scratch.rig.node,
						   s->endpoint[i].id));
		to->endpoints++;
	}
}

static unsigned users_of(const struct ng_call *call, const struct ng_side *s)
{
	const struct ng_dialog *d;
	unsigned n = 0;

	LIST_FOREACH(d, &call->dialogs, link)
	n += (d->side[0] == s) + (d->side[1] == s);
	return n;
}

static void add_call(struct sums *to, const struct ng_call *call)
{
	const struct ng_dialog *d;
	const struct ng_side *s;

	assert_false(LIST_EMPTY(&call->dialogs));
	LIST_FOREACH(d, &call->dialogs, link)
	add_dialog(to, d);
	LIST_FOREACH(s, &call->sides, link)
	{
		assert_int_equal(s->users, users_of(call, s));
		add_side(to, s);
	}
}

static void check_books(void)
{
	struct ng_call *call = ng_call_first(&sv->calls);
	const struct ng_dialog *d;
	struct sums s = { 0 };
	unsigned n = 0, ringing = 0;

	for (; call; call = ng_call_next(call), n++)
		add_call(&s, call);
	assert_int_equal(sv->calls.n, n);
	assert_int_equal(parties(), s.endpoints);
	assert_int_equal(calls_by_list(), s.node_calls);
	if (s.node_calls > most_calls)
		most_calls = s.node_calls;
	assert_int_equal(sv->promised.calls, s.promises);
	assert_int_equal(sv->promised.ppm, s.ppm);
	assert_int_equal(sv->shares.lines, s.lines);
	assert_int_equal(sv->shares.octets, s.octets);
	TAILQ_FOREACH (d, &sv->ringing, ringing)
		ringing++;
	assert_int_equal(ringing, s.ringing);
	assert_true(s.lines <= LINES && s.endpoints <= 2 * LINES);
}

static void check_empty(void)
{
	assert_int_equal(sv->calls.n, 0);
	assert_true(RB_EMPTY(&sv->shares.tree));
	assert_int_equal(parties(), 0);
	assert_int_equal(calls_by_list(), 0);
	check_books();
	desk_wait_calls(&scratch, 0);
}

/* --- the test --- */

/* What is known of the parties, in order of ids. */
static void known_of_parties(char *out, size_t size)
{
	const struct node_endpoint *p =
		node_endpoint_after(scratch.rig.node, 0);
	size_t at = 0;

	for (; p; p = node_endpoint_after(scratch.rig.node, p->id)) {
		const struct endpoint_spec *s = p->spec;
		char address[64] = "";

		if (s->address.ss_family)
			(void)address_text(&s->address, address,
					   sizeof(address));
		at += (size_t)snprintf(
			out + at, size - at,
			"%u at %s: %s %u+%u %g %g %d %d %d\n", p->id, address,
			s->side.name ? s->side.name : "", s->side.pt, s->nalso,
			(double)s->ptime, (double)s->in_ptime, s->learn,
			s->hold, s->types.events);
		assert_true(at < size);
	}
}

/* What goes on, of all calls. */
static void going_on(char *out, size_t size)
{
	const struct node_call *c = node_call_after(scratch.rig.node, 0);
	size_t at = 0;

	for (; c; c = node_call_after(scratch.rig.node, node_call_id(c))) {
		at += (size_t)snprintf(out + at, size - at,
				       "%u:", node_call_id(c));
		for (unsigned i = 0; i < 2; i++) {
			struct node_stream_info s;

			node_stream_info(node_call_stream(c, i), &s);
			at += (size_t)snprintf(out + at, size - at, " %s %s %d",
					       s.in.codec, s.out.codec,
					       s.relay);
		}
		at += (size_t)snprintf(out + at, size - at, "\n");
		assert_true(at < size);
	}
}

static void one_step(uint64_t *seed)
{
	static char before[REPLY_MAX], after[REPLY_MAX];
	static char knew[REPLY_MAX], knows[REPLY_MAX];
	const struct node_call_promise promised = sv->promised;
	const struct ng_host_quota shares = sv->shares;
	json_t *reply, *request = asking_request(seed);
	char *text;

	before[0] = after[0] = knew[0] = knows[0] = '\0';
	going_on(before, sizeof(before));
	known_of_parties(knew, sizeof(knew));
	reply = ask(request);
	text = json_dumps(reply, JSON_COMPACT);
	going_on(after, sizeof(after));
	known_of_parties(knows, sizeof(knows));
	if (strcmp(json_string_value(json_object_get(reply, "result")), "ok") !=
	    0) {
		assert_string_equal(after, before);
		assert_string_equal(knows, knew);
		assert_int_equal(sv->promised.calls, promised.calls);
		assert_int_equal(sv->promised.ppm, promised.ppm);
		assert_int_equal(sv->shares.lines, shares.lines);
		assert_int_equal(sv->shares.octets, shares.octets);
		refusals++;
	}
	refused_for_room += strstr(text, "--ng-lines ") != NULL ||
			    strstr(text, "--ng-host-lines ") != NULL;
	free(text);
	json_decref(reply);
	check_books();
}

static void delete_all(void)
{
	for (unsigned i = 0; i < ASKING_CALLS; i++)
		json_decref(ask(json_pack("{s:s, s:s}", "command", "delete",
					  "call-id", asking_call(i))));
}

static void books_are_what_the_node_has(void **state)
{
	const struct ng_service_config cfg = {
		.base = scratch.rig.base,
		.service = scratch.service,
		.address = "127.0.0.1:0",
		.most = { LINES, OF_HOST, RINGING, OF_CALL },
	};
	uint64_t seed = test_seed();
	struct cr_err e = { "" };

	if (ng_service_open(&sv, &cfg, &e))
		fail_msg("%s", e.text);
	for (unsigned i = 0; i < HOSTS; i++)
		open_host(i);
	for (unsigned i = 0; i < TEST_TRIES(STEPS); i++) {
		one_step(&seed);
		if (test_below(&seed, 100))
			continue;
		delete_all();
		check_empty();
	}
	delete_all();
	check_empty();
	assert_true(sv->count.dialogs > 0);
	for (unsigned i = 0; i < HOSTS; i++)
		(void)close(host[i]);
	if (TEST_TRIES(STEPS) >= 1000)
		assert_true(refused_for_room > 0 && refusals > 0);
	ng_service_close(sv);
}

static int open_desk(void **state)
{
	desk_open(&scratch, &(struct desk_options){ .admission = true });
	return 0;
}

static int close_desk(void **state)
{
	desk_close(&scratch);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(books_are_what_the_node_has,
						open_desk, close_desk),
	};

	return cmocka_run_group_tests_name("ng books", tests, NULL, NULL);
}
