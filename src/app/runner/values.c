/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the values of codec-runner's options mean, one by one and beside each
 * other; which CPUs do what, by the options and the machine. What is wrong goes
 * to o->from.faults.
 */
#include "app/runner/values.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "app/runner/options.h"
#include "base/address.h"
#include "base/cli.h"
#include "base/units.h"
#include "codecs/kernels/kernels.h"
#include "codecs/plugin.h"
#include "cr/sched.h"
#include "cr/time.h"
#include "engine/core.h"
#include "media/rx.h"
#include "node/node.h"
#include "node/placement.h"
#include "observe/log.h"
#include "transport/transport.h"
#include "udp/socket.h"

/** As given. */
struct placing_ask {
	const char *pin, *rx; /**< lists, "none", or NULL: not given */
	unsigned workers, receivers;
	int run_queues;
};

_Static_assert(CLI_MAX_LIST <= INTERFACES_MAX, "--interface fits");

static int wrong(struct cr_err *e, const char *why)
{
	return cr_fail(e, -EINVAL, "%s", why);
}

static int check_address(const char *text, struct cr_err *e)
{
	struct sockaddr_storage a;

	if (!address_parse(text, &a))
		return 0;
	return wrong(e, "must be a numeric address with a port, such as "
			"127.0.0.1:40000 or [::1]:40000");
}

/* --rtp. */
static int values_rtp(const char *text, struct node_config *to,
		      struct cr_err *e)
{
	return interface_parse_shared(&to->rtp, &to->rtp_advertised, text, e);
}

/* --interface, one of them. */
static int values_interface(const char *text, struct interface_cfg *to,
			    struct cr_err *e)
{
	return interface_parse(to, text, e);
}

/* --rtp-ports; NULL: no range. */
static int values_rtp_ports(const char *text, struct port_range *to,
			    struct cr_err *e)
{
	*to = (struct port_range){ 0, 0 };
	return text ? port_range_parse(to, text, e) : 0;
}

/* --tos; NULL: 0. */
static int values_tos(const char *text, unsigned *to, struct cr_err *e)
{
	*to = 0;
	return text ? tos_parse(text, to, e) : 0;
}

/* --control, but for the UDP port; off: no host. */
static int values_control(const char *text, struct transport_addr *to,
			  struct cr_err *e)
{
	struct sockaddr_storage a;

	if (!strcmp(text, "off"))
		return 0;
	if (address_parse(text, &a))
		return wrong(e, "must be a numeric address with a port, such "
				"as 127.0.0.1:5555, or off");
	return transport_addr_parse(to, text) ? wrong(e, "needs a port") : 0;
}

/* --control-socket; NULL: none. */
static int values_control_socket(const char *text, struct transport_addr *to,
				 struct cr_err *e)
{
	if (!text || !transport_addr_unix(to, text))
		return 0;
	return cr_fail(e, -EINVAL, "must be a path of 1 to %zu bytes",
		       TRANSPORT_PATH_MAX);
}

/* --http; NULL is fine. */
static int values_http(const char *text, struct cr_err *e)
{
	return text ? check_address(text, e) : 0;
}

/* --run-queues, as placement_request has it. */
static int values_run_queues(const char *text, int *to, struct cr_err *e)
{
	int64_t n;

	if (!strcmp(text, "auto"))
		n = PLACEMENT_QUEUES_AUTO;
	else if (!strcmp(text, "global"))
		n = PLACEMENT_QUEUES_GLOBAL;
	else if (!strcmp(text, "partitioned"))
		n = 1;
	else if (units_parse_int(text, &n) || n < 1 || n > CR_MAX_CPUS)
		return wrong(e, "must be auto, global, partitioned, or the "
				"number of workers that share a run queue");
	*to = (int)n;
	return 0;
}

/* --rx-coalesce, as rx_config has it. */
static int values_coalesce(const char *text, cr_ns *to, struct cr_err *e)
{
	cr_ns t;

	if (!strcmp(text, "auto"))
		t = RX_COALESCE_AUTO;
	else if (units_parse_time(text, &t) || t < 0 || t > 10 * CR_MS)
		return wrong(e, "must be auto, or a time with its unit from 0s "
				"to 10ms");
	*to = t;
	return 0;
}

/* It looks every 10 ms at most, four times within its time, and its own thread
 * has to wait for a CPU, too. */
