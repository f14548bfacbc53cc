import { beforeEach, describe, expect, test } from "vitest";
import { SECURITY_MESSAGE } from "../../convex/lib/security/keyRequests";
import { callService, ServiceError, type ServiceCall } from "../../scripts/proxy/service";
import { tools } from "../../scripts/proxy/tools";
import { until } from "../support/waits";
import {
  breakOff,
  connect,
  fakeService,
  hang,
  json,
  textOf,
  service,
  proxy,
  built,
  useProxy,
} from "./support";

/** The built proxy against a service that is down, slow, wrong, or away for a moment. */

// A trailing slash more or less makes no difference.
useProxy(({ url }) => `${url}//`);
beforeEach(() => service.answers(json(500, { error: "The test told no answer" })));

const sent = {
  success: true,
  txHash: `0x${"ab".repeat(32)}`,
  status: "confirmed",
  token: "USDC",
  toAddress: `0x${"5".repeat(40)}`,
  amount: "25000000",
  explorerUrl: `https://basescan.org/tx/0x${"ab".repeat(32)}`,
};
const order = { userId: "u", token: "USDC", toAddress: sent.toAddress, amount: "25000000" };
const keysSent = () => service.received.map(({ headers }) => headers["idempotency-key"]);
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

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
    expect(keysSent()).toEqual([undefined]);
  });

  test("of a tool that does not exist is an error of the protocol", async () => {
    await expect(proxy.call("get_private_key")).rejects.toThrow("There is no tool named get_private_key");
    expect(service.received).toEqual([]);
  });

  test("that the client cancels is broken off on the way", async () => {
    service.answers(hang);
    const controller = new AbortController();
    const name = "run_research";
    const call = proxy.client.callTool({ name, arguments: {} }, undefined, { signal: controller.signal });
    call.catch(() => {});
    await until(() => service.received.length === 1);
    controller.abort("The person has changed their mind");
    await expect(call).rejects.toThrow("changed their mind");
    await until(() => service.received[0]?.closed === true);
    expect(service.received).toHaveLength(1);
  });
});

describe("a repeat", () => {
  test("of a transfer without an outcome carries its key; another transfer another one", async () => {
    for (const cut of [breakOff, json(502, { error: "The chain's RPC node failed" })]) {
      service.answers(cut);
      const told = textOf(await proxy.call("send_token", order));
      // Whether it is repeated is the model's to say.
      expect(service.received).toHaveLength(1);
      const [key] = keysSent();
      expect(key).toMatch(UUID);
      expect(told).toContain(`Whether it was carried out is not known.`);
      expect(told).toContain(`idempotencyKey "${String(key)}"`);
      service.answers(json(200, sent));
      const result = await proxy.call("send_token", order);
      expect(textOf(result)).toMatch(/status: confirmed\n[^]*amount: 25 USDC\n/);
      expect(keysSent()).toEqual([key]);
      service.answers(json(200, sent));
      await proxy.call("send_token", order);
      expect(keysSent()).not.toContain(key);
    }
  });

  test("uses the caller's own key where there is one", async () => {
    service.answers(json(200, sent));
    await proxy.call("send_token", { ...order, idempotencyKey: "rent-may" });
    expect(keysSent()).toEqual(["rent-may"]);
  });

  test("is asked for with a key only where the outcome is not known", async () => {
    for (const status of [400, 404, 408, 409, 429, 500]) {
      service.answers(json(status, { error: "No" }));
      const told = textOf(await proxy.call("send_token", order));
      const [key] = keysSent();
      // It may have failed after the signature, or on the way back: the key is what finds that out.
      if (status < 500 && status !== 408) expect(told).toBe("No.");
      else expect(told).toMatch(/^No\. Whether it was carried out is not known\..* idempotencyKey "[\w-]+"/);
      expect(told.includes(String(key))).toBe(status >= 500 || status === 408);
    }
  });

  test("of what waits for its owner has the same key for the same terms, which the answer names", async () => {
    const asked = (key: string) =>
      json(202, {
        ...{ success: false, status: "awaiting_approval", error: "Waiting for your approval in the chat" },
        ...{ approvalId: "a", idempotencyKey: key, expiresAt: "2026-01-05T09:10:00.000Z" },
        ...{ token: "USDC", toAddress: order.toAddress, amount: order.amount },
      });
    const keys: ReturnType<typeof keysSent> = [];
    const call = async (input: Record<string, unknown>, answer: ReturnType<typeof json>) => {
      service.answers(answer);
      const text = textOf(await proxy.call("send_token", input));
      keys.push(...keysSent());
      return text;
    };
    await call(order, asked("first"));
    const text = await call(Object.fromEntries(Object.entries(order).reverse()), asked(String(keys[0])));
    expect(text).toMatch(/^NOTHING was moved by this call yet: /);
    expect(text).toContain(`with the same input and idempotencyKey "${String(keys[0])}"`);
    await call({ ...order, amount: "1" }, asked("another"));
    await call(order, json(200, sent));
    // That was its outcome: the same terms once more are another transfer.
    await call(order, asked("new"));
    expect(keys.map((key) => keys.indexOf(key))).toEqual([0, 0, 2, 0, 4]);
  });

  test("by a proxy that was started again has the same key for ten minutes, and tells that nothing moved twice", async () => {
    const TEN_MINUTES = 600_000;
    const began = 3_000_000 * TEN_MINUTES;
    const keys: ReturnType<typeof keysSent> = [];
    const told: string[] = [];
    for (const now of [began, began + TEN_MINUTES - 1, began + TEN_MINUTES]) {
      const clock = `data:text/javascript,Date.now = () => ${now}`;
      const again = await connect(built.file, service.url, ["--import", clock]);
      service.answers(json(200, sent, now === began ? {} : { "idempotent-replayed": "true" }));
      told.push(textOf(await again.call("send_token", order)));
      keys.push(...keysSent());
      await again.call("send_token", { ...order, amount: "1" });
      await again.client.close();
      expect(keysSent()[1]).not.toBe(keysSent()[0]);
    }
    expect(keys.map((key) => keys.indexOf(key))).toEqual([0, 0, 2]);
    expect(told[0]).not.toContain("NOTHING was moved");
    expect(told[1]).toContain("NOTHING was moved by this call: the same order was made");
    // Whoever names a key knows that it is a repeat.
    const named = textOf(await proxy.call("send_token", { ...order, idempotencyKey: "rent" }));
    expect(named).not.toContain("NOTHING was moved");
  });

  test("is another order once the answer tells that nothing has moved", async () => {
    service.answers(json(503, { error: "The owner has frozen this account" }));
    expect(textOf(await proxy.call("send_token", order))).toBe("The owner has frozen this account.");
    const failed = (headers = {}) => json(502, { error: "The quote was refused" }, headers);
    service.answers(failed());
    const open = textOf(await proxy.call("send_token", order));
    const [key] = keysSent();
    expect(open).toContain("Whether it was carried out is not known");
    // The same terms ask what became of it, and then are another order.
    service.answers(failed({ "idempotent-replayed": "true" }));
    const settled = textOf(await proxy.call("send_token", order));
    expect([keysSent(), settled]).toEqual([[key], "The quote was refused."]);
    service.answers(json(200, sent));
    await proxy.call("send_token", order);
    expect(keysSent()).not.toContain(key);
  });
});

