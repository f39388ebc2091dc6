/* SPDX-License-Identifier: MIT */
/* JSON Schema: checks a value against a schema document (draft 2020-12 and 07).
 *
 * Every keyword that can reject a value is either checked or refused by schema_is_usable, so that a
 * value is never called valid because a keyword was not understood.  References stay inside the
 * document.  Annotations (`title`, `default`, `format` ...) reject nothing.
 */
#ifndef TRIVET_BASE_SCHEMA_H
#define TRIVET_BASE_SCHEMA_H

#include "base/json.h"

/* Whether the schema can be checked here.  ERR_INVALID names the place and what is wrong with it.
 */
bool schema_is_usable(yyjson_val *schema, struct error *err);

/* ERR_INVALID names the place in the value and what it must be: "/items/2/name must be a string".
 */
bool schema_check(yyjson_val *schema, yyjson_val *value, struct error *err);

#endif
