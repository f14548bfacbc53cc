import { equalBytes, hmacSha256, masterKey, subkey, sha256Hex } from "./crypto";
import { optional, required } from "../env";
import { AppError } from "../errors";

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

export function keyring(configured: string): Keyring {
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
