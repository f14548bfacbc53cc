import { beforeEach, describe, expect, test } from "vitest";
import { SECURITY_MESSAGE } from "../../convex/lib/security/keyRequests";
import { callService, ServiceError } from "../../scripts/proxy/service";
import { tools } from "../../scripts/proxy/tools";
import { until } from "../support/waits";
import { breakOff, built, connect, fakeService, hang, json, ORDER, proxy } from "./support";
import { SENT, service, textOf, useProxy, type Answer } from "./support";

/** The built proxy against a service that is down, slow, wrong, or away for a moment. */

// A trailing slash more or less makes no difference.
useProxy(({ url }) => `${url}//`);
beforeEach(() => service.answers(json(500, { error: "The test told no answer" })));

describe("a call", () => {
  test("is forwarded as it came: a query for GET, a JSON body for POST", async () => {
    service.answers(json(200, { success: true, stopped: 0 }));
    await proxy.call("stop_research", { userId: "ü &?", extra: [1] });
    const [post] = service.received;
    expect(post).toMatchObject({ method: "POST", path: "/mcp/research/stop" });
    expect(JSON.parse(post?.body ?? "")).toEqual({ userId: "ü &?", extra: [1] });

    service.answers(
      json(200, { activeJob: null, lastJob: null, activeJobs: [], deliveryProblem: null, recentReports: [] }),
    );
    await proxy.call("get_research_status", { userId: "ü &?", nothing: null, more: 7 });
    const [get] = service.received;
    expect(get).toMatchObject({ method: "GET", body: "" });
    expect(new URL(get?.path ?? "", service.url).searchParams.toString()).toBe(
      new URLSearchParams({ userId: "ü &?", more: "7" }).toString(),
    );
    expect(get?.headers.has("idempotency-key")).toBe(false);
  });

  test("that the client cancels is broken off on the way", async () => {
    service.answers(hang);
    const controller = new AbortController();
    const name = "run_research";
    const call = proxy.client.callTool({ name, arguments: {} }, { signal: controller.signal });
    call.catch(() => {});
    await until(() => service.received.length === 1);
    controller.abort("The person has changed their mind");
    await expect(call).rejects.toThrow("changed their mind");
    await until(() => service.received[0]?.signal.aborted === true);
    expect(service.received).toHaveLength(1);
  });
});

/** Sends a transfer once. @returns What the model is told, and the key that the service was sent. */
async function send(answer: Answer, input: Record<string, unknown> = ORDER, { call } = proxy) {
  service.answers(answer);
  const told = textOf(await call("send_token", input));
  // Whether it is repeated is the model's to say.
  expect(service.received).toHaveLength(1);
  return { told, key: String(service.received[0]?.headers.get("idempotency-key")) };
}
const UNKNOWN = "Whether it was carried out is not known";

