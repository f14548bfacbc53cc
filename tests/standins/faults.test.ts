import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import type { Fault, Standins } from "../../scripts/standins/index";
import { BASE, complete, get, post, standinsAt, START } from "./support";

const chat = (standins: Standins, init: RequestInit = {}) =>
  post(
    standins,
    "/llm/v1/chat/completions",
    { model: "m", messages: [{ role: "user", content: "hi" }] },
    init,
  );

const say = (standins: Standins, init: RequestInit = {}) =>
  post(standins, "/messenger/bot1:AAE/sendMessage", { chat_id: 1, text: "hi" }, init);

const shaped = (name: string) => ({
  type: "json_schema",
  json_schema: { name, schema: { type: "object", properties: { review: { type: "string" } } } },
});
const user = [{ role: "user", content: "hi" }];

test("faults apply in order, as often as told, and not after clearing", async () => {
  const standins = standinsAt();
  standins.fail("llm", { mode: "status", status: 500, times: 2 });
  standins.fail("llm", { mode: "status", status: 429, retryAfter: 7, times: 1 });
  const statuses = [];
  for (let i = 0; i < 4; i++) statuses.push((await chat(standins)).status);
  expect(statuses).toEqual([500, 500, 429, 200]);
  standins.fail("llm", { mode: "status", status: 503 });
  expect([(await chat(standins)).status, (await chat(standins)).status]).toEqual([503, 503]);
  expect((await say(standins)).status).toBe(200);
  standins.clear("messenger");
  expect((await chat(standins)).status).toBe(503);
  standins.clear();
  expect((await chat(standins)).status).toBe(200);
});

test("a fault for one schema leaves the others alone", async () => {
  const standins = standinsAt();
  standins.fail("llm", { mode: "reply", content: "one", schema: "market_snapshot" });
  standins.fail("llm", { mode: "reply", content: "two", schema: "chat", times: 1 });
  const content = async (format?: unknown) =>
    (await complete(standins, user, format)).choices[0]?.message.content;
  expect(await content(shaped("other"))).toMatch(/^\{"review":/);
  expect(await content(shaped("market_snapshot"))).toBe("one");
  expect(await content()).toBe("two");
  expect(await content()).not.toBe("two");
});

describe("one by one", () => {
  const failing = (fault: Fault) => {
    const standins = standinsAt();
    for (const provider of ["llm", "messenger"] as const) standins.fail(provider, fault);
    return standins;
  };

  test("status: without effect, in the provider's own form, or with a body of the test's", async () => {
    const standins = failing({ mode: "status", status: 429, retryAfter: 3 });
    expect(await (await say(standins)).json()).toEqual({
      ok: false,
      error_code: 429,
      description: "Too Many Requests: retry after 3",
      parameters: { retry_after: 3 },
    });
    expect((await chat(standins)).headers.get("Retry-After")).toBe("3");
    expect(standins.sent("messenger")).toEqual([]);
    standins.clear();
    const body = { ok: false, parameters: { migrate_to_chat_id: -100 } };
    standins.fail("messenger", { mode: "status", status: 400, body });
    expect(await (await say(standins)).json()).toEqual(body);
  });

  test("a provider that has no such mode", () => {
    const standins = standinsAt();
    expect(() => {
      standins.fail("messenger", { mode: "reply", content: "x" });
    }).toThrow(/no mode "reply"/);
    expect(() => {
      standins.fail("agent", { mode: "drop", schema: "chat" });
    }).toThrow(/no schema/);
  });
});

test("control, records and market over HTTP", async () => {
  const standins = standinsAt();
  const control = async (body: unknown) => (await post(standins, "/_control", body)).status;
  expect(await control({ provider: "llm", mode: "status", status: 502, times: 3 })).toBe(200);
  expect((await chat(standins)).status).toBe(502);
  expect(await control({ provider: "llm", clear: true })).toBe(200);
  expect((await chat(standins)).status).toBe(200);
  expect(await control({ clear: true })).toBe(200);
  for (const wrong of [
    {},
    "{",
    { provider: "llm" },
    { provider: "llm", mode: "bang" },
    { provider: "x", mode: "drop" },
  ]) {
    expect(await control(wrong)).toBe(400);
  }
  expect(await control({ provider: "agent", mode: "uncited" })).toBe(400);

  const sent = await get(standins, "/_sent/llm");
  const one = {
    method: "POST",
    path: "/v1/chat/completions",
    body: { model: "m", messages: user },
    at: START,
  };
  expect(await sent.json()).toEqual([one, one]);
  await complete(standins, user, shaped("named"));
  expect(standins.sent("llm")[2]).toMatchObject({ schema: "named" });
  standins.forget();
  expect(standins.sent("llm")).toEqual([]);

  expect(await (await get(standins, "/_market")).json()).toContainEqual(
    expect.objectContaining({ symbol: "BTC" }),
  );
  for (const path of ["/", "/constructor/x", "/_sent/none", "/_sent"]) {
    expect((await get(standins, path)).status).toBe(404);
  }
});

test("keeps the last 5,000 requests", async () => {
  const standins = standinsAt();
  for (let i = 0; i <= 5_000; i++) await standins.handle(new Request(`${BASE}/llm/${i}`));
  const sent = standins.sent("llm");
  expect([sent.length, sent[0]?.path, sent.at(-1)?.path]).toEqual([5_000, "/1", "/5000"]);
});

test("a hanging call ends when its caller gives up, however much is collected in between", async () => {
  setFlagsFromString("--expose-gc");
  const collect = z.function({ input: [], output: z.void() }).implement(runInNewContext("gc"));
  const standins = standinsAt();
  standins.fail("llm", { mode: "hang" });
  const caller = new AbortController();
  const hanging = chat(standins, { signal: caller.signal });
  hanging.catch(() => undefined);
  for (let i = 0; i < 2; i++) {
    collect();
    await new Promise<void>((next) => setImmediate(next));
  }
  caller.abort();
  await expect(hanging).rejects.toThrow("aborted");
});
