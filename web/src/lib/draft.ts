// What a person typed and did not send yet, kept for the tab's lifetime so
// that a reload loses nothing. Removed when the question is answered.

import type { Input } from './wire'

const prefix = 'parley.draft.'

export function loadDraft(id: string): Input | null {
	try {
		const text = sessionStorage.getItem(prefix + id)
		return text === null ? null : JSON.parse(text) as Input
	} catch {
		return null // storage can be switched off; then there are no drafts
	}
}

export function saveDraft(id: string, input: Input): void {
	try {
		sessionStorage.setItem(prefix + id, JSON.stringify(input))
	} catch { /* full, or switched off */ }
}

export function dropDraft(id: string): void {
	try {
		sessionStorage.removeItem(prefix + id)
	} catch { /* switched off */ }
}
