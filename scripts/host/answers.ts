import type { UserIdentity } from "convex/server";
import type { Value } from "convex/values";
import type { Commits, Seen } from "./commits";
import { environmentVersion } from "./environment";
import type { FunctionPath } from "./execution";
import { toJson } from "./store/values";

const MOST = 512;

/** A query's value as its handler returned it. */
type Answer = { value: unknown; seen: Seen };

/**
 * The answers that the platform keeps: a query with the same arguments and the same caller is not run again while nothing
 * that it has read is written. Its randomness is kept with it; an error is not.
 */
export class Answers {
  /** The least recently used comes first. */
  readonly #kept = new Map<string, Answer>();
  #environment = 0;

  constructor(readonly commits: Commits) {}

  keyOf({ componentPath, udfPath }: FunctionPath, args: Value, identity: UserIdentity | null): string {
    return `${componentPath};${udfPath};${JSON.stringify(identity)};${toJson(args)}`;
  }

  /** The answer that still holds; null if there is none. */
  find(key: string): Answer | null {
    this.#forgetOtherSettings();
    const answer = this.#kept.get(key);
    this.#kept.delete(key);
    if (answer === undefined || !this.commits.stands(answer.seen)) return null;
    this.#kept.set(key, answer);
    return answer;
  }

  keep(key: string, answer: Answer): void {
    this.#kept.delete(key);
    this.#kept.set(key, answer);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > MOST && oldest !== undefined) this.#kept.delete(oldest);
  }

  /** For a query the platform's variables are something that it reads. */
  #forgetOtherSettings(): void {
    const environment = environmentVersion();
    if (environment !== this.#environment) this.#kept.clear();
    this.#environment = environment;
  }
}
