/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The methods of the control protocol, by what they are about. Each reads its
 * parameters, asks the node, and answers; every refusal says what to do about
 * it.
 */
#ifndef PROTOCOL_METHODS_H
#define PROTOCOL_METHODS_H

#include "protocol/service_impl.h"

/** A method: see struct rpc_method; @arg is the struct service. */
typedef json_t *service_method(void *arg, struct rpc_peer *peer,
			       const json_t *params, struct rpc_error *err);

/** call_methods.c */
service_method call_start, call_stop, call_change, call_query, call_list;
/** convert_methods.c */
service_method convert_start, convert_query, convert_cancel, convert_list;
/** scheduler_methods.c */
service_method scheduler_list, scheduler_set, scheduler_tune;

#endif
