const MARK = /^✉️ This chat was named for an account of this service\.[^\n]+(?:\n\n|$)/;

/** A card's own text, without the mark above it that it gets in a chat that somebody has only named. */
export const unmarked = (text: string): string => text.replace(MARK, "");
