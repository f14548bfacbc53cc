import { getAddress } from "viem";
import { expect, test } from "vitest";
import { chain, ETHER, useChain } from "../support/chain/chain";
import type { WalletApp } from "../support/chain/walletApp";
import type { Answer } from "../support/world";
import { createPaidApp, ONE, payer, transfer } from "../payments/payer";
import { listCommands, listSamples, PAGES, splitWords, type Sample } from "./documents";

/** Each call that a page shows is made here, and the answer that it prints has to be the one that comes. */

useChain();

const SITE = /^(?:http:\/\/127\.0\.0\.1:3211|\$SITE)(?=\/)/;

/** What a reader puts in the place of `…` and `0x…`: values of earlier answers, by their fields. */
type Seen = Record<string, string>;

test.for(PAGES.filter((page) => listSamples(page).some((sample) => listCommands(sample).some(isCall))))(
  "%s: its calls get the answers that it shows",
  async (page) => {
    const app = createPaidApp(chain);
    const seen: Seen = { userId: `reader-${page.replaceAll(/\W/g, "-")}-4f8Kq2Zt7Xw9` };
    const samples = listSamples(page);
    for (const [index, sample] of samples.entries()) {
      const answers = await play(app, sample, seen);
      const printed = samples[index + 1];
      if (answers.length > 0 && printed?.language === "json") expectPrinted(printed, answers);
    }
  },
);

async function play(app: WalletApp, sample: Sample, seen: Seen): Promise<Answer[]> {
  const answers: Answer[] = [];
  for (const command of listCommands(sample)) {
    if (command === "npm run fund -- 0xPLATFORM") {
      seen.HASH = await transfer(chain, await payer(chain, 1_000n * ONE), { value: 1_000n * ONE });
    } else if (command === "npm run fund -- 0xADDRESS") {
      await chain.fund(getAddress(seen.address ?? ""), { ETH: ETHER, USDC: 1_000n * ONE });
    } else if (isCall(command)) {
      const answer = await call(app, fillIn(command, seen));
      for (const [, name = "", value = ""] of answer.text.matchAll(/"(\w+Id|address)":"([^"]+)"/g))
        seen[name] = value;
      answers.push(answer);
    }
  }
  await app.settle();
  return answers;
}

/** What the shell has to compute, such as a signature, is tried where it is verified. */
function isCall(command: string): boolean {
  const [program, ...words] = splitWords(command);
  return (
    program === "curl" &&
    !command.includes("$(") &&
    !command.includes('"$post"') &&
    words.some((word) => SITE.test(word))
  );
}

const fillIn = (command: string, seen: Seen): string =>
  command
    .replaceAll(/"(\w+)":"…"/g, (_, name: string) => `"${name}":"${seen[name] ?? name}"`)
    .replaceAll(/(\w+)=…/g, (_, name: string) => `${name}=${seen[name] ?? name}`)
    .replace("0xHASH", seen.HASH ?? "0xHASH");

async function call(app: WalletApp, command: string): Promise<Answer> {
  const headers: Record<string, string> = {};
  let [method, path, body]: [string | null, string, string | undefined] = [null, "", undefined];
  const words = splitWords(command).slice(1);
  for (let index = 0; index < words.length; index++) {
    const word = words[index] ?? "";
    if (word === "-s") continue;
    if (SITE.test(word)) path = word.replace(SITE, "");
    else if (word === "-d") body = words[++index];
    else if (word === "-X") method = words[++index] ?? null;
    else if (word === "-H") {
      const [name = "", value = ""] = (words[++index] ?? "").split(/:\s*(.*)/s);
      headers[name] = value;
    } else throw new Error(`${command}: no reader of this test knows ${word}`);
  }
  const answer = await app.call(method ?? (body === undefined ? "GET" : "POST"), path, {
    headers,
    ...(body === undefined ? {} : { body }),
  });
  const isOffer = path === "/agent/research/paid" && headers["X-Payment"] === undefined;
  expect([command, answer.status, isOffer ? null : (answer.body.error ?? null)]).toEqual([
    command,
    isOffer ? 402 : 200,
    null,
  ]);
  return answer;
}

/** Figures, times and ids are other ones each time; between two ellipses the rest is printed to the letter. */
function expectPrinted({ page, text }: Sample, answers: readonly Answer[]): void {
  for (const [index, line] of text.trim().split("\n").entries()) {
    let rest = blur(answers[index]?.text ?? "");
    for (const part of line.split("…").map((one) => blur(one.trim()))) {
      const at = rest.indexOf(part);
      expect([page, part, at < 0 ? rest.slice(0, 2_000) : null]).toEqual([page, part, null]);
      rest = rest.slice(at + part.length);
    }
  }
}

const blur = (text: string): string =>
  text
    .replaceAll("\u202F", " ")
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "TIME")
    .replaceAll(/\d{8,}\w*/g, "ID")
    .replaceAll(/[+−-]?\d+(?:,\d{3})*(?:\.\d+)?/g, "0");
