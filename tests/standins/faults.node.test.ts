import { request } from "node:http";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createStandins, type Standins } from "../../scripts/standins/index";
import { listen, type Listener } from "../../scripts/sockets";
import { until } from "../support/waits";
import { HEADERS, START } from "./support";

/** How the stand-ins are served, told to fail, and what they tell of themselves. */

let standins: Standins;
let served: Listener;
beforeEach(async () => {
  standins = createStandins({ now: () => START });
  served = await listen(0, "PROVIDERS_PORT", (request) => standins.handle(request));
});
afterEach(() => served.close());

const post = (path: string, body: unknown, init: RequestInit = {}) => {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return fetch(`${served.url}${path}`, { method: "POST", headers: HEADERS, body: text, ...init });
};
const PROMPT = { model: "m", messages: [{ role: "user", content: "grüß" }] };
const chat = (format?: string) => {
  const schema = { type: "json_schema", json_schema: { name: format } };
  const body = format === undefined ? PROMPT : { ...PROMPT, response_format: schema };
  return post("/llm/v1/chat/completions", body);
};
const say = () => post("/messenger/bot1:AAE/sendMessage", { chat_id: 1, text: "hi" });

test("faults apply in order, as often as told, to the schema that they name, and not after clearing", async () => {
  standins.fail("llm", { mode: "status", status: 500, times: 2 });
  standins.fail("llm", { mode: "status", status: 429, retryAfter: 7, times: 1 });
  const statuses = [];
  for (let i = 0; i < 4; i++) statuses.push((await chat()).status);
  expect(statuses).toEqual([500, 500, 429, 200]);
  standins.fail("llm", { mode: "status", status: 400, schema: "market_snapshot" });
  standins.fail("llm", { mode: "status", status: 413, schema: "chat", times: 1 });
  const named = [];
  for (const schema of ["other", "market_snapshot", undefined, undefined])
    named.push((await chat(schema)).status);
  expect(named).toEqual([200, 400, 413, 200]);
  standins.clear("messenger");
  expect([(await chat("market_snapshot")).status, (await say()).status]).toEqual([400, 200]);
  standins.clear();
  expect((await chat("market_snapshot")).status).toBe(200);
});

test("a refusal has no effect, and the provider's own form, or a body of the test's", async () => {
  standins.fail("messenger", { mode: "status", status: 429, retryAfter: 3, times: 1 });
  const refused = await say();
  expect(refused.headers.get("Retry-After")).toBe("3");
  expect(await refused.json()).toEqual({
    ok: false,
    error_code: 429,
    description: "Too Many Requests: retry after 3",
    parameters: { retry_after: 3 },
  });
  expect(standins.sent("messenger")).toEqual([]);
  const body = { ok: false, parameters: { migrate_to_chat_id: -100 } };
  standins.fail("messenger", { mode: "status", status: 400, body });
  expect(await (await say()).json()).toEqual(body);
});

test("a lost connection breaks the connection, and a slow answer ends when the caller gives up", async () => {
  standins.fail("messenger", { mode: "drop", times: 1 });
  await expect(say()).rejects.toThrow(TypeError);
  standins.fail("messenger", { mode: "drop", half: true, times: 1 });
  const half = await say();
  expect(half.status).toBe(200);
  await expect(half.text()).rejects.toThrow(TypeError);
  expect(standins.sent("messenger")).toHaveLength(2);

  standins.fail("llm", { mode: "slow", times: 1 });
  const caller = new AbortController();
  const asked = fetch(`${served.url}/llm/v1/models`, { signal: caller.signal });
  asked.catch(() => undefined);
  await until(() => standins.sent("llm").length === 1);
  caller.abort();
  await expect(asked).rejects.toMatchObject({ name: "AbortError" });
  expect((await say()).status).toBe(200);
});

test("they are told to fail, and tell what they were sent, over HTTP", async () => {
  const control = async (body: unknown) => (await post("/_control", body)).status;
  expect(await control({ provider: "llm", mode: "status", status: 502, times: 3 })).toBe(200);
  expect((await chat()).status).toBe(502);
  expect(await control({ provider: "llm", clear: true })).toBe(200);
  expect((await chat("named")).status).toBe(200);
  for (const wrong of [
    "{",
    { provider: "llm", mode: "bang" },
    { provider: "x", mode: "drop" },
    { provider: "messenger", mode: "reply", content: "x" },
    { provider: "agent", mode: "drop", schema: "chat" },
  ])
    expect([wrong, await control(wrong)]).toEqual([wrong, 400]);

  const one = { method: "POST", path: "/v1/chat/completions", body: PROMPT, at: START };
  expect(await (await fetch(`${served.url}/_sent/llm`)).json()).toMatchObject([
    one,
    { ...one, schema: "named" },
  ]);
  standins.forget();
  expect(standins.sent("llm")).toEqual([]);
  for (const path of ["/", "/constructor/x", "/_sent/none", "/_sent"])
    expect((await fetch(served.url + path)).status).toBe(404);
});

test("no web page from elsewhere is answered, nor a name of its own that leads to this machine", async () => {
  const { host, hostname, port } = new URL(served.url);
  const control = (headers: Record<string, string>) =>
    new Promise<number | undefined>((resolve, reject) => {
      const init = { host: hostname, port, path: "/_control", method: "POST", headers };
      request(init, (response) => {
        response.resume();
        resolve(response.statusCode);
      })
        .on("error", reject)
        .end('{"clear":true}');
    });
  for (const own of [{ host }, { host, origin: "http://localhost:5173" }, { host: `localhost:${port}` }])
    expect([own, await control(own)]).toEqual([own, 200]);
  for (const origin of ["https://evil.example", "null", "http://127.0.0.1.evil.example"])
    expect([origin, await control({ host, origin })]).toEqual([origin, 403]);
  expect(await control({ host: `rebound.example:${port}` })).toBe(403);
});