bool values_of_kernel(const char *scheduler)
{
	static const char kernel[] = "kernel:";

	return !strncmp(scheduler, kernel, sizeof(kernel) - 1);
}

/* --realtime-workers, beside --scheduler. */
static int values_realtime_workers(bool wanted, const char *scheduler,
				   struct cr_err *e)
{
	if (wanted && values_of_kernel(scheduler))
		return wrong(e, "with a scheduler of the kernel calls have "
				"threads in place of workers; kernel:fifo and "
				"kernel:rr give those a priority");
	return 0;
}

/* --watchdog: 0, or no less than what its looks can tell apart. */
static int values_watchdog(int64_t limit, cr_ns *to, struct cr_err *e)
{
	if (limit && limit < 100 * CR_MS)
		return wrong(e, "must be 0, or from 100ms to 1h");
	*to = limit;
	return 0;
}

/* --max-age, as core_config has it. */
static int values_max_age(const char *text, cr_ns *to, struct cr_err *e)
{
	cr_ns t;

	if (!strcmp(text, "auto"))
		t = CORE_AGE_AUTO;
	else if (!strcmp(text, "none") || !strcmp(text, "never"))
		t = 0;
	else if (units_parse_time(text, &t) || t < 0 || t > 60 * CR_SEC)
		return wrong(e, "must be auto, none, or a time with its unit "
				"of up to 60s, such as 100ms");
	*to = t;
	return 0;
}

/* --shed-wait, as shed_rule.wait has it. */
static int values_shed_wait(const char *text, cr_ns *to, struct cr_err *e)
{
	cr_ns t;

	if (!strcmp(text, "auto"))
		t = 0;
	else if (units_parse_time(text, &t) || t < SHED_WAIT_MIN ||
		 t > SHED_WAIT_MAX)
		return wrong(e, "must be auto, or a time with its unit from "
				"1ms to 60s, such as 20ms");
	*to = t;
	return 0;
}

/* --records-interim: 0, or no more often than they are looked for. */
static int values_records_interim(int64_t each, cr_ns *to, struct cr_err *e)
{
	if (each && each < CR_SEC)
		return wrong(e, "must be 0, or from 1s to 24h");
	*to = each;
	return 0;
}

/* --node-name; NULL: the host's, which stays. */
static int values_node_name(const char *text, const char **to, struct cr_err *e)
{
	static char host[RECORD_NODE_MAX];
	size_t n;

	if (!text && (gethostname(host, sizeof(host)) || !*host))
		(void)snprintf(host, sizeof(host), "localhost");
	host[sizeof(host) - 1] = '\0';
	*to = text ? text : host;
	n = strlen(*to);
	for (size_t i = 0; i < n && text; i++)
		if (text[i] <= ' ' || text[i] > '~')
			n = 0;
	return n && n < RECORD_NODE_MAX
		       ? 0
		       : cr_fail(e, -EINVAL,
				 "must be 1 to %u printable characters of "
				 "ASCII, without blanks",
				 RECORD_NODE_MAX - 1);
}

/* --log-format, beside --log-file; NULL: none. */
static int values_log(const char *file, enum log_format format,
		      struct cr_err *e)
{
	return file && format == LOG_JOURNAL
		       ? wrong(e, "is for the journal: leave log-file out, or "
				  "take text or json")
		       : 0;
}

/* CPUs of --pin or --rx-cpu. NULL: not given, none, or wrong, which is told. */
static const struct cpu_list *cpus(struct runner_options *o, const char *option,
				   const char *text, struct cpu_list *list,
				   const struct cpu_list *allowed)
{
	struct cr_err e;

	if (!text || !strcmp(text, "none"))
		return NULL;
	if (!cpu_list_parse(list, text, &e) &&
	    !cpu_list_within(list, allowed, &e))
		return list;
	config_blame(&o->from, option, 0, e.text);
	return NULL;
}

static bool is_none(const char *text)
{
	return text && !strcmp(text, "none");
}

/* This thread gives CPUs up later, which is nothing to go by. */
static const struct cpu_list *allowed_at_start(void)
{
	static struct cpu_list allowed;

	if (!allowed.count)
		cpu_list_allowed(&allowed);
	return &allowed;
}

/*
 * Fill in what @ask means on this machine; what is wrong, into
 * o->from.faults. Main thread; first before it keeps off any CPU: which ones
 * may be used is looked up once.
 */
