// The HTTP client: a bearer token or the cookie of a sign-in on every request,
// problem+json as an error with a code, and one error for "no answer came".

import { parseExact } from './json'
import type { FieldError, Question, Via } from './wire'
import { t } from './text'

/** Where the bearer token comes from. Null means: nobody is signed in, or it is by a cookie. */
export type TokenSource = () => string | null | Promise<string | null>

/** Problem is an answer of the server that says no (RFC 9457). */
export class Problem extends Error {
	readonly status: number
	readonly code: string
	readonly errors: readonly FieldError[]
	readonly closedBy: string
	readonly question: Question | null
	/** What the sentence is about: a limit, a server. */
	readonly params: Readonly<Record<string, unknown>>

	constructor(status: number, body: Record<string, unknown>) {
		super(String(body['detail'] || body['title'] || t('error.status', { status: String(status) })))
		this.status = status
		this.code = String(body['code'] ?? '')
		this.errors = Array.isArray(body['errors']) ? body['errors'] as FieldError[] : []
		this.closedBy = String(body['closed_by'] ?? '')
		this.question = (body['question'] ?? null) as Question | null
		this.params = typeof body['params'] === 'object' && body['params'] !== null ? body['params'] as Record<string, unknown> : {}
	}
}

/** Unreachable means that no answer came: the request may or may not have arrived. */
export class Unreachable extends Error {
	constructor() {
		super(t('error.unreachable'))
	}
}

export type Write = { via: Via; body?: object; key?: string; keepalive?: boolean }

export class API {
	readonly base: string
	readonly #token: TokenSource
	readonly #heard: (problem: Problem | null) => void

	/** heard is told of each answer: what the server said no with, or null. */
	constructor(base: string, token: TokenSource, heard: (problem: Problem | null) => void = () => undefined) {
		this.base = base.replace(/\/+$/, '')
		this.#token = token
		this.#heard = heard
	}

	/**
	 * request sends one request and hands back the response, whatever its status. A
	 * cookie goes along on the Parley's own pages alone: pages of other origins have
	 * nothing but the token that they were given.
	 */
	async request(method: string, path: string, init: RequestInit = {}): Promise<Response> {
		const headers = new Headers(init.headers)
		const token = await this.#token()
		if (token) headers.set('Authorization', `Bearer ${token}`)
		try {
			return await fetch(this.base + path, { ...init, method, headers, credentials: 'same-origin', cache: 'no-store', redirect: 'error', referrerPolicy: 'no-referrer' })
		} catch (error) {
			if (init.signal?.aborted) throw error
			throw new Unreachable()
		}
	}

	async read<T>(path: string): Promise<T> {
		return this.#decode<T>(await this.request('GET', path))
	}

	async #decode<T>(response: Response): Promise<T> {
		try {
			const value = await decode<T>(response)
			this.#heard(null)
			return value
		} catch (error) {
			if (error instanceof Problem) this.#heard(error)
			throw error
		}
	}

	async write<T>(path: string, { via, body, key, keepalive }: Write): Promise<T> {
		const headers: Record<string, string> = { 'Content-Type': 'application/json' }
		if (key) headers['Idempotency-Key'] = key
		const init: RequestInit = { headers, body: JSON.stringify({ ...body, via }) }
		if (keepalive) init.keepalive = true
		return this.#decode<T>(await this.request('POST', path, init))
	}
}

/** decode reads a response: its JSON, or a Problem. */
export async function decode<T>(response: Response): Promise<T> {
	let body: unknown
	try {
		const text = await response.text()
		body = text === '' ? {} : parseExact(text)
	} catch {
		// A body cut short, or a page of some proxy in between.
		if (response.ok) throw new Unreachable()
		body = {}
	}
	if (response.ok) return body as T
	throw new Problem(response.status, typeof body === 'object' && body !== null ? body as Record<string, unknown> : {})
}

/** sentence is what to tell the person about an error. */
export function sentence(error: unknown): string {
	return error instanceof Problem || error instanceof Unreachable ? error.message : t('error.unexpected')
}
