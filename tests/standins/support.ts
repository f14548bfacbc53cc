/** What the tests of the stand-ins share: requests as the service makes them. */

import { createStandins, type Standins } from "../../scripts/standins/index";

export const BASE = "http://providers.test";
export const START = Date.UTC(2026, 0, 5, 9, 0);
/** A gateway's answer that its limit has cut off. */
export const CUT_OFF = {
  mode: "garbage",
  text: JSON.stringify({ choices: [{ message: { content: '{"half' }, finish_reason: "length" }] }),
} as const;
export const HEADERS = {
  "Content-Type": "application/json",
  Authorization: "Bearer key-for-tests",
  "X-API-Key": "key",
  "User-Agent": "tests",
};

export function standinsAt(at = START): Standins {
  return createStandins({ seed: "tests", now: () => at });
}

export function post(
  standins: Standins,
  path: string,
  body: unknown,
  init: RequestInit = {},
): Promise<Response> {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return standins.handle(
    new Request(`${BASE}${path}`, { method: "POST", headers: HEADERS, body: text, ...init }),
  );
}

export function get(standins: Standins, path: string, init: RequestInit = {}): Promise<Response> {
  return standins.handle(new Request(`${BASE}${path}`, { headers: HEADERS, ...init }));
}
