import { require, matches, same, type Row } from "../row";

/** The rules for every answer: form, CORS, errors, the order of checks, missing keys, upstream failures. */

const SWAP = { fromToken: "ETH", toToken: "USDC", amount: "1000" };
const SEND = { toAddress: "0x70997970C51812dc3A010C7d01b50e0d17dc79C8", token: "ETH", amount: "1000" };

/** Every required field of every endpoint, with an otherwise complete request. */
const REQUIRED: readonly [path: string, field: string, rest: Record<string, string>][] = [
  ["/mcp/chat", "question", {}],
  ["/mcp/token", "question", {}],
  ["/mcp/research/start", "userId", { token: "BTC" }],
  ["/mcp/research/stop", "userId", {}],
  ["/mcp/wallet/create", "userId", {}],
  ["/mcp/defi/connect", "userId", {}],
  ["/user/messenger", "userId", { messengerChatId: "1" }],
  ["/messenger/connect", "linkToken", { messengerId: "1", messengerUsername: "a" }],
  ["/messenger/connect", "messengerId", { linkToken: "ABCDEFGH", messengerUsername: "a" }],
  ...["userId", "fromToken", "toToken", "amount"].map((field): [string, string, Record<string, string>] => [
    "/mcp/defi/swap",
    field,
    { userId: "alice", ...SWAP },
  ]),
  ...["userId", "toAddress", "token", "amount"].map((field): [string, string, Record<string, string>] => [
    "/mcp/defi/send",
    field,
    { userId: "alice", ...SEND },
  ]),
];
const REQUIRED_QUERY: readonly [path: string, field: string][] = [
  ["/mcp/token", "question"],
  ["/mcp/research/status", "userId"],
  ["/mcp/research/report", "token"],
  ["/mcp/wallet/balance", "userId"],
  ["/mcp/defi/portfolio", "userId"],
  ["/mcp/defi/connect", "userId"],
  ["/messenger/wallet", "messengerId"],
];
const ALLOWED = ["authorization", "content-type", "x-payment", "payment-signature", "idempotency-key", "*"];
const EXPOSED = ["x-request-id", "retry-after", "x-payment-response", "payment-required", "payment-response"];
/** The methods of each path. The six paths without a documented method answer GET (query) and POST (JSON body) alike. */
const METHODS: Readonly<Record<string, readonly string[]>> = {
  GET: [
    ...["/mcp/market", "/mcp/research/status", "/mcp/research/report", "/mcp/wallet/balance"],
    ...["/messenger/wallet", "/mcp/defi/portfolio"],
  ],
  POST: [
    ...["/mcp/chat", "/mcp/research", "/mcp/research/start", "/mcp/research/stop", "/agent/research/paid"],
    ...["/mcp/wallet/create", "/user/messenger", "/messenger/connect", "/indexer/deposit"],
    ...["/mcp/defi/swap", "/mcp/defi/send"],
  ],
  "GET, POST": [
    ...["/mcp/token", "/mcp/signals/latest", "/mcp/signals/history", "/mcp/signals/recap"],
    ...["/mcp/whale-alerts", "/mcp/defi/connect"],
  ],
};

/** The required keys of the service, and the requests that need each; `null` is a GET. */
const KEYS: Readonly<Record<string, readonly [path: string, body: Record<string, string> | null][]>> = {
  LLM_GATEWAY_API_KEY: [
    ["/mcp/chat", { question: "What moves the market?" }],
    ["/mcp/research", { token: "ETH" }],
    ["/mcp/research/start", { userId: "alice" }],
  ],
  SENTIMENT_API_KEY: [["/mcp/research/start", { userId: "alice" }]],
  WALLET_ENCRYPTION_KEY: [
    ["/mcp/defi/connect", { userId: "alice" }],
    ["/mcp/wallet/create", { userId: "alice" }],
    ["/mcp/defi/swap", { userId: "alice", ...SWAP }],
    ["/mcp/defi/send", { userId: "alice", ...SEND }],
    ["/mcp/defi/portfolio?userId=alice", null],
  ],
  SWAP_API_KEY: [["/mcp/defi/swap", { userId: "alice", ...SWAP }]],
  PLATFORM_WALLET_ADDRESS: [["/agent/research/paid", { userId: "alice", token: "BTC" }]],
};