static void placing_do(struct runner_options *o, const struct placing_ask *ask)
{
	const struct cpu_list *allowed = allowed_at_start();
	struct node_config *node = &o->service.node;
	const struct placement *p = &o->placement;
	unsigned faults = o->from.faults.n;
	struct cpu_list pin, rx;
	struct placement_request request = {
		.workers = ask->workers,
		.receivers = ask->receivers,
		.run_queues = ask->run_queues,
		.pin_none = is_none(ask->pin),
		.rx_none = is_none(ask->rx),
		.pin = cpus(o, "pin", ask->pin, &pin, allowed),
		.rx = cpus(o, "rx-cpu", ask->rx, &rx, allowed),
	};
	struct placement_fault f;

	if (o->from.faults.n != faults)
		return;
	topology_read(&o->topology, TOPOLOGY_ROOT, allowed);
	if (placement_make(&o->placement, &o->topology, &request, &f)) {
		config_blame(&o->from, f.option, 0, f.why.text);
		return;
	}
	node->workers = p->workers;
	node->pin = p->pin.count ? p->pin.cpu : NULL;
	node->receivers = p->receivers;
	node->rx_cpu = p->rx_cpu;
	node->rq_cpus = p->rq_cpus;
	node->nrq = p->nrq;
	node->topology = &o->topology;
}

/* Value number @i of @option is wrong, if @err says so. */
static void judge_one(struct runner_options *o, const char *option, unsigned i,
		      int err, const struct cr_err *e)
{
	if (err)
		config_blame(&o->from, option, i, e->text);
}

static void judge(struct runner_options *o, const char *option, int err,
		  const struct cr_err *e)
{
	judge_one(o, option, 0, err, e);
}

static void fill_network(const struct raw *raw, struct runner_options *o)
{
	struct service_config *s = &o->service;
	struct node_config *n = &s->node;
	struct cr_err e;

	judge(o, "rtp", values_rtp(raw->rtp, n, &e), &e);
	for (unsigned i = 0; i < raw->interfaces.count; i++)
		judge_one(o, "interface", i,
			  values_interface(raw->interfaces.item[i],
					   &o->interfaces[i], &e),
			  &e);
	n->interfaces = o->interfaces;
	n->ninterfaces = raw->interfaces.count;
	judge(o, "rtp-ports",
	      values_rtp_ports(raw->rtp_ports, &n->rtp_ports, &e), &e);
	judge(o, "send-to", send_to_init(&o->send_to, raw->send_to, &e), &e);
	n->send_to = &o->send_to;
	n->rtcp_interval = raw->rtcp_interval;
	judge(o, "tos", values_tos(raw->tos, &n->tos, &e), &e);
	judge(o, "control", values_control(raw->control, &s->listen, &e), &e);
	s->listen.udp_port = (uint16_t)raw->udp_port;
	o->control_key = raw->control_key;
	(void)snprintf(o->control, sizeof(o->control), "%s", raw->control);
	judge(o, "control-socket",
	      values_control_socket(raw->socket, &s->listen_too, &e), &e);
	s->transport = (enum transport_kind)raw->sctp;
	s->peer_timeout = raw->peer_timeout;
	judge(o, "http", values_http(raw->http, &e), &e);
	o->http = raw->http;
	o->http_connections = (unsigned)raw->http_connections;
	o->http_control = raw->http_control;
	n->io = (enum udp_io)raw->io;
	judge(o, "rx-coalesce",
	      values_coalesce(raw->coalesce, &n->coalesce, &e), &e);
}

static void fill_ng(const struct raw *raw, struct runner_options *o)
{
	struct cr_err e;
	int err = 0;

	if (raw->ng_allow)
		err = networks_read(&o->acl, raw->ng_allow, &e);
	judge(o, "ng-allow", err, &e);
	o->ng = (struct ng_service_config){
		.address = raw->ng,
		.acl = raw->ng_allow ? &o->acl : NULL,
		.silence = raw->ng_silence,
		.patience = raw->ng_patience,
		.most = { (unsigned)raw->ng_lines, (unsigned)raw->ng_host_lines,
			  (unsigned)raw->ng_host_offers,
			  (unsigned)raw->ng_call_lines },
	};
	if (raw->ng && !err)
		judge(o, "ng", ng_listener_check(raw->ng, o->ng.acl, &e), &e);
}

