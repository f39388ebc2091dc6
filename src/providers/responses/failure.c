/* SPDX-License-Identifier: MIT */
/* The meaning of error codes inside a Responses stream (providers 21-25). error_from_http sets the
 * text and the retry delay; a code known here determines the class, so that a policy refusal is
 * never retried, and an overloaded server is. */
#include "providers/responses/responses.h"

#include "base/limits.h"
#include "base/utf8.h"

#include <stdio.h>

static const struct code_row {
    const char *code; /* "*suffix": any code that ends so */
    enum err_code means;
} code_rows[] = {
    {"server_error", ERR_PROVIDER},
    {"server_is_overloaded", ERR_PROVIDER},
    {"rate_limit_exceeded", ERR_RATE},
    {"slow_down", ERR_RATE},
    {"context_length_exceeded", ERR_OVERFLOW},
    {"insufficient_quota", ERR_QUOTA},
    {"usage_limit_reached", ERR_QUOTA},
    {"usage_not_included", ERR_QUOTA},
    {"model_not_found", ERR_NO_MODEL},
    {"invalid_api_key", ERR_AUTH},
    {"invalid_prompt", ERR_BAD_REQUEST},
    {"invalid_request_error", ERR_BAD_REQUEST},
    {"*_policy", ERR_BAD_REQUEST},
    {"*_policy_violation", ERR_BAD_REQUEST},
};

static bool code_is(struct str code, const char *row)
{
    return row[0] == '*' ? str_ends(code, str_of(row + 1)) : str_is(code, row);
}

/* False when the code is unknown. */
static bool code_means(struct str code, enum err_code *ret_means)
{
    for (size_t i = 0; i < ARRAY_LEN(code_rows); i++) {
        if (code_is(code, code_rows[i].code)) {
            *ret_means = code_rows[i].means;
            return true;
        }
    }
    if (str_find(code, STR("image")) == SIZE_MAX)
        return false;
    *ret_means = ERR_BAD_REQUEST; /* a large family: invalid_image, image_too_large, ... */
    return true;
}

/* Inserts a text before the server's message. */
static void begin_with(struct error *err, const char *words)
{
    char text[sizeof err->text];
    if (!err->said)
        return;
    snprintf(text, sizeof text, "%s%s", words, err->text + err->said);
    struct str cut = utf8_cut(str_of(text), sizeof text - 1);
    memcpy(err->text, cut.p, cut.n);
    err->text[cut.n] = '\0';
    err->said = strlen(words);
}

void responses_error(struct error *err, struct str body, bool is_response)
{
    AUTO(json) struct json json = JSON_INIT;
    struct error ignored;
    error_from_http(err, "OpenAI", 200, body, STR_NONE, STR_NONE);
    begin_with(err, is_response ? "OpenAI response failed: " : "OpenAI stream failed: ");
    if (!json_parse(body, JSON_FIX_SURROGATES | JSON_FIX_UTF8, LIMIT_JSON_DEPTH, &json, &ignored))
        return;
    yyjson_val *error = json_get(json.root, "error");
    yyjson_val *from = yyjson_is_obj(error) ? error : json.root;
    if (!code_means(json_get_str(from, "code"), &err->code))
        code_means(json_get_str(from, "type"), &err->code);
}
