// Characters that cannot be seen, or that turn the order of others around, are
// written out where a person decides on exactly what is there.

import { pretty } from './json'

const unseen = /[^\P{C}\t\n]|[\p{Zl}\p{Zp}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0]/gu

/** visible writes such characters as \u escapes, as JSON does. */
export function visible(text: string): string {
	return text.replace(unseen, (c) => [...Array(c.length).keys()].map((i) => `\\u${c.charCodeAt(i).toString(16).padStart(4, '0')}`).join(''))
}

/** exactly is JSON with two spaces, in which nothing is hidden. It is still the same JSON. */
export function exactly(value: unknown): string {
	return visible(pretty(value))
}
