/* SPDX-License-Identifier: MIT */
#include "auth/jwt.h"

#include "base/base64.h"
#include "base/json.h"

enum { TOKEN_BYTES = 64 << 10, CLAIMS_DEPTH = 32 };

/* base64url without padding, as JWTs have it; padding is tolerated. */
static bool decode(struct str text, struct buf *out)
{
    AUTO(buf) struct buf plain = BUF_INIT;
    while (text.n && text.p[text.n - 1] == '=')
        text.n--;
    for (size_t i = 0; i < text.n; i++)
        buf_addc(&plain, text.p[i] == '-' ? '+' : text.p[i] == '_' ? '/' : text.p[i]);
    while (plain.n % 4)
        buf_addc(&plain, '=');
    return base64_get(out, buf_str(&plain));
}

static struct str first_of(struct str a, struct str b, struct str c)
{
    return a.n ? a : b.n ? b : c.n ? c : STR_NONE;
}

static int64_t read_expiry(yyjson_val *root)
{
    double seconds = json_get_num(root, "exp", 0);
    return seconds > 0 && seconds < 1e11 ? (int64_t)(seconds * 1000) : 0;
}

static void read_claims(yyjson_val *root, struct arena *a, struct claims *ret)
{
    yyjson_val *auth = json_get(root, "https://api.openai.com/auth");
    yyjson_val *profile = json_get(root, "https://api.openai.com/profile");
    yyjson_val *organization = yyjson_arr_get_first(json_get(root, "organizations"));
    const char *name = "chatgpt_account_id";
    struct str account = first_of(json_get_str(root, name), json_get_str(auth, name),
                                  json_get_str(organization, "id"));
    *ret = (struct claims){
        .account_id = arena_str(a, account),
        .user_id = arena_str(a, first_of(json_get_str(auth, "chatgpt_user_id"),
                                         json_get_str(auth, "user_id"), STR_NONE)),
        .email = arena_str(
            a, first_of(json_get_str(root, "email"), json_get_str(profile, "email"), STR_NONE)),
        .plan = arena_str(a, first_of(json_get_str(auth, "chatgpt_plan_type"), STR_NONE, STR_NONE)),
        .is_fedramp = json_get_bool(auth, "chatgpt_account_is_fedramp", false),
        .expires_ms = read_expiry(root),
    };
}

bool jwt_claims(struct str token, struct arena *a, struct claims *ret)
{
    AUTO(buf) struct buf payload = BUF_INIT;
    AUTO(json) struct json doc = JSON_INIT;
    struct str head, middle;
    struct error ignored;
    if (token.n > TOKEN_BYTES)
        return false;
    struct str signature = str_split(str_split(token, '.', &head), '.', &middle);
    if (!signature.p || !decode(middle, &payload) ||
        !json_parse(buf_str(&payload), 0, CLAIMS_DEPTH, &doc, &ignored) || !yyjson_is_obj(doc.root))
        return false;
    read_claims(doc.root, a, ret);
    return true;
}
