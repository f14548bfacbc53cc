import { expect, test } from "vitest";
import type { Standins } from "../../scripts/standins/index";
import { get, post, standinsAt, START } from "./support";

/** How the stand-ins are told to fail, and what they tell of themselves. */

const PROMPT = { model: "m", messages: [{ role: "user", content: "hi" }] };
const chat = (standins: Standins, init: RequestInit = {}, format?: string) => {
  const schema = { type: "json_schema", json_schema: { name: format } };
  const body = format === undefined ? PROMPT : { ...PROMPT, response_format: schema };
  return post(standins, "/llm/v1/chat/completions", body, init);
};
const say = (standins: Standins) =>
  post(standins, "/messenger/bot1:AAE/sendMessage", { chat_id: 1, text: "hi" });

test("faults apply in order, as often as told, and not after clearing", async () => {
  const standins = standinsAt();
  standins.fail("llm", { mode: "status", status: 500, times: 2 });
  standins.fail("llm", { mode: "status", status: 429, retryAfter: 7, times: 1 });
  const statuses = [];
  for (let i = 0; i < 4; i++) statuses.push((await chat(standins)).status);
  expect(statuses).toEqual([500, 500, 429, 200]);
  standins.fail("llm", { mode: "status", status: 503 });
  standins.clear("messenger");
  expect([(await chat(standins)).status, (await say(standins)).status]).toEqual([503, 200]);
  standins.clear();
  expect((await chat(standins)).status).toBe(200);
});

test("a fault for one schema leaves the others alone", async () => {
  const standins = standinsAt();
  standins.fail("llm", { mode: "status", status: 400, schema: "market_snapshot" });
  standins.fail("llm", { mode: "status", status: 413, schema: "chat", times: 1 });
  const asked = ["other", "market_snapshot", undefined, undefined];
  const statuses = asked.map(async (schema) => (await chat(standins, {}, schema)).status);
  expect(await Promise.all(statuses)).toEqual([200, 400, 413, 200]);
});

test("a refusal has no effect, and the provider's own form, or a body of the test's", async () => {
  const standins = standinsAt();
  standins.fail("messenger", { mode: "status", status: 429, retryAfter: 3, times: 1 });
  const refused = await say(standins);
  expect(refused.headers.get("Retry-After")).toBe("3");
  expect(await refused.json()).toEqual({
    ...{ ok: false, error_code: 429, description: "Too Many Requests: retry after 3" },
    parameters: { retry_after: 3 },
  });
  expect(standins.sent("messenger")).toEqual([]);
  const body = { ok: false, parameters: { migrate_to_chat_id: -100 } };
  standins.fail("messenger", { mode: "status", status: 400, body });
  expect(await (await say(standins)).json()).toEqual(body);
});

test("control, records and market over HTTP", async () => {
  const standins = standinsAt();
  const control = async (body: unknown) => (await post(standins, "/_control", body)).status;
  expect(await control({ provider: "llm", mode: "status", status: 502, times: 3 })).toBe(200);
  expect((await chat(standins)).status).toBe(502);
  expect(await control({ provider: "llm", clear: true })).toBe(200);
  expect((await chat(standins, {}, "named")).status).toBe(200);
  for (const wrong of [
    "{",
    { provider: "llm", mode: "bang" },
    { provider: "x", mode: "drop" },
    { provider: "messenger", mode: "reply", content: "x" },
    { provider: "agent", mode: "drop", schema: "chat" },
  ])
    expect([wrong, await control(wrong)]).toEqual([wrong, 400]);

  const sent = await (await get(standins, "/_sent/llm")).json();
  const one = { method: "POST", path: "/v1/chat/completions", body: PROMPT, at: START };
  expect(sent).toMatchObject([one, { ...one, schema: "named" }]);
  standins.forget();
  expect(standins.sent("llm")).toEqual([]);
  for (const path of ["/", "/constructor/x", "/_sent/none", "/_sent"])
    expect((await get(standins, path)).status).toBe(404);
});
