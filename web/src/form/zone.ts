// Local times and their offsets, from the browser's own zone data.

export type Local = { year: number; month: number; day: number; hour: number; minute: number; second: number }

const formats = new Map<string, Intl.DateTimeFormat>()

function parts(zone: string, instant: number): Local {
	let format = formats.get(zone)
	if (!format) {
		format = new Intl.DateTimeFormat('en-u-ca-iso8601-nu-latn', { timeZone: zone, hourCycle: 'h23', year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric', second: 'numeric' })
		formats.set(zone, format)
	}
	const found: Record<string, number> = {}
	for (const { type, value } of format.formatToParts(instant)) found[type] = Number(value)
	const at = (name: string): number => found[name] ?? 0
	return { year: at('year'), month: at('month'), day: at('day'), hour: at('hour'), minute: at('minute'), second: at('second') }
}

function asUTC(local: Local): number {
	const date = new Date(0)
	date.setUTCFullYear(local.year, local.month - 1, local.day)
	date.setUTCHours(local.hour, local.minute, local.second)
	return date.getTime()
}

/** offsetAt is a zone's distance from UTC at an instant, in minutes east. */
export function offsetAt(zone: string, instant: number): number {
	return Math.round((asUTC(parts(zone, instant)) - Math.floor(instant / 1000) * 1000) / 60_000)
}

/**
 * offsetsOf lists the offsets that a local time can have in a zone: one as a
 * rule, none when clocks go forward over it, two when they go back over it
 * (the earlier instant first).
 */
export function offsetsOf(zone: string, local: Local): number[] {
	const fixed = /^UTC([+-])(\d\d):(\d\d)$/.exec(zone)
	if (fixed) return [(fixed[1] === '-' ? -1 : 1) * (Number(fixed[2]) * 60 + Number(fixed[3]))]
	const guess = asUTC(local)
	const day = 86_400_000
	const candidates = new Set([offsetAt(zone, guess - day), offsetAt(zone, guess), offsetAt(zone, guess + day)])
	return [...candidates]
		.filter((offset) => asUTC(parts(zone, guess - offset * 60_000)) === guess)
		.sort((a, b) => b - a)
}

/** offsetText is an offset as RFC 3339 writes it. */
export function offsetText(minutes: number): string {
	const size = Math.abs(minutes)
	return `${minutes < 0 ? '-' : '+'}${two(Math.floor(size / 60))}:${two(size % 60)}`
}

export function two(n: number): string {
	return String(n).padStart(2, '0')
}

/** ownZone is this computer's zone. */
export function ownZone(): string {
	return Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC'
}

/** zones lists the zones that the browser knows, UTC first. */
export function zones(): string[] {
	return ['UTC', ...Intl.supportedValuesOf('timeZone').filter((zone) => zone !== 'UTC')]
}
