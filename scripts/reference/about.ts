import { TITLE } from "../../convex/lib/version";

/** Texts of the API document that belong to no endpoint. Prose is plain text, with `code` in backticks. */

export const about = {
  info: {
    title: TITLE,
    summary: "Crypto market data, research shifts, paid reports and wallets on Base, over HTTP.",
    description: [
      "Every endpoint speaks JSON, for any origin. A GET takes its fields as query parameters, a POST as a JSON object, whatever its content type; where both are offered they take the same fields. Unknown fields are ignored, except where money moves: there they are a 400 that names them. Blanks around texts are cut off, and unless a field says otherwise an optional one that is empty or null counts as left out.",
      "`userId` is a bearer secret: it is all that identifies its owner here, so whoever knows it controls the wallet. Choose a long random one, keep it like a password, and never put it where others can read it. Once it has an owner, a signed-in user of the web application, orders and delivery settings need that owner's token or their tap in a linked chat (202 while it is waited for); reads, research and shifts go on by `userId` alone.",
      "Amounts of tokens are strings of digits in the token's smallest unit (wei for ETH). Prices and values are numbers in USD, changes are percent, `Bps` are hundredths of a percent. Moments are ISO 8601 in UTC, or epoch milliseconds (ms) where the field says so.",
      'A failure is `{"error": "what was wrong"}` with the status that fits. An unknown path is 404; another method is 405, with the allowed ones in `Allow`. Every answer comes within 28 seconds and has its own `X-Request-Id`: tell it when something went wrong.',
      "What costs the service something is counted per user and per network address: 30 requests of one address may wait at the same time, and 120 a minute may cost something. A 429 says whose limit it is and what is used up, and `Retry-After` when to come back. What the providers may cost the service in a day is bounded, too: one user or address has a fifth of the day's budget, and all callers together three fifths. A cached answer counts against nothing, and whoever asks for work that is under way joins it.",
    ].join("\n\n"),
    license: { name: "Apache License 2.0", identifier: "Apache-2.0" },
  },
  /** By the tag's name, in the list of domains. */
  tags: {
    pages:
      "For people: HTML that is readable without its script, whatever is accepted. A failure of any GET but 402 is a page, too, for browsers: callers that send `Sec-Fetch-Mode: navigate`, or accept `application/xhtml+xml`.",
    market: "Live prices and their history, trending coins, and figures of single tokens.",
    chat: "Agents that answer with the live market in view.",
    research: "Reports at once, and 8-hour shifts that report as they go.",
    signals: "Daily trading signals for BTC and ETH, and how they turned out.",
    whales: "Large transfers and exchange flows.",
    alerts:
      "What users want to be alerted to: prices, funding rates, whales, digests; by the bot, and by signed webhooks.",
    payments: "The paid report, and the webhook that credits deposits.",
    messenger: "Where cards and reports are delivered.",
    wallets: "Wallets on Base: their balances, their past, and trying them on paper.",
    orders: "What moves money: swaps, sends, gas, and standing orders.",
    social: "Trade commands in social-media mentions.",
    compat: "Names that earlier clients call.",
    service: "The service itself: its health and this reference.",
  } as Readonly<Record<string, string | undefined>>,
};
