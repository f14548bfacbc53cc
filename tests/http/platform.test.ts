import { describe, expect, vi } from "vitest";
import { z } from "zod";
import { internalQuery } from "../../convex/_generated/server";
import * as cache from "../../convex/platform/cache";
import { getCallerAddress } from "../../convex/platform/http/request";
import { createApp, test } from "../support/app";
import { intercept } from "../support/outside";

/** What the platform does otherwise than the standards, and other hosts, have it. */

/** Half of an emoji, as clients send it who cut texts at so many UTF-16 units. */
const HALF = "\ud83d";
const MENDED = "\ufffd";

describe("a payment proof that is junk", () => {
  test("is 402 where a strict decoder answers nothing for malformed UTF-8 instead of throwing", async () => {
    const Standard = TextDecoder;
    class PlatformDecoder {
      readonly #strict: boolean;
      readonly #decoder: TextDecoder;
      constructor(label?: string, options?: TextDecoderOptions) {
        this.#strict = options?.fatal === true;
        this.#decoder = new Standard(label, options);
      }
      decode(bytes?: AllowSharedBufferSource, options?: TextDecodeOptions): string | undefined {
        try {
          return this.#decoder.decode(bytes, options);
        } catch (error) {
          if (this.#strict) return undefined;
          throw error;
        }
      }
    }
    const app = createApp();
    vi.stubEnv("PLATFORM_WALLET_ADDRESS", "0x70997970C51812dc3A010C7d01b50e0d17dc79C8");
    vi.stubGlobal("TextDecoder", PlatformDecoder);
    for (const proof of ["abc", "gICA", "_w"]) {
      for (const name of ["Payment-Signature", "X-Payment"]) {
        const headers = { [name]: proof };
        const { status, body } = await app.post("/agent/research/paid", {}, { headers });
        expect([status, body.error]).toEqual([402, expect.stringContaining("cannot be read")]);
      }
    }
  });
});

describe("strings with half characters, which the platform does not store", () => {
  test("reach models and tables with the replacement character in their place", async ({ app }) => {
    const { status } = await app.post("/mcp/chat", {
      question: `What of this? ${HALF}`,
      messages: [{ role: "user", content: `\udc00 hello ${HALF}` }],
    });
    expect(status).toBe(200);
    const [asked] = app.standins.sent("llm").filter(({ schema }) => schema === undefined);
    const said = JSON.stringify(asked);
    expect(said).toContain(`What of this? ${MENDED}`);
    expect(said).not.toMatch(/\\ud[89a-f]/i);
    expect((await app.post("/mcp/token", { token: "BTC", question: `Why ${HALF}?` })).status).toBe(200);
    // Whole pairs, escaped ones and lone backslashes around them stay as they are.
    const body = String.raw`{"question":"a \ud83d\ude00 b \\ud800 c 😀 d \ud800 e","nobody\udfffs":"field"}`;
    expect((await app.call("POST", "/mcp/chat", { body })).status).toBe(200);
    const whole = JSON.stringify(app.standins.sent("llm").at(-1));
    expect(whole).toContain(String.raw`a 😀 b \\ud800 c 😀 d ${MENDED} e`);
  });

  test("are refused where two of them would become one: in ids and idempotency keys", async ({ app }) => {
    const refusals = [
      await app.get("/mcp/research/status?userId=alice%ED%A0%80"),
      await app.post("/user/messenger", { userId: `alice${HALF}`, messengerChatId: "1" }),
      await app.post("/mcp/research/start", { userId: "alice", idempotencyKey: `again${HALF}` }),
    ];
    expect(refusals.map(({ status, body }) => [status, body.error])).toEqual([
      [400, "userId must consist of printable characters"],
      [400, "userId must consist of printable characters"],
      [400, "idempotencyKey must consist of whole characters"],
    ]);
  });

  test("in a model's answer are mended before anything of it is stored", async ({ app }) => {
    intercept(async ({ url }, pass) => {
      const response = await pass();
      if (!url.endsWith("/chat/completions")) return response;
      const answer = z
        .looseObject({ choices: z.array(z.looseObject({ message: z.looseObject({ content: z.string() }) })) })
        .parse(await response.json());
      const [choice] = answer.choices;
      if (choice !== undefined) choice.message.content = `Up ${HALF} and away`;
      return Response.json(answer);
    });
    const { status, body } = await app.post("/mcp/chat", { question: "How are things?" });
    expect([status, body.answer]).toEqual([200, `Up ${MENDED} and away`]);
  });
});

describe("a platform without room", () => {
  /** An application whose work the platform fails with these words. */
  function failing(message: string) {
    const answer = internalQuery(() => {
      throw new Error(message);
    });
    return createApp({
      replaced: { "platform/cache": () => Promise.resolve({ ...cache, readAnswerAt: answer }) },
    });
  }
  const PATH = "/mcp/token?question=SOL";

  test.each([
    'Documents read from or written to the "rateLimits" table changed while this mutation was being run and on every subsequent retry. Another call to this mutation changed the document with ID "123".',
    '{"code":"OptimisticConcurrencyControlFailure","message":"Data read or written in this mutation changed while it was being run. Consider reducing the amount of data read."}',
    "TooManyConcurrentRequests: Too many concurrent requests",
    "ExpiredInQueue: Too many concurrent requests in a short period of time.",
    "TooManyWritesInTimePeriod: Too many insert / update / delete operations in a short period of time.",
    "SystemTimeoutError: Your request timed out.",
  ])("or with too much contention (%s) is 503 with the time to come back", async (message) => {
    const { status, body, headers } = await failing(message).get(PATH);
    expect([status, body]).toEqual([503, { error: "The service is busy: try again shortly" }]);
    expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
  });

  test("is not what other failures are taken for: their place in the code is logged, and told nobody", async () => {
    const app = failing("Cannot read properties of undefined");
    const { status, body } = await app.get(PATH);
    expect([status, body]).toEqual([500, { error: "Internal error" }]);
    expect(app.logged.map(String).join()).toMatch(/"event":"http.unexpected".*"stack":"at .+platform\.test/);
  });
});

describe("the caller's address", () => {
  const told = "203.0.113.9";
  test("is what the platform or so many trusted proxies say, in one form", () => {
    const cases = [
      ["the platform's word without proxies of one's own", 0, "1.1.1.1, 2.2.2.2", told],
      ["what the one proxy added at the right end", 1, "1.1.1.1, 2.2.2.2", "2.2.2.2"],
      ["what the first of two proxies added", 2, "9.9.9.9, 1.1.1.1, 2.2.2.2", "1.1.1.1"],
      ["the first entry where there are too few", 3, "1.1.1.1", "1.1.1.1"],
      ["the platform's word where nothing was forwarded", 1, null, told],
      ["nobody's where the entry is no address", 1, "1.1.1.1, evil", "unknown"],
      ["without its port", 1, "192.0.2.1:443", "192.0.2.1"],
      ["of IPv6 its /64 network", 1, "2001:db8:0:7:1:2:3:4", "2001:db8:0:7::/64"],
      ["of IPv6 in brackets, shortened, in capitals", 1, "[2001:DB8::1]:443", "2001:db8:0:0::/64"],
      ["IPv4 where IPv6 carries it", 1, "::ffff:192.0.2.1", "192.0.2.1"],
      ["nobody's for two gaps", 1, "1::2::3", "unknown"],
    ] as const;
    for (const [what, hops, forwardedFor, address] of cases)
      expect([what, getCallerAddress({ platform: told, forwardedFor, hops })]).toEqual([what, address]);
    expect(getCallerAddress({ platform: null, forwardedFor: null, hops: 0 })).toBe("unknown");
  });

  test("behind one trusted proxy is not the caller's choice", async ({ app }) => {
    vi.stubEnv("TRUSTED_PROXY_HOPS", "1");
    const guess = (i: number, address: string) =>
      app.post(
        "/messenger/connect",
        { linkToken: `GUESS${i}`, messengerId: String(i) },
        { ip: `198.51.100.${i}`, headers: { "X-Forwarded-For": `198.51.100.${i}, ${address}` } },
      );
    const statuses: number[] = [];
    for (let i = 1; i <= 25; i++) statuses.push((await guess(i, "192.0.2.7")).status);
    expect([statuses[0], statuses.at(-1)]).toEqual([404, 429]);
    expect((await guess(26, "192.0.2.8")).status).toBe(404);
  });
});
