// Signing in. With local sign-in the printed address carries a one-time token in
// its fragment; the page exchanges it for a bearer, which stays in the storage of
// this origin. Never a cookie: cookies have no port, and any server on 127.0.0.1
// gets them. Where people sign in elsewhere, the host sets a cookie that this code
// cannot read, and the page has nothing to keep.

import { decode, Problem, sentence, Unreachable, type API } from '../lib/api'
import type { Session } from '../lib/wire'

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
	const parts = new URLSearchParams(location.hash.slice(1))
	const found = parts.get('token')
	if (found === null) return null
	parts.delete('token')
	history.replaceState(history.state, '', location.pathname + location.search + (parts.size > 0 ? `#${parts}` : ''))
	return found
}

const id = /^[A-Za-z0-9_-]{1,100}$/

/** takePlace reads what a link from elsewhere points at, such as #question=ID, and writes the page's own address in its place. */
export function takePlace(): void {
	const parts = new URLSearchParams(location.hash.slice(1))
	for (const [name, query] of [['question', 'q'], ['approval', 'a']] as const) {
		const found = parts.get(name)
		if (found !== null && id.test(found)) return history.replaceState(history.state, '', `${location.pathname}?${query}=${found}`)
	}
}

/**
 * byCookie asks the host whether the browser is signed in by a cookie; null if not. It
 * throws where the host cannot say so at the moment.
 */
export async function byCookie(api: API): Promise<Session | null> {
	// Without a cookie the host has answered the page itself with 401.
	const [page] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[]
	if (page?.responseStatus === 401) return null
	try {
		return await api.read<Session>('/v1/session')
	} catch (error) {
		if (error instanceof Problem && (error.status === 401 || error.status === 403)) return null
		throw error
	}
}

const left = 'parley.left'
const again = 60_000 // milliseconds in which a sign-in that changed nothing is not tried again

/** leave goes to the sign-in, which comes back here. It reports false if it has just been there. */
export function leave(): boolean {
	try {
		if (Date.now() - Number(sessionStorage.getItem(left) ?? 0) < again) return false
		sessionStorage.setItem(left, String(Date.now()))
	} catch { /* without storage it is tried each time */ }
	location.assign(`/sign-in?return=${encodeURIComponent(location.pathname + location.search)}`)
	return true
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
