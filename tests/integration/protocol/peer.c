/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client in its own process, made to be killed.
 *
 *   service_peer HOST SCTP_PORT UDP_PORT METHOD PARAMS
 *	asks, prints the reply as one line of JSON, then does nothing for ever
 */
#include <stdlib.h>
#include <string.h>

#include "rpc/client.h"

int main(int argc, char **argv)
{
	struct rpc_client_config cfg = { .kind = TRANSPORT_USER };
	json_t *result = NULL, *error = NULL;
	struct rpc_client *c = NULL;
	struct cr_err e = { "" };
	int rc;

	if (argc != 6)
		return 2;
	(void)snprintf(cfg.to.host, sizeof(cfg.to.host), "%s", argv[1]);
	cfg.to.sctp_port = (uint16_t)atoi(argv[2]);
	cfg.to.udp_port = (uint16_t)atoi(argv[3]);
	cfg.base = event_base_new();
	rc = rpc_client_open(&c, &cfg, &e);
	if (!rc)
		rc = rpc_client_ask(c, argv[4], json_loads(argv[5], 0, NULL),
				    60000, &result, &error, &e);
	if (rc < 0)
		(void)fprintf(stderr, "service_peer: %s\n", e.text);
	else
		(void)json_dumpf(rc ? error : result, stdout, JSON_COMPACT);
	(void)putchar('\n');
	(void)fflush(stdout);
	if (!rc)
		(void)event_base_dispatch(cfg.base);
	json_decref(result);
	json_decref(error);
	rpc_client_close(c);
	event_base_free(cfg.base);
	return rc != 0;
}