export const conventions: Row[] = [
  {
    id: "required-fields",
    says: "400: missing required fields; the error names the field",
    check: async ({ get, post }) => {
      for (const [path, field, rest] of REQUIRED) {
        const error = (await post(path, { ...rest, [field]: undefined })).error(400);
        require(error.includes(field), `${path} without ${field}: ${error}`);
      }
      for (const [path, field] of REQUIRED_QUERY) {
        const error = (await get(path)).error(400);
        require(error.includes(field), `${path} without ${field}: ${error}`);
      }
    },
  },
  {
    id: "error-form",
    says: 'Every error body is { "error": <string description> }; 404: resource not found; GET /mcp/research/report: the latest report for that token, or 404 while there is none; a slash at the end of a path is ignored',
    check: async ({ get, post, send, fresh }) => {
      (await get("/no/such/path")).error(404);
      (await get("/mcp/wallet/balance", { userId: fresh() })).error(404);
      (await get("/mcp/research/report", { token: "ZZZZQQ" })).error(404);
      (await get("/mcp/research/status")).error(400);
      (await post("/mcp/market", {})).error(405);
      (await post("/mcp/chat", { question: "Hi", agentId: "nobody-default" })).error(404);
      (await send("POST", "/mcp/chat", { body: "{" })).error(400);
      same("status of /health/", (await get("/health/")).status, 200);
      (await get("/mcp/research/status/")).error(400);
    },
  },
  {
    id: "every-response",
    says: "Every response: JSON, Access-Control-Allow-Origin: *, X-Request-Id",
    check: async ({ get, post, send }) => {
      const answers = [
        ...[await get("/health"), await get("/mcp/market"), await get("/nowhere")],
        ...[await get("/mcp/research/status"), await post("/mcp/market", {})],
        await post("/agent/research/paid", {}),
      ];
      for (const { headers, status } of answers) {
        same(`CORS of ${status}`, headers.get("access-control-allow-origin"), "*");
        same(`type of ${status}`, headers.get("content-type")?.split(";")[0], "application/json");
      }
      const preflights = [await send("OPTIONS", "/mcp/chat"), await send("OPTIONS", "/mcp/chat")];
      const ids = [...answers, ...preflights].map(({ headers }) => headers.get("x-request-id"));
      require(ids.every(Boolean) && new Set(ids).size === ids.length, `${ids.join()}`);
    },
  },
  {
    id: "preflight",
    says: "OPTIONS on any path: 204, allows Authorization, Content-Type, X-Payment, Payment-Signature, Idempotency-Key, * to every origin, and GET, POST, PUT, DELETE (a wrong one is a readable 405); exposes X-Request-Id, Retry-After, X-Payment-Response, Payment-Required, Payment-Response",
    check: async ({ send, get }) => {
      for (const path of ["/agent/research/paid", "/mcp/chat", "/nowhere"]) {
        const requestHeaders = { Origin: "https://example.com", "Access-Control-Request-Method": "POST" };
        const { status, headers, text } = await send("OPTIONS", path, { headers: requestHeaders });
        same(`status of ${path}`, status, 204);
        same("body", text, "");
        same("Access-Control-Allow-Origin", headers.get("access-control-allow-origin"), "*");
        const allowed = (headers.get("access-control-allow-headers") ?? "").toLowerCase().split(/\s*,\s*/);
        for (const name of ALLOWED)
          require(allowed.includes(name), `${path} does not allow ${name}: ${allowed.join()}`);
        const methods = headers.get("access-control-allow-methods") ?? "";
        for (const one of ["GET", "POST", "PUT", "DELETE"])
          require(methods.includes(one), `${one} is not allowed: ${methods}`);
      }
      matches("The error", (await send("PUT", "/mcp/chat")).error(405), /POST/);
      const exposed = (await get("/health")).headers.get("access-control-expose-headers") ?? "";
      for (const name of EXPOSED)
        require(exposed.toLowerCase().includes(name), `${name} is not exposed: ${exposed}`);
    },
  },
  {
    id: "methods",
    says: "known routes with another method: 405 with Allow; the six paths whose method is not shown answer GET and POST alike",
    check: async ({ send }) => {
      for (const [methods, paths] of Object.entries(METHODS))
        for (const path of paths) {
          const answer = await send("DELETE", path);
          answer.error(405);
          const allow = (answer.headers.get("allow") ?? "").split(/\s*,\s*/);
          for (const method of methods.split(", "))
            require(allow.includes(method), `${path} allows ${allow.join()}`);
        }
    },
  },
  {
    id: "browser-pages",
    says: "A browser (Accept: text/html) gets pages, also for errors; /docs is HTML for everybody",
    check: async ({ send, get }) => {
      const accept = { headers: { Accept: "text/html,application/xhtml+xml" } };
      for (const [path, expected] of [
        ["/", 200],
        ["/record", 200],
        ["/research", 200],
        ["/whales", 200],
        ["/status", 200],
        ["/nowhere", 404],
      ] as const) {
        const { status, headers } = await send("GET", path, accept);
        same(`status of ${path}`, status, expected);
        same(`type of ${path}`, headers.get("content-type")?.split(";")[0], "text/html");
      }
      same("type of /docs", (await get("/docs")).headers.get("content-type")?.split(";")[0], "text/html");
    },
  },
  {
    id: "bodies",
    says: "The body is parsed as JSON whatever its content type; no body is {}; invalid JSON or a body that is no object: 400; more than 1 MiB: 413",
    check: async ({ send, post }) => {
      const init = { headers: { "Content-Type": "text/plain" } };
      const stop = { ...init, body: '{"userId":"alice"}' };
      same("status as text/plain", (await send("POST", "/mcp/research/stop", stop)).status, 200);
      require((await send("POST", "/mcp/research/stop")).error(400).includes("userId"), "no body is not {}");
      for (const body of ["{", "[]", "null", '"text"', "7", "{'a':1}"])
        (await send("POST", "/mcp/research/start", { body })).error(400);
      (await post("/mcp/chat", { question: "x".repeat(1_048_577) })).error(413);
    },
  },
  {
    id: "money-fields",
    says: "where money moves unknown fields are a 400 that names them",
    check: async ({ post, user }) => {
      for (const [path, body] of [
        ["/mcp/defi/swap", SWAP],
        ["/mcp/defi/send", SEND],
      ] as const) {
        const error = (await post(path, { userId: user, ...body, recipientMemo: "x" })).error(400);
        require(error.includes("recipientMemo"), error);
      }
    },
  },
  {
    id: "user-ids",
    says: "userId: 1 to 128 printable characters; short ones such as alice work everywhere; strings are trimmed; null is absent; unknown fields are ignored; the words for nothing (null, undefined, None, NaN, [object Object]) are absent where optional and 400 where required",
    check: async ({ post, get }) => {
      for (const userId of ["a", "alice", "x".repeat(128), "üñí-✓"])
        same(`status of ${userId}`, (await get("/mcp/research/status", { userId })).status, 200);
      for (const userId of ["x".repeat(129), "a\u0000b", "a\nb"])
        (await post("/mcp/research/stop", { userId })).error(400);
      for (const userId of ["   ", "", null, undefined])
        (await post("/mcp/research/stop", { userId })).error(400);
      same("status", (await post("/mcp/research/stop", { userId: " alice ", more: { at: 1 } })).status, 200);
      for (const userId of ["null", "undefined", "None", "NaN", "[object Object]"]) {
        (await post("/mcp/research/stop", { userId })).error(400);
        (await get("/mcp/research/status", { userId })).error(400);
      }
      same("status", (await get("/mcp/whale-alerts", { hours: "undefined", userId: "None" })).status, 200);
    },
  },
  {
    id: "upstream",
    says: "502: upstream LLM error; the string never holds a stack trace, a key, a token, or an upstream body",
    needs: ["standins"],
    check: async ({ post, control }) => {
      const trace = "at Object.<anonymous> (/srv/x.js:1:2)";
      for (const { status, ...body } of [
        { status: 400, body: { error: { message: "upstream-secret-body", trace } } },
        { status: 503 },
      ]) {
        await control({ provider: "llm", mode: "status", status, ...body });
        const error = (await post("/mcp/chat", { question: `What moves Ether (${status})?` })).error(502);
        await control({ provider: "llm", clear: true });
        require(!/upstream-secret|at Object|bk_|xai-/.test(error), error);
        require(/LLM|gateway|model/i.test(error), `It does not name the gateway: ${error}`);
      }
    },
  },
  ...Object.entries(KEYS).map(([variable, requests]): Row => ({
    id: `missing-key:${variable}`,
    says: `When a required key is missing, the affected endpoint answers 500 (${variable} is not configured)`,
    needs: ["settings"],
    check: async ({ get, post, configure, sent, cards }) => {
      await configure({ [variable]: null });
      for (const [path, body] of requests) {
        const answer = body === null ? await get(path) : await post(path, body);
        same(`the error of ${path}`, answer.error(500), `${variable} is not configured`);
      }
      same("requests to the gateway", (await sent("llm")).length, 0);
      same("cards", (await cards()).length, 0);
    },
  })),
  {
    id: "schema-before-keys",
    says: "Order of checks: JSON and schema → … → required server keys → handler",
    needs: ["settings"],
    check: async ({ post, configure }) => {
      await configure({ LLM_GATEWAY_API_KEY: null, WALLET_ENCRYPTION_KEY: null, SWAP_API_KEY: null });
      (await post("/mcp/chat", {})).error(400);
      (await post("/mcp/defi/swap", { userId: "alice" })).error(400);
    },
  },
  {
    id: "sentiment-optional",
    says: "on-demand research goes on with sentiment marked missing",
    needs: ["settings"],
    check: async ({ post, configure }) => {
      await configure({ SENTIMENT_API_KEY: null });
      same("status", (await post("/mcp/research", { token: "ETH" })).status, 200);
    },
  },
  {
    id: "health",
    says: "GET /health: 200 before any cron has run; { status, version, time, checks }",
    check: async ({ get }) => {
      const { status, text } = await get("/health");
      same("status", status, 200);
      for (const field of ["status", "version", "time", "checks"])
        require(text.includes(`"${field}"`), `${field} is missing`);
    },
  },
  {
    id: "openapi",
    says: "GET /openapi.json: the OpenAPI 3.1 document",
    check: async ({ get }) => {
      const { text } = await get("/openapi.json");
      require(/"openapi":\s*"3\.1/.test(text), text.slice(0, 80));
      for (const path of Object.values(METHODS).flat())
        require(text.includes(`"${path}"`), `${path} is not in it`);
    },
  },
  {
    id: "limit-429",
    says: "120 a minute that cost something; a refusal (429 with Retry-After) names the limit and when it is free",
    needs: ["settings"],
    check: async ({ send }) => {
      for (let attempt = 0; attempt < 400; attempt++) {
        const body = JSON.stringify({ messengerId: `guess-${attempt}`, linkToken: "ZZZZZZZZ" });
        const answer = await send("POST", "/messenger/connect", { body });
        if (answer.status === 404) continue;
        answer.error(429);
        return require(/^[1-9]\d*$/.test(
          answer.headers.get("retry-after") ?? "",
        ), `Retry-After: ${answer.headers.get("retry-after")}`);
      }
      require(false, "400 guesses of one address were all answered");
    },
  },
];
