// The event stream of a store: opened, kept open, opened again after a cut with
// the number of the last event that was taken, and given back while the page is
// hidden.

import { decode, Problem, Unreachable, type API } from './api'
import { EventParser, type StreamEvent } from './events'

/**
 * connecting: no stream yet; live; lost: trying again; signed-out: the sign-in is gone
 * or refused; disabled: this person may not use it any more.
 */
export type Connection = 'connecting' | 'live' | 'lost' | 'signed-out' | 'disabled'

const firstWait = 2_000 // the server's `retry` replaces it
const longestWait = 30_000
const silence = 45_000 // three of the server's comments missed
const hiddenFor = 60_000 // a hidden page gives its connection back after this
const hiddenPoll = 60_000

/** FeedReader is who gets what the stream brings. */
export type FeedReader = {
	/** snapshot reads everything anew: the stream is fresh, or has a gap. */
	snapshot: () => Promise<void>
	/** take gets a row. */
	take: (event: StreamEvent) => void
	/** loaded says whether there was a snapshot. */
	loaded: () => boolean
	connection: (now: Connection) => void
}

export class Feed {
	readonly #api: API
	readonly #reader: FeedReader
	#running: AbortController | null = null
	#lastId = ''

	constructor(api: API, reader: FeedReader) {
		this.#api = api
		this.#reader = reader
	}

	get running(): boolean {
		return this.#running !== null
	}

	/** start opens the stream and keeps it open. Starting twice is harmless. */
	start(): void {
		if (this.#running) return
		const running = new AbortController()
		this.#running = running
		void this.#run(running.signal)
	}

	/** stop closes the stream, for good unless started again. */
	stop(): void {
		this.#running?.abort()
		this.#running = null
	}

	async #run(signal: AbortSignal): Promise<void> {
		const { loaded, snapshot, connection } = this.#reader
		let wait = firstWait
		let failures = 0
		while (!signal.aborted) {
			if (document.hidden && loaded()) await whileHidden(signal, snapshot)
			if (signal.aborted) return
			const parser = new EventParser()
			if (loaded()) parser.lastId = this.#lastId
			try {
				await this.#stream(parser, signal, () => { failures = 0 })
			} catch (error) {
				if (signal.aborted) return
				const ended = ending(error)
				if (ended) {
					this.#running = null
					connection(ended)
					return
				}
			}
			if (parser.retry !== null) wait = parser.retry
			if (document.hidden) continue
			connection('lost')
			const pause = Math.min(wait * 2 ** failures, longestWait)
			failures++
			// Not all pages of all people come back in the same moment.
			await patience(pause * (0.5 + Math.random() / 2), signal)
		}
	}

	async #stream(parser: EventParser, signal: AbortSignal, alive: () => void): Promise<void> {
		const { loaded, connection } = this.#reader
		const cut = new AbortController()
		const abort = (): void => cut.abort()
		signal.addEventListener('abort', abort)
		let watchdog = window.setTimeout(abort, silence)
		let hidden = 0
		const visibility = (): void => {
			window.clearTimeout(hidden)
			if (document.hidden) hidden = window.setTimeout(abort, hiddenFor)
		}
		document.addEventListener('visibilitychange', visibility)
		visibility()
		try {
			const headers: Record<string, string> = { Accept: 'text/event-stream' }
			if (loaded() && this.#lastId) headers['Last-Event-ID'] = this.#lastId
			const response = await this.#api.request('GET', '/v1/events', { headers, signal: cut.signal })
			if (!response.ok) await decode(response)
			if (!response.body) throw new Unreachable()
			// A stream that goes on where it was cut says nothing until there is news.
			if (loaded() && this.#lastId) connection('live')
			const reader = response.body.pipeThrough(new TextDecoderStream() as unknown as ReadableWritablePair<string, Uint8Array<ArrayBuffer>>).getReader()
			for (;;) {
				const { done, value } = await reader.read()
				if (done) return
				alive()
				window.clearTimeout(watchdog)
				watchdog = window.setTimeout(abort, silence)
				for (const event of parser.push(value)) await this.#take(event)
				// Only now: after a failed snapshot the stream must begin anew.
				this.#lastId = parser.lastId
				if (loaded()) connection('live')
			}
		} finally {
			window.clearTimeout(watchdog)
			window.clearTimeout(hidden)
			document.removeEventListener('visibilitychange', visibility)
			signal.removeEventListener('abort', abort)
			cut.abort()
		}
	}

	async #take(event: StreamEvent): Promise<void> {
		if (event.type !== 'hello' && event.type !== 'reset') return this.#reader.take(event)
		await this.#reader.snapshot()
		this.#reader.connection('live')
	}
}

// What trying again would not mend: a stream that is refused is refused for good.
function ending(error: unknown): Connection | null {
	if (!(error instanceof Problem)) return null
	return refusal(error) ?? (error.status === 403 ? 'signed-out' : null)
}

/** refusal says what an error means for everything else that would be asked, or null. */
export function refusal(problem: Problem): Connection | null {
	if (problem.status === 401) return 'signed-out'
	return problem.status === 403 && problem.code === 'disabled' ? 'disabled' : null
}

// A hidden page holds no stream; it asks once a minute so that the count in its
// title stays true, and continues the stream when it is seen again.
async function whileHidden(signal: AbortSignal, snapshot: () => Promise<void>): Promise<void> {
	while (document.hidden && !signal.aborted) {
		await patience(hiddenPoll, signal)
		if (!document.hidden || signal.aborted) return
		await snapshot().catch(() => undefined)
	}
}

// patience waits, but not longer than until the page is seen or the network is back.
function patience(milliseconds: number, signal: AbortSignal): Promise<void> {
	return new Promise((resolve) => {
		const done = (): void => {
			window.clearTimeout(timer)
			window.removeEventListener('online', done)
			document.removeEventListener('visibilitychange', seen)
			signal.removeEventListener('abort', done)
			resolve()
		}
		const seen = (): void => { if (!document.hidden) done() }
		const timer = window.setTimeout(done, milliseconds)
		window.addEventListener('online', done)
		document.addEventListener('visibilitychange', seen)
		signal.addEventListener('abort', done)
	})
}
