/** What descriptions of several endpoints share: values of their examples, and the headers that they read. */

export const EXAMPLE_USER = "3f0c2a9e-6d1b-4c7e-9a54-b2f1d8e0c6a7";
export const EXAMPLE_ADDRESS = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
export const EXAMPLE_TX = "0x9b1c7f0de2a34586b7c8d9e0f1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4";
export const EXAMPLE_TIME = "2026-01-05T09:30:00.000Z";

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
