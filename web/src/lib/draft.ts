// What a person typed and did not send yet, kept for the tab's lifetime so
// that a reload loses nothing. Removed when the question is answered. The storage
// is that of the page around the card: `no-drafts` on an element keeps all out of it.

import type { Input } from './wire'

const prefix = 'parley.draft.'

// A card may be drawn by an element that says it.
function wanted(card: Element): boolean {
	for (let at: Element | null = card; at;) {
		if (at.hasAttribute('no-drafts')) return false
		const root: Node = at.getRootNode()
		at = root instanceof ShadowRoot ? root.host : null
	}
	return true
}

export function loadDraft(card: Element, id: string): Input | null {
	if (!wanted(card)) {
		dropDraft(id) // of the time before it was said
		return null
	}
	try {
		const text = sessionStorage.getItem(prefix + id)
		return text === null ? null : JSON.parse(text) as Input
	} catch {
		return null // storage can be switched off; then there are no drafts
	}
}

export function saveDraft(card: Element, id: string, input: Input): void {
	if (!wanted(card)) return dropDraft(id)
	try {
		sessionStorage.setItem(prefix + id, JSON.stringify(input))
	} catch { /* full, or switched off */ }
}

export function dropDraft(id: string): void {
	try {
		sessionStorage.removeItem(prefix + id)
	} catch { /* switched off */ }
}
