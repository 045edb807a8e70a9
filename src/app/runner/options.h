/* SPDX-License-Identifier: Apache-2.0 */
/*
 * codec-runner's options: of its file, and of its command line.
 */
#ifndef APP_RUNNER_OPTIONS_H
#define APP_RUNNER_OPTIONS_H

#include "base/topology.h"
#include "codecs/kernels/kernels.h"
#include "config/config.h"
#include "ng/ng_service.h"
#include "node/placement.h"
#include "protocol/key.h"
#include "protocol/service.h"
#include "sandbox/sandbox.h"

enum sandbox { SANDBOX_ON, SANDBOX_STRICT, SANDBOX_OFF };

struct runner_options {
	struct service_config service; /**< without event base and callbacks */
	struct topology topology;
	struct placement_request place; /**< workers, receivers, run queues */
	struct placement placement;
	struct interface_cfg interfaces[INTERFACES_MAX]; /**< the service's */
	char control[96];	 /**< as given, for people */
	const char *control_key; /**< NULL: the user's own file */
	char key[KEY_SIZE];	 /**< the service's */
	const char *http;	 /**< NULL: no live view */
	unsigned http_connections;
	bool http_control;
	/** Without event base and service; no address: no NG. */
	struct ng_service_config ng;
	const char *trace;
	const char *records; /**< NULL: none */
	const char *log_file;
	struct user user; /**< no name: as it is */
	enum sandbox sandbox;
	enum cr_kernels kernels;
	int64_t log_format, log_level;
	bool show_codecs, show_schedulers, json;
	int64_t seconds;		    /**< ns that --codecs may take */
	const char *plan;		    /**< a mix of calls, or NULL */
	const char *replicate, *standby_of; /**< NULL: none */
	cr_ns replicate_interval;
	bool supervise;		/**< by --supervise, in the parent only */
	const char *upgrade_to; /**< the same; NULL: nothing else */
	bool check, dump, show_example, show_page;
	struct networks acl;	/**< those of ng        */
	struct send_to send_to; /**< the node's */
	struct config from;	/**< the sources of it, which own its texts */
};

/**
 * Read, check, fill in what follows from the machine; load codecs. Exits with 2
 * and messages when something is wrong, with 0 after what only prints options
 * (--help, --check-config, ...). @argv has to stay. First thing in main().
 */
void runner_options_parse(struct runner_options *o, int argc, char **argv);

/** Read all of that again as it is now, into @o. Nothing is loaded. 0; or
 * -EINVAL: o->from.faults says why. runner_options_free() it. */
int runner_options_again(struct runner_options *o);

void runner_options_free(struct runner_options *o);

/** Does @argv have --supervise? *@upgrade_to: of --upgrade-to, or NULL. */
bool runner_supervised(int argc, char **argv, const char **upgrade_to);

/** Does --scheduler name one of the kernel's? They give priorities to threads
 * of calls. */
bool runner_uses_kernel(const struct runner_options *o);

#endif
