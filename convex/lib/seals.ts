import { isEqualBytes, hmacSha256, decodeMasterKey, deriveSubkey, sha256Hex } from "./crypto";
import { getOptional, getRequired } from "./env";
import { AppError } from "./errors";
import { log } from "./log";

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
  const master = decodeMasterKey(getRequired("WALLET_ENCRYPTION_KEY"));
  const iv = crypto.getRandomValues(new Uint8Array(16));
  const key = await importEncryptionKey(master, context);
  const encoded = new TextEncoder().encode(plaintext);
  const ciphertext = new Uint8Array(await crypto.subtle.encrypt({ name: "AES-CBC", iv }, key, encoded));
  const head = [VERSION, hashKeyId(master), toBase64Url(iv), toBase64Url(ciphertext)].join(".");
  return `${head}.${toBase64Url(authenticate(master, context, head))}`;
}

/**
 * Opens an envelope, sealed under the current key or the previous one (`WALLET_ENCRYPTION_KEY_PREVIOUS`).
 * @throws AppError `not_configured` if it was sealed under a key that is not configured; `internal` if it is damaged, or
 * belongs to another owner.
 */
export async function openSeal(envelope: string, context: SealContext): Promise<string> {
  const { master, iv, ciphertext } = requireSeal(envelope, context);
  const key = await importEncryptionKey(master, context);
  return new TextDecoder().decode(await crypto.subtle.decrypt({ name: "AES-CBC", iv }, key, ciphertext));
}

/** Checks an envelope without opening it. @returns The master key, IV and ciphertext. @throws AppError as `openSeal` */
export function requireSeal(envelope: string, context: SealContext) {
  const [version, id, iv, ciphertext, mac, ...rest] = envelope.split(".");
  if (version !== VERSION || !id || !iv || !ciphertext || !mac || rest.length > 0) throw damagedError();
  const configured = [getRequired("WALLET_ENCRYPTION_KEY"), getOptional("WALLET_ENCRYPTION_KEY_PREVIOUS")];
  const masters = configured.flatMap((one) => (one === undefined ? [] : [decodeMasterKey(one)]));
  const master = masters.find((one) => hashKeyId(one) === id);
  if (master === undefined) {
    log.error("sealing.another key", { purpose: context.purpose, sealedUnder: id });
    throw new AppError("not_configured", OTHER_KEY);
  }
  const head = [version, id, iv, ciphertext].join(".");
  if (!isEqualBytes(authenticate(master, context, head), fromBase64Url(mac))) throw damagedError();
  return { master, iv: fromBase64Url(iv), ciphertext: fromBase64Url(ciphertext) };
}

const OTHER_KEY =
  "WALLET_ENCRYPTION_KEY is not the key that a stored secret was sealed under: nothing was lost, set the right one";

const damagedError = () => new AppError("internal", "A sealed secret is damaged");

/** Whether an envelope was sealed under the current key. */
export function isCurrent(envelope: string): boolean {
  return envelope.split(".")[1] === hashKeyId(decodeMasterKey(getRequired("WALLET_ENCRYPTION_KEY")));
}

/** The id of a master key: a hash that reveals nothing about the key. */
function hashKeyId(master: Uint8Array): string {
  return sha256Hex(toBase64Url(deriveSubkey(master, "key id"))).slice(0, 8);
}

function importEncryptionKey(master: Uint8Array, { purpose }: SealContext): Promise<CryptoKey> {
  const raw = deriveSubkey(master, `${purpose}: encryption`);
  return crypto.subtle.importKey("raw", raw, "AES-CBC", false, ["encrypt", "decrypt"]);
}

function authenticate(master: Uint8Array, { purpose, owner }: SealContext, head: string): Uint8Array {
  const message = new TextEncoder().encode(`${head}\n${owner}`);
  return hmacSha256(deriveSubkey(master, `${purpose}: authentication`), message);
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
    throw damagedError();
  }
}
