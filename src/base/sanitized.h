/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is this a build with AddressSanitizer or ThreadSanitizer?
 */
#ifndef BASE_SANITIZED_H
#define BASE_SANITIZED_H

/* gcc says so by macros, clang by features */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0 /**< also in #if */
#endif

#endif
