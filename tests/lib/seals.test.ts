import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { isEqualBytes } from "../../convex/lib/crypto";
import { openSeal, seal } from "../../convex/lib/seals";

const CONTEXT = { purpose: "test secret", owner: "row 1" };

beforeEach(() => vi.stubEnv("WALLET_ENCRYPTION_KEY", "11".repeat(32)));
afterEach(() => vi.unstubAllEnvs());

describe("a sealed secret", () => {
  test("opens for its owner and purpose, and never shows itself", async () => {
    const envelope = await seal("hunter2", CONTEXT);
    expect(envelope).toMatch(/^v1\.[0-9a-f]{8}\.[\w-]+\.[\w-]+\.[\w-]+$/);
    expect(envelope).not.toContain("hunter2");
    expect(await openSeal(envelope, CONTEXT)).toBe("hunter2");
    expect(await seal("hunter2", CONTEXT)).not.toBe(envelope);
  });

  test("takes its key as base64 too", async () => {
    const envelope = await seal("hunter2", CONTEXT);
    vi.stubEnv("WALLET_ENCRYPTION_KEY", btoa(String.fromCharCode(...new Uint8Array(32).fill(0x11))));
    expect(await openSeal(envelope, CONTEXT)).toBe("hunter2");
  });

  test("does not open for another owner, purpose or key", async () => {
    const envelope = await seal("hunter2", CONTEXT);
    await expect(openSeal(envelope, { ...CONTEXT, owner: "row 2" })).rejects.toThrow("damaged");
    await expect(openSeal(envelope, { ...CONTEXT, purpose: "other" })).rejects.toThrow("damaged");
    vi.stubEnv("WALLET_ENCRYPTION_KEY", "22".repeat(32));
    await expect(openSeal(envelope, CONTEXT)).rejects.toThrow(/^WALLET_ENCRYPTION_KEY is not the key/);
  });

  test("does not open when anything in it was changed", async () => {
    const envelope = await seal("hunter2", CONTEXT);
    const parts = envelope.split(".");
    for (const [place, part] of parts.entries()) {
      for (let at = 0; at < part.length - 1; at++) {
        const other = part.slice(0, at) + (part[at] === "A" ? "B" : "A") + part.slice(at + 1);
        const changed = parts.with(place, other).join(".");
        await expect(openSeal(changed, CONTEXT)).rejects.toThrow(/damaged|is not the key/);
      }
    }
  });

  test("names the variable when the key is missing or malformed", async () => {
    vi.stubEnv("WALLET_ENCRYPTION_KEY", "");
    await expect(seal("x", CONTEXT)).rejects.toThrow("WALLET_ENCRYPTION_KEY is not configured");
    vi.stubEnv("WALLET_ENCRYPTION_KEY", "too short");
    await expect(seal("x", CONTEXT)).rejects.toThrow(/^WALLET_ENCRYPTION_KEY .*64 hex digits/);
  });
});

test("bytes are compared to the last one, wherever they differ", () => {
  const seen: number[] = [];
  const watched = new Proxy(new Uint8Array([9, 2, 3, 4]), {
    get: (target, key): unknown => {
      if (typeof key === "string" && /^\d+$/.test(key)) seen.push(Number(key));
      return Reflect.get(target, key);
    },
  });
  expect([isEqualBytes(watched, new Uint8Array([1, 2, 3, 4])), seen]).toEqual([false, [0, 1, 2, 3]]);
  const two = new Uint8Array([1, 2]);
  expect([isEqualBytes(two, new Uint8Array([1, 2])), isEqualBytes(two, new Uint8Array([1, 2, 3]))]).toEqual([
    true,
    false,
  ]);
});
