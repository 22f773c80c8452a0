// JSON whose numbers keep their digits. JavaScript reads 9007199254740993 as
// ...992; a value that would change is kept as its source text.

type Reviver = (this: unknown, key: string, value: unknown, context?: { source?: string }) => unknown
type RawJSON = { rawJSON?: (text: string) => unknown; isRawJSON?: (value: unknown) => boolean }

const exact = JSON as unknown as RawJSON

/** parseExact reads JSON; numbers that JavaScript cannot hold come out as raw JSON objects, which stringify writes back digit by digit. */
export function parseExact(text: string): unknown {
	const reviver: Reviver = (_key, value, context) => {
		if (typeof value !== 'number' || context?.source === undefined || String(value) === context.source || !exact.rawJSON) return value
		return exact.rawJSON(context.source)
	}
	return JSON.parse(text, reviver as (this: unknown, key: string, value: unknown) => unknown)
}

/** pretty writes a value of parseExact with two spaces. */
export function pretty(value: unknown): string {
	return JSON.stringify(value, null, 2) ?? ''
}

/** scalar is the text of a value that fits on a line, or null. */
export function scalar(value: unknown): string | null {
	if (typeof value === 'string') return value
	if (value === null || typeof value === 'number' || typeof value === 'boolean') return String(value)
	if (exact.isRawJSON?.(value)) return JSON.stringify(value)
	return null
}
