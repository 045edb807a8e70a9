/* SPDX-License-Identifier: Apache-2.0 */
/*
 * codec-runner's command line.
 */
#ifndef APP_RUNNER_OPTIONS_H
#define APP_RUNNER_OPTIONS_H

#include "base/topology.h"
#include "ng/service.h"
#include "node/placement.h"
#include "protocol/service.h"

struct runner_options {
	struct service_config service; /**< without event base and callbacks */
	struct topology topology;
	struct placement placement;
	struct interface_cfg interfaces[INTERFACES_MAX]; /**< the service's */
	char control[96]; /**< as given, for people */
	const char *http; /**< NULL: no live view */
	bool http_control;
	/** Without event base and service; no address: no NG. */
	struct ng_service_config ng;
	const char *trace;
	bool trace_overwrite;
	const char *records; /**< NULL: none */
	const char *log_file;
	int64_t log_level;
	int64_t drain_timeout;
	bool show_codecs, show_schedulers, json;
	int64_t seconds; /**< ns that --codecs may take */
};

/** Parse, check, fill in what follows from the machine; exits with 2 and a
 * message when something is wrong, with 0 after --help and --version. */
void runner_options_parse(struct runner_options *o, int argc, char **argv);

#endif