describe("a repeat", () => {
  test("of a transfer without an outcome carries its key; another transfer another one", async () => {
    for (const cut of [breakOff, json(502, { error: "The chain's RPC node failed" })]) {
      const { told, key } = await send(cut);
      expect(key).toMatch(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
      expect(told).toContain(UNKNOWN);
      expect(told).toContain(`idempotencyKey "${key}"`);
      const again = await send(json(200, SENT));
      expect([again.key, again.told]).toEqual([key, expect.stringMatching(/^amount: 25 USDC$/m)]);
      expect((await send(json(200, SENT))).key).not.toBe(key);
    }
  });

  test.each([400, 404, 408, 409, 429, 500])(
    "is asked for after %i only where it may be carried out",
    async (status) => {
      const { told, key } = await send(json(status, { error: "No" }));
      // It may have failed after the signature, or on the way back: the key is what finds that out.
      if (status < 500 && status !== 408) expect(told).toBe("No.");
      else expect(told).toMatch(new RegExp(`^No\\. ${UNKNOWN}\\..* idempotencyKey "${key}"`));
    },
  );

  test("of what waits for its owner has the same key for the same terms, which the answer names", async () => {
    const waits = (idempotencyKey: string) => {
      const status = "awaiting_approval";
      return json(202, {
        ...SENT,
        success: false,
        status,
        approvalId: "a",
        error: "Waiting",
        idempotencyKey,
      });
    };
    const { key } = await send(waits("first"));
    const { told, ...again } = await send(waits(key), Object.fromEntries(Object.entries(ORDER).reverse()));
    expect(again.key).toBe(key);
    expect(told).toMatch(/^NOTHING was moved by this call yet: /);
    expect(told).toContain(`with the same input and idempotencyKey "${key}"`);
    expect((await send(waits("another"), { ...ORDER, amount: "1" })).key).not.toBe(key);
    expect((await send(json(200, SENT))).key).toBe(key);
    // That was its outcome: the same terms once more are another transfer.
    expect((await send(waits("new"))).key).not.toBe(key);
  });

  test("by a proxy that was started again has the same key for ten minutes, and tells that nothing moved twice", async () => {
    const TEN_MINUTES = 600_000;
    const began = 3_000_000 * TEN_MINUTES;
    const seen: Awaited<ReturnType<typeof send>>[] = [];
    for (const now of [began, began + TEN_MINUTES - 1, began + TEN_MINUTES]) {
      const clock = `data:text/javascript,Date.now = () => ${now}`;
      const again = await connect(built.file, service.url, ["--import", clock]);
      const answer = json(200, SENT, now === began ? {} : { "idempotent-replayed": "true" });
      seen.push(await send(answer, ORDER, again));
      expect((await send(answer, { ...ORDER, amount: "1" }, again)).key).not.toBe(seen.at(-1)?.key);
      await again.client.close();
    }
    const keys = seen.map(({ key }) => key);
    expect(keys.map((key) => keys.indexOf(key))).toEqual([0, 0, 2]);
    expect(seen[0]?.told).not.toContain("NOTHING was moved");
    expect(seen[1]?.told).toContain("NOTHING was moved by this call: the same order was made");
    // Whoever names a key knows that it is a repeat.
    const named = { ...ORDER, idempotencyKey: "rent-may" };
    const { told, key } = await send(json(200, SENT, { "idempotent-replayed": "true" }), named);
    expect([key, told]).toEqual(["rent-may", expect.not.stringContaining("NOTHING was moved")]);
  });

  test("is another order once the answer tells that nothing has moved", async () => {
    const frozen = "The owner has frozen this account";
    expect((await send(json(503, { error: frozen }))).told).toBe(`${frozen}.`);
    const failed = (headers = {}) => json(502, { error: "The quote was refused" }, headers);
    const { told, key } = await send(failed());
    expect(told).toContain(UNKNOWN);
    // The same terms ask what became of it, and then are another order.
    const settled = await send(failed({ "idempotent-replayed": "true" }));
    expect(settled).toEqual({ key, told: "The quote was refused." });
    expect((await send(json(200, SENT))).key).not.toBe(key);
  });
});

describe("a failure", () => {
  test.each<[words: string, answer: Answer, told: RegExp]>([
    [
      "in the service's own words",
      json(404, { error: "No wallet: connect first" }),
      /^No wallet: connect first \(connect_wallet\)$/,
    ],
    [
      "with the time to wait",
      json(429, { error: "Too many requests" }, { "Retry-After": "12" }),
      /^Too many requests \(try again in 12 s\)$/,
    ],
    ["in bounds", json(400, { error: "x".repeat(300_000) }), /^x{1000,2100}$/],
    ["that is a page", () => new Response("<html>Hi</html>"), /not JSON.*NOELCLAW_CONVEX_URL/],
    [
      "that leads elsewhere",
      () => Response.redirect("https://example.com", 301),
      /^The service's address leads elsewhere \(301\)/,
    ],
  ])("is told %s", async (_, answer, told) => {
    service.answers(answer);
    const result = await proxy.call("get_wallet_balance", { userId: "u" });
    expect([result.isError, textOf(result)]).toEqual([true, expect.stringMatching(told)]);
    expect(service.received).toHaveLength(1);
  });

  test("to answer in time is one", async () => {
    service.answers(hang);
    const called = callService({
      serviceUrl: service.url,
      method: "POST",
      path: "/slow",
      input: {},
      idempotencyKey: "k",
      timeoutMs: 500,
      signal: new AbortController().signal,
    });
    const error: unknown = await called.catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(ServiceError);
    expect(error).toMatchObject({ message: "The service did not answer within 1 seconds.", inDoubt: true });
    await until(() => service.received[0]?.signal.aborted === true);
    expect(service.received).toHaveLength(1);
  });

  test("to reach the service at all leaves no doubt about money", async () => {
    const gone = await fakeService();
    await gone.stop();
    const { client, call } = await connect(built.file, gone.url);
    try {
      const result = await call("send_token", ORDER);
      const told = `The service at ${gone.url} could not be reached or broke the connection off (ECONNREFUSED). Set NOELCLAW_CONVEX_URL to the service's address, if that is another.`;
      expect([result.isError, textOf(result)]).toEqual([true, told]);
    } finally {
      await client.close();
    }
  });
});

describe("a request for a private key", () => {
  test("gets the security message from every tool, and sends nothing", async () => {
    const input = { userId: "u", notes: [{ text: "Please show me my private key" }] };
    for (const { name } of tools) {
      const result = await proxy.call(name, input);
      expect(textOf(result)).toContain(SECURITY_MESSAGE);
      expect(JSON.stringify(result.structuredContent)).toContain(SECURITY_MESSAGE);
    }
    expect(service.received).toEqual([]);
  });

  test("that was answered earlier in the conversation does not end it", async () => {
    service.answers(json(200, { answer: "It is above $97,000.", agentId: "a", model: "m" }));
    const messages = [
      { role: "user", content: "Please show me my private key" },
      { role: "assistant", content: SECURITY_MESSAGE },
    ];
    const asked = await proxy.call("ask_noel", { question: "And what does Bitcoin cost?", messages });
    expect(textOf(asked)).toContain("It is above $97,000.");
  });
});
