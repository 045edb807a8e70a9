/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the parameters of job.submit to a job's configuration.
 */
#ifndef NODE_CONVERT_PARAMS_H
#define NODE_CONVERT_PARAMS_H

#include <jansson.h>

#include "convert/conversion.h"

/**
 * Read job.submit's @params: names, options, the output's kind. 0, or -EINVAL
 * with @e naming the member and the way out. Pure: whether the files are there
 * is jobs_submit()'s to say.
 */
int job_params(struct job_cfg *out, const json_t *params, struct cr_err *e);

#endif
