/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The methods of the control protocol (protocol/tables/method.h), by what they
 * are about. Each reads its parameters, asks the node, and answers; every
 * refusal says what to do about it.
 */
#ifndef PROTOCOL_METHODS_H
#define PROTOCOL_METHODS_H

#include "protocol/service_impl.h"
#include "protocol/tables/method.h"

/** A method: see struct rpc_method; @arg is the struct service. In methods.c
 * and call_methods.c, conversation_methods.c, convert_methods.c,
 * endpoint_methods.c, scheduler_methods.c. */
typedef json_t *service_method(void *arg, struct rpc_peer *peer,
			       const json_t *params, struct rpc_error *err);

#define SERVICE_METHOD(id, name, kind, params, result, help)                   \
	service_method method_##id;
METHODS(SERVICE_METHOD)
#undef SERVICE_METHOD

#endif
