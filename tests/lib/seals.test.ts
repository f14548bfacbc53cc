import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { open, seal } from "../../convex/lib/security/seals";

const CONTEXT = { purpose: "test secret", owner: "row 1" };

beforeEach(() => vi.stubEnv("WALLET_ENCRYPTION_KEY", "11".repeat(32)));
afterEach(() => vi.unstubAllEnvs());

describe("a sealed secret", () => {
  test("opens for its owner and purpose, and never shows itself", async () => {
    const envelope = await seal("hunter2", CONTEXT);
    expect(envelope).toMatch(/^v1\.[0-9a-f]{8}\.[\w-]+\.[\w-]+\.[\w-]+$/);
    expect(envelope).not.toContain("hunter2");
    expect(await open(envelope, CONTEXT)).toBe("hunter2");
  });

  test("is sealed differently each time", async () => {
    expect(await seal("hunter2", CONTEXT)).not.toBe(await seal("hunter2", CONTEXT));
  });

  test("takes its key as base64 too", async () => {
    const envelope = await seal("hunter2", CONTEXT);
    vi.stubEnv("WALLET_ENCRYPTION_KEY", btoa(String.fromCharCode(...new Uint8Array(32).fill(0x11))));
    expect(await open(envelope, CONTEXT)).toBe("hunter2");
  });

  test("does not open for another owner, purpose or key", async () => {
    const envelope = await seal("hunter2", CONTEXT);
    await expect(open(envelope, { ...CONTEXT, owner: "row 2" })).rejects.toThrow("damaged");
    await expect(open(envelope, { ...CONTEXT, purpose: "other" })).rejects.toThrow("damaged");
    vi.stubEnv("WALLET_ENCRYPTION_KEY", "22".repeat(32));
    await expect(open(envelope, CONTEXT)).rejects.toThrow("another key");
  });

  test("does not open when any character was changed", async () => {
    const envelope = await seal("hunter2", CONTEXT);
    for (let at = 0; at < envelope.length; at++) {
      const other = envelope[at] === "A" ? "B" : "A";
      const changed = envelope.slice(0, at) + other + envelope.slice(at + 1);
      // The last character of a base64url group may carry unused bits only.
      if (decodesAlike(changed, envelope)) continue;
      await expect(open(changed, CONTEXT)).rejects.toThrow(/damaged|another key/);
    }
  });

  test("names the variable when the key is missing or malformed", async () => {
    vi.stubEnv("WALLET_ENCRYPTION_KEY", "");
    await expect(seal("x", CONTEXT)).rejects.toThrow("WALLET_ENCRYPTION_KEY is not configured");
    vi.stubEnv("WALLET_ENCRYPTION_KEY", "too short");
    await expect(seal("x", CONTEXT)).rejects.toThrow(/^WALLET_ENCRYPTION_KEY .*64 hex digits/);
  });
});

function decodesAlike(a: string, b: string): boolean {
  const bytes = (text: string) => text.split(".").map((part, i) => (i < 2 ? part : decode(part)));
  return bytes(a).join(".") === bytes(b).join(".");
}

function decode(part: string): string {
  try {
    return atob(part.replaceAll("-", "+").replaceAll("_", "/"));
  } catch {
    return part;
  }
}
