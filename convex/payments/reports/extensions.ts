/** What the 402 declares besides its terms: x402's extensions. ASCII, as all of its header is, and short: clients send it back. */

const DIALECT = "https://json-schema.org/draft/2020-12/schema";
const text = { type: "string" } as const;

/** For catalogues: how the endpoint is called, and what it answers. */
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

/** The shortest and the longest identifier, and what it is made of. */
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

/** Of the service, for catalogues. */
export const SERVICE = {
  serviceName: "Market research and signals",
  tags: ["crypto", "market research", "signals", "base"],
};