describe("a failure", () => {
  test("is told in the service's own words", async () => {
    service.answers(json(400, { error: "x".repeat(300_000) }));
    expect(textOf(await proxy.call("get_market_data")).length).toBeLessThan(2_100);
    service.answers(json(404, { error: "No wallet was found for this user: connect first" }));
    const result = await proxy.call("get_wallet_balance", { userId: "u" });
    expect(result).toMatchObject({ isError: true });
    expect(textOf(result)).toBe("No wallet was found for this user: connect first");
    service.answers(json(429, { error: "Too many requests" }, { "Retry-After": "12" }));
    expect(textOf(await proxy.call("get_research_status", { userId: "u" }))).toBe(
      "Too many requests (try again in 12 s)",
    );
  });

  test("of another kind says what is wrong", async () => {
    service.answers((response) => response.end("<html>Welcome</html>"));
    expect(textOf(await proxy.call("get_market_data"))).toMatch(/not JSON.*NOELCLAW_CONVEX_URL/);
    service.answers((response) => response.writeHead(301, { location: "https://example.com" }).end());
    expect(textOf(await proxy.call("get_market_data"))).toMatch(/answered 301 without a readable message/);
    expect(service.received).toHaveLength(1);
  });

  test("to answer in time is one", async () => {
    service.answers(hang);
    const call: ServiceCall = {
      serviceUrl: service.url,
      method: "POST",
      path: "/slow",
      input: {},
      idempotencyKey: "k",
      timeoutMs: 500,
      signal: new AbortController().signal,
    };
    const called = callService(call).catch((reason: unknown) => reason);
    const error: unknown = await called;
    expect(error).toBeInstanceOf(ServiceError);
    expect(error).toMatchObject({ message: "The service did not answer within 1 seconds.", inDoubt: true });
    await until(() => service.received[0]?.closed === true);
    expect(service.received).toHaveLength(1);
  });

  test("to reach the service at all leaves no doubt about money", async () => {
    const gone = await fakeService();
    await gone.stop();
    const lonely = await connect(built.file, gone.url);
    try {
      const result = await lonely.call("send_token", order);
      expect(result).toMatchObject({ isError: true });
      const told = textOf(result);
      expect(told).toContain(
        `The service at ${gone.url} could not be reached or broke the connection off (ECONNREFUSED). Set NOELCLAW_CONVEX_URL to the service's address, if that is another.`,
      );
      expect(told).not.toContain("not known");
    } finally {
      await lonely.client.close();
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
