// Whether a raw value looks right now. It only clears an error that the server
// gave; it never makes one, and it decides nothing.

import type { Field, Raw } from '../lib/wire'

export function looksRight(field: Field, raw: Raw): boolean {
	if (Array.isArray(raw)) {
		if (field.required && raw.length === 0 && (field.min_items ?? 1) > 0) return false
		return raw.length >= (field.min_items ?? 0) && raw.length <= (field.max_items || Infinity)
	}
	if (typeof raw === 'object') return field.empty_allowed === true
	const text = raw.trim()
	if (text === '') return !field.required
	switch (field.control) {
		case 'integer': return /^[+-]?\d+$/.test(text.replace(/\s/g, '')) && within(field, text)
		case 'number': return /^[+-]?(\d+[.,]?\d*|[.,]\d+)$/.test(text.replace(/\s/g, '')) && within(field, text)
		case 'date': return /^\d{4}-\d{2}-\d{2}$/.test(text)
		case 'date-time': return /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/.test(text)
		case 'json': return isJSON(text)
	}
	const length = [...raw].length
	if (length < (field.min_length ?? 0) || length > (field.max_length || Infinity)) return false
	if (field.control === 'email') return /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(text)
	if (field.control === 'uri') return URL.canParse(text)
	// A pattern is for the server to judge: a hostile one could hang the page.
	return !field.pattern
}

function within(field: Field, text: string): boolean {
	const n = Number(text.replace(/\s/g, '').replace(',', '.'))
	const bound = (literal: string | undefined, otherwise: number): number => literal ? Number(literal) : otherwise
	return n >= bound(field.minimum, -Infinity) && n <= bound(field.maximum, Infinity)
		&& n > bound(field.exclusive_minimum, -Infinity) && n < bound(field.exclusive_maximum, Infinity)
}

function isJSON(text: string): boolean {
	try {
		JSON.parse(text)
		return true
	} catch {
		return false
	}
}
