/** What the scripts show a person in a terminal. */

/** Colour is for a terminal, and not for whoever says otherwise (no-color.org). */
const isTerminal = process.stdout.isTTY && !process.env.NO_COLOR;

export const bold = (text: string) => (isTerminal ? `\u001b[1m${text}\u001b[0m` : text);
export const dim = (text: string) => (isTerminal ? `\u001b[2m${text}\u001b[0m` : text);
export const green = (text: string) => (isTerminal ? `\u001b[32m${text}\u001b[0m` : text);
export const red = (text: string) => (isTerminal ? `\u001b[31m${text}\u001b[0m` : text);

/** What to do next, as the last line of a command's output. */
export const nextStep = (text: string) => dim(`\nNext: ${text}`);

/** A messenger card (HTML with bold words and links) as a framed block of at most `width` columns. Addresses stand behind their words. */
export function framedCard(html: string, width = 96): string {
  const addressed = html
    .replace(/<a href="[^"]*">(\[[^<]*\])<\/a>/g, "$1")
    .replace(/<a href="([^"]*)">([^<]*)<\/a>/g, "$2: $1");
  const lines = addressed.split("\n").flatMap((line) => wrap(line, width - 4));
  return [
    `╭${"─".repeat(width - 2)}`,
    ...lines.map((line) => `│ ${styled(line)}`),
    `╰${"─".repeat(width - 2)}`,
  ].join("\n");
}

/** `████████░░░░  52 %` */
export function progressBar(fraction: number, width = 32): string {
  const filled = Math.round(Math.min(1, Math.max(0, fraction)) * width);
  return `${"█".repeat(filled)}${"░".repeat(width - filled)} ${String(Math.round(fraction * 100)).padStart(3)} %`;
}

/** Shows a changing line: in place in a terminal, else as a new line whenever it changes. */
export function createStatusLine(stream: NodeJS.WriteStream = process.stdout): {
  show: (line: string) => void;
  end: () => void;
} {
  let last = "";
  return {
    show: (line) => {
      if (line === last) return;
      last = line;
      stream.write(stream.isTTY ? `\r\u001b[2K${line}` : `${line}\n`);
    },
    end: () => {
      if (stream.isTTY && last !== "") stream.write("\n");
    },
  };
}

/** Breaks a line at spaces; tags do not count. A bold span that is broken goes on being bold. */
function wrap(line: string, width: number): string[] {
  const lines: string[] = [];
  let current = "";
  let open = false;
  for (const word of line.split(" ")) {
    if (current !== "" && visible(current).length + 1 + visible(word).length > width) {
      lines.push(open ? `${current}</b>` : current);
      current = open ? "<b>" : "";
    }
    current = current === "" || current === "<b>" ? current + word : `${current} ${word}`;
    const lastOpen = current.lastIndexOf("<b>");
    open = lastOpen !== -1 && lastOpen > current.lastIndexOf("</b>");
  }
  return [...lines, current];
}

function visible(html: string): string {
  return unescape(html.replace(TAGS, ""));
}

const TAGS = /<\/?(?:b|code)>/g;

function styled(html: string): string {
  if (!isTerminal) return visible(html);
  return visible(html.replaceAll("<b>", "\u001b[1m").replaceAll("</b>", "\u001b[0m"));
}

function unescape(text: string): string {
  return text
    .replaceAll("&quot;", '"')
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&");
}
