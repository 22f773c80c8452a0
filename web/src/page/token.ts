// Signing in. The printed address carries a one-time token in its fragment; the
// page exchanges it for a bearer, which stays in the storage of this origin.
// Never a cookie: cookies have no port, and any server on 127.0.0.1 gets them.

import { decode, Problem, sentence, Unreachable } from '../lib/api'

const name = 'parley.token'
let memory: string | null = null

export function token(): string | null {
	try {
		return localStorage.getItem(name) ?? memory
	} catch {
		return memory // storage is switched off: signed in until the page is closed
	}
}

export function keepToken(value: string | null): void {
	memory = value
	try {
		if (value === null) localStorage.removeItem(name)
		else localStorage.setItem(name, value)
	} catch { /* switched off */ }
}

/** onToken tells when another tab signs in. */
export function onToken(told: () => void): void {
	window.addEventListener('storage', (event) => { if (event.key === name && event.newValue) told() })
}

/** takeFragment reads the one-time token and removes it from the address and the history at once. */
export function takeFragment(): string | null {
	const found = new URLSearchParams(location.hash.slice(1)).get('token')
	if (found === null) return null
	history.replaceState(history.state, '', location.pathname + location.search)
	return found
}

/** exchange trades a one-time token for the bearer. It returns "" or the sentence that says why not. */
export async function exchange(once: string): Promise<string> {
	try {
		const response = await fetch('/v1/sign-in', {
			method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ token: once }),
			credentials: 'omit', cache: 'no-store', redirect: 'error',
		})
		const { token } = await decode<{ token: string }>(response)
		keepToken(token)
		return ''
	} catch (error) {
		return sentence(error instanceof Problem ? error : new Unreachable())
	}
}
