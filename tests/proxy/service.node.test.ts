import { beforeEach, describe, expect, test } from "vitest";
import { SECURITY_MESSAGE } from "../../convex/lib/keyRequests";
import { FROZEN } from "../../convex/lib/refusals";
import { CallFailure } from "../../convex/tools/requests";
import { callService } from "../../scripts/proxy/service";
import { stdioTools as tools } from "../../convex/tools/list";
import { until } from "../support/waits";
import { breakOff, built, connect, fakeService, hang, json, ORDER, proxy } from "./support";
import { dataOf, SENT, service, textOf, useProxy, type Answer } from "./support";

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

/** Sends a transfer once. @returns What the model is told, and what the service was sent. */
async function send(answer: Answer, input: Record<string, unknown> = ORDER, { call } = proxy) {
  service.answers(answer);
  const result = await call("send_token", input);
  // Whether it is repeated is the model's to say.
  expect(service.received).toHaveLength(1);
  const headers = service.received[0]?.headers;
  expect(headers?.get("tool-call")).toBe("true");
  return { told: textOf(result), data: dataOf(result), key: headers?.get("idempotency-key") };
}
const UNKNOWN = "Whether it was carried out is not known";

describe("a repeat", () => {
  test("of a transfer is for the service to know by its terms: the proxy has no key and no memory", async () => {
    for (const cut of [breakOff, json(502, { error: "The chain's RPC node failed" })]) {
      const { told, key } = await send(cut);
      expect(key).toBeNull();
      expect(told).toContain(`${UNKNOWN}. To find out, call again with the same input within ten minutes`);
    }
    const repeatedNote = "The same order was made: pass an idempotencyKey of your own";
    const again = await send(json(200, { ...SENT, repeated: true, repeatedNote }));
    expect([again.key, again.told]).toEqual([
      null,
      expect.stringMatching(/^NOTHING was moved by this call\. The same order was made.*your own\.$/m),
    ]);
    expect(again.data).toMatchObject({ repeated: true, nothingMoved: true });
    // Whoever names a key knows that it is a repeat.
    const named = { ...ORDER, idempotencyKey: " rent-may " };
    const { told, key } = await send(json(200, { ...SENT, repeated: true }), named);
    expect([key, told]).toEqual(["rent-may", expect.not.stringContaining("NOTHING was moved")]);
    const lost = await send(breakOff, named);
    expect(lost.told).toContain('with the same input and idempotencyKey "rent-may"');
  });

  test("of the start of a shift has the key that the error names", async () => {
    service.answers(breakOff);
    const told = textOf(await proxy.call("start_research", { userId: "u" }));
    const key = String(service.received[0]?.headers.get("idempotency-key"));
    expect([service.received[0]?.headers.has("tool-call"), told]).toEqual([
      false,
      expect.stringContaining(`with the same input and idempotencyKey "${key}"`),
    ]);
  });

  test.each([400, 404, 408, 409, 429, 500])(
    "is asked for after %i only where it may be carried out",
    async (status) => {
      const { told, data } = await send(json(status, { error: "No" }));
      // It may have failed after the signature, or on the way back.
      if (status < 500 && status !== 408)
        expect([told, data]).toEqual(["No.", { error: "No.", nothingMoved: true }]);
      else expect([told, data.inDoubt]).toEqual([expect.stringMatching(`^No\\. ${UNKNOWN}\\.`), true]);
    },
  );

  test("is not asked for where the service says what has moved", async () => {
    const frozen = `${FROZEN}: nothing was signed`;
    expect((await send(json(503, { error: frozen }))).told).toBe(`${frozen}.`);
    const refused = await send(json(502, { error: "The quote was refused", nothingMoved: true }));
    expect([refused.told, refused.data.nothingMoved]).toEqual(["The quote was refused.", true]);
    const approved = await send(json(400, { error: "Its approval is mined", approvalTxHash: "0xab" }));
    expect([approved.told, approved.data]).toEqual([
      "Its approval is mined.",
      { error: "Its approval is mined." },
    ]);
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
    const called = callService(
      { method: "POST", path: "/slow", input: {}, idempotencyKey: "k", isOrder: true },
      { serviceUrl: service.url, timeoutMs: 500, signal: new AbortController().signal },
    );
    const error: unknown = await called.catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(CallFailure);
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
