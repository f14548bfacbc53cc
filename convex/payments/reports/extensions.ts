/**
 * x402's extensions that the 402 declares beside its terms. ASCII, like its whole header, and short, because clients
 * send it back.
 */

const DIALECT = "https://json-schema.org/draft/2020-12/schema";
const text = { type: "string" } as const;

/** For catalogues: how to call the endpoint, and what it answers. */
const bazaar = {
  info: {
    input: { type: "http", method: "POST", bodyType: "json", body: { token: "BTC" } },
    output: {
      type: "json",
      example: {
        success: true,
        token: "BTC",
        result: { shortSummary: "Bitcoin leads a broad advance", marketOutlook: "bullish" },
      },
    },
  },
  schema: {
    $schema: DIALECT,
    type: "object",
    properties: {
      input: {
        type: "object",
        properties: {
          type: { ...text, const: "http" },
          method: { ...text, enum: ["POST"] },
          bodyType: { ...text, enum: ["json"] },
          body: { type: "object", properties: { token: text, userId: text }, additionalProperties: false },
        },
        required: ["type", "method", "bodyType", "body"],
        additionalProperties: false,
      },
      output: { type: "object", properties: { type: text, example: { type: "object" } }, required: ["type"] },
    },
    required: ["input"],
  },
};

/** Length and characters of an identifier. */
export const IDENTIFIER = { minLength: 16, maxLength: 128, pattern: "^[a-zA-Z0-9_-]+$" } as const;
export const PAYMENT_IDENTIFIER = "payment-identifier";

const identifier = {
  info: { required: false },
  schema: {
    $schema: DIALECT,
    type: "object",
    properties: { required: { type: "boolean" }, id: { ...text, ...IDENTIFIER } },
    required: ["required"],
  },
};

export const EXTENSIONS = { bazaar, [PAYMENT_IDENTIFIER]: identifier };

/** The service, for catalogues. */
export const SERVICE = {
  serviceName: "Market research and signals",
  tags: ["crypto", "market research", "signals", "base"],
};
