/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What codec-runner's options mean; what is wrong goes to o->from.faults.
 */
#include "app/runner/raw.h"

#include <stdio.h>

#include "app/runner/placing.h"
#include "app/runner/values.h"
#include "codecs/kernels/kernels.h"
#include "codecs/plugin.h"

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
