import { equalBytes, hmacSha256, masterKey, sha256Hex, subkey } from "./crypto";
import { optional, required } from "./env";
import { AppError } from "./errors";

/**
 * Secrets at rest: AES-256-CBC, then HMAC-SHA256 over everything that decides the decryption (encrypt-then-MAC), under
 * two HKDF subkeys of `WALLET_ENCRYPTION_KEY` for one purpose. The envelope reads
 * `v1.<key id>.<iv>.<ciphertext>.<mac>` (base64url); the key id tells which master key sealed it, so keys can rotate.
 */
const VERSION = "v1";

/** What a sealed secret is for, and the row it belongs to: an envelope moved to another row does not open. */
export type SealContext = { purpose: string; owner: string };

/** Seals a secret. For actions: it draws an IV from the platform's CSPRNG. */
export async function seal(plaintext: string, context: SealContext): Promise<string> {
  const master = masterKey(required("WALLET_ENCRYPTION_KEY"));
  const iv = crypto.getRandomValues(new Uint8Array(16));
  const key = await encryptionKey(master, context, "encrypt");
  const encoded = new TextEncoder().encode(plaintext);
  const ciphertext = new Uint8Array(await crypto.subtle.encrypt({ name: "AES-CBC", iv }, key, encoded));
  const head = [VERSION, keyId(master), toBase64Url(iv), toBase64Url(ciphertext)].join(".");
  return `${head}.${toBase64Url(authenticate(master, context, head))}`;
}

/**
 * Opens an envelope, sealed under the current key or the previous one (`WALLET_ENCRYPTION_KEY_PREVIOUS`).
 * @throws AppError `internal` when it is damaged, was sealed under a key that is not configured, or belongs to another
 * owner.
 */
export async function open(envelope: string, context: SealContext): Promise<string> {
  const [version, id, iv, ciphertext, mac, ...rest] = envelope.split(".");
  if (version !== VERSION || !id || !iv || !ciphertext || !mac || rest.length > 0) {
    throw new AppError("internal", "A sealed secret is damaged");
  }
  const master = configuredKeys().find((one) => keyId(one) === id);
  if (master === undefined) throw new AppError("internal", "A sealed secret was sealed under another key");
  const head = [version, id, iv, ciphertext].join(".");
  if (!equalBytes(authenticate(master, context, head), fromBase64Url(mac))) {
    throw new AppError("internal", "A sealed secret is damaged");
  }
  const key = await encryptionKey(master, context, "decrypt");
  const algorithm = { name: "AES-CBC", iv: fromBase64Url(iv) };
  return new TextDecoder().decode(await crypto.subtle.decrypt(algorithm, key, fromBase64Url(ciphertext)));
}

/** The same secret under the current key. */
export async function reseal(envelope: string, context: SealContext): Promise<string> {
  return seal(await open(envelope, context), context);
}

/** Names the key that `seal` uses now; an envelope's own name is its second field. */
export function currentKeyId(): string {
  return keyId(masterKey(required("WALLET_ENCRYPTION_KEY")));
}

export function keyIdOf(envelope: string): string {
  return envelope.split(".")[1] ?? "";
}

function configuredKeys(): Uint8Array[] {
  const previous = optional("WALLET_ENCRYPTION_KEY_PREVIOUS");
  return [required("WALLET_ENCRYPTION_KEY"), ...(previous === undefined ? [] : [previous])].map(masterKey);
}

function encryptionKey(master: Uint8Array, context: SealContext, usage: "encrypt" | "decrypt") {
  const raw = subkey(master, `${context.purpose}: encryption`);
  return crypto.subtle.importKey("raw", raw, "AES-CBC", false, [usage]);
}

function authenticate(master: Uint8Array, context: SealContext, head: string): Uint8Array {
  const key = subkey(master, `${context.purpose}: authentication`);
  return hmacSha256(key, new TextEncoder().encode(`${head}\n${context.owner}`));
}

/** Names a master key without telling anything about it. */
function keyId(master: Uint8Array): string {
  return sha256Hex(toBase64Url(subkey(master, "key id"))).slice(0, 8);
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
