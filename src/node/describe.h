/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is built in, as JSON: codecs and schedulers.
 */
#ifndef NODE_DESCRIBE_H
#define NODE_DESCRIBE_H

#include <jansson.h>

json_t *describe_codecs(void);
json_t *describe_schedulers(void);

#endif
