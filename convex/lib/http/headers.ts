/** Request headers that several endpoints read, with their descriptions in the API document. */

export const IDEMPOTENCY_KEY = {
  "Idempotency-Key":
    "1 to 200 characters of your own choice. Repeating a call with the same key returns its first outcome instead of doing it again; with another request it is 409.",
};

/** How endpoints that read this header refuse. */
export const USER_TOKEN_ERRORS = {
  unauthorized: "The token or the key is not valid.",
  forbidden:
    "The token belongs to another signed-in user; or only the `userId` of an owned account was shown, which neither moves money nor sets delivery. The message says what to do.",
};

export const USER_TOKEN = {
  Authorization:
    "`Bearer <token>`: the web application's token (JWT) of the owner of this `userId`, or a key that the owner has made. Without it, a `userId` that has an owner still reads and researches; its orders are asked of the owner, and delivery settings are refused. Not looked at for a `userId` without an owner.",
};

/** Header of the answer to a repeated request. */
export const REPLAYED = {
  "Idempotent-Replayed":
    "`true` if an earlier request with this idempotency key had this outcome, and this one has moved nothing.",
} as const;
