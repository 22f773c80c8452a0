// Whether a raw value is right now. It only clears an error that the server gave;
// it never makes one, and it decides nothing. It follows package form's Coerce: what
// is right here is right there. What it cannot judge it does not call right, and the
// error stays until the answers are sent again.

import type { Field, Raw } from '../lib/wire'
import { isDate, isEmail, isMoment, isURI } from './format'
import { compare, isMultiple, isWhole, typedNumber } from './number'

export function looksRight(field: Field, raw: Raw): boolean {
	if (Array.isArray(raw)) return countIsRight(field, raw.length)
	if (typeof raw === 'object') return field.empty_allowed === true || field.options?.some((option) => option.value === '') === true
	// A default that was left as it came is sent as it came.
	if (raw !== '' && raw === field.default) return true
	const text = trim(raw)
	if (text === '') return !field.required
	switch (field.control) {
		case 'boolean':
		case 'choice': return true
		case 'integer':
		case 'number': return numberIsRight(field, text)
		case 'json': return false // the view does not say which values are asked for
		case 'date': return isDate(text) && textIsRight(field, text)
		case 'date-time': return isMoment(text) && textIsRight(field, text)
		case 'email': return isEmail(text) && textIsRight(field, text)
		case 'uri': return isURI(text) && textIsRight(field, text)
	}
	return textIsRight(field, text)
}

function countIsRight(field: Field, count: number): boolean {
	const least = field.min_items ?? 0
	if (count === 0) return !field.required || least === 0
	return count >= least && count <= (field.max_items ?? Infinity)
}

function textIsRight(field: Field, text: string): boolean {
	// A pattern is for the server to judge: a hostile one could hang the page.
	if (field.pattern && field.pattern_enforced) return false
	const length = [...text.replaceAll('\r\n', '\n')].length
	return length >= (field.min_length ?? 0) && length <= (field.max_length ?? Infinity)
}

function numberIsRight(field: Field, text: string): boolean {
	const n = typedNumber(text)
	if (n === null || field.control === 'integer' && !isWhole(n)) return false
	const against = (bound: string | undefined, fits: (order: number) => boolean): boolean => !bound || fits(compare(n, bound))
	return against(field.minimum, (order) => order >= 0) && against(field.maximum, (order) => order <= 0)
		&& against(field.exclusive_minimum, (order) => order > 0) && against(field.exclusive_maximum, (order) => order < 0)
		&& (!field.multiple_of || isMultiple(n, field.multiple_of))
}

// The white space that the server's language trims, which is not quite this one's.
const space = '[\\t-\\r \\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]'
const ends = new RegExp(`^${space}+|${space}+$`, 'g')

function trim(text: string): string {
	return text.replace(ends, '')
}
