import type { FunctionReference } from "convex/server";
import { v, type Infer } from "convex/values";
import type { ActionCtx } from "../../_generated/server";
import { equalBytes, hmacSha256, masterKey, subkey } from "./crypto";
import { sha256Hex } from "./digests";
import { optional, required } from "../env";
import { AppError, messageOf } from "../errors";
import { log } from "../log";

/**
 * Secrets at rest: AES-256-CBC, then HMAC-SHA256 over everything that decides the decryption (encrypt-then-MAC), under
 * two HKDF subkeys of `WALLET_ENCRYPTION_KEY` for one purpose. The envelope reads
 * `v1.<key id>.<iv>.<ciphertext>.<mac>` (base64url); the key id tells which master key sealed it, so keys can rotate.
 */
const VERSION = "v1";

/** The purpose of a sealed secret, and its row: an envelope that was moved to another row does not open. */
export type SealContext = { purpose: string; owner: string };

/** Seals a secret. For actions: it draws an IV from the platform's CSPRNG. */
export async function seal(plaintext: string, context: SealContext): Promise<string> {
  const keys = keyring(required("WALLET_ENCRYPTION_KEY"));
  const iv = crypto.getRandomValues(new Uint8Array(16));
  const key = await keys.encryption(context.purpose);
  const encoded = new TextEncoder().encode(plaintext);
  const ciphertext = new Uint8Array(await crypto.subtle.encrypt({ name: "AES-CBC", iv }, key, encoded));
  const head = [VERSION, keys.id, toBase64Url(iv), toBase64Url(ciphertext)].join(".");
  return `${head}.${toBase64Url(authenticate(keys, context, head))}`;
}

/**
 * Opens an envelope, sealed under the current key or the previous one (`WALLET_ENCRYPTION_KEY_PREVIOUS`).
 * @throws AppError `internal` if it is damaged, was sealed under a key that is not configured, or belongs to another
 * owner.
 */
export async function open(envelope: string, context: SealContext): Promise<string> {
  const [version, id, iv, ciphertext, mac, ...rest] = envelope.split(".");
  if (version !== VERSION || !id || !iv || !ciphertext || !mac || rest.length > 0) {
    throw new AppError("internal", "A sealed secret is damaged");
  }
  const keys = configuredKeys().find((one) => one.id === id);
  if (keys === undefined) throw new AppError("internal", "A sealed secret was sealed under another key");
  const head = [version, id, iv, ciphertext].join(".");
  if (!equalBytes(authenticate(keys, context, head), fromBase64Url(mac))) {
    throw new AppError("internal", "A sealed secret is damaged");
  }
  const key = await keys.encryption(context.purpose);
  const algorithm = { name: "AES-CBC", iv: fromBase64Url(iv) };
  return new TextDecoder().decode(await crypto.subtle.decrypt(algorithm, key, fromBase64Url(ciphertext)));
}

/** Secrets per transaction of a rotation. */
const BATCH = 50;

/** A sealed secret of a row, and its context. */
export const vSealed = v.object({
  id: v.string(),
  sealedSecret: v.string(),
  context: v.object({ purpose: v.string(), owner: v.string() }),
});
type Sealed<Id> = Infer<typeof vSealed> & { id: Id };

/** A new envelope, and the one that it replaces. */
export const vResealed = v.object({ id: v.string(), from: v.string(), to: v.string() });
type Resealed<Id> = Infer<typeof vResealed> & { id: Id };

/** How many were sealed again, and which do not open: those stay as they are. */
type Rotated<Id> = { rotated: number; failed: Id[] };

/**
 * Seals every secret of a kind again that is not under the current `WALLET_ENCRYPTION_KEY`, batch after batch; the
 * previous key is `WALLET_ENCRYPTION_KEY_PREVIOUS`. It is safe to run twice, and to resume after a crash.
 * @param outdated The next secrets under another key than the named one, including those that did not open before.
 * @param replace Stores envelopes, except where the secret has changed meanwhile.
 * @returns How many it stored.
 */
export async function resealAll<Id extends string>(
  ctx: ActionCtx,
  outdated: FunctionReference<"query", "internal", { keyId: string; limit: number }, Sealed<Id>[]>,
  replace: FunctionReference<"mutation", "internal", { resealed: Resealed<Id>[] }, number>,
): Promise<Rotated<Id>> {
  const { id: keyId } = keyring(required("WALLET_ENCRYPTION_KEY"));
  const failed: Id[] = [];
  for (let rotated = 0; ;) {
    const found = await ctx.runQuery(outdated, { keyId, limit: BATCH + failed.length });
    const left = found.filter(({ id }) => !failed.includes(id));
    if (left.length === 0) return { rotated, failed };
    const resealed: Resealed<Id>[] = [];
    for (const { id, sealedSecret: from, context } of left) {
      try {
        resealed.push({ id, from, to: await seal(await open(from, context), context) });
      } catch (error) {
        log.error("sealing.not opened", { purpose: context.purpose, error: messageOf(error) });
        failed.push(id);
      }
    }
    rotated += await ctx.runMutation(replace, { resealed });
  }
}

/** Names the master key of an envelope. */
export function keyIdOf(envelope: string): string {
  return envelope.split(".")[1] ?? "";
}

function configuredKeys(): Keyring[] {
  const previous = optional("WALLET_ENCRYPTION_KEY_PREVIOUS");
  return [required("WALLET_ENCRYPTION_KEY"), ...(previous === undefined ? [] : [previous])].map(keyring);
}

/** What is derived from a master key: the same for every envelope, so each is derived once. */
class Keyring {
  /** Names the master key without revealing anything about it. */
  readonly id: string;
  readonly #master: Uint8Array;
  readonly #encryption = new Map<string, Promise<CryptoKey>>();
  readonly #authentication = new Map<string, Uint8Array>();

  constructor(configured: string) {
    this.#master = masterKey(configured);
    this.id = sha256Hex(toBase64Url(subkey(this.#master, "key id"))).slice(0, 8);
  }

  encryption(purpose: string): Promise<CryptoKey> {
    let key = this.#encryption.get(purpose);
    if (key === undefined) {
      const raw = subkey(this.#master, `${purpose}: encryption`);
      key = crypto.subtle.importKey("raw", raw, "AES-CBC", false, ["encrypt", "decrypt"]);
      this.#encryption.set(purpose, key);
    }
    return key;
  }

  authentication(purpose: string): Uint8Array {
    let key = this.#authentication.get(purpose);
    if (key === undefined) {
      key = subkey(this.#master, `${purpose}: authentication`);
      this.#authentication.set(purpose, key);
    }
    return key;
  }
}

/** Keyrings by the configured form of their master key, which changes only with a rotation. */
const keyrings = new Map<string, Keyring>();

function keyring(configured: string): Keyring {
  let found = keyrings.get(configured);
  if (found === undefined) keyrings.set(configured, (found = new Keyring(configured)));
  return found;
}

function authenticate(keys: Keyring, context: SealContext, head: string): Uint8Array {
  const message = new TextEncoder().encode(`${head}\n${context.owner}`);
  return hmacSha256(keys.authentication(context.purpose), message);
}

function toBase64Url(bytes: Uint8Array): string {
  const binary = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function fromBase64Url(text: string): Uint8Array<ArrayBuffer> {
  try {
    const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
    return Uint8Array.from(binary, (char) => char.charCodeAt(0));
  } catch {
    throw new AppError("internal", "A sealed secret is damaged");
  }
}