static void fill_scheduling(const struct raw *raw, struct runner_options *o)
{
	struct node_config *n = &o->service.node;
	struct placing_ask ask = {
		.pin = raw->pin,
		.rx = raw->rx_cpu,
		.workers = (unsigned)raw->workers,
		.receivers = (unsigned)raw->receivers,
	};
	struct cr_err e;
	int err;

	judge(o, "scheduler", scheduler_check(raw->scheduler, &e), &e);
	n->scheduler = raw->scheduler;
	o->service.plugin_dir = raw->plugin_dir;
	err = values_run_queues(raw->run_queues, &ask.run_queues, &e);
	judge(o, "run-queues", err, &e);
	if (!err)
		placing_do(o, &ask);
	n->poll = raw->poll;
	n->send_each = raw->send_each;
	n->realtime = raw->realtime || raw->realtime_workers;
	n->realtime_workers = raw->realtime_workers;
	judge(o, "realtime-workers",
	      values_realtime_workers(raw->realtime_workers, raw->scheduler,
				      &e),
	      &e);
	judge(o, "watchdog", values_watchdog(raw->watchdog, &n->watchdog, &e),
	      &e);
}

static void fill_calls(const struct raw *raw, struct runner_options *o)
{
	struct service_config *s = &o->service;
	struct node_config *n = &s->node;
	struct cr_err e;

	n->admission = raw->admission;
	n->capacity_ppm = raw->capacity;
	n->max_calls = (unsigned)raw->max_calls;
	n->memory_reserve = (uint64_t)raw->memory_mib << 20;
	n->ring_frames = (unsigned)raw->ring;
	judge(o, "max-age", values_max_age(raw->max_age, &n->max_age, &e), &e);
	n->expired = (enum core_expired)raw->expired;
	n->shed.kind = (enum shed_kind)raw->shed;
	judge(o, "shed-wait",
	      values_shed_wait(raw->shed_wait, &n->shed.wait, &e), &e);
	s->grace = raw->grace;
	s->drain_limit = raw->drain_timeout;
	o->drain_timeout = raw->drain_timeout;
	n->convert = (struct node_convert){
		.dir = raw->spool,
		.max_bytes = (uint64_t)raw->convert_mib << 20,
		.max = (unsigned)raw->max_conversions,
		.running = (unsigned)raw->conversions,
		.floor = (unsigned)raw->convert_floor,
	};
}

static void fill_telling(const struct raw *raw, struct runner_options *o)
{
	struct cr_err e;

	o->trace = raw->trace;
	o->trace_overwrite = raw->overwrite;
	o->service.trace_dir = raw->trace_dir;
	o->service.node.trace_records = (unsigned)raw->trace_records;
	o->records = raw->records;
	judge(o, "records-interim",
	      values_records_interim(raw->records_interim,
				     &o->service.records_interim, &e),
	      &e);
	judge(o, "node-name",
	      values_node_name(raw->node_name, &o->service.node.name, &e), &e);
	o->log_file = raw->log_file;
	o->log_format = raw->log_format;
	o->log_level = raw->log_level;
	judge(o, "log-format",
	      values_log(raw->log_file, (enum log_format)raw->log_format, &e),
	      &e);
	o->show_codecs = raw->codecs;
	o->show_schedulers = raw->schedulers;
	o->json = raw->json;
	o->plan = raw->plan;
	o->seconds = raw->seconds;
	o->sandbox = (enum sandbox)raw->sandbox;
	o->check = raw->check_config;
	o->dump = raw->dump_config;
}

void raw_load(const struct raw *raw, struct runner_options *o)
{
	struct cr_err e;

	if (raw->user)
		judge(o, "user", user_find(&o->user, raw->user, &e), &e);
	for (unsigned i = 0; i < raw->plugins.count; i++)
		judge_one(o, "codec", i,
			  codec_plugin_load(raw->plugins.item[i], &e), &e);
	judge(o, "codec-kernels",
	      cr_kernels_choose((enum cr_kernels)raw->kernels, &e), &e);
}

void raw_fill(const struct raw *raw, struct runner_options *o)
{
	fill_network(raw, o);
	fill_ng(raw, o);
	fill_scheduling(raw, o);
	fill_calls(raw, o);
	fill_telling(raw, o);
}
